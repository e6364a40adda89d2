import Foundation
import TestSupport
import Testing

/// docs/first-steps.md is what a new user sees on a store that the program has not made.
struct FirstStepsTests {
    /// The output without what differs from time to time: how long something took, and hashes of records.
    private func settled(_ text: String) -> String {
        text.replacing(/\d+ ms|\d+\.\d s/) { _ in "12 ms" }
            .replacing(/hash is [0-9a-f]{64}/) { _ in "hash is 4f0c…" }
            // Where the archive is, and until when.
            .replacing(#/(?s)rows in \S+/archive/.*?kept\s+until\s+\S+\s+\S+Z\n/#) { _ in "rows in archive\n" }
            .replacing(#/run 01\w{24} ·[^\n]*(\n    [^\n]*)?\n/#) { _ in "run\n" }
            // The version of SQLite, and what is known of it.
            .replacing(#/\n  SQLite [^\n]*(\n  [^\n]*)*\n\n/#) { _ in "\n\n" }
            .replacing(#/a run avoids [^\n]*\n/#) { _ in "" }
            .replacing(#/run · [^ ]+ on [^ ]+ · /#) { _ in "run · 01KWDTF3P8… on gold · " }
            // The width of columns depends on their contents.
            .replacing(#/ {2,}/#) { _ in "  " }
            .replacing(#/ +12 ms/#) { _ in "  12 ms" }
            // On a busy machine a run waits for longer than a second.
            .replacing(#/waited:[^\n]*\n/#) { _ in "" }
            // Slow machines make smaller batches.
            .replacing(#/\d+  12 ms  completed/#) { _ in "5  12 ms  completed" }
            .trimmingCharacters(in: .newlines)
    }

    @Test func everyStepPrintsWhatThePageShows() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "gold.sqlite")
        var made = Data()
        var hasRun = false
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/first-steps.md"), encoding: .utf8)
        let commands = CodeBlock.blocks(of: page).filter { $0.language == "console" }.flatMap(\.commands)
        try #require(commands.count > 8)
        for command in commands {
            // All steps before the run leave the store as it was made.
            if command.line.hasPrefix("retention run --as-of"), !hasRun {
                #expect(try Data(contentsOf: file) == made)
                hasRun = true
            }
            let end = try LaunchedProgram.shell("umask 022; \(command.line)", in: folder.url)
            let shown = settled(command.output)
            #expect(settled(end.output + end.errors) == shown, "\(command.line)")
            if command.line.contains("INSERT INTO") { made = try Data(contentsOf: file) }
        }
    }
}
