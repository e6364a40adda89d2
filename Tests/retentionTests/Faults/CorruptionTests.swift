import Foundation
import GRDB
import TestSupport
import Testing

/// Flipped bytes. After a crash the tables are checked before anything is deleted.
struct CorruptionTests {
    /// A store of one table page and one index page, after a run that died.
    private func job(_ journal: String = "DELETE") throws -> LaunchedJob {
        let job = try LaunchedJob(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule()), inMemory: true)
        #expect(try job.report().exitCode == 0)
        try job.change(Sample.rows(20, daysAgo: 100) + Sample.rows(20, daysAgo: 10))
        try job.change("UPDATE run SET outcome = 'running', finished_us = NULL", in: "retention.ledger.sqlite")
        return job
    }

    private func bytes(_ job: LaunchedJob) throws -> Data {
        try Data(contentsOf: URL(filePath: job.path("prices.sqlite")))
    }

    @Test(arguments: ["Price", "Price_at"])
    func whateverFlipsInAPageOnlyExpiredRowsAreDeleted(_ name: String) throws {
        let job = try job()
        let page = try job.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'") - 1
        let sound = try bytes(job)
        let ledger = try Data(contentsOf: URL(filePath: job.path("retention.ledger.sqlite")))
        var numbers = SeededRandom(name == "Price" ? 11 : 12)
        var found = 0
        for _ in 0..<40 {
            var damaged = sound
            // Half of the flips hit what is written at the page's end, where the cells are.
            let place =
                page * 4096
                + (numbers.next() % 2 == 0 ? 4096 - Int(numbers.next() % 600) - 1 : Int(numbers.next() % 100))
            damaged[place] ^= 1 << UInt8(numbers.next() % 8)
            try damaged.write(to: URL(filePath: job.path("prices.sqlite")))
            try ledger.write(to: URL(filePath: job.path("retention.ledger.sqlite")))
            let isSound = (try? job.rows("PRAGMA integrity_check")) == ["ok"]
            if isSound {
                // The flip hit nothing, or made another row of one. A date that it made unreadable is reported.
                let expired =
                    "SELECT count(*) FROM Price WHERE typeof(at) = 'integer' AND at < unixepoch() - 86400 * 30"
                let (rows, count) = try (job.number("SELECT count(*) FROM Price"), job.number(expired))
                let report = try job.report()
                let rule = report.rules[0]
                #expect(report.exitCode == (rule.unreadable == 0 ? 0 : 65), "byte \(place): \(report)")
                let seen = rule.deleted + (rule.unreadable ?? 0)
                #expect(seen >= count && rule.deleted <= count, "byte \(place): \(report)")
                #expect(try job.number("SELECT count(*) FROM Price") == rows - rule.deleted)
                #expect(try job.number("SELECT count(*) FROM Price WHERE at >= unixepoch() - 86400 * 29") >= 22)
            } else {
                found += 1
                let end = try job.retention("run")
                #expect(end.status == 74 && end.errors.contains("nothing was deleted"), "byte \(place): \(end)")
                #expect(try bytes(job) == damaged)
            }
        }
        #expect(found > 10)
    }

    @Test func aFlippedHeaderIsAnErrorOrHarmless() throws {
        let job = try job()
        let sound = try bytes(job)
        let ledger = try Data(contentsOf: URL(filePath: job.path("retention.ledger.sqlite")))
        for place in Array(0..<16) + stride(from: 16, to: 100, by: 3) {
            var damaged = sound
            damaged[place] ^= place % 2 == 0 ? 0x01 : 0x80
            try damaged.write(to: URL(filePath: job.path("prices.sqlite")))
            try ledger.write(to: URL(filePath: job.path("retention.ledger.sqlite")))
            let end = try job.retention("run")
            // The name of the format, the size of a page, the versions for readers, the fractions, the pages of the file.
            let isHarmful = place < 16 || [16, 19, 22, 28, 31].contains(place)
            if end.status == 0 {
                #expect(!isHarmful, "byte \(place)")
                #expect(try job.number("SELECT count(*) FROM Price") == 23)
            } else {
                #expect(end.status == 74 && isHarmful, "byte \(place): \(end)")
                #expect(try bytes(job).dropFirst(100) == damaged.dropFirst(100))
            }
        }
    }

    /// The damage is looked for until a run got further than to fail.
    @Test func theCheckIsRepeatedUntilTheStoreIsFixed() throws {
        let job = try job()
        let sound = try bytes(job)
        let page = try job.number("SELECT rootpage FROM sqlite_schema WHERE name = 'Price_at'")
        // The first cell's date, in the index only: it becomes another row's place.
        var damaged = sound
        damaged.replaceSubrange(page * 4096 - 3..<page * 4096 - 1, with: [0x7F, 0x7F])
        try damaged.write(to: URL(filePath: job.path("prices.sqlite")))
        for _ in 1...3 {
            let end = try job.retention("run")
            let says =
                "Price is damaged: row 1 missing from index Price_at (SQLITE_CORRUPT); nothing is deleted from a "
                + "damaged store; if only an index is damaged, REINDEX repairs it; otherwise restore the store"
            #expect(end.status == 74 && end.errors.contains(says), "\(end)")
            #expect(try bytes(job) == damaged)
        }
        try job.change("REINDEX")
        #expect(try job.report().rules[0].deleted == 20)
        #expect(try job.log().map(\.outcome) == ["crashed", "failed", "failed", "failed", "completed"])
    }
}
