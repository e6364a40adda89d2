import Foundation
import Logging
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// `retention undo` after a kill, beside a run and with little time. What it says and restores otherwise is in `Tests/Cases`.
struct UndoTests {
    private static let archive = "archive: { folder: archive, keep: 30d }"

    /// Five old prices and two new ones, and a second table with three old rows.
    private func job(_ more: String = "", rule: String = "") throws -> LaunchedJob {
        let tick = "CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
        let job = try LaunchedJob(
            Sample.price + tick + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0)
                + Sample.rows(3, daysAgo: 100, in: "Tick") + Sample.rows(1, daysAgo: 0, in: "Tick") + more,
            policy: Sample.policy(Sample.rule(rule), Sample.rule(name: "ticks", entity: "Tick"), head: Self.archive))
        try job.makeFolder("archive")
        return job
    }

    private func contents(_ job: LaunchedJob) throws -> [String] {
        try job.rows("SELECT * FROM Price ORDER BY 1") + job.rows("SELECT * FROM Tick ORDER BY 1")
    }

    /// Each undo compares what those before it have restored. If the budget counted that time, none would end.
    @Test func anUndoWithAShortBudgetGoesOn() throws {
        let job = try job(Sample.rows(200, daysAgo: 90))
        let run = try job.report().run
        let policy = try PolicyFile.read(path: job.path("retention.yaml"))
        let archive = RunReport.Archive(path: job.path("archive/\(run).sqlite"), rows: 208, isComplete: false)
        var (restored, calls) = (0, 0)
        while restored < 208, calls < 100 {
            // Whatever is done takes longer than the budget.
            var uptime = Duration.zero
            let setup = RunSetup(
                policy: policy, runID: "01UNDO", asOf: Instant(microseconds: 0), maxRuntime: .seconds(1),
                clock: { Instant(microseconds: 0) },
                uptime: {
                    uptime += .seconds(10)
                    return uptime
                })
            let undo = RetentionJob.Undo(
                RetentionJob.Undo.Request(run: run, archive: archive), setup: setup,
                writer: try SQLiteWriter(path: job.path("prices.sqlite")), recorder: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, signal: { nil })
            let done = try #require(try undo.perform().undo).done
            try #require(done.restoredCount > 0 && done.presentCount == restored)
            (restored, calls) = (restored + done.restoredCount, calls + 1)
        }
        #expect(calls > 1 && restored == 208)
    }

    @Test func aKilledUndoIsContinuedAndTheRulesAreHeldMeanwhile() throws {
        let job = try job(
            """
            CREATE VIEW Slow AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT max(n) AS n FROM c;
            CREATE TABLE Note(n); INSERT INTO Note VALUES (0);
            \(Sample.rows(3000, daysAgo: 90))
            """, rule: "batch: { rows: 200 }")
        let before = try contents(job)
        let run = try job.report()
        try job.change(
            "CREATE TRIGGER Price_slow AFTER INSERT ON Price BEGIN UPDATE Note SET n = n + (SELECT n > 0 FROM Slow); END;"
        )
        let program = try RunningProgram(job, "undo", run.run, "--triggers", "fire")
        #expect(job.hasBegunSlowDeletes())
        program.send(SIGKILL)
        #expect(program.wait() == 128 + SIGKILL)
        let count = try job.number("SELECT count(*) FROM Price")
        #expect(count > 2 && count < 3007)
        let crashed = try #require(try job.log().last?.run)
        let log = try job.retention("log", "--run", crashed).output
        #expect(log.contains("whole batches were restored up to then, `retention undo \(run.run)` continues"), "\(log)")
        let held = try job.report()
        #expect(held.exitCode == 65 && held.rules.map(\.refusal).contains("restored_rows"))
        try job.change("DROP TRIGGER Price_slow")
        let undone = try job.undo(run.run)
        #expect(undone.exitCode == 0 && undone.undo.restored + undone.undo.present == 3008)
        #expect(try contents(job) == before)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    // MARK: What cannot be undone

    private func refused(
        _ job: LaunchedJob, _ run: String, _ status: Int32, _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents(job)
        for arguments in [["undo", run, "--dry-run"], ["undo", run]] {
            let end = try job.perform(arguments)
            #expect(end.status == status && end.output.isEmpty, "\(end)", sourceLocation: sourceLocation)
            #expect(end.errors.contains(text), "\(end)", sourceLocation: sourceLocation)
        }
        #expect(try contents(job) == before, sourceLocation: sourceLocation)
    }

    /// Kills a run that has deleted some rows; its ID.
    private func killedRun(_ job: LaunchedJob) throws -> String {
        let program = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        program.send(SIGKILL)
        _ = program.wait()
        return try #require(try job.log().last?.run)
    }

    /// The archive of a run that was killed is not complete, and has all rows that the run deleted.
    @Test func whatACrashedRunDeletedIsRestored() throws {
        let job = try job(
            Sample.slowDeletes(steps: 20000) + Sample.rows(3000, daysAgo: 90), rule: "batch: { rows: 50 }")
        let before = try contents(job)
        let run = try killedRun(job)
        let gone = try before.count - contents(job).count
        #expect(gone > 0 && gone < 3000)
        let archive = job.path("archive/\(run).sqlite")
        #expect(FileManager.default.fileExists(atPath: archive + "-wal"))
        let list = try job.retention("undo", "--list")
        #expect(
            list.output.contains(run.prefix(10)) && list.words.contains("possible for all rows in the archive"),
            "\(list)")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: job.path("archive"))
        let open = try job.retention("undo", run, "--allow-insecure")
        #expect(open.status == 77 && open.errors.contains("can be written by others"), "\(open)")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: job.path("archive"))

        #expect(try job.undo(run, "--dry-run").undo.restored == gone)
        let text = try job.retention("undo", run)
        #expect(text.status == 0 && text.output.contains("warning: archive not complete"), "\(text)")
        #expect(try contents(job) == before)
        #expect(try job.undo(run).undo.restored == 0)
        #expect(try job.report().rules.map(\.refusal) == ["restored_rows", nil])
        try FileManager.default.removeItem(atPath: archive)
        try refused(job, run, 65, "crashed, and no archive of it is in the folder of the policy")
    }

    /// Rows were deleted: that the archive has none is not because the run ended before.
    @Test func anArchiveWithoutItsJournalIsNotSaidToBeEmptyFromTheStart() throws {
        let job = try job(
            Sample.slowDeletes(steps: 20000) + Sample.rows(3000, daysAgo: 90), rule: "batch: { rows: 50 }")
        let run = try killedRun(job)
        try FileManager.default.removeItem(atPath: job.path("archive/\(run).sqlite-wal"))
        let list = try job.retention("undo", "--list")
        #expect(
            list.words.contains("not possible: the archive is empty: the run was killed before it deleted a row"),
            "\(list)")
        try refused(job, run, 65, "its run was killed before it deleted a row, or the file ")
    }
}
