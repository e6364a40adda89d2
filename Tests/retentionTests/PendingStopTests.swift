import Foundation
import TestSupport
import Testing

/// A run that is stopped in the middle of a pending file, and the run after it.
struct PendingStopTests {
    private static let rowCount = 9_000

    /// A store, and one pending file that takes a while.
    private func job(_ journal: String) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price,
            policy: Sample.policy(Sample.rule(), head: "pending: [ { files: 'new/*.csv', entity: Price } ]"))
        let rows = (1...Self.rowCount).map { "XAUUSD,\($0),\($0 % 2000 == 0 ? "soon" : Sample.date(1))\n" }.joined()
        try job.folder.write("symbol,price,at\n" + rows, to: "new/a.csv")
        return job
    }

    private func expectTheRest(_ job: LaunchedJob) throws {
        let before = try job.number("SELECT count(*) FROM Price WHERE symbol = 'XAUUSD'")
        #expect((1..<Self.rowCount - 4).contains(before))
        #expect(try job.listing().contains("new/a.csv"))
        let predicted = try job.report("--dry-run")
        let report = try job.report()
        #expect(report.pending == predicted.pending && report.pending.files == 1)
        #expect(report.pending.saved == Self.rowCount - 4 - before)
        #expect(
            try job.rows("SELECT count(*), count(DISTINCT price) FROM Price WHERE symbol = 'XAUUSD'")
                == ["\(Self.rowCount - 4)|\(Self.rowCount - 4)"])
        #expect(try job.text("new/a.csv.rejected").split(separator: "\n").count { $0.hasPrefix("#") } == 4)
        #expect(try job.number("SELECT count(*) FROM sqlite_schema WHERE name = 'retention_taken'") == 0)
        #expect(try !job.listing().contains { $0.hasSuffix(".part") })
    }

    @Test(arguments: [SIGTERM, SIGKILL], ["DELETE", "WAL"])
    func aSignalStopsItWithinAFileAndOthersCanWrite(signal: Int32, journal: String) throws {
        let job = try job(journal)
        let run = try RunningProgram(job, "run")
        #expect(eventually { ((try? job.number("SELECT count(*) FROM Price")) ?? 0) > 0 })
        // Another program's write gets in between two batches.
        try job.change("PRAGMA busy_timeout = 5000; INSERT INTO Price(symbol, at) VALUES ('OTHER', unixepoch())")
        run.send(signal)
        #expect(run.wait() == 128 + signal)
        if signal == SIGTERM {
            #expect(try job.text("stdout.txt").contains("is saved in part; the next run continues with the rest"))
        }
        try expectTheRest(job)
        #expect(try job.number("SELECT count(*) FROM Price WHERE symbol = 'OTHER'") == 1)
    }
}
