import Foundation
import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What reports, figures and the ledger say of archived rows.
struct ArchiveReportTests {
    private static let archive = RunReport.Archive(
        path: "/data/archive/01JD0000000000000000000000.sqlite", rows: 500_030, references: 2, sizeBytes: 12_900_000,
        sha256: String(repeating: "ab", count: 32), isComplete: true, until: Instant(unixSeconds: 1_797_811_200))

    private func report(_ mode: RunReport.Mode = .run, archived: Int? = 500_030) -> RunReport {
        var rule = ReportSample.gold
        rule.done.archived = archived
        if mode == .run {
            rule.outcome = .completed
            rule.done.deleted = 500_000
            rule.done.cascaded = 20
            rule.done.byTriggers = ["Note": 10]
            rule.left.expired = 0
        }
        var report = ReportSample.report(mode, rules: [rule])
        if mode == .run, archived != nil { report.archive = Self.archive }
        return report
    }

    private func text(_ report: RunReport) -> String { TextReport(report, .init(width: 200)).text }

    @Test func theTextShowsWhatIsArchived() {
        let text = text(report())
        #expect(text.contains("DELETED  ARCHIVED"))
        #expect(
            text.contains(
                "archive: 500,030 rows in /data/archive/01JD0000000000000000000000.sqlite, 2 old values of references, 12.3 MiB, "
                    + "kept until 2026-12-21 00:00:00Z\n"), "\(text)")
        var plain = report(archived: nil)
        #expect(!self.text(plain).contains("ARCHIVED") && !self.text(plain).contains("archive:"))
        plain.archive = RunReport.Archive(path: "/a/b.sqlite", rows: 1, isComplete: false)
        #expect(self.text(plain).contains("it has no SHA-256, and undo restores all rows in it"))
    }

    @Test func rowsThatNobodyHasCountedAreNull() {
        #expect(RunReport.Archive.left(at: "/a").json.line.hasPrefix(#"{"path":"/a","rows":null,"references":null,"#))
    }

    @Test func archivedRowsAreComparedWithDeletedRows() {
        var rule = report().rules[0]
        #expect(rule.done.goneCount == 500_030 && rule.done.archiveDifference == nil)
        rule.done.archived = 500_029
        #expect(rule.done.archiveDifference == "500,029 rows were archived, and 500,030 rows were deleted")
        rule.done.archived = nil
        #expect(rule.done.archiveDifference == nil)
    }

    // MARK: The ledger

    private func recorded(_ report: RunReport) throws -> (file: LedgerFile, run: LedgerRun) {
        let file = try LedgerFile()
        let ledger = try file.ledger()
        try ledger.record(report)
        return (file, try #require(try file.runs().first))
    }

    /// A ledger of a version without archives gets the columns, and its chain still holds.
    @Test func anEarlierLedgerIsCompleted() throws {
        let (file, _) = try recorded(report(archived: nil))
        for column in [
            "archive", "archive_sha256", "archive_rows", "archive_references", "archive_bytes", "archive_complete",
            "archive_until", "archive_until_us",
        ] { try file.tamper("ALTER TABLE run DROP COLUMN \(column)") }
        try file.tamper("ALTER TABLE run_rule DROP COLUMN archived")
        #expect(try file.verification().fault == nil)
        #expect(try file.runs().first?.report.archive == nil)
        var next = LedgerFile.report("01E", hour: 8)
        next.archive = Self.archive
        let ledger = try file.ledger()
        try ledger.record(next)
        #expect(try file.verification().fault == nil)
        #expect(try file.runs().map { $0.report.archive } == [nil, Self.archive])
    }

    @Test func theLedgerTellsOfRunsOfItsStore() throws {
        let file = try LedgerFile()
        func record(_ id: String, hour: Int64, _ archive: RunReport.Archive?, store: String = "/data/prices.sqlite")
            throws
        {
            var report = LedgerFile.report(id, hour: hour)
            report.archive = archive
            let ledger = try file.ledger(store: store)
            try ledger.record(report)
        }
        try record("01A", hour: 0, Self.archive)
        try record("01B", hour: 2, nil)
        try record("01C", hour: 4, Self.archive, store: "/data/other.sqlite")
        try file.ledger().begin(LedgerFile.report("01D", hour: 6))
        let ledger = try file.ledger()
        try ledger.markCrashed()
        let runs = try ledger.recordedRuns(["01A", "01B", "01C", "01D", "01X"])
        let hour: Int64 = 3_600_000_000
        #expect(
            runs == [
                "01A": RecordedRun(
                    ended: ReportSample.asOf.advanced(byMicroseconds: hour), hasCompleteArchive: true,
                    archiveUntil: Self.archive.until),
                "01B": RecordedRun(
                    ended: ReportSample.asOf.advanced(byMicroseconds: 3 * hour), hasCompleteArchive: false,
                    archiveUntil: nil),
                "01D": RecordedRun(
                    ended: nil, hasCompleteArchive: false, archiveUntil: nil),
            ])
    }

    @Test func aRunSaysWhetherItCanBeUndone() throws {
        var (_, run) = try recorded(report())
        #expect(run.undoText == "possible until 2026-12-21 00:00:00Z")
        #expect(LogReport.full(run).contains("undo      possible until 2026-12-21 00:00:00Z\n"))
        run.isArchiveThere = false
        #expect(run.undoText == "not possible: the archive no longer exists")
        run.isArchiveThere = true
        run.report.archive?.until = nil
        #expect(run.undoText == "possible")
        run.report.archive?.rows = 30
        #expect(run.undoText == "possible for 30 of 500,030 deleted rows")
        run.report.archive?.isComplete = false
        #expect(run.undoText?.hasPrefix("possible for all rows in the archive, which has no SHA-256") == true)
        var undone = run
        undone.undoneBy = .init(
            undos: [.init(run: "01U", started: ReportSample.asOf, rules: [], rows: 0, skipped: 0)])
        #expect(undone.undoText?.hasPrefix("rows restored by run 01U on ") == true)
        var empty = run
        empty.isArchiveEmpty = true
        #expect(empty.undoText?.hasPrefix("not possible: the archive is empty") == true && !empty.canBeUndone)
        // What is wrapped stays in its column.
        let narrow = LogReport.full(run, .init(width: 60, tableWidth: 60))
        #expect(narrow.contains(#/\nundo {6}possible for all rows .*\n {10}\S/#), "\(narrow)")
        run.report.archive = nil
        #expect(run.undoText == "not possible: no archive was made")
        run.report.rules = []
        #expect(run.undoText == nil)
    }
}
