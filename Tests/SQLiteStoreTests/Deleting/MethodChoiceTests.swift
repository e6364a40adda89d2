import PriceStore
import Testing

@testable import SQLiteStore

/// How a rule's rows are found, by where they lie in the file.
struct MethodChoiceTests {
    private static let count = 60_000

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
        let request = SurveyRequest(
            entity: "price", date: DateAttribute(name: "at", encoding: .unixSeconds),
            cutoff: Instant(unixSeconds: 1_600_000_000 + Int64(expired)))
        let reader = try store.reader()
        #expect(try reader.survey(request).expiredCount == expired)
        let outline = try reader.outline(of: request)
        #expect(outline.method == method.phrase)
        #expect((outline.reason == "rows are not stored in the order of their dates") == (method == .windows))
    }
}
