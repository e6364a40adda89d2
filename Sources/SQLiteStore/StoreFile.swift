@preconcurrency import Glibc
// `stat` belongs to this module where it is loaded before Glibc.
import SwiftOverlayShims
import GRDB
import GRDBSQLite
import PriceStore

/// Facts about a store's file before the first connection is open.
///
/// Only SQLite opens the file: closing another descriptor of it would release the locks of all connections of the process.
/// Source: sqlite.org/howtocorrupt.html, section 2.2.
enum StoreFile {
    /// The file system's number of a file, whatever its name.
    struct Number: Equatable {
        var device: UInt64
        var inode: UInt64

        init(_ status: stat) {
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    /// Throws unless the path is a regular file with one name, readable (for a writer also writable), that begins like a database. A
    /// missing file is allowed if it is to be created.
    ///
    /// - Returns: the number of the file, or nil if it is to be created.
    static func check(_ path: String, readOnly: Bool, create: Bool) throws(StoreError) -> Number? {
        guard let status = try regularFile(path, create: create) else { return nil }
        try requireOneName(path, status)
        try requireOwnSideFiles(path)
        try requireNoMount(path)
        try requireDatabase(path, status, readOnly: readOnly)
        return Number(status)
    }

    /// Throws unless the path is a file that can be changed and begins like a database.
    static func requireDatabase(_ path: String) throws(StoreError) {
        guard let status = try regularFile(path, create: false) else { return }
        try requireDatabase(path, status, readOnly: false)
    }

    /// What the file system says of a file that must be a regular one; nil: it is missing, and is to be created.
    private static func regularFile(_ path: String, create: Bool) throws(StoreError) -> stat? {
        guard !path.isEmpty, path != SQLiteFile.inMemoryPath else {
            throw StoreError(
                .unsupported, store: path, message: "the path of a store must name a file",
                hint: "SQLiteWriter.inMemory() makes a store in memory, and SQLiteWriter.temporary() a temporary file")
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            switch errno {
            case ENOENT where create: return nil
            case ENOENT, ENOTDIR:
                throw StoreError(.missing, store: path, message: "store not found")
            case EACCES:
                throw StoreError(.permission, store: path, message: "the store's folder cannot be searched")
            case let code:
                throw StoreError(
                    .inputOutput, store: path, message: "the store cannot be accessed: \(String(systemError: code))")
            }
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return status
        case S_IFDIR:
            throw StoreError(
                .inputOutput, store: path, message: "the store is a folder, not a database file",
                hint: "name the file itself, as in folder/prices.sqlite")
        default: throw StoreError(.inputOutput, store: path, message: "the store is not a regular file")
        }
    }

    private static func requireDatabase(_ path: String, _ status: stat, readOnly: Bool) throws(StoreError) {
        guard access(path, readOnly ? R_OK : R_OK | W_OK) == 0 else {
            throw StoreError(
                .permission, store: path,
                message: "no permission to \(readOnly ? "read" : "change") the store: \(String(systemError: errno))")
        }
        try checkHeader(path, isEmpty: status.st_size == 0)
    }

    /// Throws an error of kind `replaced` unless the connection has the checked file open.
    ///
    /// SQLite compares its open file with the name, so nothing is opened here.
    static func confirm(_ checked: Number, at path: String, _ db: Database) throws(StoreError) {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        var status = stat()
        guard code == SQLITE_OK, hasMoved == 0, stat(path, &status) == 0, Number(status) == checked else {
            throw StoreError(
                .replaced, store: path, message: "another file replaced the store while it was being opened",
                hint: "nothing was changed; run again when the store is in its place")
        }
    }

    /// Throws if the file has a second name. SQLite has a separate WAL or journal for each name, and the job a separate lock. Programs that
    /// use different names do not see each other's changes and damage the store. Source: sqlite.org/howtocorrupt.html, section 2.5.
    private static func requireOneName(_ path: String, _ status: stat) throws(StoreError) {
        guard status.st_nlink > 1 else { return }
        throw StoreError(
            .inputOutput, store: path,
            message: "the store has \(status.st_nlink) names (hard links), and SQLite keeps a separate WAL for each",
            hint: "keep one name; find them with: find FOLDER -xdev -samefile \(path)")
    }

    /// Throws if a file that SQLite keeps beside the store has a second name, or is not a regular file: writing to it could change
    /// something else.
    private static func requireOwnSideFiles(_ path: String) throws(StoreError) {
        for file in ["-wal", "-shm", "-journal"].map({ identifier(of: path) + $0 }) {
            var status = stat()
            guard lstat(file, &status) == 0 else { continue }
            let isRegular = status.st_mode & S_IFMT == S_IFREG
            guard !isRegular || status.st_nlink > 1 else { continue }
            throw StoreError(
                .inputOutput, store: path,
                message: "\(file), which belongs to the store, "
                    + (isRegular ? "has \(status.st_nlink) names (hard links)" : "is not a regular file"),
                hint: "stop all programs that use the store; if \(file) "
                    + (isRegular
                        ? "contains changes, run sqlite3 \(path) 'SELECT count(*) FROM sqlite_master', which takes them into the "
                            + "store; then remove the other name"
                        : "leads to a file with changes, move that file to its place; otherwise remove it"))
        }
    }

    private static func checkHeader(_ path: String, isEmpty: Bool) throws(StoreError) {
        // After a power failure SQLite repairs a half-written first page from the journal.
        if isEmpty || hasJournal(path) { return }
        guard try header(of: path).starts(with: StoreIdentity.magic) else {
            throw StoreError(.inputOutput, store: path, message: "the file is not a SQLite database")
        }
    }

    /// The first hundred bytes of a database; empty: the file is shorter.
    static func header(of path: String) throws(StoreError) -> [UInt8] {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
            let reason = String(systemError: sqlite3_system_errno(connection))
            throw StoreError(.permission, store: path, message: "the store cannot be opened: \(reason)")
        }
        return StoreIdentity.header(connection)
    }

    /// Whether a rollback journal that is not empty is beside the file.
    static func hasJournal(_ path: String) -> Bool {
        var status = stat()
        return stat(identifier(of: path) + "-journal", &status) == 0 && status.st_size > 0
    }

    /// The path of a file with links resolved, or as it is if the file is missing.
    static func identifier(of path: String) -> String {
        guard let text = realpath(path, nil) else { return path }
        defer { free(text) }
        return String(cString: text)
    }

    /// Makes a new file readable by its owner and group only.
    static func makePrivate(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_size == 0 else { return }
        chmod(path, 0o640)
    }

    /// Throws unless an archive is at the path, as the regular file that a run created. Follows no link.
    static func requireArchive(_ path: String) throws(StoreError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let code = errno
            guard code == ENOENT || code == ENOTDIR else {
                throw StoreError(
                    code == EACCES ? .permission : .inputOutput, store: path,
                    message: "the archive cannot be accessed: \(String(systemError: code))")
            }
            throw StoreError(
                .missing, store: path, message: "the archive does not exist",
                hint: "nothing was changed; if it was moved, move it back")
        }
        let found: String? =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil
            case S_IFLNK: "a symbolic link"
            case S_IFDIR: "a folder"
            default: "not a regular file"
            }
        if let found {
            throw StoreError(
                .inputOutput, store: path, message: "the archive is \(found), but an archive is always a regular file",
                hint: "nothing was changed; put the archive file back in its place")
        }
    }

    /// The number of the file at a path without following a link, or nil if none is accessible.
    static func number(of path: String) -> Number? {
        var status = stat()
        return lstat(path, &status) == 0 ? Number(status) : nil
    }

    /// The size of a file in bytes, or 0 if it does not exist.
    static func sizeBytes(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The bytes that an unprivileged process can still write to a folder's file system.
    static func freeBytes(of folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func folderIsWritable(_ path: String) -> Bool { access(folder(of: path), W_OK) == 0 }

    /// Whether this user lacks permission to write the store, its folder, or a file that SQLite created beside it.
    static func isForbidden(_ path: String) -> Bool {
        !folderIsWritable(path)
            || ["", "-wal", "-shm", "-journal"].contains { access(path + $0, R_OK | W_OK) != 0 && errno != ENOENT }
    }
}
