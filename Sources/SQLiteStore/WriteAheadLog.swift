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
///
/// A library with ``KnownDefect/walReset`` may take a WAL that another connection restarts, while a checkpoint begins, for the
/// one before. So with such a library no checkpoint is done while the WAL can be restarted: either a read transaction of a
/// second connection prevents that (``WALReader``), or the checkpoint holds the writer's lock.
final class WriteAheadLog {
    /// Whether the library has the defect.
    var isGuarded = KnownDefect.walReset.isIn(.sqlite)
    /// The store's file; nil: it was no WAL store when it was opened.
    private var path: String?
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
    fileprivate func listen(to db: Database, at path: String, pageSize: Int) {
        self.path = path
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
    func moveToStore(_ connection: OpaquePointer?) {
        pageCount = 0
        let reader = isGuarded ? path.flatMap { WALReader($0) } : nil
        guard !isGuarded || reader != nil else { return }
        withExtendedLifetime(reader) {
            _ = sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
    }

    /// Moves the pages into the store and cuts the WAL to nothing. Writers wait meanwhile; they and readers are waited for.
    ///
    /// - Parameter patience: for how many milliseconds.
    /// - Returns: whether the WAL is empty. The connection has another busy handler then.
    fileprivate func empty(_ db: Database, patience: Int32) throws -> Bool {
        if isGuarded { moveToStore(db.sqliteConnection) }
        let code = try truncate(db, patience: patience)
        switch code & 0xFF {
        case SQLITE_OK: return true
        case SQLITE_BUSY, SQLITE_LOCKED: return false
        // Given up.
        case SQLITE_INTERRUPT where isGuarded: return false
        default: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// A checkpoint that holds the writer's lock. Without that lock SQLite would go on without it: with the defect it is
    /// interrupted then, before it copies a page.
    func truncate(_ db: Database, patience: Int32) throws -> Int32 {
        guard isGuarded else {
            SQLiteFileConnection.wait(upTo: patience, db)
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

/// How long a checkpoint waits for a lock. What is given up ends the checkpoint.
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

/// A read transaction of a connection of its own.
///
/// SQLite restarts a WAL only when no reader uses it. A reader that begins while nothing is left to copy does not use it,
/// and then a checkpoint beside it copies nothing. Source: sqlite.org/walformat.html, section 2.3.
final class WALReader {
    private var handle: OpaquePointer?

    /// Begins it; nil: that is not possible now.
    init?(_ path: String) {
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK,
            sqlite3_exec(handle, "BEGIN; SELECT 1 FROM sqlite_master LIMIT 1", nil, nil, nil) == SQLITE_OK
        else { return nil }
    }

    deinit { sqlite3_close(handle) }
}

extension SQLiteWriter {
    /// In WAL mode a commit need not be synced: after a power failure the last batches may be there again, and the next
    /// run deletes them again; the file is sound. What must not be lost asks for ``Durability/full``.
    func preferFewSyncs() throws(StoreError) {
        try run("setting the connection up") { db in
            if try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal" {
                try db.execute(sql: "PRAGMA main.synchronous = NORMAL")
                try wal.listen(to: db, at: storeIdentifier, pageSize: pragma("page_size", db))
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
            throw StoreError(
                .busy, store: name, message: text, engineCode: "SQLITE_BUSY",
                hint: "end that reader's transaction; the next run continues")
        }
        return text
    }

    /// Moves the WAL's pages into the store and cuts it to nothing, and waits for others at most so many milliseconds.
    ///
    /// - Returns: whether the WAL is empty.
    func emptyWAL(patience: Int32, _ db: Database) throws -> Bool {
        defer { Self.wait(upTo: self.patience, db) }
        return try wal.empty(db, patience: patience)
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
