@preconcurrency import Glibc
// Owns stat where it is loaded before Glibc.
import SwiftOverlayShims
import GRDB
import GRDBSQLite
public import PriceStore

/// How large a WAL may grow while a run deletes, and what has been done about it.
///
/// Its pages are moved into the store whenever there are many of them, but SQLite begins the WAL anew only when no reader looks
/// at it. One that never ends, or many that overlap, let it grow with what is deleted.
struct WALGrowth {
    /// From here on its pages are moved into the store where others write. A writer's own connection would do so at 1,000
    /// pages, and it would be that writer who waits for the disk: with what a batch adds it stays below.
    fileprivate static let sharedPageCount = 600
    /// From here on it is emptied.
    var boundBytes: Int64 = 16 << 20
    /// From here on nothing more should be written.
    var limitBytes: Int64 = 1 << 30
    /// Tried again when it is as large as this.
    fileprivate var nextBytes: Int64 = 0
    /// How long readers are waited for. Writers wait meanwhile, so it is short.
    fileprivate static let patience: Int32 = 50
}

/// The size of a connection's WAL, as SQLite tells after each commit, and what is done about it there.
final class WALCommits {
    /// Pages in the WAL after the last commit, those of earlier checkpoints among them until it begins anew; 0: they were moved
    /// since.
    fileprivate(set) var pageCount = 0
    /// As many are moved into the store right after a commit, as SQLite itself does at 1,000. Each time the disk is waited for.
    private var mostPages = Int.max

    /// Takes the place of SQLite's own rule. This object must live as long as the connection is open.
    func listen(to db: Database, pageSize: Int) {
        pageCount = 0
        // SQLite counts pages; what matters is the room on the disk.
        mostPages = max(1, 1_500 * 4_096 / max(512, pageSize))
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pageCount in
                guard let context else { return SQLITE_OK }
                let commits = Unmanaged<WALCommits>.fromOpaque(context).takeUnretainedValue()
                commits.pageCount = Int(pageCount)
                if commits.pageCount >= commits.mostPages { commits.moveToStore(connection) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Moves the pages into the store. Writers go on meanwhile; if something is in the way, the next time will do.
    fileprivate func moveToStore(_ connection: OpaquePointer?) {
        sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        pageCount = 0
    }
}

extension SQLiteWriter {
    /// Moves the WAL's pages into the store for others, and empties the WAL if it has grown beyond its bound.
    ///
    /// - Returns: who is in the way; nil: nobody, or it was told at about this size already.
    /// - Throws: `StoreError` of kind `busy` beyond the limit.
    public func boundSideFiles() throws(StoreError) -> String? {
        if sawCompany, walCommits.pageCount >= WALGrowth.sharedPageCount {
            try run("moving the WAL to the store") { walCommits.moveToStore($0.sqliteConnection) }
        }
        let sizeBytes = walSizeBytes()
        guard sizeBytes > max(walGrowth.boundBytes, walGrowth.nextBytes) || sizeBytes > walGrowth.limitBytes else {
            return nil
        }
        let isEmptied = try run("emptying the WAL") { db in
            let waited = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
            sqlite3_busy_timeout(db.sqliteConnection, WALGrowth.patience)
            defer { sqlite3_busy_timeout(db.sqliteConnection, Int32(clamping: waited)) }
            do {
                return try Int.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)") == 0
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
            {
                return false
            }
        }
        guard !isEmptied else {
            walGrowth.nextBytes = 0
            return nil
        }
        walGrowth.nextBytes = 2 * sizeBytes
        let readers = Self.readers(of: storeIdentifier + "-shm")
        let who = readers.isEmpty ? "a reader" : readers.joined(separator: " and ") + " as a reader"
        let text = "\(who) keeps the WAL from being emptied, which has grown to \(sizeBytes) bytes"
        guard sizeBytes <= walGrowth.limitBytes else {
            throw StoreError(
                .busy, store: name, message: text, engineCode: "SQLITE_BUSY",
                hint: "end that reader's transaction; the next run continues")
        }
        return text
    }

    private func walSizeBytes() -> Int64 {
        var status = stat()
        return stat(storeIdentifier + "-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The processes that have a snapshot of a WAL store open, by the kernel's list of locks: `process 4711 (sqlite3)`.
    private static func readers(of path: String) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        var found: [String] = []
        // The bytes that readers lock. Source: sqlite.org/walformat.html, section 2.3.
        let readMarks = 123...127
        for lock in KernelFile.locks(ofInode: UInt64(status.st_ino)) where lock.processID != getpid() {
            guard let first = lock.firstByte, readMarks.contains(first) else { continue }
            let command = KernelFile.read("/proc/\(lock.processID)/comm").prefix { $0 != "\n" }
            let text = "process \(lock.processID)" + (command.isEmpty ? "" : " (\(command))")
            if !found.contains(text) { found.append(text) }
        }
        return found
    }
}
