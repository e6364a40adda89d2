import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

struct DateRangeTests {
    struct Column: CustomTestStringConvertible, Sendable {
        var encoding: DateEncoding
        var type: String
        var testDescription: String { "\(encoding) in \(type)" }
    }

    private static let formats: [(DateEncoding, String)] = [
        (.unixSeconds, "INTEGER"), (.unixMilliseconds, ""), (.appleSeconds, "REAL"), (.unixDays, "INTEGER"),
        (.julianDay, "REAL"), (.yyyymmdd, "INTEGER"), (.yyyymmdd, "TEXT"), (.yyyymmddhhmmss, ""), (.iso8601, "TEXT"),
        (.iso8601, ""),
    ]
    static let columns = formats.map { Column(encoding: $0.0, type: $0.1) }

    @Test(arguments: columns, ["UTC", "Europe/Berlin", "Pacific/Kiritimati"])
    func aRangeWithTwoEndsIsTheDifferenceOfTwo(_ column: Column, zone: String) throws {
        let date = DateAttribute(
            name: "at", encoding: column.encoding, zone: try #require(CalendarZone(identifier: zone)),
            earliest: try #require(Instant(iso8601: "1980-01-01")))
        var values = DateRanges.ends.flatMap { end in
            [-400, -40, -2, -1, 0, 1, 2].map {
                column.encoding.value(of: end.advanced(byMicroseconds: $0 * 43_200_000_000), zone: date.zone)
            }
        }
        if column.encoding == .iso8601 { values = DateRanges.texts.map { .text($0) } }
        let store = try TemporaryStore("CREATE TABLE r (id INTEGER PRIMARY KEY, at \(column.type))")
        try store.change { db in
            for value in values + [.null, .integer(0), .real(1e300), .text("gold")] {
                try db.execute(sql: "INSERT INTO r (at) VALUES (?)", arguments: [value.databaseValue])
            }
        }
        #expect(try DateRanges.failures(date, of: "r", store.reader()) == [])
        try store.change { try $0.execute(sql: "CREATE INDEX i ON r (at)") }
        #expect(try DateRanges.failures(date, of: "r", store.reader()) == [])
    }

    @Test func aDeleteKeepsToBothEnds() throws {
        let store = try TemporaryStore(
            "CREATE TABLE r (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX i ON r (at)",
            "INSERT INTO r (at) VALUES (100), (200), (300), (400)")
        let range = DateRange(
            DateAttribute(name: "at", encoding: .unixSeconds), from: Instant(unixSeconds: 200),
            before: Instant(unixSeconds: 400))
        #expect("\(range)" == "at from 1970-01-01T00:03:20Z before 1970-01-01T00:06:40Z")
        let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "r", predicate: .date(range)))
        #expect(try store.writer().executeAll(DeleteWork(request)).map(\.deletedCount).reduce(0, +) == 2)
        #expect(try store.rows("SELECT at FROM r") == ["100", "400"])
    }

    /// What makes a forecast quick: rows before the range are not looked at.
    @Test(arguments: [DateEncoding.unixSeconds, .iso8601])
    func anIndexIsSearchedForBothEnds(_ encoding: DateEncoding) throws {
        let store = try TemporaryStore("CREATE TABLE r (id INTEGER PRIMARY KEY, at)", "CREATE INDEX i ON r (at)")
        let plan = try store.change { db in
            let function =
                encoding == .iso8601 ? try DateFunction(.init(encoding: encoding, zone: .utc), number: 0, db) : nil
            let condition = DateSQL(
                date: DateAttribute(name: "at", encoding: encoding), column: "at", affinity: .none, function: function
            ).readable(from: Instant(unixSeconds: 1_700_000_000), before: Instant(unixSeconds: 1_800_000_000))
            return try Row.fetchAll(
                db, sql: "EXPLAIN QUERY PLAN SELECT count(*) FROM r WHERE " + condition.text,
                arguments: StatementArguments(condition.arguments)
            ).map { $0["detail"] as String }
        }
        #expect(plan == ["SEARCH r USING COVERING INDEX i (at>? AND at<?)"])
    }
}
