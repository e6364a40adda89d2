import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What came and went on each day, and where that is not known.
struct ReviewArrivalsTests {
    private typealias Sample = ReviewSample

    private func run(_ daysAgo: Int64, _ rows: Int?, _ more: RunReport.RuleReport...) -> LedgerRun {
        Sample.run(daysAgo, [Sample.rule("gold", .completed, expired: 10, rows: rows)] + more)
    }

    /// How many rows of the rule gold arrived on each day, after these runs and beside other rules.
    private func arrived(
        _ runs: [LedgerRun], beside rules: [RunReport.RuleReport] = [], reached: [String: Set<String>] = [:]
    ) -> [Int64?] {
        let review = Sample.review([Sample.rule()] + rules, runs, reached: reached)
        return review.days(of: "gold").points.map { $0.values[0] }
    }

    @Test func arrivalsAreKnownOnlyIfNothingElseChangedTheRows() {
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
            var other = Sample.run(1, [Sample.rule("other", .completed, expired: 5, entity: entity)])
            other.report.config = "/policies/other.yaml"
            let review = Sample.review([Sample.rule()], [run(2, 100), run(0, 130)], others: [other])
            #expect(review.days(of: "gold").points.map { $0.values[0] } == [nil, expected])
            let said = "1 run of other policies on this store not shown: /policies/other.yaml"
            #expect(review.sentences.map(\.text).contains(said))
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
        #expect(arrived([run(1, 100, Sample.rule("silver", .completed, expired: 5)), run(0, 130)]) == [nil, nil])
    }

    /// A rule that deleted nothing took no rows of another one, whether it was disabled or found none.
    @Test func aRuleThatDeletedNothingHidesNoArrivals() {
        let now = [Sample.rule("old")]
        let none = Sample.rule("old", .completed)
        let some = Sample.rule("old", .completed, expired: 5)
        for old in [none, Sample.rule("old", .disabled)] {
            #expect(arrived([run(2, 100, old), run(1, 105, old), run(0, 130, old)], beside: now) == [nil, 15, 35])
        }
        #expect(arrived([run(2, 100, some), run(1, 105, none), run(0, 130, some)], beside: now) == [nil, nil, 35])
        // Also in a run without the rule.
        #expect(arrived([run(2, 100, none), Sample.run(1, [some]), run(0, 130, none)], beside: now) == [nil, nil])
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
        let review = Sample.review([Sample.rule()], [run(9, 100), run(8, 130), run(0, 290)])
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
        var parent = Sample.rule("position", .completed, expired: 5, entity: "Position")
        parent.done.cascaded = 7
        let found = arrived(
            [run(1, 100, parent), run(0, 130, parent)], beside: [Sample.rule("position", entity: "Position")],
            reached: ["position": [entity]])
        #expect(found == [nil, expected])
    }

    /// What the run recorded of its other rules stays known.
    @Test func anUndoOfOneRuleHidesNoFigureOfAnother() {
        var run = run(1, 1000, Sample.rule("silver", .completed, expired: 10, entity: "Silver"))
        let undo = Sample.undo(0, of: run, restored: 10)
        run.note(undo)
        let silver = Sample.rule("silver", entity: "Silver")
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
        var runs = [2, 0].map { run($0, 1000, Sample.rule("silver", .completed, expired: 10, entity: "Silver")) }
        var undo = Sample.undo(1, of: runs[0], restored: 10)
        var silver = Sample.rule("silver", entity: "Silver")
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
            run.note(undo)
            run.undoneBy?.findLeft(in: run.report.rules)
            let review = Sample.review(names.map { Sample.rule($0) }, [run])
            return names.map { review.days(of: $0).points.map { $0.values[1] } }
        }
        #expect(deleted(run) == [[0], [10], [10]])
        run.report.rules[1].done.archived = nil
        #expect(deleted(run) == [[0], [10], [10]])
    }
}
