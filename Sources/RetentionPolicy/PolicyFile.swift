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
    /// - Parameter forPastRuns: whether a policy is also returned if all mistakes are in `rules`, `defaults`, `holds` or `pending`, so that it is
    ///   certain which runs are its own. It has ``Policy/mistakes``, and deletes nothing.
    /// - Throws: ``PolicyError`` with all mistakes of the file, sorted by position.
    package static func read(path: String, forPastRuns: Bool = false) throws(PolicyError) -> Policy {
        let bytes = try contents(path)
        return try policy(bytes: bytes, path: path, baseFolder: folder(of: path), forPastRuns: forPastRuns)
    }

    /// Reads the bytes of a policy file, which messages call `path`. Paths in it are relative to an absolute folder.
    static func policy(
        bytes: [UInt8], path: String, baseFolder: String, forPastRuns: Bool = false
    ) throws(PolicyError) -> Policy {
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
        let error = PolicyError.invalid(diagnostics, text.source)
        guard forPastRuns, mistakes.isEmpty, let names = root?.withoutRules else { throw error }
        var trial = PolicyBuilder(reader: SettingReader(baseFolder: baseFolder), source: text.source)
        guard var policy = trial.policy(names), trial.reader.diagnostics.isEmpty else { throw error }
        policy.mistakes = error
        return policy
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
        return unshown(path, at: mark, message)
    }

    private static func tooLarge(_ path: String) -> PolicyError {
        unshown(path, at: Mark(line: 1, column: 1), "the file is larger than 1 MiB and is not read")
    }

    private static func unshown(_ path: String, at mark: Mark, _ message: String) -> PolicyError {
        .invalid([Diagnostic(at: mark, message)], PolicySource(path: path, sha256: "", lines: []))
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

extension YAMLNode {
    /// The file with the names and the entities of its rules, and without what else says which rows go: no row is that old. Nil: there are no
    /// rules.
    fileprivate var withoutRules: YAMLNode? {
        guard case .mapping(var pairs) = content, let index = pairs.firstIndex(where: { $0.key == "rules" }),
            case .sequence(let rules) = pairs[index].value.content
        else { return nil }
        let bare = rules.compactMap { rule -> YAMLNode? in
            guard case .mapping(let pairs) = rule.content else { return nil }
            func setting(_ key: String, _ text: String) -> Pair {
                let value = YAMLNode(content: .scalar(Scalar(text: text, isPlain: true)), mark: rule.mark)
                return Pair(key: key, keyMark: rule.mark, value: value)
            }
            let own = pairs.filter { pair in
                guard case .scalar(let scalar) = pair.value.content else { return false }
                return switch pair.key {
                case "name": true
                case "entity": scalar.isName
                case "enabled": scalar.kind == .flag(true) || scalar.kind == .flag(false)
                default: false
                }
            }
            let entity = own.contains { $0.key == "entity" } ? [] : [setting("entity", "unknown")]
            let rest = [setting("date_attribute", "?"), setting("max_age", "9999y")]
            return YAMLNode(content: .mapping(own + entity + rest), mark: rule.mark)
        }
        pairs[index].value.content = .sequence(bare)
        pairs.removeAll { ["defaults", "holds", "pending"].contains($0.key) }
        return YAMLNode(content: .mapping(pairs), mark: mark)
    }
}

extension YAMLNode.Scalar {
    /// Whether it is the name of one entity with columns of its own.
    fileprivate var isName: Bool {
        kind == .text && text != Entity.persistentHistory && EntityPattern(text) == nil
    }
}
