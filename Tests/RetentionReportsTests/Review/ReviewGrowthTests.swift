import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What grows: rows that are left, the rows of a rule, the store and its archives.
struct ReviewGrowthTests {
    private typealias Sample = ReviewSample

    @Test func aRuleThatFallsBehindIsTold() {
        func run(_ daysAgo: Int64, left: Int) -> LedgerRun {
            var rule = Sample.rule("gold", .interrupted, expired: left + 10)
            (rule.done.deleted, rule.left.expired) = (10, left)
            return Sample.run(daysAgo, [rule])
        }
        func said(_ left: [Int]) -> [String] {
            let runs = left.enumerated().map { run(Int64(left.count - 1 - $0), left: $1) }
            return Sample.review([Sample.rule()], runs).sentences.map(\.text).filter { $0.contains("behind") }
        }
        #expect(
            said([0, 70, 90, 1200]) == ["gold: has fallen behind for 3 nights: 0 expired rows left before, 1,200 now"])
        #expect(said([50, 60, 40, 55]).isEmpty && said([60, 60, 60]).isEmpty && said([]).isEmpty)
        let table = Sample.review([Sample.rule()], [run(1, left: 70), run(0, left: 90)]).nightTable
        #expect(
            table.rows.map(\.cells) == [
                ["gold", "2026-11-20", "10", "10", "990", "90"], ["gold", "2026-11-19", "?", "10", "990", "70"],
            ], "\(table.rows)")
    }

    @Test func growthOfATenthIsTold() {
        func run(_ daysAgo: Int64, rows: Int, bytes: Int64) -> LedgerRun {
            var run = Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: rows)])
            run.report.storeSizeBytes = bytes
            return run
        }
        let review = Sample.review(
            [Sample.rule(rows: 1300)], [run(10, rows: 1010, bytes: 1 << 20), run(0, rows: 1300, bytes: 3 << 20)])
        #expect(review.top.contains("gold: rows grow: +27 a day (+30% in 11 days)"), "\(review.top)")
        #expect(review.top.contains("the store grows: +204.7 KiB a day (+200% in 10 days)"), "\(review.top)")
        #expect(review.sizePlot?.summary == "store 3.0 MiB, +204.7 KiB a day (+200% in 10 days).")
        // To the nearest number, and a tenth is not rounded up to.
        for (rows, text) in [
            (948, "-5 a day (-5% in 11 days)"), (1018, "+2 a day (+2% in 11 days)"), (1004, "0 a day (0% in 11 days)"),
            (1099, "+9 a day (+10% in 11 days)"),
        ] {
            let fewer = Sample.review([Sample.rule(rows: rows)], [run(10, rows: 1010, bytes: 1)])
            let growth = fewer.growth(of: fewer.plan.rules[0])
            #expect(growth?.text == text && growth?.isLarge == false)
        }
        // What has grown for a week may be less than it was before.
        let again = Sample.review(
            [Sample.rule(rows: 1300)],
            [run(20, rows: 2010, bytes: 9), run(8, rows: 1010, bytes: 9), run(0, rows: 1300, bytes: 9)])
        #expect(again.top.contains("gold: rows grow: +33 a day (+30% in 9 days)"), "\(again.top)")
        // A job begins at the same time each night, some milliseconds early or late, and a review is made at any hour.
        var late = run(8, rows: 1000, bytes: 8 << 20)
        late.report.finished = late.report.finished.advanced(byMicroseconds: 30_000)
        let nightly = Sample.review([Sample.rule()], [late, run(0, rows: 1000, bytes: 16 << 20)])
        #expect(nightly.top.contains("the store grows: +1.0 MiB a day (+100% in 8 days)"), "\(nightly.top)")
        var evening = Sample.review(
            [Sample.rule(rows: 1168)], [run(7, rows: 1010, bytes: 1), run(0, rows: 1178, bytes: 1)])
        evening.plan.asOf = Sample.instant(0, hour: -3)
        #expect(evening.growth(of: evening.plan.rules[0])?.text == "+24 a day (+17% in 7 days)")
        // What grew before the newest week grows no more.
        let stopped = Sample.review(
            [Sample.rule(rows: 1290)],
            [
                run(20, rows: 1000, bytes: 1 << 20), run(8, rows: 1300, bytes: 3 << 20),
                run(0, rows: 1300, bytes: 3 << 20),
            ])
        #expect(!stopped.top.contains { $0.contains("grow") }, "\(stopped.top)")
        #expect(stopped.sizePlot?.summary.contains("(+200% in 20 days)") == true)
        // Two days say nothing about growth.
        let young = Sample.review(
            [Sample.rule(rows: 1300)], [run(2, rows: 1010, bytes: 1), run(0, rows: 1300, bytes: 9)])
        #expect(!young.words.contains("a day"), "\(young.words)")
    }

    /// Archives that are removed after a time grow up to that time only, so that is no growth.
    @Test func archivesGrowIfTheyAreKeptForever() {
        let runs = [Int64(9), 8, 1, 0].map { daysAgo in
            var run = Sample.run(daysAgo)
            run.report.storeSizeBytes = 1
            run.report.archive = .init(path: "archive/a.sqlite", rows: 10, sizeBytes: 100, isComplete: true)
            run.isArchiveThere = true
            return run
        }
        var review = Sample.review([Sample.rule()], runs)
        var archive = ArchiveSettings(place: .folder("archive"))
        review.policy.archive = archive
        #expect(!review.words.contains("the archives grow"), "\(review.top)")
        #expect(review.sizePlot?.summary.hasSuffix("; archives 400 bytes, each kept for 30d.") == true)
        archive.keep = nil
        review.policy.archive = archive
        let growth = "+25 bytes a day (+100% in 8 days)"
        #expect(review.top.contains("the archives grow: \(growth)"), "\(review.top)")
        #expect(review.sizePlot?.summary.hasSuffix("; archives 400 bytes, \(growth).") == true)
    }

    /// An archive past its time that is still there counts. As long as one was kept that is gone before its time the size is not known.
    @Test func archivesThatAreThereCount() {
        func run(_ daysAgo: Int64, _ isThere: Bool?, keptDays: Int64) -> LedgerRun {
            var run = Sample.run(daysAgo)
            run.report.storeSizeBytes = 1
            run.report.archive = .init(
                path: "archive/a.sqlite", rows: 10, sizeBytes: 100, isComplete: true,
                until: Sample.instant(keptDays - daysAgo))
            (run.isArchiveThere, run.isArchivePast) = (isThere, keptDays < daysAgo)
            return run
        }
        func review(_ isThere: Bool?, keptDays: Int64) -> Review {
            Sample.review(
                [Sample.rule()], [run(9, isThere, keptDays: keptDays), Sample.run(8), run(0, true, keptDays: 30)])
        }
        func sizes(_ isThere: Bool?, keptDays: Int64) -> [Int64?] {
            review(isThere, keptDays: keptDays).sizes.points.map { $0.values[1] }
        }
        #expect(sizes(true, keptDays: 5) == [100, 100, 200])
        #expect(sizes(false, keptDays: 5) == [100, 100, 100])
        #expect(sizes(nil, keptDays: 5) == [100, 100, 100])
        #expect(sizes(false, keptDays: 30) == [nil, nil, nil])
        let said = "1 archive is not in the folder of the archives, and archive.keep is not over: "
        let gone = review(false, keptDays: 30)
        #expect(gone.top.contains(said + "the run of 2026-11-11 03:00 cannot be undone"), "\(gone.top)")
        #expect(!review(false, keptDays: 5).words.contains("archive.keep is not over"))
        #expect(
            run(9, true, keptDays: 5).undoText
                == "possible as long as the archive is there, which was kept until 2026-11-17 00:00:00Z")
        #expect(run(0, true, keptDays: 30).undoText == "possible until 2026-12-21 00:00:00Z")
    }
}
