import Foundation
import Testing

/// Files that `ledger` names and that are no ledger of ours, or no longer only that.
struct ForeignLedgerTests {
    private func job(ledger: String) throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: 40) + Sample.rows(2, daysAgo: 1),
            policy: Sample.policy(Sample.rule(), head: "ledger: \(ledger)"))
    }

    private func bytes(_ job: LaunchedJob, _ file: String) throws -> Data {
        try Data(contentsOf: URL(filePath: job.path(file)))
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "WAL"])
    func anotherProgramsDatabaseIsLeftAsItIs(journal: String) throws {
        for sql in [
            "CREATE TABLE run(id INTEGER PRIMARY KEY, distance REAL); INSERT INTO run VALUES (1, 42.2)",
            "CREATE TABLE other(x)", "PRAGMA user_version = 3", "PRAGMA application_id = 77",
            "PRAGMA application_id = 77; CREATE TABLE run(number INTEGER PRIMARY KEY)",
        ] {
            let job = try job(ledger: "other.db")
            try job.change("PRAGMA journal_mode = \(journal); \(sql)", in: "other.db")
            let before = try bytes(job, "other.db")
            for command in [["check"], ["run", "--dry-run"], ["run"], ["log"], ["log", "--verify"]] {
                let end = try job.perform(command)
                #expect(
                    end.status == 74 && end.errors.contains("database of another program"), "\(sql) \(command) \(end)")
                #expect(try bytes(job, "other.db") == before, "\(journal) \(sql) \(command)")
            }
            #expect(try job.number("SELECT count(*) FROM Price") == 6)
        }
    }

    @Test func anEmptyFileBecomesALedger() throws {
        let job = try job(ledger: "new.db")
        try job.folder.write("", to: "new.db")
        #expect(try job.retention("check").status == 0)
        #expect(try job.report("--dry-run").exitCode == 0)
        #expect(try bytes(job, "new.db").isEmpty)
        for _ in 0..<2 { #expect(try job.retention("run").status == 0) }
        #expect(try job.number("PRAGMA application_id", in: "new.db") == 0x5274_6E4C)
        #expect(try job.retention("log", "--verify").output.contains("intact: 2 runs"))
    }

    @Test(arguments: [
        "CREATE TRIGGER lie AFTER UPDATE ON run BEGIN UPDATE run SET deleted = 0; END",
        "CREATE VIEW lie AS SELECT 1", "CREATE INDEX lie ON run(store)", "CREATE TABLE lie(x)",
        "ALTER TABLE run RENAME TO lie; CREATE VIEW run AS SELECT * FROM lie",
    ])
    func aLedgerWithSomethingElseInItIsRefused(sql: String) throws {
        let job = try job(ledger: "ledger.db")
        #expect(try job.retention("run").status == 0)
        try job.change(Sample.rows(3, daysAgo: 40))
        try job.change(sql, in: "ledger.db")
        for command in [
            ["check"], ["run", "--dry-run"], ["run"], ["log"], ["log", "--verify"], ["report", "--html", "x.html"],
        ] {
            let end = try job.perform(command)
            #expect(end.status == 74 && end.errors.contains(": lie"), "\(command) \(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
        #expect(try job.retention("check", "--offline").status == 0)
    }

    @Test func sqlitesOwnTablesDoNotHarmALedger() throws {
        let job = try job(ledger: "ledger.db")
        #expect(try job.retention("run").status == 0)
        try job.change("ANALYZE", in: "ledger.db")
        #expect(try job.retention("run").status == 0)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    /// A ledger of a version that had links instead of hashes is refused as a whole.
    @Test func aLedgerOfAnEarlierVersionIsRefused() throws {
        let job = try job(ledger: "ledger.db")
        #expect(try job.retention("run").status == 0)
        try job.change("CREATE TABLE link(position INTEGER PRIMARY KEY, hash TEXT)", in: "ledger.db")
        for command in [["run"], ["run", "--dry-run"], ["check"], ["log", "--verify"]] {
            let end = try job.perform(command)
            #expect(
                end.status == 74 && end.errors.contains("if an earlier version wrote it, move it away"),
                "\(command) \(end)")
        }
    }

    @Test func theHeadOfARunIsAWitness() throws {
        let job = try job(ledger: "ledger.db")
        try job.folder.write(
            Sample.policy(
                Sample.rule(),
                head:
                    "ledger: ledger.db\non_success: [sh, -c, 'cat \"$RETENTION_REPORT\" > told.json']\nlog: { file: a.log }"
            ),
            to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        let head = try #require(job.text("a.log").firstMatch(of: /ledger_hash=([0-9a-f]{64})/)).1
        #expect(try job.text("told.json").contains("\"ledger_hash\": \"\(head)\""))
        #expect(try job.retention("log", "--json").output.contains("\"ledger_hash\": \"\(head)\""))
        let verify = try job.retention("log", "--verify", "--head", String(head).uppercased())
        #expect(verify.status == 0 && verify.output.contains("It is the given one."), "\(verify)")
        try FileManager.default.copyItem(atPath: job.path("ledger.db"), toPath: job.path("old.db"))
        let json = try job.retention("run", "--format", "json").output
        let next = try #require(json.firstMatch(of: /"ledger_hash": "([0-9a-f]{64})"/)).1
        let older = try job.retention("log", "--verify", "--head", String(head))
        #expect(older.status == 0 && older.output.contains("earlier run; 1 run has ended since"), "\(older)")
        try FileManager.default.removeItem(atPath: job.path("ledger.db"))
        try FileManager.default.copyItem(atPath: job.path("old.db"), toPath: job.path("ledger.db"))
        #expect(try job.retention("log", "--verify").status == 0)
        let replaced = try job.retention("log", "--verify", "--head", String(next))
        #expect(replaced.status == 74 && replaced.output.contains("no run has the hash \(next)"), "\(replaced)")
        try job.change("UPDATE run SET user = 'another'", in: "ledger.db")
        let changed = try job.retention("log", "--verify")
        #expect(changed.status == 74 && changed.output.hasPrefix("CHANGED: run "), "\(changed)")
        for arguments in [["log", "--head", String(head)], ["log", "--verify", "--head", "abc"]] {
            #expect(try job.perform(arguments).status == 64)
        }
    }

    @Test(arguments: [Int64.min, .max]) func foreignNumbersOverflowNothing(number: Int64) throws {
        let job = try LaunchedJob(
            Sample.price,
            policy: Sample.policy(Sample.rule(), Sample.rule(name: "two", age: "60d"), head: "ledger: l.db"))
        for _ in 0..<2 { #expect(try job.retention("run").status == 0) }
        for table in ["run", "run_rule"] {
            let sets = try job.rows(
                "SELECT name FROM pragma_table_info('\(table)') WHERE type = 'INTEGER' AND pk = 0", in: "l.db"
            )
            .map { "\"\($0)\" = \(number)" }.joined(separator: ", ")
            try job.change("UPDATE \(table) SET \(sets)", in: "l.db")
        }
        for command in [
            ["log"], ["log", "--format", "json"], ["log", "--run", "0"], ["report", "--html", "x.html"],
            ["run", "--dry-run"],
            ["run"],
        ] {
            let end = try job.perform(command)
            // Both runs have the identifier's beginning.
            #expect(
                end.status == (command.contains("--run") ? 64 : command == ["run"] && number == .max ? 74 : 0),
                "\(command) \(end.status) \(end.errors.prefix(300))"
            )
        }
        #expect(try job.retention("log", "--verify").status == 74)
    }

    @Test func internalTablesAreNoEntities() throws {
        let job = try LaunchedJob(
            "CREATE TABLE Price(id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER); INSERT INTO Price(at) VALUES (1); ANALYZE;",
            policy: Sample.policy(Sample.rule(entity: "sqlite_sequence", date: "seq")))
        for command in ["check", "run"] {
            let end = try job.retention(command)
            #expect(end.status == 78 && (end.output + end.errors).contains("sqlite_sequence"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM sqlite_sequence") == 1)
        for command in ["inspect", "init"] {
            #expect(try !job.retention(command, "prices.sqlite").output.contains("sqlite_"))
        }
    }
}
