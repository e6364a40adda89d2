@preconcurrency import Glibc
import RetentionPolicy

/// Reads the configuration and looks at who may write it.
enum PolicyAccess {
    /// Reads a policy file.
    ///
    /// - Parameter allowsInsecure: whether root may run a policy that others can write.
    /// - Throws: ``PolicyError``, or ``CommandFailure`` with 77.
    static func read(_ path: String, allowsInsecure: Bool) throws -> Policy {
        if !allowsInsecure, geteuid() == 0 {
            var facts = stat()
            if stat(path, &facts) == 0, mayBeWrittenByOthers(mode: facts.st_mode) {
                throw CommandFailure(
                    exitCode: 77, message: "refusing to run as root: others may write \(path)",
                    hint: "chmod go-w \(path), or pass --allow-insecure")
            }
        }
        return try PolicyFile.read(path: path)
    }

    /// Whether group or others may write a file of that mode.
    static func mayBeWrittenByOthers(mode: mode_t) -> Bool { mode & 0o022 != 0 }

    /// The exit status for a file that the system does not let us read.
    static func exitCode(ofSystemError code: Int32) -> Int32 {
        switch code {
        case EACCES, EPERM: 77
        case ENOENT, ENOTDIR: 66
        default: 74
        }
    }
}
