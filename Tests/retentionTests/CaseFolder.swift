import Foundation

/// A folder of `Tests/Cases`: a store, a policy, and a transcript of commands with what they print. CONTRIBUTING.md describes
/// its files.
struct CaseFolder {
    /// A command of the transcript, what it prints and how it ends.
    struct Step {
        var command: String
        var expected: [String] = []
        var status: Int32 = 0
    }

    /// The store and what the commands do to it.
    struct Store {
        var change: (String) throws -> Void
        var rows: (String) throws -> String
    }

    static let root = LaunchedProgram.project.appending(path: "Tests/Cases")
    /// The names of all cases.
    static let names = ((try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []).sorted()
    /// The names of those whose SQL a server understands, too.
    static let portableNames = names.filter {
        let text = try? String(contentsOf: root.appending(path: "\($0)/expect.txt"), encoding: .utf8)
        return text?.contains("\n# Engines: SQLite, PostgreSQL\n") == true
    }

    let folder: URL
    let steps: [Step]

    /// Reads a case.
    ///
    /// - Throws: ``Mistake`` if it does not begin with a comment, or a status has no command.
    init(_ name: String) throws {
        folder = Self.root.appending(path: name)
        steps = try Self.steps(of: String(contentsOf: folder.appending(path: "expect.txt"), encoding: .utf8))
    }

    struct Mistake: Error { var text: String }

    static func steps(of transcript: String) throws -> [Step] {
        guard transcript.hasPrefix("# ") else {
            throw Mistake(text: "expect.txt begins with a comment: the report that it comes from")
        }
        var steps: [Step] = []
        for line in transcript.split(separator: "\n") {
            if line.hasPrefix("$ exit ") {
                guard let status = Int32(line.dropFirst(7)), !steps.isEmpty else {
                    throw Mistake(text: "a status has a number, and stands below its command: \(line)")
                }
                steps[steps.count - 1].status = status
            } else if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if !steps.isEmpty {
                steps[steps.count - 1].expected.append(String(line))
            } else if !line.hasPrefix("#") {
                throw Mistake(text: "only comments stand above the first command: \(line)")
            }
        }
        return steps
    }

    /// The store's SQL.
    func sql() throws -> String { try String(contentsOf: folder.appending(path: "store.sql"), encoding: .utf8) }

    /// Makes the folder that the commands work in, without the store's rows.
    ///
    /// - Parameter url: the store that all policies name in place of the file; nil: the file.
    func makeJob(url: String? = nil) throws -> LaunchedJob {
        let job = try LaunchedJob("", policy: "", inMemory: true)
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        for case let file as URL in files ?? .init()
        where try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
            let name = String(file.path.dropFirst(folder.path.count + 1))
            guard name != "store.sql", name != "expect.txt" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            try job.folder.write(
                url.map { text.replacing("store: prices.sqlite", with: "store: \($0)") } ?? text, to: name)
        }
        return job
    }

    /// Carries all commands out, and returns what is not as expected.
    static func differences(_ steps: [Step], _ job: LaunchedJob, _ store: Store) throws -> [String] {
        var runs: [String] = []
        return try steps.compactMap { step in
            let command = runs.enumerated().reduce(step.command) { text, run in
                text.replacing("$RUN\(run.offset + 1)", with: run.element)
            }
            let end = try perform(command, job, store)
            if step.command.hasPrefix("retention run"), let run = end.errors.firstMatch(of: /run started run=(\w+)/) {
                runs.append(String(run.1))
            }
            let printed = lines(end.output + "\n" + end.errors)
            guard end.status != step.status || !fits(lines(step.expected.joined(separator: "\n")), printed) else {
                return nil
            }
            return "$ \(step.command)\n\(end.output)\(end.errors)$ exit \(end.status)"
        }
    }

    private static func perform(_ command: String, _ job: LaunchedJob, _ store: Store) throws -> LaunchedProgram.Ending
    {
        let (word, rest) = (command.prefix { $0 != " " }, String(command.drop { $0 != " " }.dropFirst()))
        switch word {
        case "sql":
            let rows = try inFile(rest).map { try job.rows($0.sql, in: $0.file).joined(separator: "\n") + "\n" }
            return .init(status: 0, output: try rows ?? store.rows(rest), errors: "")
        case "change":
            if let change = inFile(rest) { try job.change(change.sql, in: change.file) } else { try store.change(rest) }
            return .init(status: 0, output: "", errors: "")
        case "retention" where !rest.contains(#/[|<>;&$]/#):
            let words = rest.matches(of: /'([^']*)'|"([^"]*)"|\S+/).map { String($0.1 ?? $0.2 ?? $0.0) }
            return try job.perform(words)
        default: return try LaunchedProgram.shell(command, in: job.folder.url)
        }
    }

    /// The file that stands before a statement; nil: the statement is for the store.
    private static func inFile(_ text: String) -> (file: String, sql: String)? {
        guard let match = text.wholeMatch(of: /(\S+\.sqlite) (.+)/) else { return nil }
        return (String(match.1), String(match.2))
    }

    // MARK: What is compared

    /// The lines of a text without empty ones and those of the log at level info, with single spaces. A line that begins
    /// with a space belongs to the one above: where a long line is wrapped says nothing.
    private static func lines(_ text: String) -> [String] {
        var lines: [String] = []
        let atInfo = #/\d{4}-\d\d-\d\dT[\d:]+Z info /#
        for line in text.split(whereSeparator: \.isNewline) where line.prefixMatch(of: atInfo) == nil {
            let words = line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard !words.isEmpty else { continue }
            if line.first == " ", !lines.isEmpty {
                lines[lines.count - 1] += " " + words
            } else {
                lines.append(words)
            }
        }
        return lines
    }

    /// A line `…` stands for any lines, and `…` in a line for any text.
    private static func fits(_ expected: [String], _ printed: [String]) -> Bool {
        fits(expected.map(Array.init), printed.map(Array.init), any: ["…"]) { fits($0, $1, any: "…", isSame: ==) }
    }

    private static func fits<Part: Equatable>(
        _ pattern: [Part], _ parts: [Part], any: Part, isSame: (Part, Part) -> Bool
    ) -> Bool {
        var (place, part) = (0, 0)
        // The last placeholder, and the first part behind those that it stands for.
        var placeholder: (place: Int, part: Int)?
        while part < parts.count {
            if place < pattern.count, pattern[place] == any {
                placeholder = (place, part)
                place += 1
            } else if place < pattern.count, isSame(pattern[place], parts[part]) {
                (place, part) = (place + 1, part + 1)
            } else if let last = placeholder {
                placeholder = (last.place, last.part + 1)
                (place, part) = (last.place + 1, last.part + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == any }
    }
}
