@preconcurrency import Glibc
import GRDB
import PriceStore

/// The file of an archive that a run writes. docs/decisions/0025-archives.md describes its tables.
///
/// It belongs to this connection alone until it is complete.
final class ArchiveFile {
    /// Identifies an archive: `RtnA` in the header of the file.
    static let applicationID: Int32 = 0x5274_6E41
    /// The format that this program writes.
    static let format = "1"

    let path: String
    private let folder: String
    private let queue: DatabaseQueue
    /// From here on the WAL is moved into the file between batches.
    private static let walBoundBytes: Int64 = 16 << 20

    /// Makes the file.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate`.
    init(_ request: ArchiveRequest, store: String, encoding: String) throws(StoreError) {
        folder = request.place
        path = request.place + "/" + request.run + ".sqlite"
        let path = path
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                .cannotCreate, store: path,
                message: "the archive cannot be created: \(String(cString: strerror(errno)))",
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
                try db.execute(sql: "PRAGMA encoding = '\(encoding)'")
                try db.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
                // Rows are only added, so large pages make fewer writes.
                try db.execute(sql: "PRAGMA page_size = 16384")
                // One connection needs no file of shared memory.
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
        Self.sync(folder)
    }

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
            for (name, value) in request.facts.merging(own, uniquingKeysWith: { $1 }) {
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

    /// Carries out work on the archive and names its errors.
    func run<T>(_ what: String, _ body: (Database) throws -> T) throws(StoreError) -> T {
        do { return try queue.unsafeReentrantWrite(body) } catch { throw StoreError(error, store: path, doing: what) }
    }

    /// Moves the WAL into the file if it is long. Call it while the store is not locked: it waits for the disk.
    func boundWAL() throws(StoreError) {
        guard StoreFile.sizeBytes(of: path + "-wal") > Self.walBoundBytes else { return }
        try run("writing the archive") { _ = try $0.checkpoint(.truncate) }
    }

    /// Checks the file, brings it to disk as one file, and closes it.
    ///
    /// - Returns: its size in bytes.
    func complete() throws(StoreError) -> Int64 {
        try run("checking the archive") { db in
            let found = try String.fetchAll(db, sql: "PRAGMA integrity_check(1)")
            guard found == ["ok"] else {
                throw StoreError(
                    .inputOutput, store: path, message: "the archive is damaged: \(found.joined(separator: "; "))",
                    hint: "check the disk")
            }
            let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
            guard mode == "delete" else {
                throw StoreError(.inputOutput, store: path, message: "the archive's WAL cannot be moved into it")
            }
            // Only now is the file whole by itself.
            try db.execute(sql: "PRAGMA synchronous = EXTRA")
            try db.execute(sql: "UPDATE retention_archive SET value = '1' WHERE name = 'complete'")
        }
        close()
        Self.sync(path)
        Self.sync(folder)
        return StoreFile.sizeBytes(of: path)
    }

    /// Closes the file as it is.
    func close() { try? queue.close() }

    /// Closes and removes the file. Call it only if it holds no copy of a row.
    func remove() {
        close()
        for suffix in ["", "-wal", "-journal"] { unlink(path + suffix) }
        Self.sync(folder)
    }

    /// Brings a file, or the names in a folder, to disk.
    private static func sync(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }
}
