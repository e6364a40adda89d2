@preconcurrency import Glibc
// `stat` belongs to this module where it is loaded before Glibc.
import SwiftOverlayShims
import GRDB
import GRDBSQLite
package import PriceStore

/// The WAL of a connection that writes: its limits, and what is done when they are reached.
///
/// Checkpoints move its pages into the store, but SQLite restarts the WAL only when no reader uses it. A reader that never ends, or
/// overlapping readers, make it grow with each batch.
///
/// A library with ``KnownDefect/walReset`` can mistake a WAL that another connection restarts while a checkpoint begins for the former WAL.
/// With such a library a checkpoint runs only while the WAL cannot be restarted: either a second connection holds a read transaction
/// (``WALReader``), or the checkpoint holds the write lock.
final class WriteAheadLog {
    /// Whether the library has the defect.
    var isGuarded = KnownDefect.walReset.isIn(.sqlite)
    /// The store's file, or nil if it was not in WAL mode when it was opened.
    private var path: String?
    /// The size from which the WAL is emptied.
    var boundBytes: Int64 = 16 << 20
    /// The size beyond which nothing more is written.
    var limitBytes: Int64 = 1 << 30
    /// The size at which emptying it is tried again.
    fileprivate var nextBytes: Int64 = 0
    /// Pages in the WAL after the last commit, including those of earlier checkpoints until the WAL restarts; 0 after a checkpoint.
    fileprivate var pageCount = 0
    /// The number of pages at which a commit is followed by a checkpoint; 1,000 in SQLite itself. Each checkpoint waits for the disk.
    private var mostPages = Int.max

    /// The number of pages at which a checkpoint runs where others write. Another writer's connection would checkpoint at 1,000 pages, and
    /// that writer would wait for the disk. What one batch adds to 600 stays below.
    fileprivate static let sharedPageCount = 600
    /// How long to wait for readers, in milliseconds. Writers wait meanwhile, so it is short.
    fileprivate static let patience: Int32 = 50

    /// Replaces SQLite's automatic checkpoint. This object must live as long as the connection commits.
    fileprivate func listen(to db: Database, at path: String, pageSize: Int) {
        self.path = path
        // SQLite counts pages, but disk space is what matters.
        mostPages = max(1, 1_500 * 4_096 / max(512, pageSize))
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pageCount in
                if let context {
                    let wal = Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
                    wal.pageCount = Int(pageCount)
                    if wal.pageCount >= wal.mostPages { wal.moveToStore(connection) }
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs a checkpoint without blocking writers. If it cannot run, a later call tries again.
    func moveToStore(_ connection: OpaquePointer?) {
        pageCount = 0
        let reader = isGuarded ? path.flatMap { WALReader($0) } : nil
        guard !isGuarded || reader != nil else { return }
        withExtendedLifetime(reader) {
            _ = sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
    }

    /// Runs a checkpoint and truncates the WAL. Writers wait meanwhile, and the checkpoint waits for them and for readers.
    ///
    /// - Parameter patience: how long to wait, in milliseconds.
    /// - Returns: whether the WAL is empty. The connection then has another busy handler.
    fileprivate func empty(_ db: Database, patience: Int32) throws -> Bool {
        if isGuarded { moveToStore(db.sqliteConnection) }
        let code = try truncate(db, patience: patience)
        switch code & 0xFF {
        case SQLITE_OK: return true
        case SQLITE_BUSY, SQLITE_LOCKED: return false
        // The wait ended; see ``CheckpointWait``.
        case SQLITE_INTERRUPT where isGuarded: return false
        default: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// Runs a checkpoint that holds the write lock. SQLite would continue without that lock; with the defect, the checkpoint is then
    /// interrupted before it copies a page.
    func truncate(_ db: Database, patience: Int32) throws -> Int32 {
        guard isGuarded else {
            SQLiteFile.wait(upTo: patience, db)
            return sqlite3_wal_checkpoint_v2(db.sqliteConnection, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        }
        let wait = CheckpointWait(connection: db.sqliteConnection, patience: patience)
        sqlite3_busy_handler(
            db.sqliteConnection,
            { context, attempt in
                guard let context else { return 0 }
                return Unmanaged<CheckpointWait>.fromOpaque(context).takeUnretainedValue().goesOn(after: attempt)
            }, Unmanaged.passUnretained(wait).toOpaque())
        return withExtendedLifetime(wait) {
            sqlite3_wal_checkpoint_v2(db.sqliteConnection, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        }
    }
}

/// The wait of a checkpoint for a lock. When it ends without the lock, it interrupts the checkpoint.
private final class CheckpointWait {
    private let connection: OpaquePointer?
    private let patience: Int32

    init(connection: OpaquePointer?, patience: Int32) {
        self.connection = connection
        self.patience = patience
    }

    /// Waits, or interrupts the checkpoint.
    func goesOn(after attempt: Int32) -> Int32 {
        let pause: Int32 = 5
        guard attempt < patience / pause, !Task.isCancelled else {
            sqlite3_interrupt(connection)
            return 0
        }
        sqlite3_sleep(pause)
        return 1
    }
}

/// A read transaction on its own connection.
///
/// SQLite restarts a WAL only when no reader uses it. A reader that begins while nothing is left to copy does not use it, but then a
/// concurrent checkpoint copies nothing. Source: sqlite.org/walformat.html, section 2.3.
final class WALReader {
    private var handle: OpaquePointer?

    /// Begins the transaction; nil if that is not possible now.
    init?(_ path: String) {
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK,
            sqlite3_exec(handle, "BEGIN; SELECT 1 FROM sqlite_master LIMIT 1", nil, nil, nil) == SQLITE_OK
        else { return nil }
    }

    deinit { sqlite3_close(handle) }
}

extension SQLiteFile {
    /// Whether the store is in WAL mode. In a rehearsal the store itself is asked, because its copy has another journal.
    func hasWAL(_ db: Database) throws -> Bool {
        func answer(of db: Database) throws -> Bool {
            try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal"
        }
        guard let original else { return try answer(of: db) }
        return try original.queue.unsafeReentrantWrite { try answer(of: $0) }
    }
}

extension SQLiteWriter {
    func beginWAL() throws(StoreError) {
        try run("creating the store") { db in
            guard try pragma("page_count", db) == 0 else { return }
            try db.execute(sql: "PRAGMA main.journal_mode = WAL")
        }
    }

    /// Turns off the sync of each commit in WAL mode. After a power failure the rows of the last batches may be there again, and the next
    /// run deletes them; the file is sound. Commits that must not be lost ask for ``Durability/full``.
    func preferFewSyncs() throws(StoreError) {
        try run("setting the connection up") { db in
            if try hasWAL(db) {
                try db.execute(sql: "PRAGMA main.synchronous = NORMAL")
                try wal.listen(to: db, at: storeIdentifier, pageSize: pragma("page_size", db))
            }
        }
    }

    /// Runs a checkpoint for other writers, and empties the WAL if it has grown beyond its bound.
    ///
    /// - Returns: what prevents the WAL from being emptied, or nil if nothing does or it was reported at about this size.
    /// - Throws: `StoreError` of kind `busy` if the WAL cannot be emptied and is beyond its limit.
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
            try emptyWAL(patience: WriteAheadLog.patience, db)
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
            throw failure(
                .busy, text, engineCode: "SQLITE_BUSY", hint: "end that reader's transaction; the next run continues")
        }
        return text
    }

    /// Runs a checkpoint and truncates the WAL, and waits for others up to that many milliseconds.
    func emptyWAL(patience: Int32, _ db: Database) throws -> Bool {
        defer { Self.wait(upTo: self.patience, db) }
        return try wal.empty(db, patience: patience)
    }

    /// The processes that hold a snapshot of a WAL store, by the kernel's list of locks: `process 4711 (sqlite3)`.
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
