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
