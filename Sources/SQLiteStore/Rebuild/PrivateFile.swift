@preconcurrency import Glibc
import PriceStore

/// The file of a rebuild's copy: beside the store, accessible to its owner only, and locked while the rebuild runs.
///
/// A killed rebuild leaves the file behind, unlocked. The next connection that can change the store removes it.
final class PrivateFile {
    let path: String
    private var descriptor: Int32

    static func path(of store: String) -> String { store + ".retention-copy" }

    /// Creates the file for a store, given by its path without links.
    init(beside store: String, name: String) throws(StoreError) {
        path = Self.path(of: store)
        Self.removeLeftOver(beside: store)
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw StoreError(
                code == EEXIST ? .busy : .inputOutput, store: name,
                message: code == EEXIST
                    ? "another rebuild of the store is running"
                    : "\(path) cannot be created: \(String(systemError: code))")
        }
        flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Removes the file of a killed rebuild.
    static func removeLeftOver(beside store: String) {
        let path = path(of: store)
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        var status = stat()
        // A rebuild in progress holds the lock.
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        {
            unlink(path)
        }
        close(descriptor)
    }

    /// Closes and removes the file. No connection may have it open.
    func remove() {
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
        descriptor = -1
    }

    deinit { remove() }
}
