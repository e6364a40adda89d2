import Foundation
import Testing

/// Every Swift sample of the documentation is copied word for word from a test, which compiles and runs it.
struct SnippetTests {
    /// A fenced block of Swift in an article, a page or a doc comment.
    struct Snippet: CustomTestStringConvertible, Sendable {
        var place: String
        var lines: [String]
        var testDescription: String { place }
    }

    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The files of a folder with one of these endings, as paths from the project's folder.
    private static func files(in folder: String, endings: [String]) -> [String] {
        let found = FileManager.default.enumerator(atPath: project.appending(path: folder).path)
        return (found?.allObjects as? [String] ?? []).filter { name in endings.contains { name.hasSuffix($0) } }
            .map { folder + "/" + $0 }.sorted()
    }

    /// The lines of each test of this package.
    private static let tests: [[String]] = files(in: "Tests", endings: [".swift"]).compactMap { try? lines(of: $0) }

    private static func lines(of path: String) throws -> [String] {
        try String(contentsOf: project.appending(path: path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// All Swift samples: of the README, docs, the articles and the doc comments of the library.
    static func snippets() throws -> [Snippet] {
        var snippets: [Snippet] = []
        let pages =
            ["README.md", "CONTRIBUTING.md"] + files(in: "docs", endings: [".md"])
            + files(in: "Sources", endings: [".md", ".swift"])
        for path in pages {
            var open: Snippet?
            for (number, line) in try lines(of: path).enumerated() {
                var text = line[...]
                if path.hasSuffix(".swift") {
                    guard let comment = line.firstRange(of: "///") else { continue }
                    text = line[comment.upperBound...]
                    if text.hasPrefix(" ") { text.removeFirst() }
                }
                if let snippet = open {
                    if text.hasPrefix("```") {
                        snippets.append(snippet)
                        open = nil
                    } else {
                        open?.lines.append(String(text))
                    }
                } else if text == "```swift" {
                    open = Snippet(place: "\(path):\(number + 2)", lines: [])
                }
            }
        }
        return snippets
    }

    /// Whether a test holds the lines one after the other, all moved to the right by as much.
    private static func isRun(_ snippet: Snippet) -> Bool {
        for lines in tests {
            guard let first = snippet.lines.first, lines.count >= snippet.lines.count else { continue }
            for start in 0...(lines.count - snippet.lines.count) where lines[start].hasSuffix(first) {
                let margin = lines[start].dropLast(first.count)
                guard margin.allSatisfy({ $0 == " " }) else { continue }
                let isSame = zip(snippet.lines, lines[start...]).allSatisfy {
                    $0.isEmpty ? $1.isEmpty : margin + $0 == $1
                }
                if isSame { return true }
            }
        }
        return false
    }

    @Test(arguments: try snippets()) func isRunByATest(_ snippet: Snippet) throws {
        #expect(
            Self.isRun(snippet),
            "\(snippet.place): no test has these lines:\n\(snippet.lines.joined(separator: "\n"))")
    }

    private static let articles = [
        "GettingStarted", "TypedRows", "BatchDelete", "ClassicAndBatch", "KeepingContextsTrue", "History",
        "AgainstCoreData",
    ]

    /// The blocks of an article are one program: a test has all of them in order, with nothing but checks in between.
    @Test(arguments: articles) func runsInOrder(_ article: String) throws {
        let place = "Sources/PriceObjects/PriceObjects.docc/\(article).md"
        let blocks = try Self.snippets().filter { $0.place.hasPrefix(place) }
        let test = try #require(
            Self.tests.first { test in
                test.contains { $0.hasPrefix("/// The") && $0.contains("article \(article)") }
                    && test.contains { $0.contains("func theArticleRunsInOrder()") }
            })
        let start = try #require(test.firstIndex { $0.contains("func theArticleRunsInOrder()") })
        let end = try #require(test[start...].firstIndex(of: "    }"))
        let program = test[start + 1..<end].map { String($0.dropFirst(8)) }
        var (next, isFirst) = (0, true)
        for block in blocks {
            if block.lines.allSatisfy({ $0.hasPrefix("import ") }) {
                #expect(Set(block.lines).isSubset(of: test))
                continue
            }
            // What is before the first block makes what the article takes for granted.
            while next < program.count,
                isFirst || program[next].hasPrefix("#expect(") || program[next].hasPrefix("let id = try #"),
                !program[next...].starts(with: block.lines)
            { next += 1 }
            try #require(program[next...].starts(with: block.lines), "\(block) is not run after the block before it")
            next += block.lines.count
            isFirst = false
        }
        #expect(blocks.count > 0)
    }

    /// The conditions in the table of the first article are those of a test.
    @Test func theTableOfConditionsIsTested() throws {
        let rows = try Self.lines(of: "Sources/PriceObjects/PriceObjects.docc/GettingStarted.md")
            .filter { $0.hasPrefix("| `Attribute(") }
        let tested = Self.tests.joined()
        for row in rows {
            let condition = row.split(separator: "`")[1]
            #expect(tested.contains { $0.contains(condition) }, "\(condition)")
        }
        #expect(rows.count > 5)
    }

    /// DocC has its own links, and shows no HTML. A forge follows the links of the HTML, which is the same in each article.
    @Test func anArticleLinksToAllArticlesOnAForge() throws {
        let folder = "Sources/PriceObjects/PriceObjects.docc"
        let paths = Self.files(in: folder, endings: [".md"])
        let types = try Self.files(in: "Sources/PriceObjects", endings: [".swift"]).flatMap(Self.lines)
            .compactMap { $0.firstMatch(of: /^public .*?(struct|class|enum|protocol|actor) (\w+)/)?.2 }
        for path in paths {
            let text = try Self.lines(of: path).joined(separator: "\n")
            let targets = text.matches(of: /href="([^"]+)"/).map { String($0.1) }
            #expect(Set(paths).isSubset(of: targets.map { "\(folder)/\($0)" }), "\(path)")
            let articles = text.matches(of: /<doc:(\w+)>/).map { "\($0.1).md" }
            for target in targets + articles {
                let place = Self.project.appending(path: folder).appending(path: target).path
                #expect(FileManager.default.fileExists(atPath: place), "\(path): \(target)")
            }
            for symbol in text.matches(of: /[^`]``(\w+)/).map(\.1) where symbol != "PriceObjects" {
                #expect(types.contains(symbol), "\(path): \(symbol)")
            }
        }
        #expect(paths.count > 7)
    }

    /// Each public type of the library has an example, except what only the program `retention` uses.
    @Test func eachPublicTypeHasAnExample() throws {
        let kinds: Set<Substring> = ["struct", "enum", "class", "protocol", "actor"]
        var count = 0
        for path in ["PriceStore", "PriceObjects", "SQLiteStore"].flatMap({
            Self.files(in: "Sources/\($0)", endings: [".swift"])
        }) {
            var comment: [String] = []
            for line in try Self.lines(of: path) {
                let words = line.split { " :<".contains($0) }
                if line.hasPrefix("///") {
                    comment.append(line)
                } else if line.hasPrefix("public "), !kinds.isDisjoint(with: words.dropFirst().prefix(2)),
                    words[1] != "import", !line.contains("SparedRows")
                {
                    #expect(comment.contains("/// ```swift"), "\(path): \(line)")
                    count += 1
                }
                if !line.hasPrefix("///") { comment = [] }
            }
        }
        #expect(count > 50)
    }
}
