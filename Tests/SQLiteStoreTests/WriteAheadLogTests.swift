import Foundation
import GRDB
import PriceObjects
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
        try writer.execute(BatchUpdateRequest(entity: "t", propertiesToUpdate: ["at": .integer(7)]))
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

    // MARK: The WAL-reset bug

    /// Pages of the WAL that are in the store, as the shared memory says. Source: sqlite.org/walformat.html, section 2.1.
    private func copiedPages(_ store: TemporaryStore) throws -> UInt32 {
        let bytes = try Data(contentsOf: URL(filePath: store.path + "-shm"))
        return bytes[96..<100].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    @Test func noWriterRestartsTheWALWhileACheckpointIsGuarded() throws {
        let store = try store()
        let writer = try store.writer()
        try change(writer)
        for guarded in [true, false] {
            let size = try walSize(store)
            var reader = guarded ? WALReader(store.path) : nil
            #expect((reader != nil) == guarded)
            // Another program's complete checkpoint.
            let other = try DatabaseQueue(path: store.path)
            try other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
            #expect(try copiedPages(store) > 0)
            try other.writeWithoutTransaction { try $0.execute(sql: "UPDATE t SET at = 8 WHERE n = 1") }
            // A WAL that is restarted is written from its beginning and does not grow.
            #expect(try (walSize(store) > size) == guarded, "\(guarded)")
            withExtendedLifetime(reader) { reader = nil }
        }
    }

    @Test func aGuardedCheckpointMovesAllPagesAndNothingWhereNothingIsLeft() throws {
        let store = try store()
        let writer = try store.writer()
        writer.wal.isGuarded = true
        try change(writer)
        let before = try copiedPages(store)
        for _ in 1...2 {
            try writer.run("moving") { writer.wal.moveToStore($0.sqliteConnection) }
            #expect(try copiedPages(store) > before)
        }
        try store.change("UPDATE t SET at = 9 WHERE n = 1")
        #expect(try store.rows("SELECT count(*), sum(at) FROM t") == ["5000|35002"])
    }

    /// Without the writer's lock SQLite goes on as if it had been asked for a passive checkpoint.
    @Test(arguments: [true, false])
    func aCheckpointWithoutTheWritersLockCopiesNothing(guarded: Bool) throws {
        let store = try store()
        let writer = try store.writer()
        writer.wal.isGuarded = guarded
        try change(writer)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: store.path, configuration: configuration)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let before = try copiedPages(store)
        _ = try writer.run("emptying") { try writer.wal.truncate($0, patience: 20) }
        #expect(try (copiedPages(store) == before) == guarded)
        // The connection is usable, and its patience is what it was.
        #expect(try writer.run("emptying") { try writer.emptyWAL(patience: 20, $0) } == false)
        try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
        #expect(try writer.run("emptying") { try writer.emptyWAL(patience: 20, $0) })
        #expect(try walSize(store) == 0)
        try change(writer)
    }

    private func walSize(_ store: TemporaryStore) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: store.path + "-wal")[.size] as? Int ?? -1
    }
}
