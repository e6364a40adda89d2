import Foundation
import PostgresCluster
import Testing

/// Plans on servers.
@Suite(.needsPostgres)
struct PostgresPlanTests {
    private static let rows = """
        CREATE TABLE tick (id int, at timestamptz, PRIMARY KEY (id, at)) %@;
        %@
        INSERT INTO tick SELECT n * 2, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
        %@
        """

    private func job(_ url: String, entity: String = "tick", _ more: String = "") throws -> LaunchedJob {
        let rule = "{ name: \(entity), entity: \(entity), date_attribute: at, max_age: 11d }"
        return try LaunchedJob("", policy: "version: 1\nstore: \(url)\nrules:\n  - \(rule)\n\(more)")
    }

    private func run(_ job: LaunchedJob) throws -> Report.Rule {
        let dry = try job.retention("run", "--dry-run", "--as-of", "2026-02-01T00:00:00Z", "--save-plan", "plan.txt")
        #expect(dry.status == 0, "\(dry)")
        let rule = try job.report("--plan", "plan.txt").rules[0]
        #expect(rule.deleted == 480 && rule.outcome == "completed", "\(rule)")
        #expect(rule.methodReason == "only rows of the plan are deleted")
        return rule
    }

    @Test func partitionsAreNotDropped() throws {
        let cluster = try #require(PostgresCluster.shared)
        let parts = (1...6).map { part in
            let (first, next) = (part * 5 - 4, part * 5 + 1)
            return "CREATE TABLE tick_\(part) PARTITION OF tick FOR VALUES FROM ('2026-01-\(first) 00:00Z') "
                + "TO ('2026-01-\(next) 00:00Z');"
        }
        let url = try cluster.makeDatabase(
            String(format: Self.rows, "PARTITION BY RANGE (at)", parts.joined(separator: "\n"), ""))
        let job = try job(url)
        let dry = try job.retention("run", "--dry-run", "--as-of", "2026-02-01T00:00:00Z", "--json")
        #expect(dry.output.contains("\"method\": \"whole partitions\""))
        #expect(try run(job).residue == 0)
        #expect(try cluster.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'tick__'", url: url) == "6")
    }

    /// A trigger stands for another program: it adds expired rows in free keys while the run deletes.
    @Test func rowsThatArriveMeanwhileStay() throws {
        let cluster = try #require(PostgresCluster.shared)
        let trigger = """
            CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO tick VALUES (old.id + 1, old.at); RETURN NULL; END $$;
            CREATE TRIGGER other AFTER DELETE ON tick FOR EACH ROW WHEN (old.id % 2 = 0) EXECUTE FUNCTION other();
            """
        let url = try cluster.makeDatabase(String(format: Self.rows, "", "", trigger))
        #expect(try run(job(url)).residue == 480)
        let left = try cluster.run("SELECT count(*), count(*) FILTER (WHERE id % 2 = 1) FROM tick", url: url)
        #expect(left == "720|480")
    }

    @Test func aRuleWithoutKeysCannotBeInAPlan() throws {
        let cluster = try #require(PostgresCluster.shared)
        let bare = "CREATE TABLE bare AS SELECT * FROM tick;"
        let url = try cluster.makeDatabase(String(format: Self.rows, "", "", bare))
        let job = try job(url, "  - { name: bare, entity: bare, date_attribute: at, max_age: 11d }\n")
        let time = ["--as-of", "2026-02-01T00:00:00Z"]
        let end = try job.perform(["run", "--dry-run", "--save-plan", "plan.txt"] + time)
        #expect(
            end.status == 65 && end.errors.contains("no plan is saved: the rule bare cannot be planned, because"),
            "\(end)")
        #expect(end.errors.contains("bare has no primary key"))
        #expect(!(try job.listing().contains("plan.txt")))
        #expect(try job.perform(["run", "--dry-run", "--save-plan", "plan.txt", "--rule", "tick"] + time).status == 0)
        #expect(try job.report("--plan", "plan.txt").rules.map(\.deleted) == [480])
    }

    @Test(arguments: [
        ("numeric", "123456789012345678901234567890", "5"), ("pair", "row(1, 'a')::pair", "row(2, 'b')::pair"),
    ]) func aKeyThatIsNotReadAsItIsStoredIsInNoPlan(type: String, old: String, young: String) throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(
            """
            CREATE TYPE pair AS (a int, b text);
            CREATE TABLE tick (id \(type) PRIMARY KEY, at timestamptz);
            INSERT INTO tick VALUES (\(old), '2026-01-01 00:00Z'), (\(young), '2026-02-01 00:00Z');
            """)
        let time = ["--as-of", "2026-02-01T00:00:00Z"]
        let end = try job(url).perform(["run", "--dry-run", "--save-plan", "plan.txt"] + time)
        #expect(end.status == 65 && end.errors.contains("its rows cannot be found again by their keys"), "\(end)")
    }

    @Test(.needsTimescale)
    func compressedChunksLoseTheRowsOfThePlan() throws {
        let url = try PostgresCluster.makeTimescaleDatabase(
            String(
                format: Self.rows, "", "SELECT create_hypertable('tick', by_range('at', interval '7 days'));",
                "ALTER TABLE tick SET (timescaledb.compress); SELECT compress_chunk(c) FROM show_chunks('tick') AS c;"))
        #expect(try run(job(url)).residue == 0)
    }

    @Test(.needsCitus)
    func distributedTablesLoseTheRowsOfThePlan() throws {
        let url = try CitusCluster.shared.get().makeDatabase(
            String(format: Self.rows, "", "SELECT create_distributed_table('tick', 'id');", ""))
        #expect(try run(job(url)).residue == 0)
    }
}
