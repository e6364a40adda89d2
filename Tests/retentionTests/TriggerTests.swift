import Foundation
import Testing

/// The store's own triggers, and schemas that SQLite cannot compile: what the run does or refuses, `check` and the dry run
/// say before.
struct TriggerTests {
    private static let quote = """
        CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
        CREATE INDEX Quote_price ON Quote(price);
        CREATE TABLE Audit(price INTEGER, note TEXT);

        """

    // MARK: What triggers delete

    @Test(arguments: ["DELETE", "WAL"]) func rowsThatTriggersDeleteAreNamedAndCounted(_ journal: String) throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Self.quote + Sample.rows(5, daysAgo: 100)
                + Sample.rows(1, daysAgo: 0) + """
                    INSERT INTO Quote(price) SELECT id FROM Price WHERE id <= 2;
                    INSERT INTO Audit SELECT id, 'one' FROM Price UNION ALL SELECT id, 'two' FROM Price;
                    CREATE TRIGGER Price_audit AFTER DELETE ON Price BEGIN
                        DELETE FROM Audit WHERE price = OLD.id AND note = 'one';
                    END;
                    CREATE TRIGGER Quote_audit BEFORE DELETE ON Quote BEGIN
                        DELETE FROM Audit WHERE price = OLD.price AND note = 'two';
                    END;
                    """, policy: Sample.policy(Sample.rule("batch: { rows: 2 }")))
        let inspection = try job.retention("inspect", "prices.sqlite").output
        #expect(inspection.contains("deleting rows fires the trigger Price_audit"))
        #expect(inspection.contains("deleting rows fires the trigger Quote_audit"))
        let names = "the triggers Price_audit of Price"
        #expect(try job.retention("check").output.contains(names))
        let dry = try job.retention("run", "--dry-run").output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(dry.contains(names) && dry.contains("Quote_audit of Quote") && dry.contains("not counted"))
        #expect(dry.contains("A run would delete 7 rows (5 expired, 2 by cascades)"))
        let end = try job.retention("run")
        #expect(end.status == 0)
        #expect(end.output.contains("triggers of the store deleted 7 rows of Audit"), "\(end)")
        #expect(end.output.contains("Deleted 14 rows (5 expired, 2 by cascades, 7 by triggers)"))
        #expect(end.errors.contains("trigger_deleted=7"))
        #expect(try job.number("SELECT count(*) FROM Audit") == 5)
        #expect(
            try job.rows("SELECT deleted_by_triggers FROM run_rule", in: "retention.ledger.sqlite") == ["7 Audit"])
        #expect(try job.retention("log", "--format", "json").output.contains("\"trigger_deleted\": 7"))
        #expect(try job.retention("log", "--verify").status == 0)
    }

    /// A trigger on UPDATE runs where a row loses its reference, and one that calls RAISE may stop the run.
    @Test(arguments: ["", "relationships: nullify"]) func triggersOfLostReferencesAreNamed(_ word: String) throws {
        let action = word.isEmpty ? "ON DELETE SET NULL" : ""
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + """
                CREATE TABLE Tag(id INTEGER PRIMARY KEY, n, "a price" INTEGER REFERENCES Price(id) \(action));
                INSERT INTO Tag("a price") VALUES (1), (2);
                CREATE TRIGGER guard AFTER UPDATE OF n, "a price" ON Tag WHEN OLD.id = 2
                BEGIN SELECT RAISE(ABORT, 'tag 2 stays'); END;
                CREATE TRIGGER aside AFTER UPDATE OF n ON Tag BEGIN SELECT 1; END;
                CREATE TRIGGER note AFTER UPDATE ON Tag BEGIN SELECT 1; END;
                CREATE TRIGGER fence BEFORE DELETE ON Price WHEN OLD.id = 99 BEGIN SELECT RAISE(ABORT, 'kept'); END;
                """, policy: Sample.policy(Sample.rule(word)))
        for arguments in [["check"], ["run", "--dry-run"]] {
            let text = try job.perform(arguments).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            for name in [
                "fence of Price (may refuse the delete)", "guard of Tag (may refuse the delete)", "note of Tag",
            ] {
                #expect(text.contains(name), "\(text)")
            }
            #expect(!text.contains("note of Tag (may") && !text.contains("aside"))
        }
        let end = try job.retention("run")
        #expect(end.status == 65 && end.output.contains("tag 2 stays"), "\(end)")
    }

    @Test(arguments: ["CREATE INDEX t_at ON t(at);", ""], ["DELETE", "WAL"])
    func aTriggerThatInsertsExpiredRowsDoesNotKeepARunForEver(_ index: String, _ journal: String) throws {
        let job = try LaunchedJob(
            """
            PRAGMA journal_mode = \(journal);
            CREATE TABLE t(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER); \(index)
            \(Sample.rows(200, daysAgo: 100, in: "t") + Sample.rows(1, daysAgo: 0, in: "t"))
            CREATE TRIGGER t_back AFTER DELETE ON t BEGIN INSERT INTO t(at) VALUES (OLD.at); END;
            """, policy: Sample.policy(Sample.rule("batch: { rows: 30 }", entity: "t")))
        let end = try job.retention("run")
        #expect(end.status == 65, "\(end)")
        let said = "200 rows were deleted, and as many expired rows are left as before: 200; a trigger (t_back of t)"
        #expect(end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(said), "\(end)")
        #expect(try job.number("SELECT count(*) FROM t") == 201)
    }

    // MARK: What cannot be compiled

    /// Whatever the run refuses because of the schema, the check and the dry run refuse in the same words.
    @Test(
        arguments: [
            ("CREATE TABLE Old(id INTEGER PRIMARY KEY); ALTER TABLE Price ADD COLUMN old REFERENCES Gone(id)", "Gone"),
            ("ALTER TABLE Price ADD COLUMN up INTEGER REFERENCES Quote(price)", "mismatch"),
            ("CREATE TRIGGER q AFTER DELETE ON Quote BEGIN SELECT unknown(OLD.id); END", "unknown"),
            ("CREATE TRIGGER q AFTER DELETE ON Quote BEGIN DELETE FROM Gone; END", "Gone"),
            (
                "CREATE TABLE Tag(rowid, oid, _rowid_, quote INTEGER REFERENCES Quote ON DELETE CASCADE)",
                "the columns of Tag hide its rowid"
            ),
            (
                "CREATE VIEW v AS SELECT * FROM Gone; CREATE TRIGGER q AFTER DELETE ON Quote BEGIN SELECT * FROM v; END",
                "Gone"
            ),
            ("CREATE TRIGGER q AFTER DELETE ON Quote WHEN OLD.id = 'x' COLLATE other BEGIN SELECT 1; END", "other"),
            (
                """
                CREATE TABLE Tag(price INTEGER REFERENCES Price(id) ON DELETE SET NULL);
                CREATE TRIGGER q AFTER UPDATE ON Tag BEGIN SELECT unknown(1); END
                """, "unknown"
            ),
            (
                """
                CREATE TABLE Leaf(quote INTEGER REFERENCES Quote(id) ON DELETE CASCADE);
                CREATE TRIGGER q AFTER DELETE ON Leaf BEGIN INSERT INTO Gone VALUES (1); END
                """, "Gone"
            ),
            ("CREATE TABLE Leaf(quote INTEGER REFERENCES Quote(price) ON DELETE CASCADE)", "mismatch"),
        ], ["DELETE", "WAL"])
    func whatCannotBeCompiledIsRefusedEverywhere(_ test: (sql: String, word: String), _ journal: String) throws {
        let job = try LaunchedJob(
            "PRAGMA foreign_keys = OFF; PRAGMA journal_mode = \(journal);" + Sample.price + Self.quote
                + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + "INSERT INTO Quote(price) VALUES (1);"
                + test.sql, policy: Sample.policy(Sample.rule()))
        let check = try job.retention("check")
        #expect(check.status == 78 && check.output.contains(test.word), "\(check)")
        #expect(check.output.contains("will be refused (unsupported_schema)"))
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments)
            #expect(report.exitCode == 65)
            #expect(report.rules[0].refusal == "unsupported_schema", "\(report)")
            #expect(report.rules[0].message?.contains(test.word) == true, "\(report)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }

    /// The rule's override reaches rows that the schema's would not.
    @Test(arguments: ["nullify", "cascade"]) func theRulesOverrideIsCompiledToo(_ word: String) throws {
        let event = word == "nullify" ? "UPDATE" : "DELETE"
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + """
                CREATE TABLE Tag(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id));
                CREATE INDEX Tag_price ON Tag(price);
                INSERT INTO Tag(price) VALUES (1);
                CREATE TRIGGER q AFTER \(event) ON Tag BEGIN SELECT unknown(1); END;
                """, policy: Sample.policy(Sample.rule("relationships: \(word)")))
        #expect(try job.retention("check").output.contains("unsupported_schema"))
        #expect(try job.report("--dry-run").rules[0].refusal == "unsupported_schema")
        #expect(try job.report().rules[0].refusal == "unsupported_schema")
    }

    // MARK: Rules in numbers

    private func manyRules(_ count: Int, _ filter: (Int) -> String) throws -> LaunchedJob {
        let rules = (0..<count).map { "  - " + Sample.rule(filter($0), name: "r\($0)") + "\n" }.joined()
        return try LaunchedJob(
            Sample.price + (0..<10).map { Sample.rows(3, daysAgo: 100, symbol: "S\($0)") }.joined()
                + Sample.rows(1, daysAgo: 0), policy: "version: 1\nstore: prices.sqlite\nrules:\n" + rules)
    }

    @Test func aThousandRulesForOneEntityAreCarriedOut() throws {
        let job = try manyRules(1_000) { "where: { symbol: S\($0) }" }
        let report = try job.report()
        #expect(report.exitCode == 0 && report.totals.expired == 30)
        #expect(try job.number("SELECT count(*) FROM Price") == 1)
    }

    @Test func tooManyRulesThatMayNameTheSameRowsAreAMistake() throws {
        let job = try manyRules(101) { "where: { id: { gt: \($0) } }" }
        try job.expectEverywhere(78, "100 rules before this one may delete the same rows of Price")
        #expect(try job.number("SELECT count(*) FROM Price") == 31)
        let fewer = try manyRules(100) { "where: { id: { gt: \($0) } }" }
        #expect(try fewer.retention("run").status == 0)
        #expect(try fewer.number("SELECT count(*) FROM Price") == 1)
    }

    // MARK: Rules together
}
