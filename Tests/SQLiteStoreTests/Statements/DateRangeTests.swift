import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

struct DateRangeTests {
    static let columns: [DateRanges.Column] = [
        .init(.unixSeconds, "INTEGER"), .init(.unixMilliseconds, ""), .init(.appleSeconds, "REAL"),
        .init(.unixDays, "INTEGER"), .init(.julianDay, "REAL"), .init(.yyyymmdd, "INTEGER"), .init(.yyyymmdd, "TEXT"),
        .init(.yyyymmddhhmmss, ""), .init(.iso8601, "TEXT"), .init(.iso8601, ""),
    ]

    @Test(arguments: columns, DateRanges.zones)
    func aRangeWithTwoEndsIsTheDifferenceOfTwo(_ column: DateRanges.Column, zone name: String) throws {
        let zone = try #require(CalendarZone(identifier: name))
        let date = column.date(in: zone)
        let store = try TemporaryStore("CREATE TABLE r (id INTEGER PRIMARY KEY, at \(column.type))")
        try store.change { db in
            for value in column.values(in: zone) + [.null, .integer(0), .real(1e300), .text("gold")] {
                try db.execute(sql: "INSERT INTO r (at) VALUES (?)", arguments: [value.databaseValue])
            }
        }
        #expect(try DateRanges.failures(date, of: "r", store.reader()) == [])
        try store.change("CREATE INDEX i ON r (at)")
        #expect(try DateRanges.failures(date, of: "r", store.reader()) == [])
    }

    @Test func aDeleteKeepsToBothEnds() throws {
        let store = try TemporaryStore(
            "CREATE TABLE r (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX i ON r (at)",
            "INSERT INTO r (at) VALUES (100), (200), (300), (400)")
        let range = DateRange(
            DateAttribute(name: "at", encoding: .unixSeconds), from: Instant(unixSeconds: 200),
            before: Instant(unixSeconds: 400))
        let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "r", predicate: .date(range)))
        #expect(try store.writer().executeAll(DeleteWork(request)).map(\.deletedCount).reduce(0, +) == 2)
        #expect(try store.rows("SELECT at FROM r") == ["100", "400"])
    }

    /// Beyond 2^53 a double stands for several integers, so each storage class has its own bound.
    @Test(arguments: [(1 << 60) - 100, 1 << 60, (1 << 60) + 100] as [Int64])
    func integersAndDoublesAreComparedWithTheirOwnBounds(_ integer: Int64) throws {
        let bound = NumericBound(integer: integer, real: 0x1p60)
        let ends: [DateKey] = [
            .integer(.min), .real(-0x1p63), .integer(.max), .real(0x1p63), .real(-1e300), .real(2.5),
        ]
        let keys =
            ends + (-2...2).flatMap { [.integer(1 << 60 + 100 * $0), .real(0x1p60 + 256 * Double($0))] as [DateKey] }
        let signs: [(StorePredicate.Operator, (DateKey) -> Bool)] = [
            (.less, { !$0.isAtLeast(bound) }), (.greaterOrEqual, { $0.isAtLeast(bound) }),
            (.lessOrEqual, { $0.isAtMost(bound) }), (.greater, { !$0.isAtMost(bound) }),
        ]
        let sql = DateSQL(
            date: DateAttribute(name: "at", encoding: .unixSeconds), column: "at", affinity: .none, function: nil)
        try TemporaryStore("CREATE TABLE r (id INTEGER PRIMARY KEY, at)").change { db in
            for (id, key) in keys.enumerated() {
                try db.execute(
                    sql: "INSERT INTO r VALUES (?, ?)", arguments: [id, key.storeValue.databaseValue])
            }
            for (comparison, isFound) in signs {
                let condition = sql.compare(comparison, bound)
                let found = try Int.fetchAll(
                    db, sql: "SELECT id FROM r WHERE \(condition.text) ORDER BY id",
                    arguments: condition.statementArguments)
                #expect(found == keys.indices.filter { isFound(keys[$0]) }, "\(comparison)")
            }
            let sorted = keys.indices.sorted { keys[$0] < keys[$1] || !(keys[$1] < keys[$0]) && $0 < $1 }
            #expect(try Int.fetchAll(db, sql: "SELECT id FROM r ORDER BY at, id") == sorted)
        }
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
                arguments: condition.statementArguments
            ).map { $0["detail"] as String }
        }
        #expect(plan == ["SEARCH r USING COVERING INDEX i (at>? AND at<?)"])
    }
}
