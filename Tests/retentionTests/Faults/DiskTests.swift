import Foundation
@preconcurrency import Glibc
import TestSupport
import Testing

/// Disks that are full or cannot be written, for real: small file systems that root mounts.
@Suite(.enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"))
struct DiskTests {
    /// A job whose store is on a disk of 2 MB.
    private func job(_ sql: String, head: String) throws -> LaunchedJob {
        let job = try LaunchedJob(
            sql + Sample.price + Sample.rows(5000, daysAgo: 100) + Sample.rows(13, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 500 }"), head: head)
                .replacing("prices.sqlite", with: "disk/prices.sqlite"))
        try job.mount("disk", "size=2m", with: "prices.sqlite*")
        return job
    }

    private func fill(_ job: LaunchedJob) throws {
        _ = try LaunchedProgram.shell("cat /dev/zero >disk/filler 2>/dev/null || true", in: job.folder.url)
    }

    /// A journal that stays is as large as the largest transaction was: deleting then needs no room.
    @Test func aFullDiskIsNoHindranceWhereTheJournalHasItsRoom() throws {
        let job = try job("", head: "ledger: none")
        let holder = try RunningProgram(HandleTests.shell, ["disk/prices.sqlite"], in: job.folder.url)
        // The WAL stays while another connection has the store open.
        try holder.type("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
        for _ in 1...8 { try holder.type("UPDATE Price SET price = price + 1;") }
        try holder.type("PRAGMA wal_checkpoint; SELECT count(*) FROM Price;")
        try holder.type(".shell touch ready")
        #expect(eventually { FileManager.default.fileExists(atPath: job.path("ready")) })
        try fill(job)
        let report = try job.report()
        #expect(report.exitCode == 0 && report.rules[0].deleted == 5000, "\(report)")
        try holder.type(".quit")
        _ = holder.wait()
        #expect(try job.rows("PRAGMA integrity_check", in: "disk/prices.sqlite") == ["ok"])
    }

    /// The ledger asks for room before anything is deleted, and so does a journal.
    @Test(arguments: ["", "ledger: none"])
    func aFullDiskStopsTheRunWithNothingLost(head: String) throws {
        let job = try job("", head: head)
        try fill(job)
        let end = try job.retention("run")
        #expect(end.status == 74 && end.errors.contains("the disk is full"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price", in: "disk/prices.sqlite") == 5013)
        unlink(job.path("disk/filler"))
        #expect(try job.report().rules[0].deleted == 5000)
    }

    /// It is not the store that cannot be read.
    @Test func anArchiveWithoutRoomIsTold() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5000, daysAgo: 100) + Sample.rows(13, daysAgo: 0),
            policy: Sample.policy(Sample.rule(), head: "archive: { folder: disk, keep: 30d }"))
        try job.mount("disk", "size=100k,mode=700")
        let check = try job.retention("check")
        #expect(check.status == 78 && check.words.contains("error: 'archive.folder' cannot be used: "), "\(check)")
        #expect(check.words.contains("the archive needs about "), "\(check)")
        #expect(try job.retention("run").status == 74)
        let report = try job.retention("report", "--json")
        #expect(report.status == 74 && report.output.contains("\"kind\": \"archive\""), "\(report)")
        #expect(report.output.contains("a run now would fail: ") && !report.output.contains("cannot be read"))
    }

    @Test(arguments: ["DELETE", "WAL"])
    func aReadOnlyFileSystemIsLookedAtAndNotWritten(journal: String) throws {
        let job = try job("PRAGMA journal_mode = \(journal);", head: "ledger: none")
        let mounted = try LaunchedProgram.shell("mount -o remount,ro disk", in: job.folder.url)
        try #require(mounted.status == 0)
        let run = try job.retention("run")
        #expect(run.status == 77 && !run.errors.isEmpty, "\(run)")
        let dry = try job.retention("run", "--dry-run")
        #expect(dry.status == 77, "\(dry)")
    }

    @Test func aStoreBehindLinksIsOneStore() throws {
        let job = try job("", head: "")
        symlink("disk", job.path("folder"))
        symlink("folder/prices.sqlite", job.path("link.sqlite"))
        try job.folder.write(
            Sample.policy(Sample.rule()).replacing("prices.sqlite", with: "link.sqlite"), to: "retention.yaml")
        #expect(try job.report().rules[0].deleted == 5000)
        let made = try job.listing().filter { $0.contains("retention") }
        #expect(made.contains("disk/prices.sqlite.retention-lock") && made.contains("disk/retention.ledger.sqlite"))
        #expect(!made.contains("link.sqlite.retention-lock"))
    }

    /// Where the copy, or the copy with the new rows, does not fit, nothing is counted. The run needs no copy.
    @Test(arguments: [100, 600])
    func withoutRoomForACopyNothingIsCounted(_ kilobytes: Int) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5000, daysAgo: 100) + Sample.rows(1, daysAgo: 0),
            policy: Sample.policy(Sample.rule(), head: "pending: [{ files: 'new/*.csv', entity: Price }]"))
        let lines = (0..<20_000).map { "\(String(repeating: "x", count: 50)),\(1_500_000_000 + $0)" }
        try job.folder.write("symbol,at\n" + lines.joined(separator: "\n") + "\n", to: "new/a.csv")
        try job.mount("small", "size=\(kilobytes)k")
        let end = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention run --dry-run", in: job.folder.url)
        #expect(end.status == 65 && end.output.contains("Nothing was changed, and nothing was counted"), "\(end)")
        #expect((end.output + end.errors).contains("there is no room for a copy of the store in"), "\(end)")
        let check = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention check", in: job.folder.url)
        #expect(check.status == 0 && check.output.contains("there is no room for a copy"), "\(check)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: job.path("small")) == [])
        let run = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention run", in: job.folder.url)
        #expect(run.status == 0, "\(run)")
    }
}
