@preconcurrency import Glibc
import RetentionJob
import RetentionPolicy

/// Reads the policy, and checks who can change it and its pending folders.
enum PolicyAccess {
    /// Reads a policy file, and checks who can change it.
    ///
    /// - Parameter allowsInsecure: whether root may run what others can write.
    /// - Throws: ``PolicyError``, or ``CommandFailure`` with 77.
    static func read(_ path: String, allowsInsecure: Bool, forPastRuns: Bool = false) throws -> Policy {
        if !allowsInsecure, geteuid() == 0 { try refuse(path, "the policy") }
        return try PolicyFile.read(path: path, forPastRuns: forPastRuns)
    }

    /// Checks who can change the folders and programs that a policy names.
    static func check(_ policy: Policy, allowsInsecure: Bool) throws {
        guard !allowsInsecure, geteuid() == 0 else { return }
        for folder in PendingFolder(policy).folders() { try refuse(folder, "the pending folder") }
        if let folder = policy.archive?.folder { try refuse(folder, "the folder of the archives") }
        if let file = policy.store.passwordFile { try refuse(file, "the password file") }
        try checkPrograms(of: policy, allowsInsecure: allowsInsecure)
    }

    /// Checks who can change the programs that a policy names.
    static func checkPrograms(of policy: Policy, allowsInsecure: Bool) throws {
        guard !allowsInsecure, geteuid() == 0 else { return }
        for words in [policy.onFailure, policy.onSuccess] {
            for place in try words.first.map({ try NoticeProgram($0).places() }) ?? [] {
                try refuse(place.path, place.what, isProgram: true)
            }
            // The script that an interpreter runs.
            for word in words.dropFirst() where FilePlace(word, followsLink: true).facts?.isRegularFile == true {
                try refuse(word, "the argument of the program", isProgram: true)
            }
        }
    }

    /// Refuses a file that a user other than root can change, because that user could make root delete or insert any row.
    ///
    /// - Parameter isProgram: whether the file is executed. Under another owner it would still do what the former owner wrote.
    private static func refuse(_ path: String, _ what: String, isProgram: Bool = false) throws(CommandFailure) {
        guard let weakness = TrustedPath.weakness(path) else { return }
        let way = weakness.isLast ? "" : "; the path of \(what) leads through it"
        let subject = weakness.isLast ? "\(what) \(path)" : weakness.path
        guard let owner = weakness.owner else {
            throw CommandFailure(
                exitCode: 77, message: "refusing to run as root: others may write \(subject)\(way)",
                hint: (weakness.isShared
                    ? "name a folder of its own below it" : SafeText.command(["chmod", "go-w", weakness.path]))
                    + ", or pass --allow-insecure")
        }
        let name = MachineFacts.name(of: owner)
        throw CommandFailure(
            exitCode: 77,
            message: "refusing to run as root: \(subject) belongs to user \(owner)"
                + (name.map { " (\($0))" } ?? "") + way,
            hint:
                "run it as that user: sudo -u \(name ?? "'#\(owner)'") \(SafeText.command(CommandLine.arguments)); or "
                + (isProgram && weakness.isLast
                    ? "replace \(weakness.path) by a file that root has written"
                    : SafeText.command(["chown", "root", weakness.path]))
                + ", or pass --allow-insecure")
    }

    /// The exit status for a file that cannot be read.
    static func exitCode(ofSystemError code: Int32) -> Int32 {
        switch code {
        case EACCES, EPERM: 77
        case ENOENT, ENOTDIR: 66
        default: 74
        }
    }
}
