@preconcurrency import Glibc
import RetentionJob

/// Who runs this process, and where.
enum MachineFacts {
    /// The process as the ledger records it.
    static var process: LedgerProcess {
        LedgerProcess(pid: Int(getpid()), host: host, user: user, version: RetentionCommand.version)
    }

    private static var host: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static var user: String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4096)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return "\(geteuid())"
        }
        return String(cString: entry.pw_name)
    }
}
