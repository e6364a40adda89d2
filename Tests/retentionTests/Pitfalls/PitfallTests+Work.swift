import CoreDataSamples
import Foundation
@preconcurrency import Glibc
import GRDB
import Testing

/// Accidents of the work itself: what it deletes, blocks and does not report.
extension PitfallTests {
    /// Home Assistant 117263: recording stopped while rows were deleted.
    @Test(arguments: ["DELETE", "WAL"])
    func aWriterGetsInWhileRowsGo(journal: String) throws {
        let job = try job(
            "PRAGMA journal_mode = \(journal);" + Sample.slowDeletes(steps: 3000) + Sample.rows(1500, daysAgo: 100)
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
            usleep(20_000)
        }
        try writer.close()
        let status = run.wait()
        let errors = try job.text("stderr.txt")
        #expect(status == 0 && whileRowsWent > 0, "\(status) \(errors)")
        #expect(try count(job) == 5 + written)
    }

    /// The same: a cascade looked for its rows by reading the whole child table for each row.
    @Test func aChildKeyWithoutAnIndexIsReportedWithTheStatement() throws {
        let job = try job(Sample.rows(20, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + Self.children)
        let check = try job.retention("check")
        #expect(
            check.status == 0 && check.output.contains("CREATE INDEX") && check.output.contains("Quote"), "\(check)")
        #expect(try job.retention("run").output.contains("CREATE INDEX"))
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
        let mounted = try LaunchedProgram.shell(
            "mkdir disk && mount -t tmpfs -o size=\(sizeBytes * 3 / 2) none disk && mv prices.sqlite disk/",
            in: job.folder.url)
        try #require(mounted.status == 0)
        defer { _ = try? LaunchedProgram.shell("umount disk", in: job.folder.url) }
        let end = try job.retention("run")
        #expect(end.status == 0 && end.errors.contains("no vacuum"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price", in: "disk/prices.sqlite") == 60_000)
    }

    /// xibo 3672: one statement for ten million rows.
    @Test func rowsAreDeletedInManyBatchesByDefault() throws {
        let job = try job(Sample.rows(30_000, daysAgo: 100) + Sample.rows(1, daysAgo: 0))
        let report = try job.report()
        #expect(report.rules[0].deleted == 30_000 && report.rules[0].batches > 2)
    }

    /// GitLab 600628, carbon 379: "succeeded" for months.
    @Test func fallingBehindIsNoSuccess() throws {
        let job = try job(
            Sample.slowDeletes(steps: 20_000) + Sample.rows(4000, daysAgo: 100) + Sample.rows(5, daysAgo: 0),
            "batch: { rows: 10 }")
        let oldest = try job.rows("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min(at), 'unixepoch') FROM Price")[0]
        let report = try job.report("--max-runtime", "1s")
        #expect(report.exitCode == 75 && report.rules[0].outcome == "interrupted", "\(report)")
        let left = try #require(report.totals.residue)
        #expect(left > 0 && report.totals.deleted == 4000 - left)
        #expect(report.rules[0].oldest == oldest)
        let recorded = try #require(try job.log().last)
        #expect(recorded.outcome == "interrupted" && recorded.totals.residue == report.totals.residue)
    }

    /// Airflow 46856 and 42003: unknown copies filled the disk.
    @Test(arguments: [[], ["--technique", "windows"]])
    func nothingIsCopiedAside(options: [String]) throws {
        let job = try job(
            Sample.rows(3000, daysAgo: 100) + Sample.rows(5, daysAgo: 0) + Self.children, head: "ledger: none")
        let schema = try job.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
        let sizeBytes = try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))).count
        #expect(try job.report(options).exitCode == 0)
        #expect(try job.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name") == schema)
        #expect(try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))).count <= sizeBytes)
        #expect(try job.listing() == ["prices.sqlite", "prices.sqlite.retention-lock", "retention.yaml"])
    }

    /// Airflow 51952.
    @Test func childrenThatGoAlongAreCounted() throws {
        let job = try job(
            Sample.rows(30, daysAgo: 100) + Sample.rows(5, daysAgo: 0) + Self.children
                + "INSERT INTO Quote(price) SELECT price FROM Quote;")
        for report in [try job.report("--dry-run"), try job.report()] {
            #expect(report.rules[0].expired == 30 && report.rules[0].cascaded == 60)
        }
        #expect(try job.number("SELECT count(*) FROM Quote") == 10)
        #expect(try job.log().last?.rules[0].cascaded == 60)
    }

    /// DuckDuckGo's macos-browser 873.
    @Test func objectsThatBelongTogetherGoTogether() throws {
        let job = try LaunchedJob(
            "SELECT 1",
            policy: "version: 1\nstore: gold.sqlite\nrules:\n  - { name: gold, entity: YahooGoldPricePoint, "
                + "date_attribute: updateTime, max_age: 30min }\n")
        try GoldObjects(.detail).write(to: job.path("gold.sqlite"))
        let report = try job.report("--as-of", "2025-01-01T00:00:00Z")
        #expect(report.rules[0].deleted == 70 && report.rules[0].cascaded == 70)
        #expect(
            try job.rows(
                "SELECT count(*) FROM ZPRICEDETAIL WHERE ZPOINT NOT IN (SELECT Z_PK FROM ZYAHOOGOLDPRICEPOINT)",
                in: "gold.sqlite") == ["0"])
    }

    /// Home Assistant 115765: 10 GB became 18 MB.
    @Test func aDamagedStoreIsNoReasonToBeginANewOne() throws {
        let job = try job(Sample.rows(5000, daysAgo: 100) + Sample.rows(5, daysAgo: 0))
        var bytes = try Data(contentsOf: URL(filePath: job.path("prices.sqlite")))
        for page in stride(from: 4096, to: bytes.count, by: 4096) {
            bytes.replaceSubrange(page..<page + 16, with: Data(repeating: 0xA5, count: 16))
        }
        for damaged in [bytes, Data(bytes.dropFirst(100)), Data(bytes.prefix(100))] {
            try damaged.write(to: URL(filePath: job.path("prices.sqlite")))
            for arguments in [["run", "--dry-run"], ["run"]] {
                #expect(try job.perform(arguments).status == 74)
                #expect(try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))) == damaged)
            }
        }
    }
}
