import Foundation
import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What a review says is true after a bad night, an undo and a stopped feed, and what is unknown is not said to be none.
struct ReviewTests {
    private typealias Sample = ReviewSample

    private func refused(_ expired: Int = 71_000) -> RunReport.RuleReport {
        var rule = Sample.rule("gold", .refused, expired: expired)
        rule.refusal = .policyWidened
        rule.message = "refusing to delete from Price: max_age was 30d; check, then pass --accept policy_widened once"
        rule.refusals = [.init(code: .policyWidened, message: rule.message ?? "", isAcceptable: true)]
        return rule
    }

    // MARK: Nothing false

    @Test func aFailedRunIsNotSaidToHaveLeftNothing() {
        let review = Sample.review(
            [
                Sample.rule(expired: 46_713)
            ], [Sample.run(1), Sample.run(0, [], failure: "database is locked")])
        #expect(
            review.top[0]
                == "Last run: 2026-11-20 03:00 · failed: database is locked · Deleted no rows in 900 ms (exit 75)")
        #expect(!review.words.contains("no expired row"), "\(review.words)")
    }

    /// The rules are completed, and pending rows are missing.
    @Test(
        arguments: [
            (2, [], "2 pending lines rejected"), (0, ["in/a.csv: wrong header"], "1 pending file not imported"),
        ] as [(Int, [String], String)])
    func whatWasNotImportedIsTold(rejected: Int, problems: [String], text: String) {
        var night = Sample.run(0)
        (night.report.pending.rejected, night.report.pending.problems, night.report.exitCode) = (rejected, problems, 65)
        night.outcome = night.report.runOutcome
        #expect(night.outcome == .refused)
        let review = Sample.review([Sample.rule()], [Sample.run(1), night])
        let last = "Last run: 2026-11-20 03:00 · refused: \(text) · Deleted 10 rows in 900 ms; \(text) and no "
        #expect(review.top[0].hasPrefix(last), "\(review.top)")
        #expect(review.top.contains("2026-11-20 03:00: refused: \(text)"), "\(review.top)")
        #expect(LogReport([night]).table().contains("  REFUSED  \(text); 10 deleted  "))
        #expect(MetricsText(night.report).text.contains("outcome=\"refused\"} 1\n"))
    }

    @Test func whatAnUndoneRunLeftIsNotLeftNow() {
        let gold = Sample.rule("gold", .completed, expired: 10)
        var silver = Sample.rule("silver", .refused, expired: 244)
        silver.entity = "Silver"
        var run = Sample.run(0, [gold, silver])
        let text = "Deleted 10 rows in 900 ms; 1 rule refused and 244 expired rows are left (exit 65)"
        #expect(Sample.review([Sample.rule()], [run]).top[0].contains(text))
        #expect(LogReport([run]).table().contains("; 10 deleted; 244 left"))
        let undo = Sample.undo(0, of: run, restored: 10)
        run.undoneBy = .init()
        if let figures = undo.report.undo { run.undoneBy?.note(figures, by: undo, deletedAgainBy: nil) }
        let top = Sample.review([Sample.rule()], [run, undo]).top
        #expect(top[0].contains("Deleted 10 rows in 900 ms; 1 rule refused (exit 65) · undone by"), "\(top)")
        #expect(!LogReport([run]).table().contains("left") && !LogReport.full(run).contains("rows are left"))
    }

    @Test func anUnknownOverdueTimeIsNotNone() {
        var rule = Sample.rule(expired: 46_713)
        rule.left.oldest = nil
        let cells = Sample.review([rule], [Sample.run(0)]).ruleTable
        let place = cells.columns.firstIndex { $0.heading == "Overdue" } ?? 0
        #expect(cells.rows[0].cells[place] == "?")
        rule = Sample.rule(expired: 0)
        #expect(Sample.review([rule], []).ruleTable.rows[0].cells[place].isEmpty)
    }

    @Test func theNumbersOfExpiredRowsAddUp() throws {
        var rule = Sample.rule(expired: 5141)
        (rule.kept.byRuleCount, rule.kept.heldCount) = (1000, 3357)
        var review = Sample.review([rule], [Sample.run(0)])
        let month = Series.Point(start: Sample.instant(-40), end: Sample.instant(-30), values: [9500, 9500])
        review.dates["gold"] = Series(
            names: ["rows", "before_cutoff"],
            points: [month, .init(start: Sample.instant(0), end: Sample.instant(1), values: [5, 0])])
        let plot = try #require(review.plots(of: rule).first)
        #expect(
            plot.summary
                == "9,500 rows before the cutoff 2026-10-22 00:00; 5,141 expired; 1,000 by keep_last or thin, 3,357 held; "
                + "2 go with another rule or have arrived meanwhile.")
        #expect(review.top[1].contains("5,141 rows expired now"))
    }

    @Test func aSolvedRefusalIsNoOrder() {
        let solved = Sample.review(
            [Sample.rule()], [Sample.run(2, [refused()]), Sample.run(1, [refused()]), Sample.run(0)])
        #expect(!solved.words.contains("--accept") && !ReviewPage(solved).html.contains("--accept"))
        #expect(
            solved.top.contains("2026-11-18 03:00 to 2026-11-19 03:00, 2 times: refused: policy_widened (gold)"),
            "\(solved.top)")
        let last = Sample.review([Sample.rule()], [Sample.run(0, [refused()])])
        #expect(!last.words.contains("--accept"))
        let standing = Sample.review([refused()], [Sample.run(0, [refused()])])
        #expect(
            standing.sentences[0].text.hasPrefix(
                "gold: a run now would refuse it, as since 2026-11-20: refusing to"))
        #expect(
            standing.top[1].hasSuffix(
                " · 0 rows would be deleted now, 0 more by then; a run would refuse gold (71,000 expired rows)"),
            "\(standing.top)")
    }

    @Test func whatIsNotKnownIsNotNone() {
        var review = Sample.review([Sample.rule(rows: nil)], [])
        #expect(review.top[0] == "Last run: none is recorded")
        #expect(review.sentences.map(\.text) == ["MISSED: no run is recorded; one is expected every 1d"])
        review.policy.ledger = .none
        #expect(review.top[0] == "Last run: not known: the policy keeps no ledger")
        #expect(review.top[1].hasPrefix("Next: when is not known: the policy keeps no ledger ·"))
        #expect(review.sentences.isEmpty && review.missed == nil)
        review.policy.expectedEvery = nil
        #expect(review.top[1].hasPrefix("Next: when is not known: the policy has no expected_every"))
        #expect(review.ruleTable.rows[0].cells[2] == "?")
        review.plan.rules[0].planned.forecast = nil
        #expect(!review.top[1].contains("24 hours"))
        var crashed = Sample.run(0)
        (crashed.outcome, crashed.report.rules) = (.crashed, [])
        review = Sample.review([Sample.rule()], [crashed])
        #expect(review.top[0] == "Last run: 2026-11-20 03:00 · crashed · what it deleted and left is not known")
        let cells = review.runTable.rows[0].cells
        #expect(cells[1] == "?" && cells[5] == "?", "\(cells)")
    }

    @Test func arrivalsAreKnownOnlyIfNothingElseChangedTheRows() {
        func run(_ daysAgo: Int64, _ rows: Int?) -> LedgerRun {
            Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: rows)])
        }
        func arrived(_ runs: [LedgerRun]) -> [Int64?] {
            Sample.review([Sample.rule()], runs).days(of: "gold").points.map { $0.values[0] }
        }
        #expect(arrived([run(2, 100), run(1, 105), run(0, 130)]) == [nil, 15, 35])
        #expect(arrived([run(2, 100), run(1, nil), run(0, 130)]) == [nil, nil, nil])
        #expect(arrived([run(2, 100), Sample.undo(1, of: run(2, 100), restored: 10), run(0, 130)]) == [nil, nil])
        #expect(arrived([run(2, 100), Sample.run(1, [], failure: "locked"), run(0, 130)]) == [nil, 40])
        #expect(arrived([run(2, 100), run(0, 80)]) == [nil, nil])
        // Nobody knows what other programs have deleted.
        let review = Sample.review([Sample.rule()], [run(2, 100), run(0, 130)])
        #expect(review.words.contains("Arrived: less what other programs deleted."), "\(review.words)")
        // Another policy took rows of the entity, or of another one.
        for (entity, expected) in [("price", nil), ("News", 40)] as [(String, Int64?)] {
            var rule = Sample.rule("other", .completed, expired: 5)
            rule.entity = entity
            var other = Sample.run(1, [rule])
            other.report.config = "/policies/other.yaml"
            let review = Sample.review([Sample.rule()], [run(2, 100), run(0, 130)], others: [other])
            #expect(review.days(of: "gold").points.map { $0.values[0] } == [nil, expected])
            #expect(
                review.sentences.contains {
                    $0.text == "1 run of other policies on this store not shown: /policies/other.yaml"
                })
        }
        var changed = run(0, 130)
        changed.report.configSHA256 = "other"
        #expect(arrived([run(1, 100), changed]) == [nil, nil])
        // The policy has changed, and the rule has not, or has too.
        for (rule, expected) in [("gold", 40), ("other", nil)] as [(String, Int64?)] {
            var before = run(1, 100)
            (before.report.rules[0].ruleSHA256, changed.report.rules[0].ruleSHA256) = ("gold", rule)
            #expect(arrived([before, changed]) == [nil, expected])
        }
        // A rule that is no longer in the policy took rows.
        var both = run(1, 100)
        both.report.rules.append(Sample.rule("silver", .completed, expired: 5))
        #expect(arrived([both, run(0, 130)]) == [nil, nil])
    }

    /// A rule that deleted nothing took no rows of another one, whether it was disabled or found none.
    @Test func aRuleThatDeletedNothingHidesNoArrivals() {
        func run(_ daysAgo: Int64, _ rows: Int, _ old: RunReport.RuleReport) -> LedgerRun {
            Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: rows), old])
        }
        func arrived(_ runs: [LedgerRun]) -> [Int64?] {
            Sample.review([Sample.rule(), Sample.rule("old")], runs).days(of: "gold").points.map { $0.values[0] }
        }
        let none = Sample.rule("old", .completed)
        let some = Sample.rule("old", .completed, expired: 5)
        for old in [none, Sample.rule("old", .disabled)] {
            #expect(arrived([run(2, 100, old), run(1, 105, old), run(0, 130, old)]) == [nil, 15, 35])
        }
        #expect(arrived([run(2, 100, some), run(1, 105, none), run(0, 130, some)]) == [nil, nil, 35])
        // Also in a run without the rule.
        #expect(arrived([run(2, 100, none), Sample.run(1, [some]), run(0, 130, none)]) == [nil, nil])
    }

    @Test func aCrashedNightIsADayOfWhichNothingIsKnown() {
        var crashed = Sample.run(1, [])
        crashed.outcome = .crashed
        let review = Sample.review([Sample.rule()], [Sample.run(2), crashed, Sample.run(0)])
        #expect(review.nightTable.rows.map { $0.cells[3] } == ["10", "?", "10"])
        #expect(
            review.plots(of: review.plan.rules[0]).map(\.summary) == [
                "20 deleted on 2 of 3 days with a run; deletes not known on 1 day; arrivals not known on 3 days."
            ])
    }

    /// What arrived in missed nights is not drawn as one day's.
    @Test func arrivalsAfterMissedNightsAreSpread() throws {
        let runs = [(9, 100), (8, 130), (0, 290)].map { daysAgo, rows in
            Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: rows)])
        }
        let review = Sample.review([Sample.rule()], runs)
        #expect(review.nightTable.rows.map { $0.cells[2] } == ["170 in 8 days", "40", "?"])
        let plot = try #require(review.plots(of: Sample.rule()).last)
        let arrived = plot.bars.filter { $0.style == "kept" && $0.high > 0 }
        #expect(arrived.map(\.high) == [40, 22])
        #expect(arrived.map { $0.point.end.since($0.point.start) } == [.seconds(86_400), .seconds(8 * 86_400)])
        #expect(plot.numbers.rows.map { $0.cells[1] } == ["?", "40", "170 in 8 days"])
    }

    /// A cascade takes rows only of the entities that it can reach.
    @Test(arguments: [("price", nil), ("fill", 40)] as [(String, Int64?)])
    func aCascadeHidesArrivalsWhereItCanReach(entity: String, expected: Int64?) {
        var parent = Sample.rule("position", .completed, expired: 5)
        (parent.entity, parent.done.cascaded) = ("Position", 7)
        let runs = [Int64(1), 0].map { daysAgo in
            Sample.run(
                daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: daysAgo == 1 ? 100 : 130), parent])
        }
        var parentNow = Sample.rule("position")
        parentNow.entity = "Position"
        let review = Sample.review([Sample.rule(), parentNow], runs, reached: ["position": [entity]])
        #expect(review.days(of: "gold").points.map { $0.values[0] } == [nil, expected])
    }

    /// What the run recorded of its other rules stays known.
    @Test func anUndoOfOneRuleHidesNoFigureOfAnother() {
        var run = Sample.run(1, ["gold", "silver"].map { Sample.rule($0, .completed, expired: 10) })
        run.report.rules[1].entity = "Silver"
        let undo = Sample.undo(0, of: run, restored: 10)
        run.undoneBy = .init()
        if let figures = undo.report.undo { run.undoneBy?.note(figures, by: undo, deletedAgainBy: nil) }
        var silver = Sample.rule("silver")
        silver.entity = "Silver"
        func days() -> [[[Int64?]]] {
            let review = Sample.review([Sample.rule(), silver], [run, undo])
            return ["gold", "silver"].map { review.days(of: $0).points.map(\.values) }
        }
        #expect(days() == [[[nil, 0, nil, nil]], [[nil, 10, 990, 0]]])
        // It is not known of which rules one that was stopped has restored rows.
        run.undoneBy?.wasInterrupted = true
        #expect(days()[1] == [[nil, 10, nil, nil]])
    }

    /// Nor what has arrived until the next night, unless triggers may have changed any rows.
    @Test func anUndoOfOneRuleHidesNoArrivalsOfAnother() {
        var runs = [Int64(2), 0].map { daysAgo in
            var run = Sample.run(daysAgo, ["gold", "silver"].map { Sample.rule($0, .completed, expired: 10) })
            run.report.rules[1].entity = "Silver"
            return run
        }
        var undo = Sample.undo(1, of: runs[0], restored: 10)
        var silver = Sample.rule("silver")
        silver.entity = "Silver"
        func arrived() -> [[Int64?]] {
            let review = Sample.review([Sample.rule(), silver], [runs[0], undo, runs[1]], reached: ["gold": ["fill"]])
            return ["gold", "silver"].map { review.days(of: $0).points.map { $0.values[0] } }
        }
        #expect(arrived() == [[nil, nil], [nil, 10]])
        undo.report.undo?.triggers = ["audit of Price"]
        undo.report.undo?.triggerChoice = .skip
        #expect(arrived()[1] == [nil, 10])
        undo.report.undo?.triggerChoice = .fire
        #expect(arrived()[1] == [nil, nil])
        undo.report.undo?.triggers = []
        // It has restored what a cascade took, which reaches another entity or this one; or it was stopped at an unknown place.
        runs[0].report.rules[0].done.cascaded = 3
        #expect(arrived()[1] == [nil, 10])
        silver.entity = "Fill"
        for index in runs.indices { runs[index].report.rules[1].entity = "Fill" }
        #expect(arrived()[1] == [nil, nil])
        runs[0].report.rules[0].done.cascaded = 0
        #expect(arrived()[1] == [nil, 10])
        undo.outcome = .crashed
        #expect(arrived()[1] == [nil, nil])
    }

    @Test func whatAnUndoBroughtBackIsNotDeleted() {
        let names = ["gold", "silver", "ticks"]
        var run = Sample.run(1, names.map { Sample.rule($0, .completed, expired: 10) })
        // What is not archived no undo brings back.
        run.report.rules[2].done.archived = nil
        let undo = Sample.undo(0, of: run, restored: 10)
        func deleted(_ run: LedgerRun) -> [[Int64?]] {
            var run = run
            run.undoneBy = .init()
            if let figures = undo.report.undo { run.undoneBy?.note(figures, by: undo, deletedAgainBy: nil) }
            run.undoneBy?.findLeft(in: run.report.rules)
            let review = Sample.review(names.map { Sample.rule($0) }, [run])
            return names.map { review.days(of: $0).points.map { $0.values[1] } }
        }
        #expect(deleted(run) == [[0], [10], [10]])
        run.report.rules[1].done.archived = nil
        #expect(deleted(run) == [[0], [10], [10]])
    }

    // MARK: What comes

    @Test func theNextRunIsDueOrMissed() {
        let due = Sample.review([Sample.rule(expired: 5)], [Sample.run(0)])
        #expect(
            due.top[1] == "Next: due by 2026-11-21 03:00; if you read this after 2026-11-21 05:24, the job did not run"
                + " · 5 rows expired now, 10 more within 24 hours")
        var rule = Sample.rule(expired: 5)
        rule.planned.forecast?.untilDue = 3
        #expect(Sample.review([rule], [Sample.run(0)]).top[1].hasSuffix(" · 5 rows expired now, 3 more by then"))
        // What is due is what is expired now.
        #expect(Sample.review([rule], [Sample.run(1)]).top[1].hasSuffix(", 10 more within 24 hours"))
        let late = Sample.review([Sample.rule()], [Sample.run(1)])
        #expect(late.top[1].hasPrefix("Next: due by 2026-11-20 03:00; no run is recorded since"))
        #expect(late.sentences[0].text == "MISSED: the last run began 1 d 21 h ago; one is expected every 1d")
        // A run that failed has run.
        let failed = Sample.review([Sample.rule()], [Sample.run(1), Sample.run(0, [], failure: "locked")])
        #expect(failed.top[1].hasPrefix("Next: due by 2026-11-21 03:00; if you read this"))
        #expect(!failed.words.contains("MISSED"))
        #expect(Sample.review([Sample.rule()], []).top[1].contains("expected every 1d, and none is recorded"))
    }

    /// Its date is right unless what follows is earlier. A clock that moved back was wrong.
    @Test func aRunThatDoubtedItsClockIsTheLastOneIfItsDateFits() {
        func doubted(_ daysAgo: Int64, _ code: RefusalCode) -> LedgerRun {
            var rule = Sample.rule("gold", .refused, expired: 5)
            rule.refusal = code
            return Sample.run(daysAgo, [rule])
        }
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

    /// As in the log: a missed run is where it was due, also if runs of some rules began later.
    @Test func theRunsAndTheMissedOnesAreInOneOrderOfTime() {
        var some = Sample.run(0)
        some.report.onlyRules = ["gold"]
        let review = Sample.review([Sample.rule(), Sample.rule("silver")], [Sample.run(2), some])
        let starts = review.runTable.rows.map { $0.cells[0] }
        #expect(starts == ["2026-11-20 03:00", "2026-11-19 03:00", "2026-11-18 03:00"])
    }

    /// The one run with a wrong date is named. What was refused because of it took place.
    @Test func runsAfterAClockThatWasAheadTookPlace() {
        var refused = Sample.rule("gold", .refused, expired: 5)
        refused.refusal = .clockMovedBack
        var ahead = Sample.run(3)
        ahead.report.started = Sample.instant(40)
        let runs = [Sample.run(4), ahead, Sample.run(2, [refused]), Sample.run(1, [refused]), Sample.run(0, [refused])]
        let review = Sample.review([refused], runs)
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

    /// A rule for several ages is as many rules as in its last run. Of what they would do nothing is known.
    @Test func theRulesOfAStoreThatCannotBeReadAreThoseOfThePastRuns() {
        var ages = ["gold:5y", "gold:default"].map { Sample.rule($0, .completed, expired: 10) }
        for index in ages.indices { ages[index].family = "gold" }
        let night = Sample.run(0, ages + [Sample.rule("silver", .completed, expired: 3)])
        var plan = ReportSample.report(.dryRun, rules: [])
        (plan.started, plan.failure, plan.exitCode) = (Sample.now, "store not found", 66)
        let review = Review(plan: plan, runs: [night], policy: Sample.policy(["gold", "silver", "tin"]))
        #expect(review.ruleTable.rows.map { $0.cells[0] } == ["gold:5y", "gold:default", "silver", "tin"])
        #expect(review.ruleTable.rows.allSatisfy { Array($0.cells[1...4]) == ["would fail", "?", "?", "?"] })
        #expect(review.words.contains(" gold:default 2026-11-20 "), "\(review.words)")
        #expect(ReviewPage(review).html.contains("<h3>gold:default</h3>"))
        #expect(review.json.contains("\"name\": \"gold:default\"") && review.json.contains("\"expired\": null"))
        #expect(review.expiredNow == nil && !review.words.contains("no longer in the policy"))
        // Of a policy with mistakes only the names were read.
        var policy = Sample.policy(["gold", "silver", "tin"])
        policy.mistakes = .missing(path: "")
        for index in policy.rules.indices { policy.rules[index].limits = .init() }
        let table = Review(plan: plan, runs: [night], policy: policy)
        let places = table.ruleTable.columns.indices.filter {
            ["Max age", "Date"].contains(table.ruleTable.columns[$0].heading)
        }
        let cells = table.ruleTable.rows.map { row in places.map { row.cells[$0] } }
        #expect(cells[2] == ["30d", "Price.updateTime"] && cells[3] == ["?", "Price.?"], "\(cells)")
        #expect(!table.attention.contains { $0.kind == "no_limit" })
    }

    // MARK: Attention

    /// Its rows are those of the night before the next one.
    @Test func aNightThatNothingRefusedByAClockThatWasAheadIsTold() {
        var ahead = Sample.run(0, [Sample.rule("gold", .completed, expired: 5)])
        ahead.report.started = Sample.instant(40)
        let review = Sample.review([Sample.rule()], [Sample.run(1), ahead, Sample.run(0)])
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
        var ahead = night(2, rows: 1020, expired: 5)
        ahead.report.started = Sample.instant(40)
        ahead.report.storeSizeBytes = 9
        let review = Sample.review(
            [Sample.rule()], [night(3, rows: 1000, expired: 10), ahead, night(1, rows: 1035, expired: 20)])
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
        var refused = Sample.rule("gold", .refused, expired: 5)
        refused.refusal = .clockMovedBack
        var ahead = Sample.run(9)
        ahead.report.started = Sample.instant(-5)
        let nights = [11, 10].map { Sample.run($0) } + [ahead] + [8, 7, 6, 5].map { Sample.run($0, [refused]) }
        let review = Sample.review([Sample.rule()], nights + [4, 3, 2, 1, 0].map { Sample.run($0) })
        let missed = "2026-11-11 03:00: MISSED: 2 d 00 h without a run; one is expected every 1d"
        #expect(review.top.filter { $0.contains("MISSED") } == [missed], "\(review.top)")
        #expect(review.undatedDeleted == ["gold": 10])
        #expect(review.days(of: "gold").points.count == 11)
    }

    @Test func aNightByAClockThatWasAheadIsTold() {
        var rule = Sample.rule("gold", .refused, expired: 5)
        rule.refusal = .clockJumped
        var ahead = Sample.run(0, [rule])
        ahead.report.started = Sample.instant(40)
        let review = Sample.review([Sample.rule()], [Sample.run(1), ahead, Sample.run(0)])
        #expect(
            review.top.contains("2026-12-31 00:00: refused: clock_jumped (gold), by a clock that was ahead"),
            "\(review.top)")
        let starts = review.runTable.rows.map { $0.cells[0] }
        #expect(starts == ["2026-11-20 03:00", "2026-12-31 00:00", "2026-11-19 03:00"])
        #expect(!Sample.review([Sample.rule()], [Sample.run(40), ahead, Sample.run(31)]).words.contains("was ahead"))
    }

    @Test func theWorstComesFirst() {
        var unreadable = Sample.rule("ticks")
        unreadable.planned.unreadable = [.init(reason: .null, rowCount: 3, example: .null)]
        var news = Sample.rule("news")
        news.entity = "News"
        let old = [Sample.run(9, [], failure: "disk full"), Sample.run(6)]
        var review = Sample.review([unreadable, news, refused()], old + [Sample.run(5, [refused()]), Sample.run(0)])
        review.plan.warnings = [
            "no new rows: the newest row of News is dated 2026-11-10, 11 days ago, more than …", "hold ends soon: x",
        ]
        review.plan.holds = [
            .init(name: "h", entity: "Price", reason: "r", expires: Sample.instant(20), state: .inForce),
            .init(name: "late", entity: "Price", reason: "r", expires: Sample.instant(40), state: .inForce),
        ]
        review.policy.rules[1].isArchived = false
        review.policy.rules[0].limits.maxFraction = nil
        #expect(
            review.attention.map(\.kind) == [
                "refused", "no_new_rows", "unreadable", "hold", "no_archive", "no_limit", "missed", "refused", "missed",
                "failed",
            ], "\(review.sentences)")
        let texts = review.sentences.map(\.text)
        #expect(
            texts.contains { $0.contains("the hold h ends in 20 days, at 2026-12-11 00:00; it keeps 0 expired rows") })
        #expect(texts.contains("no archive for news: what a run deletes cannot be restored"))
        #expect(texts.contains("no max_rows or max_fraction for ticks: a run may delete any number of rows"))
        #expect(texts.contains("ticks: 3 unreadable rows kept: no value"))
        #expect(review.orderedRules.map(\.name) == ["gold", "news", "ticks"])
        #expect(Sample.review([Sample.rule()], [Sample.run(1), Sample.run(0)]).top[2] == "Attention: nothing")
    }

    /// The page says what the run says, and what was accepted in vain was not accepted.
    @Test func aRuleThatIsRefusedAllTheSameWasNotAccepted() {
        var rule = refused()
        rule.refusals.append(.init(code: .tooLargeFraction, message: "refusing to …", isAcceptable: true))
        var inVain = rule
        inVain.accepted = [.policyWidened]
        var accepted = Sample.rule("gold", .completed, expired: 10)
        accepted.accepted = [.tooManyRows]
        let review = Sample.review([rule], [Sample.run(1, [accepted]), Sample.run(0, [inVain])])
        #expect(
            review.sentences[0].text.hasSuffix(
                "; also too_large_fraction; to accept the whole policy: retention run -c \(review.plan.config) "
                    + "--accept policy_widened --accept too_large_fraction"), "\(review.sentences)")
        let told = review.attention.filter { $0.kind == "accepted" }.map(\.text)
        #expect(told == ["2026-11-19 03:00: too_many_rows was accepted for gold"])
    }

    /// With one command for all of them.
    @Test func restoredRowsOfSeveralRulesAreToldOnce() {
        let start = "undo 01A has restored rows that run 01B had deleted: "
        let rules = [("a", 2), ("b", 1), ("c", 1_234)].map { name, count -> RunReport.RuleReport in
            var rule = Sample.rule(name, .refused, expired: count)
            let message =
                "refusing to delete from \(name): \(start)\(Figures.count(count, "row")); change the rule so that it "
                + "keeps them, or pass --accept restored_rows once to delete them"
            (rule.refusal, rule.message) = (.restoredRows, message)
            rule.refusals = [.init(code: .restoredRows, message: message, isAcceptable: true)]
            return rule
        }
        let review = Sample.review(rules, [Sample.run(0)])
        let command = "retention run -c \(review.plan.config) --rule a --rule b --rule c --accept restored_rows"
        #expect(
            review.sentences.prefix(3).map(\.text) == [
                "a: a run now would refuse it: refusing to delete from a: \(start)2 rows; change the rule so that it "
                    + "keeps them; to accept that for one run: \(command)",
                "b: a run now would refuse it, for the same reason as a",
                "c: a run now would refuse it, for the same reason as a",
            ], "\(review.sentences)")
    }

    /// Nobody knows whether what ended the last run is over, so it stands before everything that needs a look.
    @Test(arguments: [("failed", "error"), ("crashed", "error"), ("interrupted", "warning")])
    func theLastNightComesBeforeNotices(kind: String, level: String) throws {
        var unreadable = Sample.rule()
        unreadable.planned.unreadable = [.init(reason: .null, rowCount: 3, example: .null)]
        let bad = [3, 1, 0].map { (daysAgo: Int64) in
            var run = Sample.run(daysAgo, [], failure: "database is locked")
            run.outcome = RunReport.RunOutcome(rawValue: kind) ?? .completed
            return run
        }
        let runs = [bad[0], Sample.run(2), bad[1], bad[2]]
        var review = Sample.review([unreadable], runs)
        review.policy.rules[0].limits.maxFraction = nil
        #expect(review.attention.map(\.kind) == [kind, "unreadable", "no_limit"], "\(review.sentences)")
        let text = "2026-11-17 03:00 to 2026-11-20 03:00, 3 times: \(kind): database is locked"
        #expect(review.sentences[0].text == text)
        #expect(review.json.contains("\"level\": \"\(level)\""), "\(review.json)")
        // A night that a good one followed is over.
        review = Sample.review([unreadable], [bad[0], Sample.run(2), Sample.run(1), Sample.run(0)])
        #expect(review.attention.map(\.kind) == ["unreadable", kind], "\(review.sentences)")
    }

    /// The last run is among the bad ones, and what happens again and again is one line.
    @Test func theLastBadNightIsTold() {
        let bad = [2, 1, 0].map { Sample.run($0, [refused()]) }
        #expect(
            Sample.review([Sample.rule()], bad).top.contains(
                "2026-11-18 03:00 to 2026-11-20 03:00, 3 times: refused: policy_widened (gold)"))
        let sparse = [14, 12, 9, 7, 4, 2, 0].map { Sample.run($0) }
        let sparseReview = Sample.review([Sample.rule()], sparse)
        let caption = "The newest 7 runs and the missed ones, the last one first. A run that could not read its policy "
        #expect(sparseReview.runTable.caption == caption + "is missed: see its mail or journal")
        #expect(Sample.review([Sample.rule()], bad).runTable.caption == "The newest 3 runs, the last one first")
        let texts = sparseReview.top
        #expect(
            texts.contains(
                "4 times, first 2026-11-07 03:00, last 2026-11-19 03:00: MISSED: 2 d 00 h without a run; "
                    + "one is expected every 1d"
            ),
            "\(texts)")
        #expect(texts.count { $0.contains("MISSED") } == 2, "\(texts)")
    }

    /// With the newest text. Another rule is another one, even if its name differs in a figure only.
    @Test func theSameReasonWithOtherFiguresIsOneLine() {
        func reason(_ count: Int) -> String {
            "\(Figures.count(count, "row")) locked since 2026-11-\(count + 10)T03:00:00Z; \(count) deleted"
        }
        func run(_ daysAgo: Int64, _ count: Int, _ names: [String], _ codes: [RefusalCode]) -> LedgerRun {
            var silver = Sample.rule("silver", .refused)
            silver.refusals = codes.map { .init(code: $0, message: "", isAcceptable: true) }
            let failed = names.map { name in
                var rule = Sample.rule(name, .failed)
                rule.message = reason(count)
                return rule
            }
            return Sample.run(daysAgo, failed + [silver])
        }
        let texts = Sample.review(
            [Sample.rule()],
            [
                run(3, 1, ["ohlcv-5", "ohlcv-1"], [.tooManyRows]), run(2, 2, ["ohlcv-5"], [.tooManyRows]),
                run(1, 3, ["ohlcv-5", "gold"], [.tooManyRows, .tooLargeFraction]),
            ]
        ).attention.map(\.text)
        #expect(
            texts.filter { $0.contains(" failed: ") } == [
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: failed: \(reason(3)) (ohlcv-5)",
                "2026-11-19 03:00: failed: \(reason(3)) (gold)", "2026-11-17 03:00: failed: \(reason(1)) (ohlcv-1)",
            ], "\(texts)")
        #expect(
            texts.filter { $0.contains(" refused: ") } == [
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: refused: too_many_rows, too_large_fraction (silver)"
            ], "\(texts)")
        let full = ([(3, "12.3"), (2, "8"), (1, "1,024")] as [(Int64, String)]).map { daysAgo, size in
            Sample.run(daysAgo, [], failure: "disk full: \(size) MiB needed; free some space")
        }
        #expect(
            Sample.review([Sample.rule()], full).attention.map(\.text).contains(
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: failed: disk full: 1,024 MiB needed"))
    }

    @Test func aReasonDoesNotBeginWithAPath() {
        let archive = "/data/archive/\(Sample.run(0).report.runID).sqlite"
        for (failure, text) in [
            ("\(archive): the disk of the archive is full; free some space", "the disk of the archive is full"),
            ("/data/archive: the folder is missing; create it", "archive: the folder is missing"),
            ("/data/prices.sqlite: the database is locked", "the database is locked"),
        ] {
            let run = Sample.run(0, [], failure: failure)
            #expect(run.outcomeText == "failed: \(text)")
            #expect(LogReport([run]).table().contains("exit 75: \(text)"))
        }
    }

    @Test func interruptedNightsAreOneLine() {
        func run(_ daysAgo: Int64, left: Int) -> LedgerRun {
            var rule = Sample.rule("gold", .interrupted, expired: left)
            rule.message = "the time budget ended; \(left) expired rows are left"
            return Sample.run(daysAgo, [rule])
        }
        let texts = Sample.review([Sample.rule()], [run(2, left: 70), run(1, left: 60), run(0, left: 50)]).top
        #expect(
            texts.contains(
                "2026-11-18 03:00 to 2026-11-20 03:00, 3 times: interrupted: the time budget ended (gold)"), "\(texts)")
    }

    @Test func aRuleThatIsGoneIsTold() {
        var silver = Sample.rule("silver:a", .completed)
        silver.family = "silver"
        let runs = [Sample.run(1, [Sample.rule("gold", .completed), silver]), Sample.run(0)]
        let said = "silver:a: was run until 2026-11-19 03:00 and is no longer in the policy"
        var review = Sample.review([Sample.rule()], runs)
        #expect(review.sentences.map(\.text).contains(said), "\(review.top)")
        review.policy = Sample.policy(["gold", "silver"])
        #expect(!review.words.contains("no longer in the policy"))
    }

    @Test func aTableThatWasEmptiedIsTold() {
        let runs = [Sample.run(1), Sample.run(0, [Sample.rule("gold", .completed, rows: 0)])]
        let text = "gold: has no rows; the run of 2026-11-19 03:00 found 1,000 rows"
        var review = Sample.review([Sample.rule(rows: 0)], runs)
        #expect(review.top.contains(text), "\(review.top)")
        review.policy.rules[0].allowEmpty = true
        #expect(!review.top.contains(text))
        // One that never had rows waits for them.
        #expect(!Sample.review([Sample.rule(rows: 0)], [runs[1]]).words.contains("has no rows"))
    }

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

    /// Many rules have fewer nights each, and a page shows no value of a row.
    @Test func theTableOfNightsIsShort() {
        let names = (1...30).map { "r\($0)" }
        let runs = [1, 0].map { Sample.run($0, names.map { Sample.rule($0, .completed, expired: 10) }) }
        var review = Sample.review(names.map { Sample.rule($0) }, runs)
        #expect(review.nightTable.rows.count == 30)
        review.plan.rules[4].planned.silent = .init(count: 2, newest: [("symbol SECRET", Sample.now)])
        #expect(
            review.top.contains("r5: no new rows of 2 groups of keep_last, whose old rows expire; a dry run names them")
        )
        #expect(!ReviewPage(review).html.contains("SECRET") && !review.json.contains("SECRET"))
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

    // MARK: JSON and text

    @Test func textAndPageSayWhatTheJSONHas() throws {
        var review = Sample.review([refused(), Sample.rule("ticks", expired: 5)], [Sample.run(1), Sample.run(0)])
        review.policy.rules[0].isArchived = false
        let json = try #require(try JSONSerialization.jsonObject(with: Data(review.json.utf8)) as? [String: Any])
        #expect(json["schema"] as? String == "retention.report/1")
        #expect((json["last_run"] as? [String: Any])?["outcome"] as? String == "completed")
        #expect((json["next"] as? [String: Any])?["due"] as? String == "2026-11-21T03:00:00Z")
        #expect((json["next"] as? [String: Any])?["expired"] as? Int == 5)
        let rules = try #require(json["rules"] as? [[String: Any]])
        #expect(rules.map { $0["name"] as? String } == ["gold", "ticks"] && rules[1]["expired"] as? Int == 5)
        #expect((rules[0]["days"] as? [[String: Any]])?.last?["deleted"] as? Int == 10)
        for found in try #require(json["attention"] as? [[String: Any]]) {
            let text = try #require(found["text"] as? String)
            let words = text.split(separator: " ").joined(separator: " ")
            #expect(review.words.contains(words) && ReviewPage(review).html.contains(HTMLText.escaped(text)), "\(text)")
        }
    }

    /// On a narrow terminal the name of a rule is above its nights, not above each of them.
    @Test func aLongNameIsShownOnce() throws {
        let name = "prices-of-the-european-exchanges-by-minute"
        let runs = [Int64(2), 1, 0].map { Sample.run($0, [Sample.rule(name, .completed, expired: 10)]) }
        let text = ReviewText(
            Sample.review([Sample.rule(name), Sample.rule("gold")], runs), TextLayout(width: 80, tableWidth: 80)
        ).text
        let nights = try #require(text.firstRange(of: "What came and went")).lowerBound
        let lines = text[nights...].split(separator: "\n")
        #expect(lines.count { $0 == name } == 1 && lines.count { $0.hasPrefix("  2026-11-") } == 3, "\(text)")
    }

    /// A long outcome is below its row, and no word of it is left out.
    @Test(arguments: [40, 60, 80]) func noOutcomeIsCut(width: Int) {
        let reason = "the disk of the archive is full: 12.3 MiB are needed for the rows of this night, 4.5 are there"
        let runs = [Sample.run(1, [], failure: reason), Sample.run(0)]
        let text = ReviewText(Sample.review([Sample.rule()], runs), TextLayout(width: width, tableWidth: width)).text
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(text)")
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(" 2026-11-19 03:00 0 failed: \(reason)"), "\(text)")
    }

    @Test(arguments: [40, 60, 80]) func fewColumnsAreEnough(width: Int) {
        let runs = [
            Sample.run(3), Sample.run(2, [refused()]), Sample.run(1, [], failure: "database is locked"), Sample.run(0),
        ]
        let text = ReviewText(
            Sample.review([Sample.rule("ohlcv-1m", expired: 1_234_567), refused()], runs),
            TextLayout(width: width, tableWidth: width)
        ).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= width || $0.hasPrefix("  retention run -c ") }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("2026-11-20 03:00") } && text.contains("10  completed\n"), "\(text)")
    }
}
