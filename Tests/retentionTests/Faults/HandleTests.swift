@preconcurrency import Glibc
import Foundation
import GRDB
import PriceStore
import RetentionReports
import Testing

@testable import RetentionJob
@testable import RetentionPolicy
@testable import retention

/// A program that closes a second handle of its own database file loses its locks, and another program can write into
/// its transaction. Nothing that the job does beside an open store may be such a handle.
struct HandleTests {
    static let shell = "/usr/bin/sqlite3"

    /// Whether another process can write to the store at this moment.
    private func othersCanWrite(_ job: LaunchedJob) throws -> Bool {
        try LaunchedProgram.run(
            URL(filePath: Self.shell),
            ["prices.csv", ".timeout 0", "INSERT INTO Price(symbol) VALUES ('other')"], in: job.folder.url,
            environment: nil
        ).status == 0
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: shell), "the sqlite3 shell is not installed"),
        arguments: ["DELETE", "TRUNCATE", "PERSIST", "WAL"])
    func noProbeOfTheJobDropsTheLocksOfItsStore(journal: String) throws {
        // The store has the name of a pending file, and later a second one that is a hard link.
        let job = try LaunchedJob(
            "SELECT 1",
            policy: Sample.policy(
                Sample.rule(), head: "log: { file: retention.log }\npending: [ { files: '*.csv', entity: Price } ]"
            ).replacing("prices.sqlite", with: "prices.csv"))
        try job.change(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(50, daysAgo: 100)
                + Sample.rows(5, daysAgo: 0), in: "prices.csv")
        let path = job.path("retention.yaml")
        let policy = try PolicyAccess.read(path, allowsInsecure: true)
        let opening = StoreOpening(policy)
        let writer = try opening.writer()
        let ledger = try #require(try opening.openLedger(isWritten: true))
        var dryStep: RunReport.Pending?

        let probes: [(name: String, probe: () throws -> Void)] = [
            ("nothing", {}),
            ("requireStore", { try opening.requireStore() }),
            ("realStorePath", { _ = try opening.realStorePath() }),
            (
                "policy",
                { try PolicyAccess.check(PolicyAccess.read(path, allowsInsecure: false), allowsInsecure: false) }
            ),
            ("isHeld", { _ = RunLock.isHeld(storePath: job.path("prices.csv")) }),
            ("lock", { _ = try RunLock.acquire(storePath: job.path("prices.csv")) }),
            ("others", { _ = try writer.isInUseByOthers() }),
            ("size", { _ = try writer.sizeBytes() }),
            ("size of entity", { _ = try writer.sizeBytes(ofEntity: "Price") }),
            ("side files", { _ = try writer.boundSideFiles() }),
            ("verify", { try writer.verify(entity: "Price") }),
            ("identifier", { _ = writer.storeIdentifier }),
            (
                "check",
                {
                    _ = try StoreCheck.diagnostics(policy: policy, reader: writer, clock: SystemClock.now())
                }
            ),
            ("pending folders", { _ = PendingFolder(policy).folders() }),
            (
                "pending files",
                {
                    dryStep = try PendingFolder(policy).save(
                        into: writer, now: SystemClock.now(), logger: LogOpening().open(Console()).logger)
                }
            ),
            ("ledger", { _ = try RunLedger(ledger, store: "x", process: MachineFacts.process)?.memory() }),
            ("log", { _ = try LogOpening(settings: policy.log).open(Console()) }),
            ("nested transaction", { try writer.transaction(.full) {} }),
        ]
        try? writer.transaction(.normal) {
            // A store that has the second name before is not opened.
            #expect(link(job.path("prices.csv"), job.path("linked.csv")) == 0)
            _ = try writer.insert(entity: "Price", values: ["symbol": .text("ours")], onConflict: .fail)
            for (name, probe) in probes {
                try probe()
                #expect(try !othersCanWrite(job), "after \(name)")
            }
            // The test can fail: this is what must never be done.
            close(open(job.path(journal == "WAL" ? "prices.csv-shm" : "prices.csv"), O_RDONLY))
            #expect(try othersCanWrite(job))
            throw CancellationError()
        }
        #expect(dryStep?.files == 0)
    }
}
