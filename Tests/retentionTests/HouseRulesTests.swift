import Foundation
import Testing

@testable import RetentionPolicy

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

    // MARK: Engines

    /// The first word of a line of code that makes sense for one engine only.
    private static func engineWord(in line: Substring) -> Substring? {
        guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return nil }
        let words = #/\b(?:windows|WAL|ctid)\b|[Pp]artition|[Cc]hunk|\b[Rr]ow[Ii][Dd]|[Pp]ragma|PRAGMA/#
        // As `grep` finds words: a full stop between letters is a boundary.
        return line.firstMatch(of: words.wordBoundaryKind(.simple))?.0
    }

    @Test func noWordOfAnEngineIsAboveTheEngines() throws {
        let above = ["PriceStore", "PriceObjects", "RetentionPolicy", "RetentionJob", "RetentionReports", "retention"]
        // Names that columns may have.
        for (path, text) in try Self.files(above.map { "Sources/\($0)" }, ".swift")
        where !path.hasSuffix("AttributeWords.swift") {
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                #expect(Self.engineWord(in: line) == nil, "\(path):\(number + 1): \(line)")
            }
        }
    }

    @Test(arguments: [
        ("let chunks = 3", "chunk"), ("/// A chunk", nil), ("case wal = \"WAL\"", "WAL"), ("walk", nil),
        ("forEachRowID", nil), ("a.rowid", "rowid"), ("PRAGMA x", "PRAGMA"), ("isPartitioned", "Partition"),
    ]) func aWordOfAnEngineIsFound(_ line: String, _ word: String?) {
        #expect(Self.engineWord(in: line[...]).map(String.init) == word)
    }

    // MARK: Functions

    /// How many lines a function may have.
    private static let limit = 70
    /// Longer ones: each is one list or one statement, or is older than the rule. Do not add any.
    private static let longFunctions: Set = [
        "AttachedArchive.contents", "FormerRule.init",
        "RestorationTable.init", "ServerArchive.init", "ServerArchive.table", "SettingReader+Scalars.read",
        "ThinnedRows.find",
    ]

    /// The functions of a file with more lines than allowed. A body ends with a brace below its first line's indentation.
    private static func longFunctions(in text: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.compactMap { first in
            guard
                let found = lines[first].firstMatch(
                    of: #/^( *)(?:@\S+ |[a-z]+(?:\([a-z]+\))? )*(?:func (\w+)|(init|deinit)\b)/#),
                let opening = lines[first...].firstIndex(where: { $0.hasSuffix("{") || $0.hasSuffix("}") || $0.isEmpty }
                ),
                lines[opening].hasSuffix("{"),
                let last = lines[opening...].firstIndex(where: { $0 == found.1 + "}" }), last - first >= limit
            else { return nil }
            return String(found.2 ?? found.3 ?? "")
        }
    }

    @Test func noFunctionIsLong() throws {
        var found: Set<String> = []
        for (path, text) in try Self.files(["Sources"], ".swift") {
            let file = URL(filePath: path).deletingPathExtension().lastPathComponent
            found.formUnion(Self.longFunctions(in: text).map { "\(file).\($0)" })
        }
        #expect(found.subtracting(Self.longFunctions) == [], "more than \(Self.limit) lines")
        #expect(Self.longFunctions.subtracting(found) == [], "no longer long: take it from the list")
    }

    @Test(arguments: [(70, []), (71, ["work"])]) func aLongFunctionIsFound(lines: Int, found: [String]) {
        let body = String(repeating: "        work()\n", count: lines - 2)
        #expect(Self.longFunctions(in: "    private static func work(\n    ) {\n\(body.dropFirst(15))    }\n") == found)
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
        let pattern = try Regex("\\b(?:\(words.joined(separator: "|")))\\b").ignoresCase().wordBoundaryKind(.simple)
        var files = try Self.files(["Sources"], ".swift")
        files.merge(try Self.files(["docs", "Sources/PriceObjects"], ".md")) { first, _ in first }
        for name in ["README.md", "CONTRIBUTING.md", "SECURITY.md"] {
            files[name] = try String(contentsOf: LaunchedProgram.project.appending(path: name), encoding: .utf8)
        }
        for (path, text) in files where !path.hasSuffix("AttributeWords.swift") {
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            where line != list {
                let word = line.firstMatch(of: pattern).map { String(line[$0.range]) }
                #expect(word == nil, "\(path):\(number + 1): \(line)")
            }
        }
    }
}
