package import RetentionPolicy

/// Looks through a crontab for lines that would not run the job: a program that cron does not find, a `%`, a last line
/// without an end. Pure; it is told which programs there are.
package struct CronCheck {
    /// The crontab's path, for messages.
    package var path: String
    package var text: String
    /// Whether lines have a user before the command, as in `/etc/crontab` and `/etc/cron.d`.
    package var hasUsers: Bool
    /// Whether a path is a program that can be run.
    package var isProgram: (String) -> Bool

    package init(path: String, text: String, hasUsers: Bool, isProgram: @escaping (String) -> Bool) {
        self.path = path
        self.text = text
        self.hasUsers = hasUsers
        self.isProgram = isProgram
    }

    /// Where cron looks for programs unless the crontab says otherwise. Source: crontab(5) of Debian.
    private static let defaultPath = "/usr/bin:/bin"

    /// The crontab's lines, for showing them with what is found.
    package var source: PolicySource {
        PolicySource(path: path, sha256: "", lines: lines)
    }

    private var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    /// What is wrong with the lines that run the job; empty if there are none.
    ///
    /// - Parameter ownPath: where this program is, to be named as the cure.
    package func diagnostics(ownPath: String) -> [Diagnostic] {
        var found: [Diagnostic] = []
        var searchPath = Self.defaultPath
        for (index, line) in lines.enumerated() {
            let trimmed = line.drop { $0 == " " || $0 == "\t" }
            guard !trimmed.isEmpty, !trimmed.hasPrefix("#") else { continue }
            if let (name, value) = Self.assignment(trimmed) {
                if name == "PATH" { searchPath = value }
                continue
            }
            guard let command = command(of: line), let program = Self.program(in: command) else { continue }
            let mark = { (part: Substring) in
                Mark(
                    line: index + 1,
                    column: line.unicodeScalars.distance(from: line.startIndex, to: part.startIndex) + 1,
                    length: max(1, part.unicodeScalars.count))
            }
            if let problem = problem(with: String(program), searchPath: searchPath, ownPath: ownPath) {
                found.append(Diagnostic(.warning, at: mark(program), problem))
            }
            if let percent = Self.barePercent(in: command) {
                found.append(
                    Diagnostic(
                        .warning, at: mark(command[percent...].prefix(1)),
                        "cron takes a % for the end of the line; write \\%"))
            }
            if index == lines.count - 1 {
                found.append(
                    Diagnostic(
                        .warning, at: mark(program), "the last line has no line end: cron does not read it; add one"))
            }
            if path.hasPrefix("/etc/cron.d/"), path.dropFirst("/etc/cron.d/".count).contains(".") {
                found.append(
                    Diagnostic(
                        .warning, at: mark(program),
                        "cron passes over files of /etc/cron.d with a dot in their name; rename \(path)"))
            }
        }
        return found
    }

    private func problem(with program: String, searchPath: String, ownPath: String) -> String? {
        if program.contains("/") {
            return isProgram(program)
                ? nil : "there is no program \(program); this one is \(ownPath): write that in its place"
        }
        let folders = searchPath.split(separator: ":").map(String.init)
        guard !folders.contains(where: { isProgram("\($0)/\(program)") }) else { return nil }
        return
            "cron looks for \(program) in \(searchPath) and does not find it; write \(ownPath) in its place, or a line "
            + "PATH=\(folder(of: ownPath)):\(searchPath) above it"
    }

    private func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// `NAME=value`, quotes around the value taken away.
    private static func assignment(_ line: Substring) -> (name: String, value: String)? {
        guard let equals = line.firstIndex(of: "=") else { return nil }
        let name = line[..<equals].trimmed
        guard let first = name.first, first.isLetter || first == "_",
            name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
        else { return nil }
        var value = line[line.index(after: equals)...].trimmed
        if let quote = value.first, quote == "\"" || quote == "'", value.count > 1, value.last == quote {
            value = value.dropFirst().dropLast()
        }
        return (String(name), String(value))
    }

    /// What the line runs; nil: it is no line of a crontab.
    private func command(of line: String) -> Substring? {
        var rest = line.drop { $0 == " " || $0 == "\t" }
        let times = rest.hasPrefix("@") ? 1 : 5
        for _ in 0..<(times + (hasUsers ? 1 : 0)) {
            rest = rest.drop { $0 != " " && $0 != "\t" }.drop { $0 == " " || $0 == "\t" }
        }
        return rest.isEmpty ? nil : rest
    }

    /// The word that names this program, followed by one of its commands.
    private static func program(in command: Substring) -> Substring? {
        let words = command.split { " \t;&|()".contains($0) }
        let commands: Set<Substring> = ["run", "check", "log", "report", "inspect", "init"]
        return zip(words, words.dropFirst()).first { word, next in
            (word == "retention" || word.hasSuffix("/retention")) && commands.contains(next)
        }?.0
    }

    private static func barePercent(in command: Substring) -> Substring.Index? {
        command.indices.first { index in
            command[index] == "%" && (index == command.startIndex || command[command.index(before: index)] != "\\")
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
