import Foundation
import RetentionJob
import RetentionPolicy
import Testing

/// What `retention check` says beside mistakes.
struct CheckAdviceTests {
    private func check(_ rules: [String], head: String = "", sql: String = Sample.price, _ arguments: String...) throws
        -> LaunchedProgram.Ending
    {
        let job = try LaunchedJob(
            sql, policy: "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined())
        return try job.perform(["check"] + arguments)
    }

    @Test func aFileWithoutAutoVacuumIsReportedWithTheStatements() throws {
        let end = try check([Sample.rule()])
        #expect(end.status == 0 && end.output.contains("PRAGMA auto_vacuum = INCREMENTAL; VACUUM"), "\(end)")
        #expect(end.output.contains("retention.yaml:2:8: advice: the file keeps the space"), "\(end)")
        #expect(try !check([Sample.rule("reclaim: none")]).output.contains("auto_vacuum"))
        // A run with a vacuum makes the file smaller, also where no row is expired yet.
        let vacuumed = try check([Sample.rule(), Sample.rule("reclaim: vacuum", name: "other")])
        #expect(vacuumed.status == 0 && !vacuumed.output.contains("auto_vacuum"), "\(vacuumed)")
        let asked = try check([Sample.rule("reclaim: incremental")])
        #expect(
            asked.status == 0 && asked.output.contains("warning: the file was not created for incremental"), "\(asked)")
        #expect(
            try !check([Sample.rule()], sql: "PRAGMA auto_vacuum = INCREMENTAL;" + Sample.price).output.contains(
                "auto_vacuum"))
    }

    @Test func theStatementsForTheFileWork() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let cure = try #require(
            try job.retention("check").output.firstMatch(of: /PRAGMA auto_vacuum = INCREMENTAL; VACUUM/)
        ).0
        try job.change(String(cure))
        #expect(try !job.retention("check").output.contains("auto_vacuum"))
    }

    /// An object that nobody can read is left out, wherever it is.
    @Test(arguments: [
        ("stale", "CREATE TABLE gone(x); CREATE VIEW stale AS SELECT x FROM gone; DROP TABLE gone;"),
        (
            "f",
            "CREATE VIRTUAL TABLE f USING fts5(a); "
                + change("f", "CREATE VIRTUAL TABLE f USING fts5(a, tokenize=nosuch)")
        ),
        ("f", "CREATE VIRTUAL TABLE f USING fts5(a); " + change("f", "CREATE VIRTUAL TABLE f USING nosuch(a)")),
        ("v", "CREATE TABLE o(a); CREATE VIEW v AS SELECT nosuch(a) AS b FROM o;"),
    ])
    func whatCannotBeReadIsLeftOutAndSaidOnce(name: String, sql: String) throws {
        let rules = ["a", "b"].map {
            "{ name: \($0), entity: Price, date_attribute: at, date_format: unix_seconds, max_age: 30d, where: { symbol: \($0) } }"
        }
        let end = try check(rules, sql: Sample.price + sql)
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
        let said = end.output.components(separatedBy: "advice: \(name) cannot be read and is left out: ")
        #expect(said.count == 2, "\(end)")
    }

    private static func change(_ name: String, _ definition: String) -> String {
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '\(definition)' WHERE name = '\(name)'"
    }

    /// A generated value whose function is missing is no reference that could be counted.
    @Test func aReferenceThatCannotBeReadIsLeftOut() throws {
        let end = try check(
            [Sample.rule()],
            sql: Sample.price + Sample.rows(3, daysAgo: 0)
                + "CREATE TABLE Visit(a, Price_id INTEGER AS (a)); INSERT INTO Visit VALUES (1); "
                + Self.change("Visit", "CREATE TABLE Visit(a, Price_id INTEGER AS (nosuch(a)))"))
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
    }

    @Test(arguments: [
        ("max_age: 60d", true), ("max_age: 10d", false), ("max_age: 30d", true),
        ("max_age: 60d, where: { symbol: XAUUSD }", true), ("max_age: 60d, keep_last: { count: 5 }", true),
        ("max_age: 60d, earliest: 1900-01-01", false), ("max_age: 60d, enabled: false", false),
    ])
    func aRuleWithoutAnEffectIsReported(second: String, isCovered: Bool) throws {
        let rule = "{ name: second, entity: price, date_attribute: at, date_format: unix_seconds, \(second) }"
        let end = try check([Sample.rule(), rule], "--offline")
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
            [Sample.rule(keeping, name: "daily"), Sample.rule(plain, name: "late", age: age)], "--offline")
        #expect(
            end.output.contains("warning: 'daily' may keep a row that 'late' deletes later") == isReported, "\(end)")
    }

    @Test func anEarlierRuleThatALaterOneCoversIsReportedWithItsKeepLast() throws {
        let end = try check(
            [Sample.rule("keep_last: { count: 1 }", name: "spare", age: "60d"), Sample.rule()], "--offline")
        #expect(
            end.output.contains(
                "'spare' deletes is also deleted by 'gold', including the rows that its keep_last keeps"))
        #expect(!end.output.contains("that 'gold' deletes"), "\(end)")
    }

    /// Rows of the last month that is not over are no part of a candle yet, and rows without a price never are.
    @Test func aRuleForCandlesDeletesLessThanItsAgeSays() throws {
        let candles = "rollup: { into: candle, every: 1mo, per: [symbol], price: price }"
        let plain = Sample.rule(name: "plain", age: "45d")
        let end = try check([Sample.rule(candles), plain], "--offline")
        #expect(!end.output.contains("that 'plain' deletes"), "\(end)")
        let covered = try check([Sample.rule(candles, age: "60d"), plain], "--offline")
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
        let end = try check(place == "after" ? [maker, other] : [other, maker], "--offline")
        let isFound = end.output.contains(
            "warning: 'plain' deletes rows of Price before 'candles' makes candles of them")
        #expect(isFound == isReported && end.status == 0, "\(end)")
        #expect(!end.output.contains("remove 'candles'"), "\(end)")
    }

    @Test func ofTwoEqualRulesTheLaterIsReported() throws {
        let end = try check([Sample.rule(), Sample.rule(name: "again")], "--offline")
        #expect(end.output.contains("that 'again' deletes") && !end.output.contains("that 'gold' deletes"), "\(end)")
    }

    @Test func anAgeShorterThanTheScheduleIsReported() throws {
        let end = try check([Sample.rule(age: "6h")], head: "expected_every: 1d", "--offline")
        #expect(end.status == 0 && end.output.contains("set expected_every: 6h"), "\(end)")
        #expect(try !check([Sample.rule(age: "1d")], head: "expected_every: 1d", "--offline").output.contains("advice"))
    }

    /// Other mistakes are found, too.
    @Test(arguments: ["price", "volume"]) func aMisspeltAttributeOfCandlesHasAPlace(_ key: String) throws {
        let names = ["price": "price: prise", "volume": "price: price, volume: prise"][key] ?? ""
        let rule = Sample.rule("rollup: { into: candle, every: 1h, \(names) }")
        let end = try check([rule, Sample.rule(name: "other", entity: "Price", date: "att")])
        #expect(end.status == 78, "\(end)")
        #expect(end.output.contains("error: Price has no attribute 'prise'; did you mean 'price'?"), "\(end)")
        #expect(end.output.contains("error: Price has no attribute 'att'"), "\(end)")
        #expect(end.output.contains("retention.yaml:5:"), "\(end)")
    }
}
