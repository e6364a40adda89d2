@preconcurrency import Glibc
package import PriceStore

/// A file that is replaced as a whole: whoever reads it finds the old text or the new one, never a part.
package enum ReplacedFile {
    /// Writes a text under another name in the same folder, and gives it the file's name then.
    ///
    /// - Parameters:
    ///   - path: the file; it need not be there.
    ///   - mode: who may read a file that is made.
    /// - Throws: ``StoreError`` of kind `cannotCreate`; the old file is as it was then.
    package static func write(_ text: String, to path: String, mode: UInt32 = 0o644, hint: String) throws(StoreError) {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        // A name that begins with a dot and has another end is not read by those who look for the file's own.
        parts[parts.count - 1] = ".\(parts[parts.count - 1]).\(getpid())"
        let temporary = parts.joined(separator: "/")
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw failure(path, hint) }
        let isWritten = LogSink.writeAll(Array(text.utf8), to: descriptor)
        let code = errno
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            if !isWritten { errno = code }
            let error = failure(path, hint)
            unlink(temporary)
            throw error
        }
    }

    private static func failure(_ path: String, _ hint: String) -> StoreError {
        StoreError(
            .cannotCreate, store: path, message: "the file cannot be written: \(String(cString: strerror(errno)))",
            hint: hint)
    }
}
