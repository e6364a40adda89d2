import Foundation
import Testing

/// A full-text index that does not agree with the rows that it indexes.
struct OutOfStepIndexTests {
    /// An index of texts that were changed behind its back: each delete of a row fails with SQLITE_CORRUPT_VTAB.
    private func job(_ more: String = "") throws -> LaunchedJob {
        let name = "Price text"
        return try LaunchedJob(
            Sample.price + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
                CREATE VIRTUAL TABLE "\(name)" USING fts5(symbol, content='Price', content_rowid='id');
                CREATE TRIGGER Price_insert AFTER INSERT ON Price BEGIN
                INSERT INTO "\(name)"(rowid, symbol) VALUES (new.id, new.symbol); END;
                CREATE TRIGGER Price_delete AFTER DELETE ON Price BEGIN
                INSERT INTO "\(name)"("\(name)", rowid, symbol) VALUES ('delete', old.id, old.symbol); END;
                CREATE VIRTUAL TABLE other USING fts5(a);

                """ + Sample.rows(40, daysAgo: 100) + Sample.rows(5, daysAgo: 0)
                + Sample.rows(40, daysAgo: 100, in: "Quote") + Sample.rows(5, daysAgo: 0, in: "Quote")
                + "UPDATE Price SET symbol = 'quite another text';" + more,
            policy: Sample.policy(
                Sample.rule(),
                "{ name: quotes, entity: Quote, date_attribute: at, date_format: unix_seconds, max_age: 30d }"))
    }

    @Test func failsItsRuleAloneAndTheMessageRepairsIt() throws {
        let job = try job()
        #expect(try job.retention("check").status == 0)
        #expect(try job.report("--dry-run").totals.expired == 80)
        let report = try job.report()
        #expect(report.exitCode == 65, "\(report)")
        #expect(report.rules.map(\.outcome) == ["failed", "completed"])
        #expect(report.rules.map(\.deleted) == [0, 40] && report.rules[0].residue == 40)
        let message = try #require(report.rules[0].message)
        #expect(message.contains("the virtual table Price text is out of step"), "\(message)")
        #expect(message.contains("SQLITE_CORRUPT_VTAB") && !message.contains("backup"), "\(message)")
        let remedy = try #require(message.firstMatch(of: #/run (INSERT INTO .*'rebuild'\))/#)).1
        try job.change(String(remedy))
        #expect(try job.report().totals.deleted == 40)
    }
}
