import Foundation
import TestSupport
import Testing

@testable import retention

/// What a run leaves in the ledger, and how it can be checked later.
@Suite(.tags(.clock)) struct LedgerJobTests {
    @Test func theRecordSaysWhoWhatAndWhichDates() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 40) + Sample.rows(2, daysAgo: 35) + Sample.rows(1, daysAgo: 1),
            policy: Sample.policy(Sample.rule()))
        let dates = try job.rows("SELECT min(at), max(at) FROM Price WHERE at < unixepoch() - 30 * 86400")
        #expect(try job.retention("run").status == 0)
        let record = try job.rows(
            """
            SELECT version, uid, host <> '', length(config_sha256), store_bytes > 0, oldest_deleted_us / 1000000,
                newest_deleted_us / 1000000, run_rule.deleted, cutoff IS NOT NULL
            FROM run JOIN run_rule ON run_number = number
            """, in: "retention.ledger.sqlite")
        #expect(record == ["\(RetentionCommand.version)|\(getuid())|1|64|1|\(try #require(dates.first))|5|1"])
        let end = try job.retention("log", "--run", "0")
        #expect(end.output.contains("(uid \(getuid()))"), "\(end.output)")
        #expect(end.output.contains("\ndeleted   gold: 5 rows dated 20"), "\(end.output)")
    }

    @Test func whoCalledSudoIsRecorded() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        _ = try LaunchedProgram.run(
            LaunchedProgram.folder.appending(path: "retention"), ["run"], in: job.folder.url,
            environment: ["SUDO_USER": "ann"])
        #expect(try job.rows("SELECT sudo_user FROM run", in: "retention.ledger.sqlite") == ["ann"])
        #expect(try job.retention("log", "--run", "0").output.contains("sudo by ann"))
    }

    @Test func theOldestRemainingOverdueRowIsReported() throws {
        let job = try LaunchedJob(
            Sample.price
                + "INSERT INTO Price(at) SELECT unixepoch('2026-03-01') - value * 86400 FROM json_each('[40, 39, 38, 1]');",
            policy: Sample.policy(Sample.rule("limits: { max_rows: 1 }")))
        let end = try job.retention("run", "--format", "json", "--as-of", "2026-03-01T00:00:05Z")
        #expect(end.status == 65 && end.output.contains("\"oldest_overdue\": \"2026-01-20T00:00:00Z\""), "\(end)")
        // Ten days and five seconds past its age.
        #expect(end.output.contains("\"overdue_seconds\": 864005"), "\(end)")
    }

    // MARK: retention log

    private func twoRuns(head: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: 40) + Sample.rows(2, daysAgo: 1),
            policy: Sample.policy(Sample.rule(), head: head))
        for _ in 0..<2 { #expect(try job.retention("run").status == 0) }
        return job
    }

    @Test func missedRunsSetTheExitCode() throws {
        let job = try twoRuns(head: "expected_every: 1d")
        let good = try job.retention("log", "--missed")
        #expect(good.status == 0 && good.output.hasPrefix("No run is missing now"), "\(good)")
        try job.change(
            "UPDATE run SET started_us = started_us - 3 * 86400000000 WHERE number = 2", in: "retention.ledger.sqlite")
        let late = try job.retention("log", "--missed")
        #expect(late.status == 65 && late.output.contains("MISSED: the last run began 3 d 00 h ago"), "\(late)")
        #expect(try job.retention("log").output.contains("  MISSED   the last run began 3 d 00 h ago; "))
        let json = try job.retention("log", "--missed", "--format", "json")
        #expect(json.status == 65 && json.output.contains("\"until\": null"))
    }
}
