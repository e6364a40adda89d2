@preconcurrency import Glibc
import PriceStore

/// Moves files without overwriting any. When a move returns, it is on disk.
enum FolderEntry {
    static func sync(_ folder: String) throws(StoreError) {
        let descriptor = try openFolder(folder)
        defer { close(descriptor) }
        // Some network file systems cannot sync a folder and return EINVAL; they write entries at once.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw StoreError(file: folder, "cannot be synced to disk", errno)
        }
    }

    /// Gives a file the first of some numbered paths that is free, or that is the file already.
    ///
    /// - Returns: whether it has its former name too; false: the file system has no hard links, and the file was renamed.
    static func addName(
        _ path: String, _ target: (Int) -> String, isThere: (String) throws -> Bool
    ) throws -> Bool {
        var number = 1
        while true {
            let target = target(number)
            if try isThere(target) || link(path, target) == 0 { return true }
            let code = errno
            if code == EEXIST {
                number += 1
                continue
            }
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(code) else {
                throw StoreError(file: path, "cannot be moved to \(target)", code)
            }
            var status = stat()
            guard lstat(target, &status) != 0, errno == ENOENT, rename(path, target) == 0 else {
                throw StoreError(file: path, "cannot be moved to \(target)", errno)
            }
            return false
        }
    }

    /// Moves a file into a folder beside it, which is created if necessary. If the name exists there, the file gets a number.
    ///
    /// After a crash at any point the file has one of its names, or both: then the next move only removes the old one.
    static func move(_ file: PendingPattern.File, toFolder name: String) throws {
        let folder = "\(file.folder)/\(name)"
        if mkdir(folder, 0o750) == 0 {
            try sync(file.folder)
        } else if errno != EEXIST {
            throw StoreError(file: folder, "cannot be created", errno)
        }
        // A symbolic link would move the file to an unknown place.
        close(try openFolder(folder))
        let hasBoth = try addName(file.path, { "\(folder)/\(NumberedName.name(file.name, number: $0))" }) {
            guard let there = FilePlace($0).facts, let own = FilePlace(file.path).facts else { return false }
            return FilePlace.Number(there) == FilePlace.Number(own)
        }
        try sync(folder)
        guard !hasBoth || unlink(file.path) == 0 else { throw StoreError(file: file.path, "cannot be removed", errno) }
        try sync(file.folder)
    }

    /// Opens a folder that is not a symbolic link.
    private static func openFolder(_ folder: String) throws(StoreError) -> Int32 {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreError(file: folder, "cannot be opened as a folder", errno) }
        return descriptor
    }
}
