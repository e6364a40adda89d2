@preconcurrency import Glibc
package import PriceStore
import RetentionPolicy

/// The SHA-256 of a file that no process writes.
package enum FileHash {
    /// Reads a file to its end.
    ///
    /// - Returns: 64 lower-case hexadecimal digits.
    /// - Throws: ``StoreError`` of kind `inputOutput` if the file cannot be read or is not a regular file. Does not follow a link.
    package static func sha256(ofFile path: String) throws(StoreError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        var hash = SHA256()
        let code = FilePortions.read(descriptor) { portion in
            hash.update(portion)
            return true
        }
        if let code { throw failure(path, code) }
        return hash.digits()
    }

    private static func failure(_ path: String, _ code: Int32) -> StoreError {
        StoreError(
            code == ENOENT ? .missing : .inputOutput, store: path,
            message: "the file cannot be read: \(String(systemError: code))")
    }
}
