import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// The review of many stores has the sums of their reviews.
struct StoresReviewTests {
    private typealias Sample = ReviewSample

    private func store(
        _ name: String, _ rule: RunReport.RuleReport = Sample.rule(), _ runs: [LedgerRun] = []
    ) -> StoresReview.Store {
        var review = Sample.review([rule], runs)
        review.plan.store = name
        return StoresReview.Store(review)
    }

    private func review(_ stores: [StoresReview.Store]) -> StoresReview {
        StoresReview("data/*.sqlite", of: Sample.policy(["gold"]), asOf: Sample.now, stores, problems: [])
    }

    private func words(_ stores: [StoresReview.Store]) -> String {
        review(stores).text(TextLayout()).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func theRowsOfARefusedRuleAreExpired() {
        var unknown = Sample.rule("gold", .refused)
        let refused = Sample.rule("gold", .refused, expired: 264)
        let known = words([store("a", refused), store("b", Sample.rule(expired: 10))])
        #expect(known.contains(" a 1,000 264 10 3.0 MiB ") && known.contains(" all 2,000 274 20 6.0 MiB"), "\(known)")
        unknown.planned.isCounted = false
        #expect(words([store("a", unknown)]).contains(" a 1,000 ? 10 3.0 MiB "))
    }

    // MARK: The last run

    /// A run of a command for many stores.
    private func night(_ daysAgo: Int64, _ outcome: RunReport.Outcome, expired: Int, of command: Int?) -> LedgerRun {
        var run = Sample.run(daysAgo, [Sample.rule("gold", outcome, expired: expired)])
        run.firstOfCommand = command
        return run
    }

    @Test func theLastRunHasTheWorstOutcomeAndTheSums() {
        let runs = [night(0, .completed, expired: 24, of: 5), night(0, .refused, expired: 7, of: 5)]
        let last = words([
            store("a", Sample.rule(), [runs[0]]), store("b", Sample.rule(), [runs[1]]),
            store("c", Sample.rule(), [night(1, .completed, expired: 3, of: 2)]),
        ])
        let says =
            " Last run: 2026-11-20 03:00 · refused in 1 of 2 stores · Deleted 24 rows in 900 ms; 7 expired rows are "
            + "left · undo not possible · 1 store was not reached Next: "
        #expect(last.contains(says), "\(last)")
        let good = words([store("a", Sample.rule(), [runs[0]])])
        #expect(
            good.contains(
                " Last run: 2026-11-20 03:00 · completed · Deleted 24 rows in 900 ms · undo not possible Next: "),
            "\(good)")
    }

    @Test func theLastRunSaysInHowManyStoresItIsUndone() {
        var runs = [night(0, .completed, expired: 24, of: 5), night(0, .completed, expired: 7, of: 5)]
        let end = " · undo not possible"
        func says(_ text: String) -> Bool {
            let last = words([store("a", Sample.rule(), [runs[0]]), store("b", Sample.rule(), [runs[1]])])
            return last.contains(" completed · Deleted 31 rows in 900 ms\(text)\(end) Next: ")
        }
        #expect(says(""))
        let undo = Sample.undo(0, of: runs[0], restored: 24)
        runs[0].note(undo)
        #expect(says(" · undone in 1 of 2 stores"))
        runs[1].undoneBy = runs[0].undoneBy
        runs[1].undoneBy?.rulesLeft = ["silver"]
        #expect(says(" · undone in 2 of 2 stores, in 1 of them in part"))
    }

    /// The sums of the rules, and until when all of it can be undone.
    @Test func theLastRunHasItsRulesAndItsUndo() throws {
        var runs = ["a", "b"].map { _ in
            Sample.run(0, [Sample.rule("gold", .completed, expired: 1), Sample.rule("tin", .completed, expired: 20)])
        }
        for index in runs.indices {
            runs[index].firstOfCommand = 5
            runs[index].report.archive = .init(path: "a", rows: 21, isComplete: true, until: Sample.instant(30))
        }
        func last() -> String { words(zip(["a", "b"], runs).map { store($0, Sample.rule(expired: 4), [$1]) }) }
        let says = "Deleted 42 rows in 900 ms · tin 40, gold 2 · undo possible"
        #expect(last().contains(says + " until 2026-12-21 00:00:00Z Next: due by "), "\(last())")
        #expect(last().contains(", the job did not run · 8 rows expired now, 20 more within 24 hours"), "\(last())")
        runs[1].isArchiveThere = false
        #expect(last().contains(says + " in 1 of 2 stores until 2026-12-21 00:00:00Z Next: "), "\(last())")
    }

    /// Which runs were those of one command is not recorded by an earlier version.
    @Test func whatIsNotKnownOfTheLastRunIsNotSaid() {
        let old = night(0, .completed, expired: 24, of: nil)
        #expect(!words([store("a", Sample.rule(), [old]), store("b")]).contains("not reached"))
        var crashed = night(0, .completed, expired: 0, of: 5)
        (crashed.outcome, crashed.report.rules) = (.crashed, [])
        let last = words([store("a", Sample.rule(), [crashed])])
        let says = " Last run: 2026-11-20 03:00 · crashed · what it deleted and left in 1 store is not known Next: "
        #expect(last.contains(says), "\(last)")
    }

    /// On a page of middle width the dates of the few columns stay in one line.
    @Test func theTableOfStoresHasRoom() {
        let page = review([store("a")]).html
        #expect(page.contains("<div class=\"wide few\"") && page.contains(".wide:not(.few) td.short"))
    }

    @Test func withoutAFileThePastIsNotKnown() {
        let text = words([])
        let says = " Last run: not known: no file matches Next: when is not known: no file matches "
        #expect(text.contains(says), "\(text)")
    }
}
