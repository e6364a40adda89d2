import Foundation
import GRDB
@preconcurrency import Glibc
import TestSupport
import Testing

/// Accidents of other retention jobs that no suite of a feature shows; docs/reliability.md has the others.
struct PitfallTests {
    /// A store of `Price` with the given SQL, and one rule.
    private func job(_ sql: String, _ keys: String = "", head: String = "") throws -> LaunchedJob {
        try LaunchedJob(Sample.price + sql, policy: Sample.policy(Sample.rule(keys), head: head))
    }

    /// The rows of `Price`.
    private func count(_ job: LaunchedJob) throws -> Int { try job.number("SELECT count(*) FROM Price") }

    /// Kyoto University and HPE: the script was changed while it ran.
    @Test func aPolicyThatIsReplacedDuringTheRunDoesNotMatter() throws {
        let job = try job(
            Sample.slowDeletes(steps: 3000) + Sample.rows(600, daysAgo: 100) + Sample.rows(50, daysAgo: 0),
            "batch: { rows: 10 }")
        let hash = try LaunchedProgram.shell("sha256sum <retention.yaml", in: job.folder.url).output.prefix(64)
        let run = try RunningProgram(job, "run", "--format", "json")
        #expect(job.hasBegunSlowDeletes())
        try job.folder.write(
            Sample.policy(Sample.rule("allow_empty: true", name: "other", age: "1s")), to: "retention.yaml")
        #expect(run.isRunning)
        #expect(run.wait() == 0)
        let report = try job.text("stdout.txt")
        #expect(report.contains(hash) && !report.contains("\"other\""))
        #expect(try count(job) == 50)
    }

    /// Home Assistant 117263: recording stopped while rows were deleted.
    @Test(arguments: ["DELETE", "WAL"])
    func aWriterGetsInWhileRowsGo(journal: String) throws {
        let job = try job(
            "PRAGMA journal_mode = \(journal);" + Sample.slowDeletes(steps: 3000) + Sample.rows(500, daysAgo: 100)
                + Sample.rows(5, daysAgo: 0), "batch: { rows: 10 }")
        let run = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let writer = try DatabaseQueue(path: job.path("prices.sqlite"), configuration: configuration)
        var (written, whileRowsWent) = (0, 0)
        while run.isRunning {
            try writer.write { try $0.execute(sql: "INSERT INTO Price(symbol, at) VALUES ('live', unixepoch())") }
            written += 1
            if run.isRunning { whileRowsWent += 1 }
            // A writer without a pause would hold the run up instead.
            let before = try count(job)
            _ = try eventually { try count(job) < before || !run.isRunning }
        }
        try writer.close()
        let status = run.wait()
        let errors = try job.text("stderr.txt")
        #expect(status == 0 && whileRowsWent > 0, "\(status) \(errors)")
        #expect(try count(job) == 5 + written)
    }

    /// Home Assistant 112816.
    @Test(.enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"))
    func aVacuumWithoutRoomIsNotBegun() throws {
        let job = try job(Sample.rows(60_000, daysAgo: 100) + Sample.rows(60_000, daysAgo: 0))
        try job.folder.write(
            Sample.policy(Sample.rule("reclaim: vacuum"), head: "ledger: none")
                .replacing("prices.sqlite", with: "disk/prices.sqlite"), to: "retention.yaml")
        let sizeBytes = try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))).count
        // Room for the journal of a batch, and not for a copy.
        try job.mount("disk", "size=\(sizeBytes * 3 / 2)", with: "prices.sqlite")
        let end = try job.retention("run")
        #expect(end.status == 0 && end.errors.contains("no vacuum"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price", in: "disk/prices.sqlite") == 60_000)
    }

    /// Airflow 46856 and 42003: unknown copies filled the disk.
    @Test(arguments: [[], ["--method", "windows"]])
    func nothingIsCopiedAside(options: [String]) throws {
        let job = try job(
            Sample.rows(1000, daysAgo: 100) + Sample.rows(5, daysAgo: 0) + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
                INSERT INTO Quote(price) SELECT id FROM Price;
                """, head: "ledger: none")
        let schema = try job.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
        let sizeBytes = try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))).count
        // By default in batches, the first of a hundred rows.
        #expect(try job.report(options).rules[0].batches > 2)
        #expect(try job.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name") == schema)
        #expect(try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))).count <= sizeBytes)
        #expect(try job.listing() == ["prices.sqlite", "prices.sqlite.retention-lock", "retention.yaml"])
    }
}
