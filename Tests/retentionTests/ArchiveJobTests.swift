import Foundation
@preconcurrency import Glibc
import PriceStore
import RetentionJob
import TestSupport
import Testing

/// Archives on full disks, of killed runs and of before. The rest is in the cases `archive-folder` and `archive-everywhere`.
@Suite(.tags(.clock)) struct ArchiveJobTests {
    private func job(
        _ sql: String = "", head: String = "archive: { folder: archive }", rule: String = ""
    ) throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + sql,
            policy: Sample.policy(Sample.rule(rule), head: head))
        try job.makeFolder("archive")
        return job
    }

    @Test(.enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"))
    func aFullDiskExits74WithTheSpaceThatIsNeeded() throws {
        let job = try job(
            Sample.rows(5000, daysAgo: 90) + "UPDATE Price SET symbol = hex(randomblob(200));")
        try job.mount("archive", "size=100k,mode=700")
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.contains("(estimate)"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 5013)
        #expect(try job.retention("check").status == 78)
    }

    /// A disk that holds the rows of the rule, but not those that go with them, or not the copies while they are written.
    @Test(
        .enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"),
        arguments: [
            """
            CREATE TABLE Quote (id INTEGER PRIMARY KEY, price REFERENCES Price ON DELETE CASCADE, x);
            INSERT INTO Quote SELECT id, id, zeroblob(400000) FROM Price;
            """, "UPDATE Price SET symbol = hex(randomblob(200000));",
        ])
    func theSpaceIsThatOfAllRowsAndOfTheirWriting(_ sql: String) throws {
        let job = try job(sql)
        try job.mount("archive", "size=5m,mode=700")
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.contains("(estimate)"), "\(end)")
        }
    }

    /// A run that was killed leaves whole batches, a record, and an archive that is not complete; the next run says so, keeps the
    /// archive and deletes the rest.
    @Test func aKilledRunIsShownAsCrashedAndTheNextOneFinishes() throws {
        let job = try job(
            Sample.rows(300, daysAgo: 90) + Sample.slowDeletes(steps: 20_000), rule: "batch: { rows: 10 }")
        let run = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        run.send(SIGKILL)
        #expect(run.wait() == 128 + SIGKILL)
        let file = try #require(try job.listing().first { $0.hasPrefix("archive/") && $0.hasSuffix(".sqlite") })
        try job.change("DROP TRIGGER Price_slow")
        let left = try job.number("SELECT count(*) FROM Price")
        // The oldest rows are gone: those of 100 days, and of the others the last ones.
        #expect((313 - left).isMultiple(of: 10) && left > 3)
        #expect(try job.number("SELECT max(id) FROM Price") == left + 10)
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
        let crashed = try #require(try job.log().last)
        #expect(crashed.outcome == "crashed" && crashed.exitCode == nil && crashed.pid == Int(run.processID))
        #expect(try job.retention("log").output.contains("  CRASHED  process \(run.processID) "))
        let next = try job.retention("run")
        #expect(next.status == 0 && next.errors.contains("is not complete"), "\(next)")
        #expect(next.errors.contains("warning earlier run crashed"))
        #expect(try job.log("--outcome", "crashed").map(\.run) == [crashed.run])
        #expect(next.output.contains("warning: archive not complete"))
        let third = try job.retention("run")
        #expect(third.status == 0 && !(third.output + third.errors).contains("not complete"), "\(third)")
        #expect(try job.listing().contains(file))
        #expect(try job.number("SELECT count(*) FROM Price") == 3)
    }

    // MARK: Old archives

    /// Makes an archive of the store of a run that began so many days ago.
    private func archive(_ job: LaunchedJob, daysAgo: Int) throws -> String {
        try job.change(Sample.rows(5, daysAgo: 60))
        let now = Instant(unixSeconds: Int64(Date().timeIntervalSince1970))
        let run = ArchiveFixture.run(at: now.advanced(byMicroseconds: -Int64(daysAgo * Sample.day) * 1_000_000))
        try ArchiveFixture.make(
            in: job.path("archive"), run: run, of: job.path("prices.sqlite"), entity: "Price", now: now)
        return run + ".sqlite"
    }

    @Test func oldArchivesAreRemovedByARefusedRunButNotIfTheClockIsInDoubt() throws {
        let rule = "archive: none, limits: { max_rows: 5 }"
        let job = try job(head: "archive: { folder: archive, keep: 30d }", rule: rule)
        let old = try archive(job, daysAgo: 31)
        let young = try archive(job, daysAgo: 29)
        try job.change(Sample.rows(20, daysAgo: 70))
        let names = { try FileManager.default.contentsOfDirectory(atPath: job.path("archive")).sorted() }
        #expect(try job.retention("run", "--dry-run").status == 65)
        #expect(try job.report().exitCode == 65)
        for (name, days) in [(old, 31), (young, 29)] {
            try job.change(
                "INSERT INTO run(number, run, store, mode, outcome, finished_us, clock_believed) SELECT -\(days), "
                    + "'\(name.dropLast(7))', store, mode, 'completed', (unixepoch() - \(days * Sample.day)) * 1000000, 1 "
                    + "FROM run WHERE number = 1", in: "retention.ledger.sqlite")
        }
        #expect(try job.report("--dry-run", "--accept", "too_many_rows").exitCode == 0)
        #expect(try names() == [old, young])
        try job.change(LedgerChange.hoursBack(-2), in: "retention.ledger.sqlite")
        for (code, accepted) in [("clock_moved_back", ""), ("too_many_rows", "clock_moved_back")] {
            let arguments = accepted.isEmpty ? [] : ["--accept", accepted]
            #expect(try job.report(arguments).rules[0].refusal == code)
            #expect(try names() == [old, young])
        }
        try job.change(LedgerChange.hoursBack(2), in: "retention.ledger.sqlite")
        let end = try job.retention("run", "--log-level", "info")
        #expect(end.status == 65 && end.errors.contains("old archive removed"), "\(end)")
        #expect(try names() == [young])
        // The archive of a run that the ledger does not know stays.
        let unknown = try archive(job, daysAgo: 40)
        try job.report("--accept", "too_many_rows")
        #expect(try names() == [unknown, young])
        // The clock may have jumped ahead, though there are newer rows. The next run is not in doubt.
        try job.change(Sample.rows(1, daysAgo: 0))
        try job.change(
            "UPDATE run SET finished_us = finished_us - \(100 * Sample.day) * 1000000", in: "retention.ledger.sqlite")
        for left in [[unknown, young], [unknown]] {
            #expect(try job.report().exitCode == 0)
            #expect(try names() == left)
        }
    }
}
