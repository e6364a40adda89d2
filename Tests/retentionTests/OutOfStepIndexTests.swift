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

    private static let files = """
        pending:
          - { files: in/*.csv, entity: Price, on_conflict: replace }
          - { files: quotes/*.csv, entity: Quote, on_conflict: replace }
        """

    /// Two files for each of two entities.
    private func addFiles(to job: LaunchedJob, id: Int) throws {
        let quotes = Sample.rule(name: "quotes", entity: "Quote")
        try job.folder.write(Sample.policy(Sample.rule(), quotes, head: Self.files), to: "retention.yaml")
        for folder in ["in", "quotes"] {
            try FileManager.default.createDirectory(
                atPath: job.path(folder), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            let rows = "id,symbol,price,at\n\(id),XAUUSD,2.5,\(Sample.unixSeconds(0))\n"
            for file in ["a.csv", "b.csv"] { try job.folder.write(rows, to: "\(folder)/\(file)") }
        }
    }

    /// A line that replaces a row fails like a delete.
    @Test func aPendingFileWaitsAndTheRulesOfOtherEntitiesAreCarriedOut() throws {
        let job = try job(
            """
            CREATE TRIGGER Price_update AFTER UPDATE ON Price BEGIN
            INSERT INTO "Price text"("Price text", rowid, symbol) VALUES ('delete', old.id, old.symbol);
            INSERT INTO "Price text"(rowid, symbol) VALUES (new.id, new.symbol); END;
            INSERT INTO "Price text"("Price text") VALUES ('delete-all');
            """)
        try addFiles(to: job, id: 41)
        let report = try job.report()
        #expect(report.exitCode == 65 && report.failure == nil, "\(report)")
        #expect(report.pending.files == 2 && report.pending.saved == 2 && report.pending.rejected == 0)
        #expect(report.rules.map(\.outcome) == ["failed", "completed"])
        #expect(report.rules.map(\.deleted) == [0, 40] && report.rules[0].residue == 40)
        let message = try #require(report.rules[0].message)
        #expect(message.contains("pending rows of Price cannot be imported"), "\(message)")
        #expect(message.contains("the virtual table Price text is out of step"), "\(message)")
        let remedy = try #require(message.firstMatch(of: #/execute (INSERT INTO .*'rebuild'\))/#)).1
        #expect(try job.listing().filter { $0.hasPrefix("in/") } == ["in/a.csv", "in/b.csv"])
        try job.change(String(remedy))
        let next = try job.report()
        #expect(next.exitCode == 0 && next.pending.saved == 2 && next.totals.deleted == 40, "\(next)")
    }

    /// A constraint of the index's own tables has no name.
    @Test func aLineThatTheIndexRefusesNamesTheIndex() throws {
        let job = try LaunchedJob(
            Sample.price + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
                CREATE VIRTUAL TABLE texts USING fts5(symbol);
                CREATE TRIGGER Price_insert AFTER INSERT ON Price BEGIN
                INSERT INTO texts(rowid, symbol) VALUES (new.id, new.symbol); END;

                """ + Sample.rows(5, daysAgo: 0) + Sample.rows(5, daysAgo: 0, in: "Quote")
                + "INSERT INTO texts_content(id, c0) VALUES (50, 'x');", policy: "")
        try addFiles(to: job, id: 50)
        #expect(try job.report().pending.rejected == 2)
        let rejected = try job.text("in/a.csv.rejected")
        #expect(rejected.contains("# line 2: the virtual table texts is out of step"), "\(rejected)")
        #expect(rejected.contains("execute INSERT INTO \"texts\"(\"texts\") VALUES('rebuild')"), "\(rejected)")
    }
}
