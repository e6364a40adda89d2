import PriceStore
import RetentionJob
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

/// What rules with `thin` or `keep_last` keep beside other rules of their entity.
@Suite struct RulesTogetherTests {
    private static let bad = StorePredicate.compare("flag", .equal, .text("bad"))

    /// Four rows on each of 60 days of two symbols, of which the last of a day is bad.
    private func file(_ sql: String = "") throws -> PriceFile {
        try PriceFile(
            """
            ALTER TABLE price ADD COLUMN flag TEXT;
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 479)
            INSERT INTO price (at, symbol, flag)
            SELECT 1795219200 - 60 * 86400 + n / 8 * 86400 + n / 2 % 4 * 21600, iif(n % 2, 'XAU', 'EUR'),
            iif(n / 2 % 4 = 3, 'bad', 'ok') FROM n;
            """ + sql)
    }

    private static let badTicks = Rule.prices("bad-ticks") { $0.filter = bad }
    private static let daily = Rule.prices("daily", line: 14) {
        $0.thin = Rule.ThinSetting(per: ["symbol"], tiers: [.init(.day, age: nil)])
    }
    private static let newest = Rule.prices("newest", line: 24) {
        $0.keepLast = Rule.KeepLastSetting(count: 1, per: ["symbol"])
        $0.filter = .compare("at", .less, .integer(1_795_219_200 - 40 * 86_400))
    }

    private func plan(_ file: PriceFile, _ rules: [Rule], only names: [String] = [], accept: Set<RefusalCode> = [])
        throws
        -> Plan
    {
        var policy = file.policy()
        policy.rules = rules
        return try Planner(
            policy: policy, asOf: PriceFile.now, clock: PriceFile.now,
            options: Planner.Options(accept: accept, ruleNames: names), countsAllRows: true
        ).plan(reader: try file.reader())
    }

    /// Carries a plan out and returns the numbers of the rows that are left.
    private func left(_ rules: [Rule], _ names: [[String]] = [[]], in file: PriceFile) throws -> Int {
        for names in names {
            let steps = try plan(file, rules, only: names).steps
            let writer = try file.writer()
            for step in steps {
                let request = try #require(step.request)
                let deletion = try writer.deletion(of: request)
                while try deletion.deleteNext(DeletionBounds(rows: 7)).hasMore {}
            }
        }
        return try file.count("at < 1795219200 - 30 * 86400")
    }

    /// 30 days before the cutoff, two symbols.
    @Test(arguments: [[0, 1], [1, 0]]) func theDayKeepsARowThatNoOtherRuleDeletes(_ order: [Int]) throws {
        let rules = order.map { [Self.badTicks, Self.daily][$0] }
        let file = try file()
        let steps = try plan(file, rules).steps
        #expect(steps.reduce(0) { $0 + $1.survey.expiredCount } == 240 - 60)
        #expect(steps.map(\.survey.kept.byRuleCount).max() == 60)
        #expect(try left(rules, in: file) == 60)
        #expect(try file.count("at < 1795219200 - 30 * 86400 AND flag = 'bad'") == 0)
        #expect(try plan(file, rules).steps.allSatisfy { $0.survey.expiredCount == 0 })
    }

    @Test(arguments: [[["daily"], ["bad-ticks"]], [["bad-ticks"], ["daily"]]])
    func rulesThatRunAloneKeepTheSame(_ names: [[String]]) throws {
        #expect(try left([Self.badTicks, Self.daily], names, in: file()) == 60)
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) func whatOneRuleKeepsIsKeptFromTheOthers(_ order: [Int]) throws
    {
        // The last row of each symbol before day 40 is a pick of no week.
        var weekly = Self.daily
        weekly.thin = Rule.ThinSetting(per: ["symbol"], tiers: [.init(.year, age: nil)])
        let rules = order.map { [Self.badTicks, weekly, Self.newest][$0] }
        let file = try file()
        _ = try left(rules, in: file)
        // Of each symbol the last good row before day 40.
        #expect(try file.count("at < 1795219200 - 40 * 86400 AND flag = 'ok'") == 2)
        #expect(try plan(file, rules).steps.allSatisfy { $0.survey.expiredCount == 0 })
    }

    @Test func aDisabledRuleDecidesNothing() throws {
        var off = Self.badTicks
        off.isEnabled = false
        let steps = try plan(file(), [off, Self.daily]).steps
        #expect(steps[1].survey.expiredCount == 180 && steps[1].survey.kept.byRuleCount == 60)
        #expect(steps[1].surveyRequest?.keepers.thinning?.among == .all)
    }

    @Test func rulesThatKeepRowsByDifferentDatesAreAMistake() throws {
        let file = try file("ALTER TABLE price ADD COLUMN made INTEGER; UPDATE price SET made = at;")
        var other = Self.newest
        other.dateAttribute = "made"
        var policy = file.policy()
        policy.rules = [Self.daily, other]
        let found = try StoreCheck.diagnostics(policy: policy, reader: file.reader(), clock: PriceFile.now)
        #expect(
            found.filter { $0.severity == .error }.map(\.message) == [
                "'daily' and 'newest' keep rows of price by different dates; rules with thin or keep_last on one entity must "
                    + "have the same date_attribute and date_format"
            ])
    }

    /// A rule on symbols deletes rows of prices with them, and picks among them.
    @Test func aRuleIsRefusedIfItsCascadeWouldTakeWhatAnotherKeeps() throws {
        let file = try file(
            """
            CREATE TABLE source (id INTEGER PRIMARY KEY, at INTEGER);
            INSERT INTO source VALUES (1, 1795219200 - 50 * 86400), (2, 1795219200);
            ALTER TABLE price ADD COLUMN source INTEGER REFERENCES source ON DELETE CASCADE;
            CREATE INDEX price_source ON price (source);
            UPDATE price SET source = iif(id % 8 IN (0, 7) AND at < 1795219200 - 45 * 86400, 1, 2);
            """)
        let sources = Rule.prices("sources", line: 34) { $0.entity = "source" }
        func refusals(_ steps: [Plan.Step]) -> [Refusal] {
            steps.compactMap { if case .refused(let refusal) = $0.disposition { refusal } else { nil } }
        }
        for rules in [[sources, Self.daily], [Self.daily, sources]] {
            let steps = try plan(file, rules).steps
            let refusals = refusals(steps)
            #expect(refusals.map(\.code) == [.keptRowsDeleted])
            #expect(
                refusals.first?.reason
                    == "refusing to delete from source: 30 rows of price that 'daily' keeps would be deleted with its rows"
            )
            #expect(steps.first { $0.rule.name == "daily" }?.disposition == .planned)
        }
        // Whether the other one is carried out, or has something left to delete.
        for _ in 1...2 {
            let alone = try plan(file, [sources, Self.daily], only: ["sources"]).steps
            #expect(refusals(alone).map(\.code) == [.keptRowsDeleted])
            _ = try left([Self.daily], in: file)
        }
        #expect(
            try plan(file, [sources, Self.daily], accept: [.keptRowsDeleted]).steps.allSatisfy {
                $0.disposition == .planned
            })
    }

    /// Nor may a trigger.
    @Test func aRuleIsRefusedIfATriggerMayDeleteWhatAnotherKeeps() throws {
        let file = try file(
            """
            CREATE TABLE source (id INTEGER PRIMARY KEY, at INTEGER); 
            INSERT INTO source VALUES (1, 1795219200 - 50 * 86400), (2, 1795219200);
            CREATE TRIGGER sweep AFTER DELETE ON source BEGIN DELETE FROM price WHERE id = 1; END;
            """)
        let sources = Rule.prices("sources", line: 34) { $0.entity = "source" }
        let steps = try plan(file, [sources, Self.daily]).steps
        #expect(
            steps[0].refusals.map(\.reason) == [
                "refusing to delete from source: the trigger sweep deletes rows of price, of which 'daily' keeps some"
            ])
        #expect(steps[1].disposition == .planned)
    }
}
