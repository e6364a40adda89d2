import PriceObjects
import PriceStore
import RetentionPolicy
import TestSupport
import Testing

@testable import RetentionJob

@Suite struct PlannerTests {
    private func plan(
        _ file: PriceFile, _ rules: [Rule], memory: RunMemory = RunMemory(), options: Planner.Options = .init()
    ) throws -> [Plan.Step] {
        var policy = file.policy()
        policy.rules = rules
        return try Planner(
            policy: policy, asOf: PriceFile.now, clock: PriceFile.now, memory: memory, options: options,
            countsAllRows: true
        ).plan(reader: try file.reader()).steps
    }

    private func refusals(_ steps: [Plan.Step]) -> [RefusalCode?] {
        steps.map { if case .refused(let refusal) = $0.disposition { refusal.code } else { nil } }
    }

    @Test func whatElseKeepsRowsMayKeepTheOldest() {
        func isByDateAlone(_ change: (inout Rule) -> Void = { _ in }, held: Int = 0) -> Bool {
            var step = Plan.Step(rule: .prices("a", change), cutoff: PriceFile.now, disposition: .planned)
            step.survey.kept.heldCount = held
            return step.isByDateAlone
        }
        #expect(isByDateAlone())
        #expect(!isByDateAlone { $0.keepLast = Rule.KeepLastSetting(count: 1, per: []) })
        #expect(!isByDateAlone { $0.thin = Rule.ThinSetting(per: [], tiers: []) })
        #expect(!isByDateAlone(held: 1))
    }

    /// Each batch keeps the last row of each entity, unless that is accepted.
    @Test func eachBatchKnowsWhatMustNotBeEmptied() throws {
        let file = try PriceFile(daysOld: [0, 31])
        func entities(
            _ accept: Set<RefusalCode> = [], _ change: (inout Rule) -> Void = { _ in }
        ) throws -> [[String]] {
            try plan(file, [.prices("a", change), .prices("b")], options: Planner.Options(accept: accept)).map {
                $0.rowsToKeep.entities.map(\.entity)
            }
        }
        #expect(try entities() == [["price"], ["price"]])
        #expect(try entities([.wouldEmptyEntity]) == [[], []])
        #expect(try entities { $0.allowEmpty = true } == [[], []])
    }

    @Test func aRuleWithoutAFormatOrAnEntityIsNotCarriedOut() throws {
        let file = try PriceFile(daysOld: [0, 50])
        let steps = try plan(file, [.prices { $0.dateFormat = nil }, .prices("others")])
        #expect(refusals(steps) == [.unsupportedSchema, nil])
        #expect(
            steps[0].report.message?.contains("neither date_format nor the store says how at is read") == true,
            "\(steps[0].report.message ?? "")")
        let error = #expect(throws: StoreError.self) { try plan(file, [.prices { $0.entity = "prce" }]) }
        #expect(error?.kind == .unknownName)
    }

    @Test func aSampleHasNoRowsOfTheRulesBefore() throws {
        let file = try PriceFile(daysOld: [90, 80])
        try file.addPrices(daysOld: [70, 60, 0], symbol: "EUR")
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        let steps = try plan(file, [gold, .prices("all")])
        func ids(_ rows: [[StoreValue]]?) -> [StoreValue]? { rows?.map { $0[0] } }
        let sample = try steps[1].sample(5, before: steps[..<1], reader: file.reader())
        #expect(ids(sample?.oldest) == [.integer(3), .integer(4)] && ids(sample?.newest) == [])
        #expect(ids(sample?.kept) == [.integer(5)])
        let short = try steps[1].sample(1, before: steps[..<1], reader: file.reader())
        #expect(ids(short?.oldest) == [.integer(3)] && ids(short?.newest) == [.integer(4)])
    }

    /// A plan of two rules, one of which has been changed since or is not in it.
    @Test func aSavedPlanIsComparedRuleByRule() throws {
        let file = try PriceFile(daysOld: [90, 80])
        try file.addPrices(daysOld: [70, 60, 0], symbol: "EUR")
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        var policy = file.policy()
        policy.rules = [gold, .prices("all")]
        func plan(_ saved: SavedPlan?) throws -> Plan {
            var options = Planner.Options()
            options.savedPlan = saved
            return try Planner(
                policy: policy, asOf: PriceFile.now, clock: PriceFile.now, options: options, countsAllRows: true
            ).plan(reader: file.reader())
        }
        let first = try plan(nil)
        var saved = SavedPlan(
            policySHA256: "", store: "", asOf: PriceFile.now, made: PriceFile.now, validUntil: PriceFile.now)
        saved.steps = try [0, 1].compactMap { try first.saved($0, reader: file.reader()) }
        #expect(saved.steps.map(\.keys) == [.numbers([1...2]), .numbers([3...4])])
        #expect(try refusals(plan(saved).steps) == [nil, nil])
        var other = saved
        other.steps[1].keys = .numbers([3...3])
        let changed = try plan(other).steps
        #expect(refusals(changed) == [nil, .planDrifted])
        #expect(changed[1].report.message?.contains("which has 1 row: 1 row added (key 4)") == true)
        other.steps.removeLast()
        let missing = try plan(other).steps
        #expect(refusals(missing) == [nil, .planDrifted])
        #expect(missing[1].report.message?.contains("which has 0 rows: 2 rows added (keys 3, 4)") == true)
    }

    @Test func maxRowsBoundTheRunUnlessMoreIsAccepted() throws {
        let file = try PriceFile(daysOld: [0, 50, 60])
        #expect(try plan(file, [.prices { $0.limits.maxRows = 2 }])[0].request?.deleting.maxRows == 2)
        let accepted = Rule.prices {
            $0.limits.maxRows = 1; $0.accept = [.tooManyRows]
        }
        let step = try plan(file, [accepted])[0]
        #expect(step.disposition == .planned)
        #expect(step.request?.deleting.maxRows == nil)
    }

    // MARK: Method

    @Test(arguments: ["range", "keys", "fast"]) func aMethodThatCannotBeHadIsAnErrorOfTheEngine(_ method: String)
        throws
    {
        let file = try PriceFile(indexed: false)
        try file.addPrices(daysOld: [0, 50])
        let error = #expect(throws: StoreError.self) {
            try plan(file, [.prices()], options: Planner.Options(method: method))
        }
        #expect(error?.kind == .unknownName)
        #expect(error?.hint?.contains("deleted in batches") == true)
    }

    // MARK: Clock

    private var longAgo: RunMemory {
        RunMemory(ends: [-20, -21].map { PriceFile.now.advanced(byMicroseconds: $0 * 86_400_000_000) })
    }

    @Test func aJumpOfTheClockRefusesEveryRule() throws {
        let file = try PriceFile(daysOld: [21, 50])
        #expect(
            refusals(try plan(file, [.prices("a"), .prices("b")], memory: longAgo)) == [.clockJumped, .clockJumped])
    }

    @Test func aRowOfAnyRulesEntitySinceTheLastRunVouchesForTheClock() throws {
        let file = try PriceFile("CREATE TABLE tick (at INTEGER)")
        try file.addPrices(daysOld: [21, 50])
        try file.execute("INSERT INTO tick VALUES (1795219200 - 19 * 86400)")
        let ticks = Rule.prices("ticks") { $0.entity = "tick" }
        #expect(refusals(try plan(file, [.prices(), ticks], memory: longAgo)) == [nil, nil])
    }

    @Test func aRowInTheFarFutureVouchesForNothing() throws {
        let file = try PriceFile(daysOld: [21, 50, -3])
        let steps = try plan(
            file, [.prices()], memory: longAgo, options: Planner.Options(accept: [.futureDates]))
        #expect(refusals(steps) == [.clockJumped])
    }

    @Test func theDayOfTheLastRunIsNotNewerThanThatRun() throws {
        let file = try PriceFile("CREATE TABLE daily (day TEXT)")
        try file.execute("INSERT INTO daily VALUES ('2026-10-01'), ('2026-11-01')")
        let daily = Rule.prices {
            $0.entity = "daily"; $0.dateAttribute = "day"; $0.dateFormat = .iso8601
        }
        #expect(refusals(try plan(file, [daily], memory: longAgo)) == [.clockJumped])
        try file.execute("INSERT INTO daily VALUES ('2026-11-02')")
        #expect(refusals(try plan(file, [daily], memory: longAgo)) == [nil])
    }
}

@Suite struct RuleDateTests {
    @Test(arguments: [("UTC", 31_536_000), ("Europe/Berlin", 31_536_000 - 3600)])
    func datesBefore1971InTheZoneAreNotBelievedByDefault(zone: String, earliest: Int64) throws {
        let zone = try #require(CalendarZone(identifier: zone))
        let date = try #require(Rule.prices().date(zone: zone))
        #expect(date.earliest == Instant(unixSeconds: earliest) && !date.trustsZero && date.latest == nil)
    }

    @Test func zeroIsADateIfEarliestIsSet() throws {
        let rule = Rule.prices {
            $0.earliest = Instant(unixSeconds: 0); $0.latest = PriceFile.now
        }
        let date = try #require(rule.date(zone: .utc))
        #expect(date.trustsZero)
        #expect(date.earliest == Instant(unixSeconds: 0))
        #expect(date.latest == PriceFile.now)
    }

    @Test func withoutAFormatThereIsNone() {
        #expect(Rule.prices { $0.dateFormat = nil }.date(zone: .utc) == nil)
    }
}
