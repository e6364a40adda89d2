import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

struct ClockChangeTests {
    static let columns: [ClockChanges.Column] = [
        .init(.iso8601, "TEXT"), .init(.yyyymmdd, "INTEGER"), .init(.yyyymmdd, "TEXT"),
        .init(.yyyymmddhhmmss, "INTEGER"),
        .init(.yyyymmddhhmmss, "TEXT"),
    ]

    @Test(arguments: columns, ClockChanges.all)
    func localTimesAreReadAsInSwift(column: ClockChanges.Column, change: ClockChanges.Change) throws {
        let store = try TemporaryStore("CREATE TABLE r (id INTEGER PRIMARY KEY, at \(column.type))")
        try store.change { db in
            for value in column.values(change) {
                try db.execute(sql: "INSERT INTO r (at) VALUES (?)", arguments: [value.databaseValue])
            }
        }
        #expect(try ClockChanges.failures(change, column, of: "r", store.reader()) == [])
        try store.change("CREATE INDEX i ON r (at)")
        #expect(try ClockChanges.failures(change, column, of: "r", store.reader()) == [])
    }
}
