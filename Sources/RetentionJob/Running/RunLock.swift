package import PriceStore

@preconcurrency import Glibc

/// Allows one run at a time for each store: `flock` on a file beside it.
///
/// The kernel releases the lock when the process ends, for any reason. The file stays, because two processes could lock it at once if one
/// removed it while the other opened it. Its content, the process ID of the run, is only for people.
package final class RunLock {
    /// Why the lock could not be taken.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package let exitCode: Int32
        package let description: String
        /// Whether another run is in progress.
        package var isHeld: Bool { exitCode == RunStatus.tryAgain }

        /// Another run holds it; with its process ID, if that could be read.
        package static func held(path: String, processID: Int32?) -> Self {
            let holder = processID.map { ": process \($0) holds" } ?? " and holds"
            return Self(
                exitCode: RunStatus.tryAgain,
                description: "another run is using this store\(holder) \(path); try again later")
        }

        /// The lock file cannot be opened or created, because of its permissions or a read-only file system.
        package static func permission(path: String, reason: String) -> Self {
            let need = "the run needs to write in the store's folder"
            return Self(exitCode: 77, description: "the lock file \(path) cannot be opened: \(reason); \(need)")
        }

        /// The lock file cannot be created, or another file has its name.
        package static func cannotCreate(path: String, reason: String) -> Self {
            Self(exitCode: 73, description: "the lock file \(path) cannot be created: \(reason)")
        }

        /// Locking or writing failed.
        package static func inputOutput(path: String, reason: String) -> Self {
            Self(exitCode: 74, description: "the lock file \(path) cannot be locked: \(reason)")
        }
    }

    /// The lock file's path.
    package let path: String
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Takes the lock of a store, and writes the process ID into its file.
    ///
    /// - Parameter storePath: the store's file, which must exist; symbolic links are followed, so that all names of one store share a lock.
    /// - Throws: ``Failure``; then nothing is locked. A lock file may have been created.
    package static func acquire(storePath: String) throws(Failure) -> RunLock {
        let path = try lockPath(of: storePath)
        // O_NOFOLLOW: the process ID must never be written into a file that another user linked to.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else { throw openFailure(path: path) }
        do throws(Failure) {
            try requireLockFile(descriptor, path)
            // `isHeld` takes a shared lock for some microseconds, which must not look like another run.
            var attemptsLeft = 3
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                guard errno == EWOULDBLOCK else {
                    throw Failure.inputOutput(path: path, reason: String(systemError: errno))
                }
                attemptsLeft -= 1
                guard attemptsLeft > 0 else {
                    throw Failure.held(path: path, processID: processID(in: descriptor))
                }
                usleep(20_000)
            }
            // A run may have begun before the store was moved and replaced by a link; its lock is beside the link.
            for link in FilePlace.links(storePath).compactMap(\.ofFile) {
                let former = link.sibling(ending).path
                guard isHeld(former) else { continue }
                throw Failure.held(path: former, processID: nil)
            }
            // The process ID is only for people: if the disk is full, the lock is held anyway.
            let text = Array("\(getpid())\n".utf8)
            _ = ftruncate(descriptor, 0)
            _ = pwrite(descriptor, text, text.count, 0)
        } catch {
            close(descriptor)
            throw error
        }
        return RunLock(path: path, descriptor: descriptor)
    }

    /// Throws what ``acquire(storePath:)`` would throw if another file has the name of the lock file. Creates no file and takes no lock.
    package static func check(storePath: String) throws(Failure) {
        let path = try lockPath(of: storePath)
        let place = FilePlace(path)
        guard place.facts != nil else { return }
        if let obstacle = place.obstacle { throw .cannotCreate(path: path, reason: "it \(obstacle)") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        // Without read permission this is unknown; a run must be able to write the file anyway.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        try requireLockFile(descriptor, path)
    }

    /// Throws unless this user may write what a run of a store writes beside its ledger and its archives: the store's file, the folder, in
    /// which files are made beside it, and the lock file, if there is one.
    package static func requireAccess(storePath: String) throws(StoreError) {
        let place = FilePlace(FilePlace.realPath(storePath) ?? storePath)
        let all = [("store", place.path), ("store's folder", place.folder), ("lock file", place.sibling(ending).path)]
        for (name, path) in all where access(path, W_OK) != 0 && errno != ENOENT {
            throw StoreError(
                .permission, store: storePath,
                message: "no permission to change the \(name): \(String(systemError: errno))")
        }
    }

    /// Whether a run holds the lock of a store now. Creates no file, and does not disturb a run that holds or requests the lock.
    ///
    /// - Returns: also false if there is no lock file, or if it cannot be opened for reading.
    package static func isHeld(storePath: String) -> Bool {
        guard let path = try? lockPath(of: storePath) else { return false }
        return isHeld(path)
    }

    private static func isHeld(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A shared lock, so that two callers at once do not block each other. Closing the file releases it.
        return (try? requireLockFile(descriptor, path)) != nil
            && flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    deinit {
        // Emptied first, so that the next run that fails does not read the ID of an ended process.
        _ = ftruncate(descriptor, 0)
        close(descriptor)
    }

    /// The suffix of a lock file's name, after the name of its store.
    private static let ending = ".retention-lock"

    private static func lockPath(of storePath: String) throws(Failure) -> String {
        if let real = FilePlace.realPath(storePath) { return real + ending }
        let code = errno
        let (path, reason) = (storePath + ending, String(systemError: code))
        throw code == EACCES ? .permission(path: path, reason: reason) : .cannotCreate(path: path, reason: reason)
    }

    private static func openFailure(path: String) -> Failure {
        switch errno {
        case EACCES, EPERM, EROFS: .permission(path: path, reason: String(systemError: errno))
        case EIO: .inputOutput(path: path, reason: String(systemError: errno))
        case ELOOP: .cannotCreate(path: path, reason: "a symbolic link is in its place")
        default: .cannotCreate(path: path, reason: String(systemError: errno))
        }
    }

    /// Throws unless a run created the file, because writing the process ID overwrites its content.
    private static func requireLockFile(_ descriptor: Int32, _ path: String) throws(Failure) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.isRegularFile else {
            throw .cannotCreate(path: path, reason: "it is not a regular file")
        }
        guard facts.st_nlink == 1 else {
            throw .cannotCreate(path: path, reason: "it has several names (hard links)")
        }
        guard bytes(of: descriptor).allSatisfy(isLockByte) else {
            throw .cannotCreate(path: path, reason: "it exists and is not a lock file; move it away")
        }
    }

    /// The beginning of the file, longer than a process ID.
    private static func bytes(of descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    /// A lock file contains only a process ID; after a power failure there may be zeros instead.
    private static func isLockByte(_ byte: UInt8) -> Bool {
        byte == 0 || byte == 0x0A || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// The process ID that the holder wrote; nil: it has not written it yet.
    private static func processID(in descriptor: Int32) -> Int32? {
        Int32(String(decoding: bytes(of: descriptor).prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
