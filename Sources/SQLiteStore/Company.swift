@preconcurrency import Glibc
import GRDB
public import PriceStore

extension SQLiteConnection {
    /// Whether another process has the store open in WAL mode, or any other connection has written since this was
    /// last asked. In rollback-journal mode others leave no trace, and the answer is always yes.
    ///
    /// In rollback-journal mode nothing tells that somebody has the store open or waits for its lock: there the answer is
    /// always yes. In WAL mode `data_version` tells that somebody else has written. Who has a WAL store open holds a shared lock on its `-shm`
    /// file, which the kernel lists: that file itself is never opened here, because closing it would drop the locks of
    /// this process (sqlite.org/howtocorrupt.html, section 2.2).
    public func hasCompany() throws(StoreError) -> Bool {
        try run("looking for other processes on the store") { db in
            let version = try pragma("data_version", db)
            defer { dataVersion = version }
            guard try String.fetchOne(db.cachedStatement(sql: "PRAGMA main.journal_mode")) == "wal" else { return true }
            sawCompany = dataVersion.map { $0 != version } ?? false || Self.isLockedByOthers(storeIdentifier + "-shm")
            return sawCompany
        }
    }

    /// Whether another process holds a lock on a file, by the kernel's list of locks; false where there is none.
    private static func isLockedByOthers(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        let own = getpid()
        return KernelFile.locks(ofInode: UInt64(status.st_ino)).contains { $0.processID != own }
    }
}

/// Files that the kernel makes up when they are read.
enum KernelFile {
    /// A lock as `/proc/locks` lists it.
    struct Lock {
        var processID: Int32
        /// The first byte that is locked; nil: it is a lock of the whole file.
        var firstByte: Int?
    }

    /// The locks on files of that number.
    static func locks(ofInode inode: UInt64) -> [Lock] {
        // A line: `1: POSIX  ADVISORY  READ 4711 fd:00:123456 128 128`. There may be many; few are made into text.
        lines(of: bytes(of: "/proc/locks"), with: ":\(inode) ").compactMap { line in
            let fields = line.split(separator: " ")
            guard let file = fields.firstIndex(where: { $0.hasSuffix(":\(inode)") }), file > 0, file + 1 < fields.count,
                let processID = Int32(fields[file - 1])
            else { return nil }
            return Lock(processID: processID, firstByte: Int(fields[file + 1]))
        }
    }

    /// The lines that have a text in them.
    private static func lines(of bytes: [UInt8], with text: String) -> [String] {
        // With the zero that ends a text in C.
        (bytes + [0]).withUnsafeBytes { all in
            let newline = UInt8(ascii: "\n")
            var found: [String] = []
            var rest = all
            while let base = rest.baseAddress, let hit = strstr(base.assumingMemoryBound(to: CChar.self), text) {
                let place = UnsafeRawPointer(hit) - base
                let first = rest[..<place].lastIndex(of: newline).map { $0 + 1 } ?? 0
                let end = rest[place...].firstIndex(of: newline) ?? rest.count - 1
                found.append(String(decoding: rest[first..<end], as: UTF8.self))
                rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            }
            return found
        }
    }

    /// All of the file as text; empty if it cannot be read.
    static func read(_ path: String) -> String { String(decoding: bytes(of: path), as: UTF8.self) }

    private static func bytes(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var portion = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &portion, portion.count)
            guard count > 0 else { return bytes }
            bytes += portion[..<count]
        }
    }
}
