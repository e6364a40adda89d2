@preconcurrency import Glibc

/// A SQLite file that appears under its name when it is complete.
struct NewStoreFile {
    let path: String

    /// Makes the file and replaces an older one.
    ///
    /// - Parameter fill: creates a file of the given name, and closes it.
    /// - Throws: the errors of `fill`, or ``GoldPricesError``; there is then no file of that name.
    func make(_ fill: (String) throws -> Void) throws {
        let partial = path + ".part"
        remove(partial)
        do {
            try fill(partial)
        } catch {
            remove(partial)
            throw error
        }
        remove(path)
        guard rename(partial, path) == 0 else {
            throw GoldPricesError("cannot rename \(partial) to \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// Deletes a store and its side files, if they exist.
    private func remove(_ store: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(store + suffix) }
    }
}
