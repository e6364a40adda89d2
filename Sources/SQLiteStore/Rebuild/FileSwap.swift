import Foundation
@preconcurrency import Glibc
import GRDB
import GRDBSQLite
import PriceStore
import SwiftOverlayShims

extension SQLiteConnection {
    /// Deletes rows by writing the store anew without them into a file that takes the store's place.
    ///
    /// Writers are locked out while the file is written. Then every connection of this one is closed and the two files
    /// change places, while the kernel vouches that nobody else has the store open.
    func rebuildFile(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        let limit = LockLimit(request.maxLock)
        let (copy, before, keptRows) = try run("writing the store anew") { db in
            try prepareRebuild(request, db)
            let keptRows = try CarriedKeptRows(of: self, db)
            let copy = try SurvivorCopy(of: self, request)
            do {
                return (copy, try write(copy, for: request, within: limit, db), keptRows)
            } catch {
                copy.close()
                copy.file.remove()
                throw error
            }
        }
        close()
        do {
            try FileSwap(store: storeIdentifier, name: name, before: before).exchange(with: copy.file)
        } catch {
            copy.file.remove()
            try reopen(with: keptRows)
            throw error
        }
        // Closed before the store is opened again: it is the store's own file by now.
        copy.file.remove()
        limit.end()
        try reopen(with: keptRows)
        var result = BatchDeleteResult(deletedCount: copy.deletedCount)
        result.alsoDeletedCounts = copy.alsoDeletedCounts
        result.lockElapsed = limit.elapsed
        return result
    }

    private func reopen(with keptRows: CarriedKeptRows) throws(StoreError) {
        try reopen()
        try run("noting again which rows are kept") { try keptRows.restore(on: self, $0) }
    }

    /// Writes the whole file while others are kept from writing, and returns the store's state at that time.
    private func write(
        _ copy: SurvivorCopy, for request: BatchDeleteRequest, within limit: LockLimit, _ db: Database
    ) throws -> FileState {
        let isWAL = try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal"
        try beginWithEmptyWAL(isWAL, db)
        defer { try? db.execute(sql: "ROLLBACK") }
        limit.begin()
        try copy.fill(within: limit, isAsSurveyed: isAsSurveyed(request))
        try copy.access { target in
            if isWAL { try target.execute(sql: "PRAGMA journal_mode = WAL") }
        }
        copy.close()
        try copy.file.synchronize(store: name)
        return try FileState(storeIdentifier, name: name)
    }

    /// Begins a transaction that keeps writers out, at a time when all of the store is in its main file.
    private func beginWithEmptyWAL(_ isWAL: Bool, _ db: Database) throws {
        for _ in 0..<3 {
            if isWAL { sqlite3_wal_checkpoint_v2(db.sqliteConnection, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil) }
            try db.execute(sql: "BEGIN IMMEDIATE")
            guard isWAL, FileState.size(of: storeIdentifier + "-wal") > 0 else { return }
            try db.execute(sql: "ROLLBACK")
        }
        throw StoreError(
            .strategyUnfit, store: name, message: "other programs use the store, so that its WAL is never empty")
    }
}

/// What tells that a file was not written to.
struct FileState: Equatable {
    var device: UInt
    var inode: UInt
    var size: Int
    var seconds: Int
    var nanoseconds: Int

    init(_ path: String, name: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw StoreError(
                .inputOutput, store: name, message: "the store cannot be looked at: \(String(cString: strerror(errno)))"
            )
        }
        guard status.st_nlink == 1 else {
            throw StoreError(
                .strategyUnfit, store: name,
                message: "the store's file has several names (hard links); only one would be replaced")
        }
        self.init(status)
    }

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }

    /// The size of a file; 0 if it is not there.
    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// Puts one file in another's place while nobody has the latter open.
///
/// A write lease is granted by the kernel only if there is no other open descriptor of the file, in any process, and
/// holds back those who open it meanwhile. Source: fcntl(2), "Leases".
struct FileSwap {
    let store: String
    let name: String
    /// The state of the store when its content was read.
    let before: FileState

    func exchange(with new: PrivateFile) throws(StoreError) {
        guard !isOpenHere else { throw unfit("this program has the store open elsewhere") }
        let descriptor = open(store, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw unfit("the store cannot be opened: \(text(of: errno))") }
        defer { close(descriptor) }
        // A lease that is broken sends a signal; this one is ignored unless somebody asks for it.
        _ = fcntl(descriptor, Lease.setSignal, SIGURG)
        guard fcntl(descriptor, Lease.set, F_WRLCK) == 0 else {
            throw unfit(
                errno == EAGAIN
                    ? "another program has the store open"
                    : "whether another program has the store open cannot be found out: \(text(of: errno))")
        }
        defer { _ = fcntl(descriptor, Lease.set, F_UNLCK) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, FileState(status) == before, FileState.size(of: store + "-wal") == 0,
            FileState.size(of: store + "-journal") == 0
        else { throw unfit("another program has written to the store meanwhile") }
        try take(status, for: new.path)
        let old = PrivateFile.pathOfOld(of: store)
        guard link(store, old) == 0, rename(new.path, store) == 0 else {
            unlink(old)
            throw unfit("the new file cannot take the store's place: \(text(of: errno))")
        }
        // Who looked the name up just before and waits for the lease would get the old file: then all goes back.
        usleep(Self.settling)
        guard fcntl(descriptor, Lease.get) == F_WRLCK else {
            rename(old, store)
            throw unfit("another program has opened the store meanwhile")
        }
        unlink(old)
        synchronizeFolder()
    }

    /// Gives the new file the owner, the permissions and the extended attributes of the store.
    private func take(_ status: stat, for path: String) throws(StoreError) {
        guard copyAttributes(to: path), chown(path, status.st_uid, status.st_gid) == 0,
            chmod(path, status.st_mode & 0o7777) == 0
        else { throw unfit("the owner and permissions of the store cannot be carried over: \(text(of: errno))") }
    }

    private func copyAttributes(to path: String) -> Bool {
        let key = FileAttributeKey("NSFileExtendedAttributes")
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: store) else { return false }
        guard let extended = attributes[key] else { return true }
        return (try? FileManager.default.setAttributes([key: extended], ofItemAtPath: path)) != nil
    }

    /// Whether this process has the store open: a descriptor more would be closed, and its locks with it.
    private var isOpenHere: Bool {
        guard let folder = opendir("/proc/self/fd") else { return true }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let descriptor = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            if stat("/proc/self/fd/" + descriptor, &status) == 0, UInt(status.st_dev) == before.device,
                UInt(status.st_ino) == before.inode
            {
                return true
            }
        }
        return false
    }

    private func synchronizeFolder() {
        let descriptor = open(StoreFile.folder(of: store), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private func unfit(_ reason: String) -> StoreError {
        StoreError(.strategyUnfit, store: name, message: reason)
    }

    private func text(of code: Int32) -> String { String(cString: strerror(code)) }

    /// Microseconds between the exchange and the look at the lease.
    private static let settling: UInt32 = 10_000
}

/// Commands of fcntl(2) for leases, as Linux numbers them. Source: include/uapi/linux/fcntl.h.
private enum Lease {
    static let set: Int32 = 1024
    static let get: Int32 = 1025
    static let setSignal: Int32 = 10
}
