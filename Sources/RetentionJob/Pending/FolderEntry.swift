@preconcurrency import Glibc
import PriceStore

/// Moves files without overwriting any. When a move returns, it is on disk.
enum FolderEntry {
    /// Syncs the entries of a folder to disk.
    static func sync(_ folder: String) throws(StoreError) {
        let descriptor = try openFolder(folder)
        defer { close(descriptor) }
        // Some network file systems cannot sync a folder and return EINVAL; they write entries at once.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw StoreError(file: folder, "cannot be synced to disk", errno)
        }
    }

    /// Moves a file where the file system does not allow hard links: checks the target, then renames.
    static func renameWithoutLink(_ path: String, to target: String) throws(StoreError) {
        let code = errno
        guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(code) else {
            throw StoreError(file: path, "cannot be moved to \(target)", code)
        }
        var status = stat()
        guard lstat(target, &status) != 0, errno == ENOENT, rename(path, target) == 0 else {
            throw StoreError(file: path, "cannot be moved to \(target)", errno)
        }
    }

    /// Moves a file into a folder beside it, which is created if necessary. If the name exists there, the file gets a number.
    ///
    /// After a crash at any point the file has one of its names, or both: then the next move only removes the old one.
    static func move(_ file: PendingPattern.File, toFolder name: String) throws(StoreError) {
        let folder = "\(file.folder)/\(name)"
        if mkdir(folder, 0o750) == 0 {
            try sync(file.folder)
        } else if errno != EEXIST {
            throw StoreError(file: folder, "cannot be created", errno)
        }
        // A symbolic link would move the file to an unknown place.
        close(try openFolder(folder))
        var number = 1
        while true {
            let target = "\(folder)/\(NumberedName.name(file.name, number: number))"
            if link(file.path, target) == 0 || (errno == EEXIST && isSameFile(file.path, target)) {
                try sync(folder)
                guard unlink(file.path) == 0 else { throw StoreError(file: file.path, "cannot be removed", errno) }
                return try sync(file.folder)
            }
            if errno != EEXIST {
                try renameWithoutLink(file.path, to: target)
                try sync(folder)
                return try sync(file.folder)
            }
            number += 1
        }
    }

    /// Opens a folder that is not a symbolic link.
    private static func openFolder(_ folder: String) throws(StoreError) -> Int32 {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreError(file: folder, "cannot be opened as a folder", errno) }
        return descriptor
    }

    private static func isSameFile(_ path: String, _ other: String) -> Bool {
        var first = stat()
        var second = stat()
        // The caller reads errno after this.
        let code = errno
        defer { errno = code }
        return lstat(path, &first) == 0 && lstat(other, &second) == 0
            && FilePlace.Number(first) == FilePlace.Number(second)
    }
}
