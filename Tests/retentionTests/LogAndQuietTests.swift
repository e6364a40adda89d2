import Foundation
@preconcurrency import Glibc
import TestSupport
import Testing

/// What the ledger remembers of a run that dies. What the log and `--quiet` say is in the cases `log-*` and `mail-and-journal`.
struct LogAndQuietTests {
    @Test func aKilledRunIsShownAsCrashedAndTheNextOneFinishes() throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price + Sample.slowDeletes(steps: 20_000)
                + Sample.rows(500, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 10 }")))
        let run = try RunningProgram(job, "run")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < 503 })
        run.send(SIGKILL)
        #expect(run.wait() == 128 + SIGKILL)
        let left = try job.number("SELECT count(*) FROM Price")
        // Whole batches, of the oldest rows, and the store is sound.
        #expect((503 - left).isMultiple(of: 10) && left > 3)
        #expect(try job.number("SELECT max(id) FROM Price WHERE id <= 500") == left - 3)
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])

        let crashed = try #require(try job.log().last)
        #expect(crashed.outcome == "crashed" && crashed.exitCode == nil && crashed.pid == Int(run.processID))
        #expect(try job.retention("log").output.contains("  CRASHED  process \(run.processID) "))
        try job.change("DROP TRIGGER Price_slow")
        let next = try job.retention("run", "--format", "json")
        #expect(next.status == 0 && next.errors.contains("warning earlier run crashed"))
        #expect(try Report(json: next.output).totals == Report.Totals(expired: left - 3, deleted: left - 3, residue: 0))
        #expect(try job.log().map(\.outcome) == ["crashed", "completed"])
        #expect(try job.log("--outcome", "crashed").map(\.run) == [crashed.run])
    }
}
