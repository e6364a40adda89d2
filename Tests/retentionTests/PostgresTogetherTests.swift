import PostgresCluster
import Testing

/// Rules that meet on a server: of a table and of its part, and triggers that act at the commit.
@Suite(.needsPostgres)
struct PostgresTogetherTests {
    private let cluster: PostgresCluster

    init() throws { cluster = try #require(PostgresCluster.shared) }

    private func job(_ url: String, _ rules: String) throws -> LaunchedJob {
        try LaunchedJob("", policy: "version: 1\nstore: \(url)\nrules:\n\(rules)")
    }

    private static let keeper =
        "  - { name: keep, entity: t, date_attribute: at, max_age: 30d, keep_last: { count: 1, per: [g] } }\n"
    /// 30 rows in three groups, the newest first.
    private static let rows = """
        INSERT INTO t (id, at, g) SELECT i, timestamptz '2026-06-01' - i * interval '1 day', 'g' || i % 3 FROM generate_series(1, 30) i;
        """
    private static let asOf = ["--as-of", "2026-11-01T00:00:00Z"]

    @Test(arguments: [
        "CREATE TABLE t (id int, at timestamptz, g text) PARTITION BY LIST (g); CREATE TABLE tp PARTITION OF t DEFAULT;",
        "CREATE TABLE t (id int, at timestamptz, g text); CREATE TABLE tp () INHERITS (t);",
    ])
    func aTableAndAPartOfItCannotBothHaveRules(_ tables: String) throws {
        let url = try cluster.makeDatabase(tables + Self.rows)
        let job = try job(url, Self.keeper + "  - { name: all, entity: tp, date_attribute: at, max_age: 60d }\n")
        for command in [["check"], ["run", "--dry-run"], ["run"]] {
            let end = try job.perform(command + (command == ["check"] ? [] : Self.asOf))
            #expect(end.status == 78 && (end.output + end.errors).contains("rows of tp are rows of t too"), "\(end)")
        }
        #expect(try cluster.run("SELECT count(*) FROM t", url: url) == "30")
    }

    /// The trigger would delete the kept rows, or all of them, after the last statement of the batch.
    @Test(arguments: [("id <= 3", keeper, "3"), ("true", "", "30")])
    func whatATriggerPutsOffIsSeen(_ rows: String, _ keeper: String, _ left: String) throws {
        let url = try cluster.makeDatabase(
            """
            CREATE TABLE t (id int PRIMARY KEY, at timestamptz, g text); CREATE INDEX ON t (at); \(Self.rows)
            CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN DELETE FROM t WHERE \(rows); RETURN NULL; END$$;
            CREATE CONSTRAINT TRIGGER late AFTER DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gone();
            """)
        let old = "  - { name: old, entity: t, date_attribute: at, max_age: 165d }\n"
        let end = try job(url, keeper.isEmpty ? old : keeper).perform(["run"] + Self.asOf)
        #expect(end.status != 0, "\(end)")
        let found = try cluster.run("SELECT count(*) FROM t WHERE \(keeper.isEmpty ? "true" : "id <= 3")", url: url)
        #expect(found == left)
    }

    /// Nothing is deleted, and the rule is not completed.
    @Test func aTriggerThatKeepsAllRowsFailsItsRule() throws {
        let url = try cluster.makeDatabase(
            """
            CREATE TABLE t (id int PRIMARY KEY, at timestamptz, g text); CREATE INDEX ON t (at); \(Self.rows)
            CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
            CREATE TRIGGER keeps BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep();
            """)
        let report = try job(url, "  - { name: old, entity: t, date_attribute: at, max_age: 165d }\n").report(Self.asOf)
        #expect(report.exitCode == 65 && report.rules.map(\.outcome) == ["failed"])
        #expect(
            report.rules[0].message
                == "no row was deleted, and all 18 expired rows are left; a trigger (keeps of t (may refuse the delete)) or another program "
                + "keeps the rows")
    }

    /// A table of a pattern of which the user may not delete, and one that it may not read.
    @Test func ofAPatternOnlyTheTableWithoutPrivilegesIsRefused() throws {
        let name = PostgresCluster.database(of: try cluster.makeDatabase())
        let user = "job_" + name
        let tables = ["a", "b", "c"].map { tenant in
            """
            CREATE SCHEMA tenant_\(tenant); GRANT USAGE ON SCHEMA tenant_\(tenant) TO \(user);
            CREATE TABLE tenant_\(tenant).ticks (id int, at timestamptz); INSERT INTO tenant_\(tenant).ticks
            SELECT i, timestamptz '2026-11-01' - i * interval '1 day' FROM generate_series(1, 90) i;

            """
        }
        try cluster.run(
            "CREATE ROLE \(user) LOGIN; \(tables.joined()) GRANT SELECT, DELETE ON tenant_a.ticks TO \(user); "
                + "GRANT SELECT ON tenant_b.ticks TO \(user);", database: name)
        let job = try job(
            cluster.url(database: name, user: user),
            "  - { name: all, entity: \"tenant_*.ticks\", date_attribute: at, max_age: 60d, newest_rows: 30, never_younger_than: 1d }\n"
        )
        for command in [["check"], ["run", "--dry-run"], ["run"]] {
            let end = try job.perform(command + (command == ["check"] ? [] : Self.asOf))
            let output = (end.output + end.errors).replacing(/\s+/, with: " ")
            #expect(end.status == (command == ["check"] ? 78 : 65), "\(end)")
            for tenant in ["b", "c"] {
                #expect(
                    output.contains("the user \(user) may not delete rows of tenant_\(tenant).ticks")
                        && output.contains("GRANT SELECT, DELETE ON \"tenant_\(tenant)\".\"ticks\" TO"), "\(end)")
            }
        }
        let counts = ["a", "b", "c"].map { "(SELECT count(*) FROM tenant_\($0).ticks)" }.joined(separator: ", ")
        #expect(try cluster.run("SELECT \(counts)", database: name) == "30|90|90")
    }
}
