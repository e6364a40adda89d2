import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct DateRangeTests {
    struct Column: CustomTestStringConvertible, Sendable {
        var encoding: DateEncoding
        var type: String
        var testDescription: String { "\(encoding) in \(type)" }
    }

    private static let formats: [(DateEncoding, String)] = [
        (.native, "timestamptz"), (.native, "timestamp"), (.native, "date"), (.unixMicroseconds, "int8"),
        (.unixMilliseconds, "numeric"), (.unixSeconds, "float8"), (.unixDays, "int4"), (.yyyymmdd, "int4"),
        (.yyyymmdd, "text"), (.iso8601, "text"),
    ]
    static let columns = formats.map { Column(encoding: $0.0, type: $0.1) }

    @Test(arguments: columns, ["UTC", "Europe/Berlin", "Pacific/Kiritimati"])
    func aRangeWithTwoEndsIsTheDifferenceOfTwo(_ column: Column, zone: String) throws {
        let zone = try #require(CalendarZone(identifier: zone))
        let date = DateAttribute(
            name: "at", encoding: column.encoding, zone: zone, earliest: try #require(Instant(iso8601: "1980-01-01")))
        var values = DateRanges.ends.flatMap { end in
            [-400, -40, -2, -1, 0, 1, 2].map {
                column.encoding.value(of: end.advanced(byMicroseconds: $0 * 43_200_000_000), zone: zone).serverText
                    ?? ""
            }
        }
        if column.encoding == .iso8601 { values = DateRanges.texts }
        let rows = values.map { "('\($0)'::\(column.type))" }.joined(separator: ", ")
        let database = try TestDatabase(
            """
            CREATE TABLE r (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at \(column.type)); CREATE INDEX ON r (at);
            INSERT INTO r (at) VALUES \(rows), (NULL);
            """)
        #expect(try DateRanges.failures(date, of: "r", database.reader(zone: zone)) == [])
    }
}
