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

    @Test func theArticlesHaveSnippets() throws {
        let places = try Self.snippets().map(\.place)
        for article in [
            "GettingStarted", "BatchDelete", "ClassicAndBatch", "KeepingContextsTrue", "History", "AgainstCoreData",
        ] {
            #expect(places.contains { $0.hasPrefix("Sources/PriceObjects/PriceObjects.docc/\(article).md") })
        }
    }
}
