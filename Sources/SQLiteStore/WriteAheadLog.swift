@preconcurrency import Glibc
// Owns stat where it is loaded before Glibc.
import SwiftOverlayShims
import GRDB
import GRDBSQLite
package import PriceStore

/// The WAL of a connection that writes: how large it may grow, and what is done about it.
///
/// Its pages are moved into the store whenever there are many of them, but SQLite restarts the WAL only when no reader
/// uses it. A reader that never ends, or many that overlap, let it grow with each batch.
final class WriteAheadLog {
    /// From here on it is emptied.
    var boundBytes: Int64 = 16 << 20
    /// From here on nothing more should be written.
    var limitBytes: Int64 = 1 << 30
    /// Tried again when it is as large as this.
    fileprivate var nextBytes: Int64 = 0
    /// Pages in the WAL after the last commit, including those of earlier checkpoints until it restarts; 0: they have
    /// been moved since.
    fileprivate var pageCount = 0
    /// As many are moved into the store right after a commit, as SQLite itself does at 1,000. Each time the disk is waited for.
    private var mostPages = Int.max

    /// From here on its pages are moved into the store where others write. A writer's own connection would do so at 1,000
    /// pages, and it would be that writer who waits for the disk: with what a batch adds it stays below.
    fileprivate static let sharedPageCount = 600
    /// How long readers are waited for. Writers wait meanwhile, so it is short.
    fileprivate static let patience: Int32 = 50

    /// Takes the place of SQLite's own rule. This object must live as long as the connection commits.
    fileprivate func listen(to db: Database, pageSize: Int) {
        // SQLite counts pages; what matters is the room on the disk.
        mostPages = max(1, 1_500 * 4_096 / max(512, pageSize))
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pageCount in
                guard let context else { return SQLITE_OK }
                let wal = Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
                wal.pageCount = Int(pageCount)
                if wal.pageCount >= wal.mostPages { wal.moveToStore(connection) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Moves the pages into the store. Writers continue meanwhile; if something prevents it, it is tried again later.
    fileprivate func moveToStore(_ connection: OpaquePointer?) {
        sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        pageCount = 0
    }
}

extension SQLiteWriter {
    /// In WAL mode a commit need not be synced: after a power failure the last batches may be there again, and the next
    /// run deletes them again; the file is sound. What must not be lost asks for ``Durability/full``.
    func preferFewSyncs() throws(StoreError) {
        try run("setting the connection up") { db in
            if try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal" {
                try db.execute(sql: "PRAGMA main.synchronous = NORMAL")
                try wal.listen(to: db, pageSize: pragma("page_size", db))
            }
        }
    }

    /// Moves the WAL's pages into the store on behalf of others, and empties the WAL if it has grown beyond its limit.
    ///
    /// - Returns: the process that prevents it; nil: none, or it was reported at about this size already.
    /// - Throws: `StoreError` of kind `busy` beyond the limit.
    package func boundSideFiles() throws(StoreError) -> String? {
        try archiver?.file.boundWAL()
        if otherUsers.wereSeen, wal.pageCount >= WriteAheadLog.sharedPageCount {
            try run("moving the WAL to the store") { wal.moveToStore($0.sqliteConnection) }
        }
        let sizeBytes = StoreFile.sizeBytes(of: storeIdentifier + "-wal")
        guard sizeBytes > max(wal.boundBytes, wal.nextBytes) || sizeBytes > wal.limitBytes else {
            return nil
        }
        let isEmptied = try run("emptying the WAL") { db in
            Self.wait(upTo: WriteAheadLog.patience, db)
            defer { Self.wait(upTo: patience, db) }
            do {
                return try Int.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)") == 0
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
            {
                return false
            }
        }
        guard !isEmptied else {
            wal.nextBytes = 0
            return nil
        }
        wal.nextBytes = 2 * sizeBytes
        let readers = Self.readers(of: storeIdentifier + "-shm")
        let who = readers.isEmpty ? "a reader" : readers.joined(separator: " and ") + " as a reader"
        let text = "\(who) prevents the WAL from being emptied; the WAL has grown to \(sizeBytes) bytes"
        guard sizeBytes <= wal.limitBytes else {
            throw StoreError(
                .busy, store: name, message: text, engineCode: "SQLITE_BUSY",
                hint: "end that reader's transaction; the next run continues")
        }
        return text
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
