@preconcurrency import Glibc
import GRDB
import GRDBSQLite
import PriceStore

/// Identifies a store's file, so that another file under its name or in its place is noticed.
///
/// `stat` looks up the name. SQLite's own handle reads the header: closing a second handle would release the locks of this process
/// (sqlite.org/howtocorrupt.html, section 2.2). Both take a few microseconds.
struct StoreIdentity {
    /// The first hundred bytes of a database. Source: sqlite.org/fileformat2.html, section 1.3.
    private static let headerLength = 100
    static let magic = Array("SQLite format 3".utf8) + [0]

    let number: StoreFile.Number
    /// Whether the file has a second name, under which another program would have its own WAL.
    private let isLinked: Bool
    /// Empty while the file is empty, and until it was read under a lock.
    private var header: [UInt8]

    /// Reads the identity of the file that a connection has open.
    ///
    /// - Parameter readsHeader: whether the connection holds a lock, under which the header is consistent. Otherwise the first check reads
    ///   the header.
    /// - Throws: `StoreError` of kind `replaced` if the path no longer exists.
    init(path: String, _ db: Database, readsHeader: Bool = true) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.moved(path) }
        number = StoreFile.Number(status)
        isLinked = status.st_nlink > 1
        header = readsHeader ? Self.header(db.sqliteConnection) : []
    }

    /// Throws an error of kind `replaced` unless the file is still the one that was opened.
    ///
    /// Another database in the same file is recognised by header fields that never change and by two counters that never decrease. The
    /// caller must hold a lock. A header page in the WAL reaches the file by a checkpoint, and is then no older.
    mutating func check(path: String, _ db: Database) throws {
        let now = try StoreIdentity(path: path, db)
        guard now.number == number else { throw Self.moved(path) }
        guard !now.isLinked else {
            throw StoreError(
                .replaced, store: path,
                message: "the store was given a second name (a hard link) while it was open",
                hint: "nothing more is deleted; remove the other name and run again")
        }
        guard !header.isEmpty else {
            header = now.header
            return
        }
        guard now.header.starts(with: Self.magic) else {
            throw Self.replaced(path, "its file no longer begins like a database")
        }
        // A database has no text encoding until it has a table.
        let encoding = header[56..<60].allSatisfy { $0 == 0 } ? [] : [("text encoding", 56..<60)]
        for (name, bytes) in [("page size", 16..<18), ("application id", 68..<72)] + encoding
        where now.header[bytes] != header[bytes] {
            throw Self.replaced(path, "its file has another \(name)")
        }
        for (name, offset) in [("change counter", 24), ("schema version", 40)]
        where Int32(truncatingIfNeeded: now.number(at: offset)) &- Int32(truncatingIfNeeded: number(at: offset)) < 0 {
            throw Self.replaced(path, "the \(name) of its file has decreased")
        }
        header = now.header
    }

    /// The error for a file that is not at its path any more.
    static func moved(_ path: String) -> StoreError {
        var status = stat()
        let isThere = stat(path, &status) == 0
        return replaced(
            path,
            isThere ? "another file is at its path" : "its path no longer exists: \(String(systemError: errno))")
    }

    private func number(at offset: Int) -> UInt32 {
        header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The header of the file of a connection; empty: it has none.
    static func header(_ connection: OpaquePointer?) -> [UInt8] {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods, let read = methods.pointee.xRead
        else { return [] }
        var bytes = [UInt8](repeating: 0, count: headerLength)
        return read(file, &bytes, Int32(headerLength), 0) == SQLITE_OK ? bytes : []
    }

    static func replaced(_ path: String, _ how: String) -> StoreError {
        StoreError(
            .replaced, store: path, message: "the file was replaced while it was open: \(how)",
            hint: "nothing more is deleted; run again when the file is in its place")
    }
}
