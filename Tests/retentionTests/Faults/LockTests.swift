import Foundation
import GRDB
@preconcurrency import Glibc
import TestSupport
import Testing

/// Others use the store: slow writers, endless readers, other runs.
struct LockTests {
    @Test(arguments: ["DELETE", "WAL"])
    func aWriterThatHoldsTheStoreForSecondsIsWaitedFor(journal: String) throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(10, daysAgo: 100)
                + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule()))
        let holder = try RunningProgram(HandleTests.shell, ["prices.sqlite"], in: job.folder.url)
        try holder.type("BEGIN IMMEDIATE; INSERT INTO Price(symbol, at) VALUES ('XAUUSD', unixepoch());")
        try holder.type(".shell touch ready")
        #expect(eventually { FileManager.default.fileExists(atPath: job.path("ready")) })
        let run = try RunningProgram(job, "run")
        let isRunning = "SELECT count(*) FROM run WHERE outcome = 'running'"
        #expect(eventually { (try? job.number(isRunning, in: "retention.ledger.sqlite")) == 1 })
        #expect(run.waits(times: 15))
        try holder.type("COMMIT;")
        try holder.type(".quit")
        #expect(run.wait() == 0)
        _ = holder.wait()
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: HandleTests.shell), "the sqlite3 shell is not installed"))
    func aReaderThatNeverEndsIsNamed() throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price + Sample.rows(3, daysAgo: 0)
                + """
                WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 20000)
                INSERT INTO Price(symbol, at) SELECT 'XAUUSD', unixepoch() - 8640000 - (n * 7919 % 20011) FROM c;
                """,
            policy: Sample.policy(Sample.rule("batch: { rows: 100, pause: none }")))
        let reader = try RunningProgram(HandleTests.shell, ["prices.sqlite"], in: job.folder.url)
        try reader.type("BEGIN; SELECT count(*) FROM Price;")
        try reader.type(".shell touch ready")
        #expect(eventually { FileManager.default.fileExists(atPath: job.path("ready")) })
        let end = try job.retention("run")
        #expect(end.status == 0, "\(end)")
        #expect(end.errors.contains("process \(reader.processID) (sqlite3)"), "\(end.errors)")
        #expect(try job.number("SELECT count(*) FROM Price") == 3)
        reader.send(SIGKILL)
        _ = reader.wait()
        // Nobody reads any more: the WAL is emptied as it was before.
        try job.change(Sample.rows(10, daysAgo: 100))
        #expect(try job.retention("run").errors.contains("prevents the WAL") == false)
    }

    @Test func twoPoliciesOnOneStoreDoNotRunAtOnce() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.slowDeletes(steps: 5000) + Sample.rows(600, daysAgo: 100)
                + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 10 }")))
        symlink("prices.sqlite", job.path("link.sqlite"))
        try job.folder.write(
            Sample.policy(Sample.rule(name: "other"))
                .replacing("prices.sqlite", with: "link.sqlite"), to: "other.yaml")
        let first = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        let second = try job.retention("run", "-c", "other.yaml")
        #expect(second.status == 75 && second.errors.contains("process \(first.processID)"), "\(second)")
        #expect(try job.retention("run", "--dry-run").status == 0)
        #expect(first.isRunning)
        #expect(first.wait() == 0)
        #expect(try job.report("-c", "other.yaml").rules[0].deleted == 0)
    }
}
