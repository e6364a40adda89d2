import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct DateRangeTests {
    static let columns: [DateRanges.Column] = [
        .init(.native, "timestamptz"), .init(.native, "timestamp"), .init(.native, "date"),
        .init(.unixMicroseconds, "int8"), .init(.unixMilliseconds, "numeric"), .init(.unixSeconds, "float8"),
        .init(.unixDays, "int4"), .init(.yyyymmdd, "int4"), .init(.yyyymmdd, "text"), .init(.iso8601, "text"),
    ]

    @Test(arguments: columns, DateRanges.zones)
    func aRangeWithTwoEndsIsTheDifferenceOfTwo(_ column: DateRanges.Column, zone name: String) throws {
        let zone = try #require(CalendarZone(identifier: name))
        let rows = column.values(in: zone).map { "('\($0.serverText ?? "")'::\(column.type))" }.joined(separator: ", ")
        let database = try TestDatabase(
            """
            CREATE TABLE r (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at \(column.type)); CREATE INDEX ON r (at);
            INSERT INTO r (at) VALUES \(rows), (NULL);
            """)
        #expect(try DateRanges.failures(column.date(in: zone), of: "r", database.reader(zone: zone)) == [])
    }
}
