import PriceStore
import RetentionPolicy
import TestSupport
import Testing

@testable import RetentionJob

/// What holds keep, and when they end. Which cannot be evaluated is in the cases `hold-that-cannot-be-evaluated` and
/// `holds-and-the-rules-that-they-concern`.
@Suite struct HoldPlanTests {
    private static let day: Int64 = 86_400

    private static func hold(_ name: String = "audit", _ change: (inout Hold) -> Void = { _ in }) -> Hold {
        var hold = Hold(name: name, entity: "price", reason: "an audit", marks: Marks(whole: Mark(line: 3, column: 5)))
        change(&hold)
        return hold
    }

    private static func instant(daysAgo: Int64) -> Instant { Instant(unixSeconds: 1_795_219_200 - daysAgo * day) }

    private func policy(_ file: PriceFile, _ holds: [Hold], _ rules: [Rule]) -> Policy {
        var policy = file.policy()
        policy.rules = rules
        policy.holds = holds
        return policy
    }

    private func plan(
        _ file: PriceFile, _ holds: [Hold], _ rules: [Rule] = [.prices()], memory: RunMemory = RunMemory()
    ) throws -> Plan {
        try Planner(
            policy: policy(file, holds, rules), asOf: PriceFile.now, clock: PriceFile.now, memory: memory,
            countsAllRows: true
        ).plan(reader: try file.reader())
    }

    /// Whatever such a hold means, no pending row may replace a row that it may concern.
    @Test func pendingRowsReplaceNothingBesideAHoldWithoutAnEntity() throws {
        let file = try PriceFile()
        var policy = policy(file, [Self.hold { $0.entity = "prices" }], [.prices()])
        policy.pending = ["price", "nothing"].map {
            PendingSource(
                files: "*.csv", baseFolder: "/", entity: $0, marks: Marks(whole: Mark(line: 3, column: 5)))
        }
        #expect(
            try HoldPlan.rowsToSpare(policy, clock: PriceFile.now, reader: file.reader())
                == [HeldRows(name: "audit", entity: "price", rows: .all)])
    }

    // MARK: Its end

    @Test func aHoldThatIsOverKeepsNothingAndSaysSo() throws {
        let file = try PriceFile(daysOld: [0, 50])
        let found = try plan(file, [Self.hold { $0.expires = PriceFile.now }])
        #expect(found.steps[0].survey.expiredCount == 1 && found.holds.ended.count == 1)
        #expect(found.holdReports.map(\.report.state) == [.ended])
        #expect(found.holds.warnings.map(\.title) == ["hold ended"])
        #expect(found.warnings.first?.since == PriceFile.now)
    }

    @Test func theFirstPlanAfterItsEndSaysHowManyRowsAreFree() throws {
        let file = try PriceFile(daysOld: [0, 40, 50])
        try file.addPrices(daysOld: [50], symbol: "EUR")
        let hold = Self.hold {
            $0.filter = .compare("symbol", .equal, .text("XAU"))
            $0.expires = PriceFile.now
        }
        func text(_ lastRun: Instant?, _ rules: [Rule]) throws -> String {
            var memory = RunMemory()
            memory.ends = [lastRun].compactMap(\.self)
            return try plan(file, [hold], rules, memory: memory).holds.warnings[0].text
        }
        let end = "; 2 expired rows are free by that"
        // A row that two rules expire is one.
        for rules in [[Rule.prices()], [.prices(), .prices("others")]] {
            #expect(try text(Self.instant(daysAgo: 1), rules).hasSuffix(end))
            #expect(try !text(PriceFile.now, rules).contains("free") && !text(nil, rules).contains("free"))
        }
    }

    /// The first run after a state began warns of it; of rows that do not arrive, also the first run of each week.
    @Test func aRunTellsOnceWhatLasts() {
        func told(_ isWeekly: Bool, lastRun: Int64?, now: Int64) -> Bool {
            Plan.Warning(title: isWeekly ? "no new rows" : "t", text: "x", since: Self.instant(daysAgo: 20)).isNew(
                after: lastRun.map { Self.instant(daysAgo: $0) }, clock: Self.instant(daysAgo: now))
        }
        for isWeekly in [false, true] {
            #expect(told(isWeekly, lastRun: nil, now: 5) && told(isWeekly, lastRun: 21, now: 19))
            #expect(!told(isWeekly, lastRun: 19, now: 18) && told(isWeekly, lastRun: 14, now: 13) == isWeekly)
            #expect(!told(isWeekly, lastRun: 13, now: 12))
        }
        #expect(Plan.Warning(title: "t", text: "x").isNew(after: .distantPast, clock: PriceFile.now))
    }

    @Test(arguments: [(31, []), (30, ["hold ends soon"]), (1, ["hold ends soon"])] as [(Int64, [String])])
    func thereIsAWarningThirtyDaysBefore(days: Int64, titles: [String]) throws {
        let file = try PriceFile(daysOld: [0, 50])
        let found = try plan(file, [Self.hold { $0.expires = Self.instant(daysAgo: -days) }])
        #expect(found.steps[0].survey.kept.heldCount == 1 && found.holds.warnings.map(\.title) == titles)
    }

    /// Once 30, once 7 and once 1 day before the end: what an earlier run has said is not said again.
    @Test(
        arguments: [
            (30, 1, true), (29, 1, false), (8, 1, false), (7, 1, true), (6, 1, false), (1, 1, true), (5, 30, true),
        ] as [(Int64, Int64, Bool)])
    func theEndIsAnnouncedThreeTimes(daysToEnd: Int64, daysSinceRun: Int64, isAnnounced: Bool) throws {
        let file = try PriceFile(daysOld: [0, 50])
        let found = try HoldPlan(
            policy(file, [Self.hold { $0.expires = Self.instant(daysAgo: -daysToEnd) }], [.prices()]),
            clock: PriceFile.now, lastRun: Self.instant(daysAgo: daysSinceRun), reader: file.reader())
        #expect(found.warnings.map(\.title) == (isAnnounced ? ["hold ends soon"] : []))
    }

    // MARK: A hold that is gone

    private func memory(_ file: PriceFile, _ holds: Hold...) -> RunMemory {
        var memory = RunMemory(ends: [PriceFile.now])
        memory.agreed = [AgreedRule(.prices(), of: file.policy(.prices()), holds: holds)]
        return memory
    }

    @Test func aRuleIsRefusedForWhatAHoldReleases() throws {
        let file = try PriceFile(daysOld: 0..<100)
        let old = Self.hold { $0.until = Self.instant(daysAgo: 60) }
        /// The rows for which the rule is refused; nil: it is not.
        func released(_ holds: Hold..., rules: [Rule] = [.prices()]) throws -> Int? {
            let step = try plan(file, holds, rules, memory: memory(file, old)).steps[0]
            guard let widened = step.widened else { return nil }
            #expect(widened.removedHolds == ["audit"] && step.refusals.map(\.code).contains(.policyWidened))
            return widened.rowCount
        }
        #expect(try released() == 39)
        #expect(try released(old) == nil)
        // The reason is no part of what is held.
        #expect(
            try released(
                Self.hold {
                    $0.until = old.until; $0.reason = "another"
                }) == nil)
        #expect(try released(Self.hold { $0.until = Self.instant(daysAgo: 90) }) == 30)
        #expect(try released(Self.hold()) == nil)
        // Another hold that keeps as much.
        #expect(try released(Self.hold("other")) == nil)
        // One that got an end, which is over.
        #expect(
            try released(
                Self.hold {
                    $0.until = old.until; $0.expires = PriceFile.now
                }) == 39)
        // One that gets an end in the future is narrower already today. One that has ended may be removed.
        let ending = Self.hold {
            $0.until = old.until; $0.expires = Self.instant(daysAgo: -9)
        }
        #expect(try released(ending) != nil)
        let over = Self.hold { $0.expires = PriceFile.now }
        #expect(try plan(file, [], memory: memory(file, over)).steps[0].widened == nil)
        // One that keeps rows from an earlier date on, or from a later one.
        for (daysAgo, isWider) in [(70, false), (50, true)] as [(Int64, Bool)] {
            let other = Self.hold { $0.from = Self.instant(daysAgo: daysAgo) }
            let past = memory(file, Self.hold { $0.from = Self.instant(daysAgo: 60) })
            #expect(try (plan(file, [other], memory: past).steps[0].widened != nil) == isWider)
        }
        // A rule that is refused for the number of these rows.
        #expect(try released(rules: [.prices { $0.limits.maxRows = 5 }]) == 39)
    }

    @Test func aHoldThatCanNoLongerBeEvaluatedRefusesTheRule() throws {
        let file = try PriceFile(daysOld: [0, 50])
        var memory = memory(file, Self.hold { $0.entity = "gone" })
        let record = RecordedRule(.prices(), entity: "price", date: "at", zone: .utc)
        func carriedOut(_ entity: String) -> RunMemory.CarriedOut {
            .init(
                record: record.of(entity), leftNone: false, run: "01RUN", ended: PriceFile.now, cutoff: PriceFile.now,
                keptCount: 0)
        }
        memory.rules = [carriedOut("price")]
        // The store never had this table.
        #expect(try plan(file, [], memory: memory).steps[0].widened == nil)
        memory.rules.append(carriedOut("gone"))
        let step = try plan(file, [], memory: memory).steps[0]
        #expect(step.widened?.removedHolds == ["audit"] && step.refusals.map(\.code) == [.policyWidened])
    }
}
