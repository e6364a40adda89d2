@preconcurrency import Glibc
import GRDB
import GRDBSQLite
import PriceStore

/// What distinguishes a store's file from another file that has taken its name or its place since the store was opened.
///
/// The name is looked up with `stat`. The header is read by SQLite's own handle of the file: a second handle would drop
/// the locks of this process when it is closed (sqlite.org/howtocorrupt.html, section 2.2). Both together take some
/// microseconds.
struct StoreIdentity {
    /// The first hundred bytes of a database. Source: sqlite.org/fileformat2.html, section 1.3.
    private static let headerLength = 100
    private static let magic = Array("SQLite format 3".utf8) + [0]

    let number: StoreFile.Number
    /// Whether the file has a second name, by which another program would have a WAL of its own.
    private let isLinked: Bool
    /// Empty while the file is, and until it could be read under a lock.
    private var header: [UInt8]

    /// Takes the identity of the file that a connection has open.
    ///
    /// - Parameter readsHeader: whether the connection holds a lock, under which the header is whole; else the first
    ///   check takes it.
    /// - Throws: `StoreError` of kind `replaced` if no file has the name any more.
    init(path: String, _ db: Database, readsHeader: Bool = true) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw Self.replaced(path, "its path no longer exists: \(String(cString: strerror(errno)))")
        }
        number = StoreFile.Number(status)
        isLinked = status.st_nlink > 1
        header = readsHeader ? Self.header(db) : []
    }

    /// Throws, with kind `replaced`, unless the file is still the one that was opened.
    ///
    /// In place, another database is recognised by what does not change in the life of a database, and by two counters that never
    /// go back. To be called under a lock. What a page of the WAL holds of the header is in the file after a checkpoint, and
    /// then no older.
    mutating func check(path: String, _ db: Database) throws {
        let now = try StoreIdentity(path: path, db)
        guard now.number == number else {
            throw Self.replaced(path, "another file is at its path")
        }
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

    private func number(at offset: Int) -> UInt32 {
        header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func header(_ db: Database) -> [UInt8] {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods, let read = methods.pointee.xRead
        else { return [] }
        var bytes = [UInt8](repeating: 0, count: headerLength)
        return read(file, &bytes, Int32(headerLength), 0) == SQLITE_OK ? bytes : []
    }

    static func replaced(_ path: String, _ how: String) -> StoreError {
        StoreError(
            .replaced, store: path, message: "the store was replaced while it was open: \(how)",
            hint: "nothing more is deleted; run again when the store is in its place")
    }
}
