import Foundation
import Testing

@testable import RetentionPolicy
@testable import retention

/// Rules of the project that a compiler does not know.
struct HouseRulesTests {
    /// The files of some folders of the project, by their paths.
    private static func files(_ folders: [String], _ ending: String) throws -> [String: String] {
        var files: [String: String] = [:]
        for folder in folders {
            let root = LaunchedProgram.project.appending(path: folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(ending) {
                files["\(folder)/\(path)"] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            }
        }
        try #require(!files.isEmpty)
        return files
    }

    /// The version is in one place; the changelog has a section of it, and says whether there are changes since.
    @Test func theChangelogHasTheVersion() throws {
        let changes = try String(
            contentsOf: LaunchedProgram.project.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let released = RetentionCommand.version.replacing("+unreleased", with: "")
        let sections = changes.components(separatedBy: "\n## [")
        #expect(sections.contains { $0.hasPrefix("\(released)] - 20") }, "\(released)")
        let news = try #require(sections.first { $0.hasPrefix("Unreleased]\n") })
        #expect(news.contains("\n- ") == (released != RetentionCommand.version), "\(RetentionCommand.version)")
        let other = "\"\(RetentionCommand.version)\""
        for (path, text) in try Self.files(["Sources", "Tests"], ".swift")
        where !path.hasSuffix("RetentionCommand.swift") {
            #expect(!text.contains(other), "\(path)")
        }
    }

    // MARK: Engines

    /// The lines of a text with a match of an expression, by their numbers. Foundation's expressions read all of Sources in a second.
    private static func lines(
        of text: String, with pattern: String, ignoresCase: Bool = false
    ) throws -> [(Int, String)] {
        let expression = try NSRegularExpression(
            pattern: pattern, options: ignoresCase ? [.anchorsMatchLines, .caseInsensitive] : .anchorsMatchLines)
        let whole = text as NSString
        return expression.matches(in: text, range: NSRange(location: 0, length: whole.length)).map { match in
            let before = whole.substring(to: match.range.location)
            let line = whole.substring(with: whole.lineRange(for: match.range))
            return (before.utf8.count { $0 == UInt8(ascii: "\n") } + 1, line)
        }
    }

    /// The lines of code with a word that makes sense for one engine only. A full stop between letters is a boundary of a word.
    private static func linesWithEngineWords(in text: String) throws -> [(Int, String)] {
        let words = "\\b(?:windows|WAL|ctid)\\b|[Pp]artition|[Cc]hunk|\\b[Rr]ow[Ii][Dd]|[Pp]ragma|PRAGMA"
        return try lines(of: text, with: "^(?! *//).*?(?:\(words))")
    }

    @Test func noWordOfAnEngineIsAboveTheEngines() throws {
        let above = ["PriceStore", "PriceObjects", "RetentionPolicy", "RetentionJob", "RetentionReports", "retention"]
        // Names that columns may have, and rows of the pages.
        let others = ["AttributeWords.swift", "ExplainCommand.swift"]
        for (path, text) in try Self.files(above.map { "Sources/\($0)" }, ".swift")
        where !others.contains(where: path.hasSuffix) {
            for (number, line) in try Self.linesWithEngineWords(in: text) {
                Issue.record("\(path):\(number): \(line)")
            }
        }
    }

    @Test(arguments: [
        ("let chunks = 3", true), ("/// A chunk", false), ("case wal = \"WAL\"", true), ("walk", false),
        ("forEachRowID", false), ("a.rowid", true), ("PRAGMA x", true), ("isPartitioned", true),
    ]) func aWordOfAnEngineIsFound(_ line: String, _ isFound: Bool) throws {
        let found = try Self.linesWithEngineWords(in: "a\n\n    \(line)\nb")
        #expect(found.map(\.0) == (isFound ? [3] : []) && found.map(\.1) == (isFound ? ["    \(line)\n"] : []))
    }

    // MARK: Functions

    /// How many lines a function may have.
    private static let limit = 70
    /// Longer ones: each is one list or one statement, or is older than the rule. Do not add any.
    private static let longFunctions: Set = [
        "SettingReader+Scalars.read"
    ]

    /// The functions of a file with more lines than allowed. A body ends with a brace below its first line's indentation.
    private static func longFunctions(in text: String) throws -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let beginning = "^ *(?:@\\S+ |[a-z]+(?:\\([a-z]+\\))? )*(?:func \\w|(?:init|deinit)\\b)"
        return try Self.lines(of: text, with: beginning).compactMap { number, line in
            let first = number - 1
            guard
                let opening = lines[first...].firstIndex(where: { $0.hasSuffix("{") || $0.hasSuffix("}") || $0.isEmpty }
                ),
                lines[opening].hasSuffix("{"),
                let last = lines[opening...].firstIndex(where: { $0 == line.prefix { $0 == " " } + "}" }),
                last - first >= limit
            else { return nil }
            return line.firstMatch(of: #/func (\w+)|\b(init|deinit)\b/#).map { String($0.1 ?? $0.2 ?? "") }
        }
    }

    @Test func noFunctionIsLong() throws {
        var found: Set<String> = []
        for (path, text) in try Self.files(["Sources"], ".swift") {
            let file = URL(filePath: path).deletingPathExtension().lastPathComponent
            found.formUnion(try Self.longFunctions(in: text).map { "\(file).\($0)" })
        }
        #expect(found.subtracting(Self.longFunctions) == [], "more than \(Self.limit) lines")
        #expect(Self.longFunctions.subtracting(found) == [], "no longer long: take it from the list")
    }

    @Test(arguments: [(70, []), (71, ["work"])]) func aLongFunctionIsFound(lines: Int, found: [String]) throws {
        let body = String(repeating: "        work()\n", count: lines - 2)
        let text = "    private static func work(\n    ) {\n\(body.dropFirst(15))    }\n"
        #expect(try Self.longFunctions(in: text) == found)
    }

    // MARK: Keys of the policy

    @Test func theReferenceAndTheReaderKnowTheSameKeysAndWords() throws {
        let (known, words) = Self.names(in: .group(PolicyKey.file))
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/configuration.md"), encoding: .utf8)
        var documented: Set<String> = []
        var isTableOfKeys = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                isTableOfKeys = false
                continue
            }
            if line.hasPrefix("| key |") { isTableOfKeys = true }
            guard isTableOfKeys, let cell = line.split(separator: "|").first else { continue }
            documented.formUnion(cell.matches(of: #/`(\w+)`/#).map { String($0.1) })
        }
        #expect(documented.subtracting(known) == [], "the page has keys that nothing reads")
        let unnamed = known.filter { key in !["`\(key)`", ".\(key)`", "\(key):"].contains(where: page.contains) }
        #expect(unnamed == [], "the page does not describe these keys")
        #expect(words.filter { !page.contains("`\($0)`") } == [], "the page does not describe these words")
    }

    /// All keys of a shape and below it, and the words that are values.
    private static func names(in shape: PolicyShape) -> (keys: Set<String>, words: Set<String>) {
        func all(_ shapes: [PolicyShape]) -> (keys: Set<String>, words: Set<String>) {
            shapes.map(names).reduce(into: ([], [])) { $0 = ($0.keys.union($1.keys), $0.words.union($1.words)) }
        }
        switch shape {
        case .group(let keys), .scalarOrGroup(_, let keys):
            var found = all(keys.map(\.shape))
            if case .scalarOrGroup(let scalar, _) = shape { found.words.formUnion(names(in: scalar).words) }
            found.keys.formUnion(keys.map(\.name))
            return found
        case .list(let shape, _), .named(let shape): return names(in: shape)
        case .ages: return names(in: .group(PolicyKey.ages))
        case .word(let own): return ([], Set(own.map(\.name)))
        case .wordOr(let own, let other): return ([], Set(own.map(\.name)).union(names(in: other).words))
        default: return ([], [])
        }
    }

    // MARK: Words

    @Test func nobodyUsesAWordToAvoid() throws {
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/architecture.md"), encoding: .utf8)
        let list = try #require(page.split(separator: "\n").first { $0.hasPrefix("Words to avoid: ") })
        let words = list.matches(of: #/`([^`]+)`/#).map { String($0.1) }
        try #require(words.count > 20)
        let pattern = "\\b(?:\(words.joined(separator: "|")))\\b"
        var files = try Self.files(["Sources"], ".swift")
        files.merge(try Self.files(["docs", "Sources/PriceObjects"], ".md")) { first, _ in first }
        for name in ["README.md", "CONTRIBUTING.md", "SECURITY.md"] {
            files[name] = try String(contentsOf: LaunchedProgram.project.appending(path: name), encoding: .utf8)
        }
        // They have words of other programs.
        let others = ["AttributeWords.swift", "CommandLineHints.swift"]
        for (path, text) in files where !others.contains(where: path.hasSuffix) {
            for (number, line) in try Self.lines(of: text, with: pattern, ignoresCase: true) where line != list + "\n" {
                Issue.record("\(path):\(number): \(line)")
            }
        }
    }
}
