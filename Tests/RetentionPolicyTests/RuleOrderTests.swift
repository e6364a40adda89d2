import PriceStore
import Testing

@testable import RetentionPolicy

/// In which order rules are carried out, whose rows become candles.
struct RuleOrderTests {
    private func order(_ rules: (name: String, entity: String, target: String?)...) -> [String] {
        rules.map { name, entity, target in
            var rule = Rule(
                name: name, entity: entity, dateAttribute: "at", maxAge: MaxAge(written: "1d"),
                marks: Marks(whole: Mark(line: 1, column: 1)))
            rule.rollup = target.map {
                Rule.RollupSetting(target: $0, buckets: CandleBuckets(.minutes(1), zone: .utc), per: [])
            }
            return rule
        }.inOrder.map(\.name)
    }

    @Test func theLongestCandlesComeFirst() {
        #expect(
            order(("ticks", "Tick", "m"), ("minutes", "M", "h"), ("hours", "h", "d"), ("days", "D", nil))
                == ["days", "hours", "minutes", "ticks"])
    }

    @Test func allOtherRulesAreCarriedOutInTheOrderOfThePolicy() {
        #expect(order(("b", "Tick", nil), ("a", "Tick", nil), ("c", "m", nil)) == ["b", "a", "c"])
        #expect(
            order(
                ("symbols", "Symbol", nil), ("gold", "Tick", "m"), ("rest", "Tick", nil), ("old", "m", "h"),
                ("notes", "Note", nil), ("older", "m", nil))
                == ["symbols", "old", "older", "gold", "rest", "notes"])
    }

    @Test func rulesThatFollowEachOtherInACircleAllCome() {
        #expect(Set(order(("a", "x", "y"), ("b", "y", "x"))) == ["a", "b"])
    }
}
