import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct ClockChangeTests {
    static let columns: [ClockChanges.Column] = [
        .init(.native, "timestamp"), .init(.native, "date"), .init(.iso8601, "text"), .init(.yyyymmdd, "int8"),
        .init(.yyyymmdd, "text"), .init(.yyyymmddhhmmss, "int8"), .init(.yyyymmddhhmmss, "text"),
    ]

    @Test(arguments: columns, Trials.cases(ClockChanges.all))
    func localTimesAreReadAsInSwift(column: ClockChanges.Column, change: ClockChanges.Change) throws {
        let zone = try #require(CalendarZone(identifier: change.zone))
        let rows = column.values(change).map { "('\($0.serverText ?? "")'::\(column.type))" }.joined(separator: ", ")
        let database = try TestDatabase(
            """
            CREATE TABLE r (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at \(column.type)); CREATE INDEX ON r (at);
            INSERT INTO r (at) VALUES \(rows);
            """)
        #expect(try ClockChanges.failures(change, column, of: "r", database.reader(zone: zone)) == [])
    }
}
