import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What a review says after a clock that was wrong: which runs took place, and when.
struct ReviewClockTests {
    private typealias Sample = ReviewSample

    /// A run that was refused because its clock was in doubt.
    private func doubted(_ daysAgo: Int64, _ code: RefusalCode) -> LedgerRun {
        Sample.run(daysAgo, [Sample.rule("gold", .refused, expired: 5, refusal: code)])
    }

    /// A run by a clock that showed a day of another time.
    private func ahead(_ run: LedgerRun, by days: Int64 = 40) -> LedgerRun {
        var run = run
        run.report.started = Sample.instant(days)
        return run
    }

    /// Its date is right unless what follows is earlier. A clock that moved back was wrong.
    @Test func aRunThatDoubtedItsClockIsTheLastOneIfItsDateFits() {
        let jumped = Sample.review([Sample.rule()], [Sample.run(9), doubted(0, .clockJumped)])
        #expect(jumped.top[0].hasPrefix("Last run: 2026-11-20 03:00 · refused: clock_jumped (gold)"), "\(jumped.top)")
        #expect(jumped.top[1].hasPrefix("Next: due by 2026-11-21 03:00; if you read this"), "\(jumped.top)")
        #expect(jumped.top.contains("2026-11-12 03:00: MISSED: 9 d 00 h without a run; one is expected every 1d"))
        let wrong = [
            [Sample.run(1), doubted(-9, .clockJumped)], [Sample.run(1), doubted(9, .clockMovedBack)],
            [doubted(0, .clockJumped), Sample.run(1)],
        ]
        for runs in wrong {
            let top = Sample.review([Sample.rule()], runs).top
            #expect(top[0].hasPrefix("Last run: 2026-11-19 03:00 · completed"), "\(top)")
            #expect(top[1].hasPrefix("Next: due by 2026-11-20 03:00; no run is recorded since"), "\(top)")
        }
    }

    /// The one run with a wrong date is named. What was refused because of it took place.
    @Test func runsAfterAClockThatWasAheadTookPlace() {
        let runs = [Sample.run(4), ahead(Sample.run(3))] + [2, 1, 0].map { doubted($0, .clockMovedBack) }
        let review = Sample.review(runs[4].report.rules, runs)
        #expect(review.top[0].hasPrefix("Last run: 2026-11-20 03:00 · refused: clock_moved_back"), "\(review.top)")
        #expect(review.top[1].hasPrefix("Next: due by 2026-11-21 03:00; if you read this"), "\(review.top)")
        #expect(
            review.sentences[0].text
                == "the run 01JD109700 is dated 2026-12-31 00:00, later than now: if the clock is right now, it was ahead "
                + "then, and every run since is refused as clock_moved_back until one has --accept clock_moved_back")
        #expect(review.sentences[1].text.hasPrefix("gold: a run now would refuse it, as since 2026-11-18: "))
        #expect(review.attention.map(\.kind).prefix(2) == ["clock", "refused"])
        let missed = "2026-11-17 03:00: MISSED: 2 d 00 h without a run; one is expected every 1d"
        #expect(review.top.filter { $0.contains("MISSED") } == [missed], "\(review.top)")
        // Once one is accepted, nothing is refused because of it.
        #expect(!Sample.review([Sample.rule()], runs + [Sample.run(0)]).words.contains("later than now"))
    }

    /// Its rows are those of the night before the next one.
    @Test func aNightThatNothingRefusedByAClockThatWasAheadIsTold() {
        let review = Sample.review([Sample.rule()], [Sample.run(1), ahead(Sample.run(0)), Sample.run(0)])
        #expect(
            review.top.contains { $0.hasPrefix("2026-12-31 00:00: carried out by a clock that was ahead: ") },
            "\(review.top)")
        #expect(review.recentRuns.count == 3)
    }

    /// On which day it was is not known. The arrivals are those between its neighbours.
    @Test func whatARunByAWrongClockDeletedIsOnNoDay() {
        func night(_ daysAgo: Int64, rows: Int, expired: Int) -> LedgerRun {
            Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: expired, rows: rows)])
        }
        var wrong = ahead(night(2, rows: 1020, expired: 5))
        wrong.report.storeSizeBytes = 9
        let review = Sample.review(
            [Sample.rule()], [night(3, rows: 1000, expired: 10), wrong, night(1, rows: 1035, expired: 20)])
        let points = review.days(of: "gold").points
        #expect(points.map { $0.values[1] } == [10, 20] && points.last?.values[0] == 50)
        #expect(points.last?.arrivedDays == 2)
        #expect(review.undatedDeleted == ["gold": 5] && review.sizes.values(0).isEmpty)
        #expect(review.words.contains(" gold ? 5 The newest 3 runs"), "\(review.words)")
        #expect(ReviewPage(review).html.contains("; 5 deleted on a day that is not known: the clock was wrong; "))
        #expect(review.json.contains("\"deleted_undated\": 5"))
    }

    /// The nights that were refused because of it took place, also when its date has come.
    @Test func whenTheDateOfTheWrongClockHasComeItIsStillWrong() {
        let nights =
            [11, 10].map { Sample.run($0) } + [ahead(Sample.run(9), by: -5)]
            + [8, 7, 6, 5].map { doubted($0, .clockMovedBack) }
        let review = Sample.review([Sample.rule()], nights + [4, 3, 2, 1, 0].map { Sample.run($0) })
        let missed = "2026-11-11 03:00: MISSED: 2 d 00 h without a run; one is expected every 1d"
        #expect(review.top.filter { $0.contains("MISSED") } == [missed], "\(review.top)")
        #expect(review.undatedDeleted == ["gold": 10])
        #expect(review.days(of: "gold").points.count == 11)
    }

    @Test func aNightByAClockThatWasAheadIsTold() {
        let ahead = ahead(doubted(0, .clockJumped))
        let review = Sample.review([Sample.rule()], [Sample.run(1), ahead, Sample.run(0)])
        #expect(
            review.top.contains("2026-12-31 00:00: refused: clock_jumped (gold), by a clock that was ahead"),
            "\(review.top)")
        let starts = review.runTable.rows.map { $0.cells[0] }
        #expect(starts == ["2026-11-20 03:00", "2026-12-31 00:00", "2026-11-19 03:00"])
        #expect(!Sample.review([Sample.rule()], [Sample.run(40), ahead, Sample.run(31)]).words.contains("was ahead"))
    }
}
