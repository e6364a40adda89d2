import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore

/// The WAL of a store is emptied when it has grown, and what keeps it from that is told.
struct WriteAheadLogTests {
    private func store() throws -> TemporaryStore {
        try TemporaryStore(
            "PRAGMA journal_mode = WAL",
            "CREATE TABLE t(n INTEGER PRIMARY KEY, at INTEGER)",
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) INSERT INTO t SELECT n, n FROM c"
        )
    }

    private func change(_ writer: SQLiteWriter) throws {
        _ = try writer.update(StoreFetchRequest(entity: "t"), set: ["at": .integer(7)])
    }

    @Test func beyondItsBoundItIsEmptied() throws {
        let store = try store()
        let writer = try store.writer()
        writer.wal.boundBytes = 10_000
        try change(writer)
        #expect(try walSize(store) > 10_000)
        #expect(try writer.boundSideFiles() == nil)
        #expect(try walSize(store) == 0)
    }

    @Test func aReaderInTheWayIsToldOnceAndFarBeyondTheBoundNothingMoreIsWritten() throws {
        let store = try store()
        let writer = try store.writer()
        writer.wal.boundBytes = 10_000
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: store.path, configuration: configuration)
        try reader.inDatabase { try $0.execute(sql: "BEGIN; SELECT count(*) FROM t") }
        try change(writer)
        let warning = try #require(try writer.boundSideFiles())
        #expect(warning.contains("prevents the WAL from being emptied"))
        #expect(try writer.boundSideFiles() == nil)
        writer.wal.limitBytes = 10_000
        #expect { try writer.boundSideFiles() } throws: { ($0 as? StoreError)?.kind == .busy }
        try reader.inDatabase { try $0.execute(sql: "ROLLBACK") }
        #expect(try writer.boundSideFiles() == nil)
        #expect(try walSize(store) == 0)
    }

    private func walSize(_ store: TemporaryStore) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: store.path + "-wal")[.size] as? Int ?? -1
    }
}
