import PriceStore
import TestSupport
import Testing

@testable import SQLiteStore

/// How a rule's rows are found, by where they lie in the file.
struct MethodChoiceTests {
    private static let count = 60_000

    /// A table, and the index by which its rows are found in the order of their dates.
    struct Table: CustomTestStringConvertible, Sendable {
        var definition: String
        var indexes = ""
        /// The date of row `n`.
        var date = "1700000000 + n / 5 * 86400"
        var encoding = DateEncoding.unixSeconds
        var found: String?
        /// Why an index is not used; nil: there is none.
        var obstacle: String?
        var testDescription: String { "\(definition) \(indexes)" }
    }

    private static let iso = "strftime('%Y-%m-%dT%H:%M:%SZ', 1700000000 + n / 5 * 86400, 'unixepoch')"

    static let tables = [
        Table(
            definition: "at TEXT, s TEXT, PRIMARY KEY (at, s)) WITHOUT ROWID --", date: iso, encoding: .iso8601,
            found: "primary key"),
        Table(
            definition: "at TEXT, s TEXT", indexes: "CREATE INDEX i ON price (at DESC)", date: iso, encoding: .iso8601,
            found: "i"),
        // The smaller one.
        Table(
            definition: "at INTEGER, s TEXT",
            indexes:
                "CREATE INDEX i ON price (at, s); CREATE INDEX j ON price (at); CREATE INDEX k ON price (at, s DESC)",
            found: "j"),
        Table(
            definition: "at TEXT COLLATE NOCASE, s TEXT", indexes: "CREATE INDEX i ON price (at)", date: iso,
            encoding: .iso8601,
            obstacle: "the index i exists, but it is in the order of the collation NOCASE"),
    ]

    /// Thirty rows, five of each day, of which those of five days are expired.
    @Test(arguments: tables) func rowsAreFoundByTheIndexThatServes(_ table: Table) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (\(table.definition))", table.indexes,
            "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 29) "
                + "INSERT INTO price (at, s) SELECT \(table.date), 's' || n FROM n")
        let request = SurveyRequest(
            entity: "price", date: DateAttribute(name: "at", encoding: table.encoding),
            cutoff: Instant(unixSeconds: 1_700_000_000 + 5 * 86_400))
        let survey = try store.reader().survey(request)
        #expect(survey.expiredCount == 25 && survey.index.obstacle == table.obstacle)
        #expect(try store.reader().findings(request).index.name == table.found)
        let isKey = table.definition.contains("WITHOUT ROWID")
        for (method, rows) in [(table.found == nil ? DeleteMethod.windows : .range, 3), (isKey ? .keys : .windows, 7)] {
            let copy = try store.copy()
            #expect(try copy.writer().deleteAll(request, method: method, batchRows: rows).total.deletedCount == 25)
            #expect(try copy.rows("SELECT count(*), min(s), max(s) FROM price") == ["5|s25|s29"])
        }
    }

    /// Rows in the order of their dates, in random order, and in random order where few of them expire.
    @Test(arguments: [
        ("n", 55_000, DeleteMethod.range), ("n * 7919 % \(count)", 55_000, .windows),
        ("n * 7919 % \(count)", 1000, .range),
    ])
    func manyRowsThatAreNotInDateOrderGoByWindows(_ date: String, _ expired: Int, _ method: DeleteMethod) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, note TEXT)",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < \(Self.count - 1))
            INSERT INTO price SELECT n, 1600000000 + \(date), 'a tick of a feed' FROM n
            """, "CREATE INDEX price_at ON price (at)")
        let request = SurveyRequest.rows(of: "price", before: 1_600_000_000 + Int64(expired))
        let reader = try store.reader()
        #expect(try reader.survey(request).expiredCount == expired)
        let outline = try reader.outline(of: request)
        #expect(outline.method == method.phrase)
        #expect((outline.reason == "rows are not stored in the order of their dates") == (method == .windows))
    }
}
