@preconcurrency import Glibc
import GRDB
package import PriceStore

/// Detects other programs that use the store.
///
/// In rollback-journal mode nothing shows that another program has the store open or waits for its lock. In WAL mode, `data_version` shows
/// that another program has written, and a program that has the store open holds a shared lock on its `-shm` file. The kernel is asked for
/// that lock through SQLite's own descriptor, because closing a second descriptor would release the locks of this process
/// (sqlite.org/howtocorrupt.html, section 2.2). The kernel's list of locks does not show processes outside a container.
struct OtherUsers {
    /// SQLite's counter of other connections' commits at the last look.
    private var version: Int?
    /// SQLite's descriptor of the `-shm` file.
    private var descriptor: Int32?
    /// Whether the last look, in WAL mode, found any.
    private(set) var wereSeen = false

    /// Looks for other users. Always true in rollback-journal mode.
    mutating func areThere(_ storeIdentifier: String, _ db: Database) throws -> Bool {
        let before = version
        version = try Int.fetchOne(db.cachedStatement(sql: "PRAGMA main.data_version"))
        guard try String.fetchOne(db.cachedStatement(sql: "PRAGMA main.journal_mode")) == "wal" else { return true }
        wereSeen = before != nil && before != version || isLocked(storeIdentifier + "-shm")
        return wereSeen
    }

    /// Whether another process holds a lock on a file that this process has open. True if that is unknown.
    private mutating func isLocked(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        let file = StoreFile.Number(status)
        if descriptor.map({ Self.isOpen($0, file) }) != true { descriptor = Self.descriptor(of: file) }
        guard let descriptor else { return true }
        // A write lock on the whole file conflicts with any other lock.
        var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
        return fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
    }

    private static func isOpen(_ descriptor: Int32, _ file: StoreFile.Number) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && StoreFile.Number(status) == file
    }

    /// The descriptor with which this process has a file open, or nil.
    private static func descriptor(of file: StoreFile.Number) -> Int32? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int32(name), isOpen(number, file) { return number }
        }
        return nil
    }
}

extension SQLiteFile {
    /// Whether another process has the store open in WAL mode, or another connection has written since the last call. Always true in
    /// rollback-journal mode.
    package func isInUseByOthers() throws(StoreError) -> Bool {
        try run("looking for other processes on the store") { try otherUsers.areThere(storeIdentifier, $0) }
    }
}
