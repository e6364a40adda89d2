import Foundation
import Testing

@testable import RetentionPolicy

/// Every `*.bad.yaml` holds one mistake, with its place and a part of its message:
/// `# error at column N: text` on the line of the mistake, or `# error at LINE:COLUMN: text` anywhere.
struct BadFileTests {
    struct Expectation: Equatable {
        var line: Int
        var column: Int
        var text: String
    }

    @Test(arguments: try names(withoutPostgres: false))
    func reportsTheOneMistakeAtItsPlace(name: String) throws {
        try expectMistake(name)
    }

    @Test(
        .enabled(if: PolicyKey.noPostgreSQL != nil, "built with the trait Postgres"),
        arguments: try names(withoutPostgres: true))
    func reportsTheOneMistakeOfABuildWithoutPostgres(name: String) throws {
        try expectMistake(name)
    }

    /// The fixtures that are mistakes in every build, or only in one without the PostgreSQL engine.
    private static func names(withoutPostgres: Bool) throws -> [String] {
        let messages = ["no PostgreSQL engine", "which this build lacks", "a SQLite file has none"]
        return try PolicyFixtures.names(".bad.yaml").filter { name in
            let content = try self.content(name)
            return messages.contains(where: content.contains) == withoutPostgres
        }
    }

    private static func content(_ name: String) throws -> String {
        try String(contentsOf: PolicyFixtures.folder.appendingPathComponent(name), encoding: .utf8)
    }

    private func expectMistake(_ name: String) throws {
        let path = PolicyFixtures.folder.appendingPathComponent(name).path
        let expected = try #require(Self.expectation(in: Self.content(name)), "the fixture marks no mistake")
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
