import Foundation
import RetentionJob
import RetentionPolicy
import Testing

/// What `retention check` says of rules that meet. What it says of a store is in the case `advice-of-check`.
struct CheckAdviceTests {
    private func check(_ rules: [String], head: String = "") throws -> LaunchedProgram.Ending {
        let policy = "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined()
        return try LaunchedJob(Sample.price, policy: policy).retention("check", "--offline")
    }

    @Test(arguments: [
        ("max_age: 60d", true), ("max_age: 10d", false), ("max_age: 30d", true),
        ("max_age: 60d, where: { symbol: XAUUSD }", true), ("max_age: 60d, keep_last: { count: 5 }", true),
        ("max_age: 60d, earliest: 1900-01-01", false), ("max_age: 60d, enabled: false", false),
    ])
    func aRuleWithoutAnEffectIsReported(second: String, isCovered: Bool) throws {
        let rule = "{ name: second, entity: price, date_attribute: at, date_format: unix_seconds, \(second) }"
        let end = try check([Sample.rule(), rule])
        #expect(end.status == 0, "\(end)")
        let isReported = end.output.contains("advice: every row that 'second' deletes is also deleted by 'gold'")
        #expect(isReported == isCovered, "\(end)")
    }

    @Test(arguments: [
        ("60d", "where: { symbol: XAUUSD }", "thin: { daily: forever }", true),
        ("30d", "where: { symbol: XAUUSD }", "thin: { daily: forever }", false),
        ("60d", "where: { symbol: XAUUSD }", "keep_last: { count: 1 }", true),
        ("60d", "where: { symbol: XAUUSD }", "thin: { daily: forever, per: [symbol] }", false),
        ("60d", "where: { symbol: XAUUSD }", "thin: { daily: forever }, where: { symbol: EURUSD }", false),
        ("60d", "", "thin: { daily: forever }", false),
    ])
    func aRuleThatDeletesLaterWhatAnotherOneKeepsIsReported(
        _ age: String, _ plain: String, _ keeping: String, _ isReported: Bool
    ) throws {
        let end = try check(
            [Sample.rule(keeping, name: "daily"), Sample.rule(plain, name: "late", age: age)])
        #expect(
            end.output.contains("warning: 'daily' may keep a row that 'late' deletes later") == isReported, "\(end)")
    }

    @Test func anEarlierRuleThatALaterOneCoversIsReportedWithItsKeepLast() throws {
        let end = try check(
            [Sample.rule("keep_last: { count: 1 }", name: "spare", age: "60d"), Sample.rule()])
        #expect(
            end.output.contains(
                "'spare' deletes is also deleted by 'gold', including the rows that its keep_last keeps"))
        #expect(!end.output.contains("that 'gold' deletes"), "\(end)")
    }

    /// Rows of the last month that is not over are no part of a candle yet, and rows without a price never are.
    @Test func aRuleForCandlesDeletesLessThanItsAgeSays() throws {
        let candles = "rollup: { into: candle, every: 1mo, per: [symbol], price: price }"
        let plain = Sample.rule(name: "plain", age: "45d")
        let end = try check([Sample.rule(candles), plain])
        #expect(!end.output.contains("that 'plain' deletes"), "\(end)")
        let covered = try check([Sample.rule(candles, age: "60d"), plain])
        #expect(
            covered.output.contains("'plain' deletes rows of Price before 'gold' makes candles of them"), "\(covered)")
        #expect(!covered.output.contains("remove"), "\(covered)")
    }

    /// Which rows become candles: a rule that reaches younger rows, or comes first, takes them.
    @Test(arguments: [
        ("after", "60d", "", false), ("after", "20d", "", true), ("before", "60d", "", true),
        ("after", "45d", "", true),
        ("after", "20d", "where: { symbol: EURUSD }", false), ("after", "20d", "where: { price: { le: 0 } }", false),
        ("after", "20d", "where: { price: { null: true } }", false),
        ("after", "20d", "where: { price: { lt: 5 } }", true),
        ("after", "20d", "enabled: false", false), ("after", "20d", "keep_last: { count: 3 }", true),
    ])
    func rowsThatDoNotBecomeCandlesAreReported(
        place: String, age: String, setting: String, isReported: Bool
    ) throws {
        let candles = "where: { symbol: XAUUSD }, rollup: { into: candle, every: 1mo, per: [symbol], price: price }"
        let maker = Sample.rule(candles, name: "candles", age: "15d")
        let other = Sample.rule(setting, name: "plain", age: age)
        let end = try check(place == "after" ? [maker, other] : [other, maker])
        let isFound = end.output.contains(
            "warning: 'plain' deletes rows of Price before 'candles' makes candles of them")
        #expect(isFound == isReported && end.status == 0, "\(end)")
        #expect(!end.output.contains("remove 'candles'"), "\(end)")
    }

    @Test func ofTwoEqualRulesTheLaterIsReported() throws {
        let end = try check([Sample.rule(), Sample.rule(name: "again")])
        #expect(end.output.contains("that 'again' deletes") && !end.output.contains("that 'gold' deletes"), "\(end)")
    }

    @Test func anAgeShorterThanTheScheduleIsReported() throws {
        let end = try check([Sample.rule(age: "6h")], head: "expected_every: 1d")
        #expect(end.status == 0 && end.output.contains("set expected_every: 6h"), "\(end)")
        #expect(try !check([Sample.rule(age: "1d")], head: "expected_every: 1d").output.contains("advice"))
    }
}
