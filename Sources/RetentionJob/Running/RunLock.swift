@preconcurrency import Glibc

/// One run at a time for each store: `flock` on a file beside it.
///
/// The lock is the kernel's: it ends with the process that holds it, however that ends. The file stays, because a file
/// that is removed while another process opens it would be locked twice. What the file holds, the process id of the
/// run, is only for people.
package final class RunLock {
    /// Why the lock could not be taken.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// Another run holds it; its process id, if it could be read.
        case held(path: String, processID: Int32?)
        /// The lock file cannot be opened or made for lack of permission, or in a file system that is read-only.
        case permission(path: String, reason: String)
        /// The lock file cannot be made, or something else stands in its place.
        case cannotCreate(path: String, reason: String)
        /// Locking or writing failed.
        case inputOutput(path: String, reason: String)

        /// The exit status that this failure stands for.
        package var exitCode: Int32 {
            switch self {
            case .held: 75
            case .permission: 77
            case .cannotCreate: 73
            case .inputOutput: 74
            }
        }

        package var description: String {
            switch self {
            case .held(let path, let processID?):
                "another run is using this store: process \(processID) holds \(path); try again later"
            case .held(let path, nil):
                "another run is using this store and holds \(path); try again later"
            case .permission(let path, let reason):
                "the lock file \(path) cannot be opened: \(reason); the run needs to write in the store's folder"
            case .cannotCreate(let path, let reason):
                "the lock file \(path) cannot be created: \(reason)"
            case .inputOutput(let path, let reason):
                "the lock file \(path) cannot be locked: \(reason)"
            }
        }
    }

    /// The lock file's path.
    package let path: String
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Takes the lock of a store, and writes this process's id into its file.
    ///
    /// - Parameter storePath: the store's file, which must exist; symbolic links are followed, so that two names of
    ///   one store have one lock.
    /// - Throws: ``Failure``; nothing is locked then. A lock file may have been made.
    package static func acquire(storePath: String) throws(Failure) -> RunLock {
        let path = try lockPath(of: storePath)
        // O_NOFOLLOW: the process id must never be written into a file that somebody linked to.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else { throw openFailure(path: path) }
        do throws(Failure) {
            try requireLockFile(descriptor, path)
            // `isHeld` takes a shared lock for some microseconds, which must not look like another run.
            var attemptsLeft = 3
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                guard errno == EWOULDBLOCK || errno == EINTR else {
                    throw Failure.inputOutput(path: path, reason: reason(errno))
                }
                attemptsLeft -= 1
                guard attemptsLeft > 0 else {
                    throw Failure.held(path: path, processID: processID(in: descriptor))
                }
                usleep(20_000)
            }
            // Only for people: on a full disk, where a run is needed most, the lock holds all the same.
            let text = Array("\(getpid())\n".utf8)
            _ = ftruncate(descriptor, 0)
            _ = pwrite(descriptor, text, text.count, 0)
        } catch {
            close(descriptor)
            throw error
        }
        return RunLock(path: path, descriptor: descriptor)
    }

    /// Throws what ``acquire(storePath:)`` would throw if something else stands in the lock file's place. Makes no file
    /// and takes no lock.
    package static func check(storePath: String) throws(Failure) {
        let path = try lockPath(of: storePath)
        let place = FilePlace(path)
        guard place.facts != nil else { return }
        if let obstacle = place.obstacle { throw .cannotCreate(path: path, reason: "it \(obstacle)") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        // Who may not read it cannot tell; a run needs to write it anyway.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        try requireLockFile(descriptor, path)
    }

    /// Whether a run holds the lock of a store at this moment. Makes no file and takes nothing from a run that holds or
    /// wants the lock.
    ///
    /// - Returns: false too if there is no lock file, or if it cannot be opened for reading.
    package static func isHeld(storePath: String) -> Bool {
        guard let path = try? lockPath(of: storePath) else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard (try? requireLockFile(descriptor, path)) != nil else { return false }
        // Shared: two that ask at once do not see each other. Closing gives it back.
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    deinit {
        // Emptied first, so that the next one to fail does not read the id of a process that is gone.
        _ = ftruncate(descriptor, 0)
        close(descriptor)
    }

    /// The path of a store's lock file.
    private static func lockPath(of storePath: String) throws(Failure) -> String {
        guard let real = realpath(storePath, nil) else {
            let path = storePath + ".retention-lock"
            if errno == EACCES { throw .permission(path: path, reason: reason(errno)) }
            throw .cannotCreate(path: path, reason: reason(errno))
        }
        defer { free(real) }
        return String(cString: real) + ".retention-lock"
    }

    private static func openFailure(path: String) -> Failure {
        switch errno {
        case EACCES, EPERM, EROFS: .permission(path: path, reason: reason(errno))
        case EIO: .inputOutput(path: path, reason: reason(errno))
        case ELOOP: .cannotCreate(path: path, reason: "a symbolic link is in its place")
        default: .cannotCreate(path: path, reason: reason(errno))
        }
    }

    /// Throws unless the file is one that a run made: a process id goes into it, and what was there is lost.
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

    /// The beginning of the file, more than a process id takes.
    private static func bytes(of descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    /// A process id is all that a lock file holds; after a power failure there may be zeros in its place.
    private static func isLockByte(_ byte: UInt8) -> Bool {
        byte == 0 || byte == 0x0A || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// The process id that the holder wrote; nil if it has not done so yet.
    private static func processID(in descriptor: Int32) -> Int32? {
        Int32(String(decoding: bytes(of: descriptor).prefix { $0 != 0x0A }, as: UTF8.self))
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
