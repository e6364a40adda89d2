import Foundation

@testable import RetentionPolicy

/// The folder of the package, of the fixtures, and policies from text.
enum PolicyFixtures {
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")

    /// The names of the fixtures with an end, sorted.
    static func names(_ end: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(end) }.sorted()
    }

    /// A file that holds one rule, with more lines for the rule (four spaces are put before each).
    static func text(top: String = "", rule: [String] = []) -> String {
        """
        version: 1
        store: prices.sqlite
        \(top)
        rules:
          - name: gold
            entity: Gold
            date_attribute: at
            max_age: 30d

        """ + rule.map { "    \($0)\n" }.joined()
    }

    static func read(_ text: String) throws(PolicyError) -> Policy { try read(Array(text.utf8)) }

    static func read(_ bytes: [UInt8]) throws(PolicyError) -> Policy {
        try PolicyFile.policy(bytes: bytes, path: "retention.yaml", baseFolder: "/etc/prices")
    }

    /// The one rule of a file with more lines for the rule.
    static func rule(_ lines: String...) throws(PolicyError) -> Rule {
        try read(text(rule: lines)).rules[0]
    }

    static func mistakes(_ text: String) -> [Diagnostic] { mistakes(Array(text.utf8)) }

    static func mistakes(_ bytes: [UInt8]) -> [Diagnostic] {
        do throws(PolicyError) {
            _ = try read(bytes)
            return []
        } catch {
            guard case .invalid(let diagnostics, _) = error else { return [] }
            return diagnostics
        }
    }
}
