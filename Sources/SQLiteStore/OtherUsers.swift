@preconcurrency import Glibc
import GRDB
package import PriceStore

/// How others who use a store are noticed.
///
/// In rollback-journal mode others leave no trace: nothing shows that another program has the store open or waits for its lock. In
/// WAL mode `data_version` shows that another program has written. A program that has a WAL store open has a shared lock on its
/// `-shm` file. The kernel is asked for that lock by the descriptor that SQLite itself has open: closing another one would
/// drop the locks of this process (sqlite.org/howtocorrupt.html, section 2.2). The kernel's list of locks does not show
/// those of processes outside of a container.
struct OtherUsers {
    /// SQLite's count of others' commits when it was last asked.
    private var version: Int?
    /// The descriptor by which SQLite has the `-shm` file open.
    private var descriptor: Int32?
    /// Whether there were any when they were last looked for, in WAL mode.
    private(set) var wereSeen = false

    /// Looks for them.
    mutating func areThere(_ storeIdentifier: String, _ db: Database) throws -> Bool {
        let before = version
        version = try Int.fetchOne(db.cachedStatement(sql: "PRAGMA main.data_version"))
        guard try String.fetchOne(db.cachedStatement(sql: "PRAGMA main.journal_mode")) == "wal" else { return true }
        wereSeen = before != nil && before != version || isLocked(storeIdentifier + "-shm")
        return wereSeen
    }

    /// Whether another process holds a lock on a file that this process has open. True if that cannot be found out.
    private mutating func isLocked(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        let file = StoreFile.Number(status)
        if descriptor.map({ Self.isOpen($0, file) }) != true { descriptor = Self.descriptor(of: file) }
        guard let descriptor else { return true }
        // The whole file: a write lock would conflict with any other.
        var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
        return fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
    }

    private static func isOpen(_ descriptor: Int32, _ file: StoreFile.Number) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && StoreFile.Number(status) == file
    }

    /// The descriptor by which this process has a file open; nil: none.
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

extension SQLiteFileConnection {
    /// Whether another process has the store open in WAL mode, or any other connection has written since this was
    /// last asked. In rollback-journal mode the answer is always yes.
    package func isInUseByOthers() throws(StoreError) -> Bool {
        try run("looking for other processes on the store") { try otherUsers.areThere(storeIdentifier, $0) }
    }
}
