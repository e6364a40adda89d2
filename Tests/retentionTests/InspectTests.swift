import Foundation
import PriceStore
import TestSupport
import Testing

/// `retention inspect` of known defects and of real data. A plain store is in the case `inspection-of-a-store`.
@Suite(.tags(.clock)) struct InspectTests {
    @Test func showsTheVersionOfTheLibraryAndItsDefects() throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(500, daysAgo: 40), policy: "")
        let version = try #require(try job.retention("--version").output.split(separator: "\n").last)
        #expect(version.hasPrefix("SQLite 3."))
        let plain = try job.retention("inspect", "prices.sqlite").output
        #expect(plain.contains("\n  \(version)\n") && !plain.contains("known defect"), "\(plain)")
        try job.change("PRAGMA journal_mode = WAL")
        let number = version.split(separator: " ").last.map(String.init) ?? ""
        let isAffected = try #require(ComponentVersion(number)) < .release(3, 44, 6)
        let end = try job.retention("inspect", "prices.sqlite")
        #expect(end.output.contains("has a known defect") == isAffected, "\(end)")
        let check = try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price, policy: Sample.policy(Sample.rule())
        ).retention("check")
        #expect(check.output.contains("\na run avoids 1 known defect of SQLite; ") == isAffected, "\(check)")
    }

    // MARK: Real data

    @Test func showsWhichRealDatesAreNotBelieved() throws {
        let job = try LaunchedJob.gold()
        let end = try job.retention("inspect", "prices.sqlite")
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
        let lines = end.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.contains { $0.hasPrefix("Gold: 2,322 rows, ") }, "\(end.output)")
        #expect(
            lines.contains("day iso8601 sure 1971-01-01 00:00:00 2026-06-01 00:00:00 Gold_day"), "\(end.output)")
        #expect(
            lines.contains("day: 1,656 unreadable rows: a date before 1971 (see `earliest`), as \"1833-01-01\""),
            "\(end.output)")
    }

    @Test(.needsRealData("coredata/plaso/netusage.sqlite"))
    func showsTheModelOfACoreDataStore() throws {
        let folder = try TemporaryFolder()
        let original = try #require(RealData.more("coredata/plaso/netusage.sqlite"))
        let file = try folder.write("", to: "netusage.sqlite")
        try Data(contentsOf: original).write(to: file)
        let end = try LaunchedProgram.perform(["inspect", "netusage.sqlite"], in: folder.url)
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
        let app = try #require(end.output.components(separatedBy: "\n\n").first { $0.hasPrefix("App: ") })
        let lines = app.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.contains("parent Process"), "\(app)")
        #expect(lines.contains { $0.hasPrefix("timeStamp apple_seconds declared 20") }, "\(app)")
        #expect(lines.contains("hasLiveUsage LiveUsage hasProcess to many cascade"), "\(app)")
        #expect(lines.contains("hasTypicalUsage AppTypicalUsage hasApp to many, ordered nullify"), "\(app)")
        #expect(end.output.contains("deny"), "\(end.output)")
        #expect(try Data(contentsOf: file) == Data(contentsOf: original))
    }

    /// docs/output.md shows a session; it prints exactly that, until the sample's newest date is five years old.
    @Test(
        .enabled(if: Date.now < Date(timeIntervalSince1970: 1_893_456_000), "the sample in the page holds until 2030"))
    func thePageShowsWhatIsPrinted() throws {
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/output.md"), encoding: .utf8)
        let commands = CodeBlock.blocks(of: page).filter { $0.language == "console" }.flatMap(\.commands)
        let sample = try #require(commands.first { $0.line == "retention inspect prices.sqlite" })
        let folder = try TemporaryFolder()
        let made = try LaunchedProgram.shell(
            "goldprices prices.sqlite --rows 100000 --until 2025-01-01", in: folder.url)
        #expect(made.status == 0, "\(made.errors)")
        let end = try LaunchedProgram.shell(sample.line, in: folder.url)
        // The version of SQLite, and what is known of it, differ.
        let settled = [sample.output, end.output].map { text in
            text.replacing(#/\n  SQLite [^\n]*(\n  [^\n]*)*\n\n/#) { _ in "\n\n" }.trimmingCharacters(in: .newlines)
        }
        #expect(settled[1] == settled[0])
    }
}
