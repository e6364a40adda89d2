@preconcurrency import Glibc
import RetentionJob
import RetentionReports

/// The user and the machine of this process.
enum MachineFacts {
    static let process = LedgerProcess(
        pid: Int(getpid()), host: host, user: name(of: geteuid()) ?? "\(geteuid())",
        version: RetentionCommand.version, uid: Int(geteuid()), login: login,
        sudoUser: getenv("SUDO_USER").map { String(cString: $0) })

    private static var host: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The user who logged in, whom the kernel keeps through `su` and `sudo`; nil: unknown, or nobody.
    private static var login: String? {
        let descriptor = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let uid = UInt32(String(decoding: bytes.prefix(count).prefix { $0 > 32 }, as: UTF8.self)),
            uid != .max
        else { return nil }
        return name(of: uid) ?? "\(uid)"
    }

    /// The name of a user; nil: the user has none.
    static func name(of uid: uid_t) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4096)
        guard getpwuid_r(uid, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return String(cString: entry.pw_name)
    }
}
