import Foundation
@preconcurrency import Glibc
import PostgresCluster
import TestSupport
import Testing

/// `archive` and `retention undo` on a PostgreSQL database, as a user meets them. Candles are in CandleRestorationTests.
@Suite(.needsPostgres)
struct PostgresUndoTests {
    private let cluster: PostgresCluster
    private let url: String

    init() throws {
        cluster = try #require(PostgresCluster.shared)
        url = try cluster.makeDatabase(
            """
            CREATE SCHEMA kept;
            CREATE TABLE price (id bigserial PRIMARY KEY, symbol text, price float8, at timestamptz);
            CREATE TABLE note (id int PRIMARY KEY, price bigint REFERENCES price ON DELETE CASCADE, text text);
            CREATE INDEX price_at ON price (at); CREATE INDEX ON note (price);
            INSERT INTO price (symbol, price, at) SELECT 'XAUUSD', n, now() + interval '30 min' - n * interval '1 hour' FROM generate_series(0, 1999) n;
            INSERT INTO note SELECT n, n, 'old' FROM generate_series(1901, 2000) n;
            """)
    }

    private func job(_ archive: String = "archive: { schema: kept, keep: 30d }", rule: String = "") throws
        -> LaunchedJob
    {
        try LaunchedJob(
            "",
            policy: """
                version: 1
                store: \(url)
                \(archive)
                rules:
                  - { name: gold, entity: price, date_attribute: at, max_age: 30d\(rule.isEmpty ? "" : ", \(rule)") }
                """)
    }

    private func contents() throws -> String {
        try cluster.run(
            "SELECT md5(string_agg(p::text, ',' ORDER BY id)), (SELECT md5(string_agg(n::text, ',' ORDER BY id)) FROM note n) FROM price p",
            url: url)
    }

    private func number(_ query: String) throws -> Int { Int(try cluster.run(query, url: url)) ?? -1 }

    @Test func rowsThatATriggerChangesWhileTheyComeBackAreCounted() throws {
        let job = try job()
        let run = try job.report()
        _ = try cluster.run(
            """
            CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.symbol = 'X'; RETURN NEW; END $$;
            CREATE TRIGGER change BEFORE INSERT ON price FOR EACH ROW WHEN (NEW.id > 1990) EXECUTE FUNCTION change();
            """, url: url)
        let end = try job.retention("undo", run.run, "--triggers", "fire")
        #expect(end.status == 65 && end.words.contains("CHANGED"), "\(end)")
        #expect(end.words.contains("10 rows of price are not what the run deleted"), "\(end)")
    }

    @Test func whatARunDeletedComesBackAndTheRuleIsHeld() throws {
        let job = try job()
        let before = try contents()
        #expect(try job.retention("check").status == 0)
        let dry = try job.report("--dry-run")
        #expect(try dry.exitCode == 0 && number("SELECT count(*) FROM pg_tables WHERE schemaname = 'kept'") == 0)
        let run = try job.report()
        let gone = run.rules[0].deleted + run.rules[0].cascaded
        #expect(run.exitCode == 0 && run.rules[0].cascaded == 100 && run.rules[0].archived == gone)
        let listed = try job.retention("undo", "--list")
        #expect(listed.status == 0 && listed.output.contains(run.run.prefix(10)))
        let after = try contents()
        let predicted = try job.undo(run.run, "--dry-run")
        #expect(predicted.exitCode == 0 && predicted.undo.restored == gone)
        #expect(try contents() == after)
        let undone = try job.undo(run.run)
        #expect(undone.exitCode == 0 && undone.undo.restored == gone && undone.undo.ruleNames == ["gold"])
        #expect(try contents() == before)
        #expect(try job.undo(run.run).undo.present == gone)
        let held = try job.report()
        #expect(held.exitCode == 65 && held.rules[0].refusal == "restored_rows")
        #expect(try contents() == before)
        let accepted = try job.report("--accept", "restored_rows")
        #expect(accepted.exitCode == 0 && accepted.rules[0].archived == gone)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    /// Every row is in the store or in the archive, whenever the job is killed; and what was deleted comes back.
    @Test func aKilledRunLosesNothingAndCanBeUndone() throws {
        let job = try job(rule: "batch: { rows: 20, pause: 20ms }")
        let before = try contents()
        for begun in [2000, 1900] {
            let run = try RunningProgram(job, "run", "--no-progress", "--accept", "restored_rows")
            #expect(try eventually { try number("SELECT count(*) FROM price") < begun })
            run.send(SIGKILL)
            #expect(run.wait() == 128 + SIGKILL)
            let killed = try #require(try job.log().last)
            let left = try number("SELECT count(*) FROM price")
            #expect(left < 2000 && left > 750)
            #expect(
                try number(
                    "SELECT sum(last_row - first_row + 1) FROM kept.retention_parts WHERE run = '\(killed.run)' AND table_number = 0"
                )
                    == 2000 - left)
            let undone = try job.undo(killed.run)
            #expect(undone.exitCode == 0 && undone.undo.skipped == 0)
            #expect(try contents() == before)
        }
        let next = try job.report("--accept", "restored_rows")
        #expect(
            next.exitCode == 0 && next.warnings?.filter { $0.contains("is not complete") }.count == 2,
            "\(next.warnings ?? [])"
        )
    }

    @Test func oldArchivesAreRemovedAfterASuccessfulRun() throws {
        let job = try job("archive: { schema: kept, keep: 1h }")
        let first = try job.report()
        #expect(first.exitCode == 0)
        try job.change(LedgerChange.hoursBack(2), in: "retention.ledger.sqlite")
        try cluster.run("CREATE TABLE kept.mine (id int); INSERT INTO price (at) VALUES ('2020-01-01')", url: url)
        let second = try job.report()
        #expect(second.exitCode == 0)
        #expect(try cluster.run("SELECT string_agg(run, ',') FROM kept.retention_archives", url: url) == second.run)
        #expect(
            try cluster.run(
                "SELECT string_agg(tablename, ',' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'kept'",
                url: url)
                == "\(second.run).0,\(second.run).1,mine,retention_archives,retention_parts,retention_restored,retention_tables"
        )
        try job.change(LedgerChange.hoursBack(-2), in: "retention.ledger.sqlite")
        #expect(try job.retention("undo", first.run).status == 66)
        #expect(try job.retention("undo", second.run).status == 0)
    }

    @Test func aSchemaThatCannotBeUsedIsRefusedBeforeTheFirstDelete() throws {
        let before = try contents()
        for (schema, status) in [("nothing", Int32(73)), ("public", 77)] {
            let job = try job("archive: { schema: \(schema) }")
            for command in [["run", "--dry-run"], ["run"]] {
                let end = try job.perform(command)
                #expect(end.status == status, "\(command) \(end)")
            }
            #expect(try job.retention("check").status == 78)
        }
        #expect(try contents() == before)
    }
}
