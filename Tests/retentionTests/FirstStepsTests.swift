import Foundation
import Testing

/// docs/first-steps.md is what a new user sees on a store that the program has not made.
struct FirstStepsTests {
    private static let store = ["../shared", "../../shared"].map {
        LaunchedProgram.project.appending(path: "\($0)/data/coredata/plaso/DataUsage.sqlite").standardizedFileURL
    }.first { FileManager.default.fileExists(atPath: $0.path) }

    /// The output without what differs from time to time: how long something took, and hashes of records.
    private func settled(_ text: String) -> String {
        text.replacing(/\d+ ms|\d+\.\d s/) { _ in "12 ms" }
            .replacing(/link is [0-9a-f]{64}/) { _ in "link is 4f0c…" }
            // The version of SQLite, and what is known of it.
            .replacing(#/\n  SQLite [^\n]*(\n  [^\n]*)*\n\n/#) { _ in "\n\n" }
            .replacing(#/a run avoids [^\n]*\n/#) { _ in "" }
            // The width of columns depends on their contents.
            .replacing(#/ {2,}/#) { _ in "  " }
            .replacing(#/ +12 ms/#) { _ in "  12 ms" }
            .trimmingCharacters(in: .newlines)
    }

    @Test(.enabled(if: store != nil, "the sample stores are not there"))
    func everyStepPrintsWhatThePageShows() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "DataUsage.sqlite")
        try Data(contentsOf: try #require(Self.store)).write(to: file)
        let before = try Data(contentsOf: file)
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/first-steps.md"), encoding: .utf8)
        let commands = CodeBlock.blocks(of: page).filter { $0.language == "console" }.flatMap(\.commands)
        try #require(commands.count > 8)
        for command in commands {
            if command.line.hasPrefix("sqlite3") { #expect(try Data(contentsOf: file) == before) }
            let end = try LaunchedProgram.shell("umask 022; \(command.line)", in: folder.url)
            let shown = settled(command.output)
            #expect(settled(end.output + end.errors) == shown, "\(command.line)")
        }
    }
}
