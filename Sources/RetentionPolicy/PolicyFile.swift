@preconcurrency import Glibc
import PriceStore

/// Reads a policy file: bytes, then located nodes, then settings, then a ``Policy``.
package enum PolicyFile {
    /// Larger files are not read.
    package static let largestSizeBytes = 1 << 20

    /// Reads a file once, and checks all of it.
    ///
    /// Paths in it are made absolute, relative to the folder that `path` names. Nothing else is opened.
    ///
    /// - Parameter path: the file; relative to the working folder, or absolute.
    /// - Throws: ``PolicyError`` with all mistakes of the file, sorted by position.
    package static func read(path: String) throws(PolicyError) -> Policy {
        let bytes = try contents(path)
        return try policy(bytes: bytes, path: path, baseFolder: folder(of: path))
    }

    /// Reads the bytes of a policy file.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - path: the file's name in messages.
    ///   - baseFolder: the absolute folder to which paths are relative.
    static func policy(bytes: [UInt8], path: String, baseFolder: String) throws(PolicyError) -> Policy {
        let text = PolicyText(bytes: bytes, path: path)
        if let mistake = text.mistake { throw .invalid([mistake], text.source) }
        // Checked before any line is shown.
        if let line = text.source.lines.firstIndex(where: Secrets.areIn) {
            throw secret(path, at: Mark(line: line + 1, column: 1))
        }
        let (root, mistakes, password) = YAMLReader.read(text)
        if let password { throw secret(path, at: password) }
        var builder = PolicyBuilder(reader: SettingReader(baseFolder: baseFolder), source: text.source)
        let policy = root.flatMap { builder.policy($0) }
        var diagnostics = mistakes + builder.reader.diagnostics
        if diagnostics.isEmpty, let policy { return policy }
        if diagnostics.isEmpty {
            diagnostics = [Diagnostic(at: Mark(line: 1, column: 1), "the file has no store and no rules")]
        }
        diagnostics.sort { a, b in a.mark < b.mark || (!(b.mark < a.mark) && a.message < b.message) }
        throw .invalid(diagnostics, text.source)
    }

    private static func contents(_ path: String) throws(PolicyError) -> [UInt8] {
        // Opening a FIFO without a writer must not block.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw failure(path, errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(path, errno) }
        if status.st_mode & S_IFMT == S_IFDIR { throw failure(path, EISDIR) }
        if status.st_size > largestSizeBytes { throw tooLarge(path) }
        _ = fcntl(file, F_SETFL, O_RDONLY)

        var bytes: [UInt8] = []
        let code = FilePortions.read(file) { portion in
            bytes += portion
            return bytes.count <= largestSizeBytes
        }
        if let code { throw failure(path, code) }
        if bytes.count > largestSizeBytes { throw tooLarge(path) }
        return bytes
    }

    private static func failure(_ path: String, _ code: Int32) -> PolicyError {
        if code == ENOENT || code == ENOTDIR { return .missing(path: path) }
        return .unreadable(path: path, code: code, reason: String(systemError: code))
    }

    /// The error for a password in the file. No line of the file is shown.
    private static func secret(_ path: String, at mark: Mark) -> PolicyError {
        let message =
            "a password must not be in a policy; name a file that has it in 'password_file', or set PGPASSFILE or "
            + "PGPASSWORD; a command of on_failure or on_success can be a script that reads it; " + Secrets.note
        return .invalid([Diagnostic(at: mark, message)], PolicySource(path: path, sha256: "", lines: []))
    }

    private static func tooLarge(_ path: String) -> PolicyError {
        let source = PolicySource(path: path, sha256: "", lines: [])
        return .invalid(
            [Diagnostic(at: Mark(line: 1, column: 1), "the file is larger than 1 MiB and is not read")], source)
    }

    /// The absolute folder of a file, without a slash at its end (except for the root).
    private static func folder(of path: String) -> String {
        var folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if path.hasPrefix("/") { return folder.isEmpty ? "/" : folder }
        while folder.hasPrefix("./") { folder.removeFirst(2) }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard let start = getcwd(&buffer, buffer.count) else { return folder }
        let working = String(cString: start)
        if folder == "." { return working }
        return (working == "/" ? "" : working) + "/" + folder
    }
}
