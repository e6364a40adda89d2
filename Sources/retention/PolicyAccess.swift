@preconcurrency import Glibc
import RetentionJob
import RetentionPolicy

/// Reads the configuration and looks at who may write it, and what it takes rows from.
enum PolicyAccess {
    /// Reads a policy file and looks at who may write it and the folders of its pending files.
    ///
    /// - Parameter allowsInsecure: whether root may run what others can write.
    /// - Throws: ``PolicyError``, or ``CommandFailure`` with 77.
    static func read(_ path: String, allowsInsecure: Bool) throws -> Policy {
        let isChecked = !allowsInsecure && geteuid() == 0
        if isChecked { try refuse(path, "the policy") }
        let policy = try PolicyFile.read(path: path)
        if isChecked { for folder in PendingFolder(policy).folders() { try refuse(folder, "the pending folder") } }
        return policy
    }

    /// Refuses what somebody who is not root may write: through root, he could have any row deleted, or put any in.
    private static func refuse(_ path: String, _ what: String) throws(CommandFailure) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return }
        if mayBeWrittenByOthers(mode: facts.st_mode) {
            throw CommandFailure(
                exitCode: 77, message: "refusing to run as root: others may write \(what) \(path)",
                hint: "chmod go-w \(path), or pass --allow-insecure")
        }
        if facts.st_uid != 0 {
            throw CommandFailure(
                exitCode: 77, message: "refusing to run as root: \(what) \(path) belongs to user \(facts.st_uid)",
                hint: "run the job as that user, or chown root \(path), or pass --allow-insecure")
        }
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
