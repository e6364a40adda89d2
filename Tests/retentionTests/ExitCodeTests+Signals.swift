import Foundation
import GRDB
@preconcurrency import Glibc
import TestSupport
import Testing

/// Signals, at a run that has much to do.
extension ExitCodeTests {
    /// Rows that go slowly, after a rule that is refused.
    private func slowJob(steps: Int, batchRows: Int) throws -> LaunchedJob {
        try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price + Sample.slowDeletes(steps: steps)
                + Sample.rows(500, daysAgo: 100) + Sample.rows(3, daysAgo: 0)
                + "CREATE TABLE Old(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(2, daysAgo: 100, in: "Old"),
            policy: Sample.policy(
                Sample.rule(name: "old", entity: "Old"), Sample.rule("batch: { rows: \(batchRows) }")))
    }

    struct Stop: CustomTestStringConvertible, Sendable {
        var signal: Int32
        var status: Int32
        var testDescription: String
    }

    @Test(arguments: [
        Stop(signal: SIGINT, status: 130, testDescription: "SIGINT"),
        Stop(signal: SIGTERM, status: 143, testDescription: "SIGTERM"),
    ])
    func aSignalStopsAfterTheBatchInHandAndComesBeforeARefusal(_ stop: Stop) throws {
        let job = try slowJob(steps: 20_000, batchRows: 10)
        let run = try RunningProgram(job, "run", "--format", "json")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < 503 })
        // Another run cannot begin meanwhile, and names the running one.
        let second = try job.retention("run")
        #expect(second.status == 75 && second.errors.contains("process \(run.processID) "), "\(second)")
        #expect(try job.log().last?.outcome == "running")
        run.send(stop.signal)
        #expect(run.wait() == stop.status)

        let report = try Report(json: try job.text("stdout.txt"))
        #expect(report.exitCode == stop.status)
        #expect(report.rules.map(\.outcome) == ["refused", "interrupted"])
        let gold = report.rules[1]
        #expect(gold.message?.contains(stop.testDescription) == true)
        #expect(gold.deleted > 0 && gold.deleted < 500 && gold.deleted.isMultiple(of: 10))
        #expect(gold.residue == 500 - gold.deleted)
        #expect(try job.number("SELECT count(*) FROM Price") == 503 - gold.deleted)
        // The oldest were deleted first: rows are a second apart, and the last is the oldest.
        #expect(try job.number("SELECT max(id) FROM Price WHERE id <= 500") == 500 - gold.deleted)
        #expect(try job.log().last?.outcome == "interrupted")
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
    }

    @Test func aSecondSignalStopsAtOnceAndTheBatchIsUndone() throws {
        let job = try slowJob(steps: 100_000, batchRows: 1000)
        let run = try RunningProgram(job, "run", "--format", "json")
        #expect(try eventually { try isBeingWritten(job) })
        run.send(SIGTERM)
        #expect(run.hasTakenItsSignals())
        #expect(run.isRunning, "the batch in hand takes seconds")
        run.send(SIGINT)
        #expect(run.wait() == 130)
        #expect(try job.text("stdout.txt").isEmpty)
        #expect(try job.number("SELECT count(*) FROM Price") == 503)
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
    }

    /// Whether another process has a transaction open that writes.
    private func isBeingWritten(_ job: LaunchedJob) throws -> Bool {
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        let queue = try DatabaseQueue(path: job.path("prices.sqlite"), configuration: configuration)
        defer { try? queue.close() }
        do {
            try queue.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE; ROLLBACK") }
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return true
        }
    }
}
