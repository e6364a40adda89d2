#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    import Darwin
#endif

/// A SQLite file that appears under its name when it is complete.
struct NewStoreFile {
    let path: String

    /// Makes the file in place of an older one.
    ///
    /// - Parameter fill: makes a file of the name that it is given, and closes it.
    /// - Throws: what `fill` throws, or ``GoldPricesError``; no file of that name is left behind then.
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

    /// Removes a store and what SQLite keeps beside it; files that are not there are no error.
    private func remove(_ store: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(store + suffix) }
    }
}
