@preconcurrency import Glibc
import RetentionJob
import RetentionPolicy

/// The crontabs of the machine that this process may read.
enum CronFiles {
    /// `/etc/crontab`, and what is in `/etc/cron.d`.
    static var system: [String] {
        var paths = ["/etc/crontab"]
        guard let folder = opendir("/etc/cron.d") else { return paths }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { start in
                start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append("/etc/cron.d/" + name) }
        }
        paths += names.sorted()
        return paths
    }

    /// What is wrong with the lines of a crontab that run this program; nil: the file cannot be read.
    static func check(_ path: String, hasUsers: Bool) -> (source: PolicySource, diagnostics: [Diagnostic])? {
        guard let text = text(of: path) else { return nil }
        let check = CronCheck(path: path, text: text, hasUsers: hasUsers) { access($0, X_OK) == 0 }
        return (check.source, check.diagnostics(ownPath: ownPath))
    }

    private static var ownPath: String {
        guard let real = realpath("/proc/self/exe", nil) else { return "/usr/local/bin/retention" }
        defer { free(real) }
        return String(cString: real)
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        // A crontab is a page of text; what is larger is something else.
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0, count < bytes.count else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
