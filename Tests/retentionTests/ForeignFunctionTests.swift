import Foundation
import Testing

/// Tables whose constraints, columns and triggers call functions that only their own programs define.
struct ForeignFunctionTests {
    private static let head = "archive: { folder: archive, keep: 30d }\nledger: ledger.sqlite"

    /// A store in which a call of `abs` becomes one of a function that SQLite does not know, as in a store of an application.
    private func job(_ price: String, _ more: String = "", rule: String = Sample.rule()) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL\(price), at INTEGER);"
                + Sample.rows(4, daysAgo: 100) + Sample.rows(2, daysAgo: 0) + more + """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(sql, 'abs(', 'app_ok(');
                    PRAGMA writable_schema = RESET;
                    """, policy: Sample.policy(rule, head: Self.head))
        try job.makeFolder("archive")
        return job
    }

    @Test(arguments: [
        (" CHECK (abs(price) > 0)", ""), (", n AS (abs(price)) STORED", ""), (", n AS (abs(price))", ""),
        (
            "",
            """
            CREATE TABLE Tag(price INTEGER REFERENCES Price(id) ON DELETE CASCADE, n CHECK (abs(n) > 0));
            INSERT INTO Tag VALUES (1, 1);
            """
        ),
        (
            "",
            """
            CREATE TABLE Tag(price INTEGER, n CHECK (abs(n) > 0)); INSERT INTO Tag VALUES (1, 1);
            CREATE TRIGGER t AFTER DELETE ON Price BEGIN DELETE FROM Tag WHERE price = OLD.id; END;
            """
        ),
    ])
    func rowsThatCouldNotBeInsertedAgainAreNotArchived(_ price: String, _ more: String) throws {
        let job = try job(price, more)
        let check = try job.retention("check")
        #expect(check.status == 78 && check.output.contains("not_archivable"), "\(check)")
        for arguments in [["--dry-run"], []] {
            let rule = try job.report(arguments).rules[0]
            let reason =
                /cannot insert rows into (Price|Tag): (no such function: app_ok|unknown function: app_ok\(\)), so/
            #expect(rule.refusal == "not_archivable" && rule.message?.contains(reason) == true, "\(rule)")
        }
        #expect(try job.number("SELECT count(*) FROM sqlite_schema WHERE name = 'Price'") == 1)
        try job.folder.write(Sample.policy(Sample.rule("archive: none"), head: Self.head), to: "retention.yaml")
        #expect(try job.report("--accept", "policy_widened").totals.deleted == 4)
    }

    /// What no delete reaches does not matter.
    @Test func anotherTableMayCallAnything() throws {
        let job = try job("", "CREATE TABLE Tag(n CHECK (abs(n) > 0)); CREATE INDEX i ON Tag(abs(n));")
        #expect(try job.report().totals.deleted == 4)
        #expect(try job.retention("undo", try job.log()[0].run).status == 0)
    }
}
