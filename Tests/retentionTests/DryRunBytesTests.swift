import Foundation
@preconcurrency import Glibc
import TestSupport
import Testing

/// A dry run changes no byte of anything.
struct DryRunBytesTests {
    /// The bytes of every file below the job's folder.
    private func bytes(_ job: LaunchedJob) throws -> [String: Data] {
        var bytes: [String: Data] = [:]
        for name in try job.listing() {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: job.path(name), isDirectory: &isFolder)
            bytes[name] = isFolder.boolValue ? Data() : try Data(contentsOf: URL(filePath: job.path(name)))
        }
        return bytes
    }

    /// A store with a ledger of a run before, a pending file with a bad line, and rows that are expired.
    private func job(journal: String) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule(),
                head: """
                    log: { file: retention.log }
                    pending: [ { files: 'new/*.csv', entity: Price } ]
                    """))
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\n", to: "new/first.csv")
        #expect(try job.report().pending.saved == 1)
        try job.change(Sample.rows(500, daysAgo: 100))
        try job.folder.write(
            "symbol,at\nXAUUSD,\(Sample.date(0))\nXAUUSD,soon\nXAUUSD,2020-01-01\n", to: "new/second.csv")
        return job
    }

    private func expectNoChange(_ job: LaunchedJob, expired: Int) throws {
        let before = try bytes(job)
        #expect(before.keys.contains("new/done/first.csv") && before.keys.contains("retention.ledger.sqlite"))
        for _ in 1...2 {
            let report = try job.report("--dry-run")
            #expect(report.exitCode == 65 && report.totals.expired == expired, "\(report)")
            #expect(report.pending == Report.Pending(files: 1, saved: 2, ignored: 0, rejected: 1))
        }
        for arguments in [["check"], ["inspect", "prices.sqlite"], ["init", "prices.sqlite"]] {
            #expect(try job.perform(arguments).status == 0)
        }
        // Readers of a WAL share memory, and make the files that are not there.
        var after = try bytes(job)
        let isWAL = try job.rows("PRAGMA journal_mode") == ["wal"]
        for name in isWAL ? ["prices.sqlite-shm", "prices.sqlite-wal"] : [] {
            if before[name] == nil { #expect(after.removeValue(forKey: name)?.isEmpty == name.hasSuffix("-wal")) }
        }
        #expect(after.filter { !$0.key.hasSuffix("-shm") } == before.filter { !$0.key.hasSuffix("-shm") })
        #expect(Set(after.keys) == Set(before.keys))
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "WAL"])
    func nothingChanges(journal: String) throws {
        try expectNoChange(job(journal: journal), expired: 501)
    }

    /// The store, with changes in its -wal by another program that is still there, or has died.
    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: HandleTests.shell), "the sqlite3 shell is not installed"),
        arguments: [true, false])
    func nothingChangesWithAFullWAL(isHeld: Bool) throws {
        let job = try job(journal: "WAL")
        let holder = try RunningProgram(HandleTests.shell, ["prices.sqlite"], in: job.folder.url)
        try holder.type("PRAGMA wal_autocheckpoint = 0;")
        try holder.type("INSERT INTO Price(symbol, at) VALUES ('XAUUSD', 1600000000), ('XAUUSD', 1600000001);")
        try holder.type(".shell touch ready")
        #expect(eventually { FileManager.default.fileExists(atPath: job.path("ready")) })
        if !isHeld {
            holder.send(SIGKILL)
            _ = holder.wait()
        }
        let sizeBytes = try Data(contentsOf: URL(filePath: job.path("prices.sqlite-wal"))).count
        try #require(sizeBytes > 4096)
        try expectNoChange(job, expired: 503)
        // A run sees the same rows.
        if isHeld {
            holder.send(SIGKILL)
            _ = holder.wait()
        }
        #expect(try job.report().totals.deleted == 503)
    }
}
