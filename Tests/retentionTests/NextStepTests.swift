import Foundation
import Testing

/// An error has the position, and suggests what was probably meant.
struct NextStepTests {
    @Test(arguments: ["run", "check", "log"])
    func withoutAPolicyInitIsNamed(command: String) throws {
        let folder = try TemporaryFolder()
        let end = try LaunchedProgram.perform([command], in: folder.url)
        #expect(end.status == 66 && end.errors.contains("retention init STORE"), "\(end)")
    }

    @Test(arguments: [["run"], ["run", "--dry-run"], ["check"], ["report", "--html", "page.html"]])
    func aMissingStoreIsReportedWithItsLineAndSimilarFiles(arguments: [String]) throws {
        let job = try LaunchedJob(
            Sample.price, policy: "version: 1\n# Prices.\nstore: data/price.sqlite\nrules:\n  - \(Sample.rule())\n")
        try job.folder.write("", to: "data/prices.sqlite")
        let near = try job.perform(arguments)
        #expect(near.status == 66 && near.errors.contains("retention.yaml, line 3"), "\(near)")
        #expect(near.errors.contains("did you mean 'prices.sqlite'?"), "\(near)")
        try FileManager.default.moveItem(atPath: job.path("data/prices.sqlite"), toPath: job.path("data/gold.db"))
        #expect(try job.perform(arguments).errors.contains("contains gold.db"))
        try FileManager.default.removeItem(atPath: job.path("data"))
        #expect(try job.perform(arguments).errors.contains("data does not exist"))
        #expect(try job.retention("check", "--offline").status == 0)
    }

    /// A program died in the middle of a change: a writer has to roll back its journal.
    @Test func aDryRunBesideAHotJournalNamesWhatRollsItBack() throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = DELETE;" + Sample.price + Sample.rows(500, daysAgo: 40) + Sample.rows(5, daysAgo: 1),
            policy: Sample.policy(Sample.rule()))
        let crash = """
            import os, sqlite3
            c = sqlite3.connect("prices.sqlite", isolation_level=None)
            c.execute("PRAGMA cache_size = 1")
            c.execute("BEGIN")
            c.execute("UPDATE Price SET price = price + 1")
            os._exit(1)
            """
        try job.folder.write(crash, to: "crash.py")
        _ = try LaunchedProgram.shell("python3 crash.py", in: job.folder.url)
        try #require(job.listing().contains("prices.sqlite-journal"), "no journal was left")
        for arguments in [["run", "--dry-run"], ["check"], ["inspect", "prices.sqlite"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 77 && end.errors.contains("prices.sqlite-journal"), "\(end)")
            #expect(end.errors.contains("roll the change back") && end.errors.contains("sqlite3 "), "\(end)")
        }
        #expect(try job.retention("run").status == 0)
        #expect(try job.retention("run", "--dry-run").status == 0)
    }
}
