@preconcurrency import Glibc
import GRDB
import PriceStore

extension FileOwner {
    /// The owner of an archive's file. The file holds copies of any tables.
    public static let archive = FileOwner(
        applicationID: ArchiveFile.applicationID, tables: nil, title: "archive of retention")
}

/// The archive file that a run writes. docs/decisions/0025-archives.md describes its tables.
///
/// Until it is complete, only this connection uses it.
final class ArchiveFile {
    /// Identifies an archive: `RtnA` in the file header.
    static let applicationID: Int32 = 0x5274_6E41
    /// The format that this program writes.
    static let format = "1"

    let path: String
    private let folder: String
    private let queue: DatabaseQueue
    /// The identities of the file and its WAL at creation, and the size of the WAL after the last commit.
    private let numbers: [StoreFile.Number?]
    private var walBytes: Int64 = 0
    /// A longer WAL is moved into the file between batches.
    private static let walBoundBytes: Int64 = 16 << 20

    /// Creates the file.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate`.
    init(_ request: ArchiveRequest, store: String) throws(StoreError) {
        folder = request.place
        path = request.place + "/" + request.run + ".sqlite"
        let path = path
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                .cannotCreate, store: path,
                message: "the archive cannot be created: \(String(systemError: errno))",
                hint: "nothing was deleted")
        }
        Glibc.close(descriptor)
        do {
            var configuration = Configuration()
            configuration.label = "archive"
            // A transaction lasts from the first copy to the commit of the store.
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.unsafeReentrantWrite { db in
                try db.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
                // Rows are only appended, so large pages need fewer writes.
                try db.execute(sql: "PRAGMA page_size = 16384")
                // A single connection needs no shared-memory file.
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                try db.execute(sql: "PRAGMA journal_mode = WAL")
                // A copy must be on disk before its row is deleted.
                try db.execute(sql: "PRAGMA synchronous = FULL")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                try Self.describe(request, store: store, db)
            }
        } catch {
            unlink(path)
            throw StoreError(error, store: path, doing: "the archive cannot be created")
        }
        numbers = Self.parts.map { StoreFile.number(of: path + $0) }
        Self.sync(folder)
    }

    /// The suffixes of the files that a run writes.
    private static let parts = ["", "-wal"]

    private static func describe(_ request: ArchiveRequest, store: String, _ db: Database) throws {
        try db.inTransaction(.immediate) {
            try db.execute(
                sql: """
                    CREATE TABLE retention_archive (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
                    CREATE TABLE retention_rules (rule INTEGER PRIMARY KEY, name TEXT, entity TEXT, cutoff TEXT);
                    CREATE TABLE retention_tables (
                        number INTEGER PRIMARY KEY, kind TEXT, store_table TEXT, archive_table TEXT, key TEXT, columns TEXT,
                        sql TEXT);
                    CREATE TABLE retention_parts (
                        part INTEGER, rule INTEGER, table_number INTEGER, first_rowid INTEGER, last_rowid INTEGER,
                        PRIMARY KEY (part, table_number)) WITHOUT ROWID;
                    """)
            let own = ["format": format, "run": request.run, "store": store, "engine": "sqlite", "complete": "0"]
            for (name, value) in Array(request.facts) + Array(own) {
                try db.execute(
                    sql: "INSERT INTO retention_archive VALUES (?, ?)", arguments: [name, value])
            }
            for (number, rule) in request.rules.enumerated() {
                try db.execute(
                    sql: "INSERT INTO retention_rules VALUES (?, ?, ?, ?)",
                    arguments: [number, rule.name, rule.entity, rule.cutoff.rfc3339])
            }
            return .commit
        }
    }

    /// Runs work on the archive. Its errors name the archive.
    func run<T>(_ what: String, _ body: (Database) throws -> T) throws(StoreError) -> T {
        do { return try queue.unsafeReentrantWrite(body) } catch {
            if StoreFile.number(of: path) != numbers[0] { try requirePlace() }
            throw failure(error, doing: what)
        }
    }

    /// Adds to an error of the archive where the rows deleted before are.
    func failure(_ error: any Error, doing what: String) -> StoreError {
        var failure = StoreError(error, store: path, doing: what)
        guard error is DatabaseError, failure.kind == .inputOutput else { return failure }
        let isFull = failure.engineCode == "SQLITE_FULL"
        failure.message =
            (isFull ? "the disk of the archive is full: " : "the archive cannot be written or read: ") + failure.message
        failure.hint =
            (isFull ? "free some space" : "check its disk")
            + "; rows that were deleted before are in it: keep it and the file \(path)-wal"
        return failure
    }

    /// Throws an error of kind `replaced` unless the file and its WAL are where this run left them, unchanged.
    func requirePlace() throws(StoreError) {
        let now = Self.parts.map { StoreFile.number(of: path + $0) }
        guard now != numbers || StoreFile.sizeBytes(of: path + "-wal") < walBytes else { return }
        throw StoreError(
            .replaced, store: path,
            message: now[0] != numbers[0]
                ? "the archive was moved, removed or replaced during the run"
                : "the archive was damaged during the run: another program has changed \(path)-wal",
            hint: "nothing more is deleted; rows that were deleted before are in the file that was there: put it back, "
                + "with its -wal file")
    }

    func noteCommit() { walBytes = StoreFile.sizeBytes(of: path + "-wal") }

    /// Moves a long WAL into the file. It waits for the disk: call it while the store is not locked.
    func boundWAL() throws(StoreError) {
        guard walBytes > Self.walBoundBytes else { return }
        try requirePlace()
        try run("writing the archive") { _ = try $0.checkpoint(.truncate) }
        noteCommit()
    }

    /// Checks the file, syncs it to disk as a single file, and closes it.
    func complete() throws(StoreError) -> Int64 {
        try requirePlace()
        try run("checking the archive") { db in
            let found = try String.fetchAll(db, sql: "PRAGMA integrity_check(1)")
            guard found == ["ok"] else {
                throw StoreError(
                    .inputOutput, store: path, message: "the archive is damaged: \(found.joined(separator: "; "))",
                    hint: "check the disk")
            }
            let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
            guard mode == "delete" else {
                throw StoreError(
                    .inputOutput, store: path, message: "the archive's WAL cannot be moved into the archive")
            }
            // Only now is the file complete without its WAL. NORMAL releases the lock; otherwise the journal would remain for some time.
            try db.execute(sql: "PRAGMA locking_mode = NORMAL")
            try db.execute(sql: "PRAGMA synchronous = EXTRA")
            try db.execute(sql: "UPDATE retention_archive SET value = '1' WHERE name = 'complete'")
        }
        close()
        Self.sync(path)
        Self.sync(folder)
        return StoreFile.sizeBytes(of: path)
    }

    /// Repairs a file that a killed run left with a journal or a WAL.
    static func recover(_ path: String) throws(StoreError) {
        do {
            var configuration = Configuration()
            configuration.label = "archive"
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            try queue.inDatabase { db in
                guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
                    throw DatabaseError(resultCode: .SQLITE_BUSY)
                }
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
            }
        } catch {
            throw StoreError(error, store: path, doing: "the archive cannot be recovered")
        }
    }

    func close() { try? queue.close() }

    /// Closes and removes the file. Call it only if the file is in its place and holds no copy of a row.
    func remove() {
        close()
        for suffix in ["", "-wal", "-journal"] { unlink(path + suffix) }
        Self.sync(folder)
    }

    /// Syncs a file, or the names in a folder, to disk.
    private static func sync(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }
}
