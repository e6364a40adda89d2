import Foundation
import RetentionPolicy
import Testing

/// Every `*.bad.yaml` holds one mistake, and says itself where it is and what is told about it:
/// `# error at column N: text` on the line of the mistake, or `# error at LINE:COLUMN: text` anywhere.
struct BadFileTests {
    struct Expectation: Equatable {
        var line: Int
        var column: Int
        var text: String
    }

    @Test(arguments: PolicyFixtures.names(".bad.yaml"))
    func tellsTheOneMistakeAtItsPlace(name: String) throws {
        let path = PolicyFixtures.folder.appendingPathComponent(name).path
        let content = try String(contentsOfFile: path, encoding: .utf8)
        // What is a mistake only where the engine for servers is left out.
        #if Postgres
            let needed = ["no PostgreSQL engine", "which this build lacks", "a SQLite file has none"]
            guard !needed.contains(where: content.contains) else { return }
        #endif
        let expected = try #require(Self.expectation(in: content), "the fixture marks no mistake")
        do throws(PolicyError) {
            _ = try PolicyFile.read(path: path)
            Issue.record("the file was read without an error")
        } catch {
            guard case .invalid(let diagnostics, let source) = error else {
                Issue.record("\(error)")
                return
            }
            let shown = DiagnosticText.render(diagnostics, source: source)
            #expect(diagnostics.count == 1, "\(shown)")
            let first = try #require(diagnostics.first)
            #expect(first.mark.line == expected.line && first.mark.column == expected.column, "\(shown)")
            #expect(first.message.contains(expected.text), "\(shown)\nexpected: \(expected.text)")
            #expect(first.severity == .error)
        }
    }

    @Test func thereAreFixtures() {
        #expect(PolicyFixtures.names(".bad.yaml").count > 150)
    }

    private static func expectation(in content: String) -> Expectation? {
        for (index, line) in content.components(separatedBy: "\n").enumerated() {
            guard let range = line.range(of: "# error at ") else { continue }
            let rest = line[range.upperBound...]
            guard let end = rest.range(of: ": ") else { return nil }
            let place = rest[..<end.lowerBound]
            let text = String(rest[end.upperBound...])
            if place.hasPrefix("column "), let column = Int(place.dropFirst("column ".count)) {
                return Expectation(line: index + 1, column: column, text: text)
            }
            let parts = place.split(separator: ":").compactMap { Int($0) }
            return parts.count == 2 ? Expectation(line: parts[0], column: parts[1], text: text) : nil
        }
        return nil
    }
}
