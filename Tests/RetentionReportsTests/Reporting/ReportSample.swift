import PriceStore
import RetentionPolicy

@testable import RetentionJob

/// Reports for the tests of their texts.
enum ReportSample {
    static let day: Int64 = 86_400
    /// 2026-11-21T00:00:00Z.
    static let asOf = Instant(unixSeconds: 1_795_219_200)

    static func report(_ mode: RunReport.Mode, rules: [RunReport.RuleReport]) -> RunReport {
        var report = RunReport(
            runID: "01JD0000000000000000000000", mode: mode, asOf: asOf, started: asOf,
            config: "conf/retention.yaml", configSHA256: "3f2a91c0" + String(repeating: "0", count: 56),
            store: "prices.sqlite", engine: "sqlite")
        report.rules = rules
        report.finished = asOf.advanced(byMicroseconds: 12_345_678)
        return report
    }

    static func rule(
        _ name: String, entity: String = "YahooGoldPricePoint", outcome: RunReport.Outcome = .planned
    ) -> RunReport.RuleReport {
        RunReport.RuleReport(
            name: name, entity: entity, dateAttribute: "updateTime", dateFormat: .unixSeconds, maxAge: "30d",
            cutoff: Instant(unixSeconds: 1_795_219_200 - 30 * day), outcome: outcome)
    }

    /// A rule with 500,000 expired rows of 543,200.
    static var gold: RunReport.RuleReport {
        var rule = rule("yahoo-gold")
        rule.planned.rows = 543_200
        rule.planned.expired = 500_000
        rule.left.expired = 500_000
        rule.method.name = "range batches"
        rule.method.index = "ix_time"
        return rule
    }

    /// A rule with a value in every field.
    static var full: RunReport.RuleReport {
        var rule = gold
        rule.outcome = .completed
        rule.message = "one\\nline"
        (rule.kept.byRuleCount, rule.done.deleted, rule.done.cascaded, rule.done.nullified, rule.left.expired) = (
            3, 499_999, 4, 5, 1
        )
        (rule.done.batches, rule.done.elapsed, rule.done.lockElapsed) = (
            100, .microseconds(1_234_567), .milliseconds(5)
        )
        (rule.candles.unpriced, rule.candles.created, rule.candles.changed) = (6, 7, 8)
        (rule.done.archived, rule.kept.heldCount, rule.remembered.late) = (500_012, 9, 10)
        rule.kept.byTier = [.init(unit: .day, rowCount: 2), .init(unit: .year, rowCount: 1)]
        rule.kept.byHold = [.init(hold: "a hold", rowCount: 9, relatedCount: 2)]
        rule.planned.oldest = Instant(microseconds: -1)
        rule.planned.newest = asOf
        rule.planned.newestExpired = asOf.advanced(byMicroseconds: -7)
        (rule.done.oldest, rule.done.newest) = (rule.planned.oldest, rule.planned.newestExpired)
        rule.left.oldest = rule.cutoff.advanced(byMicroseconds: -1_500_000)
        (rule.left.entityBytes, rule.method.reason) = (4096, "a reason")
        rule.accepted = [.futureDates, .mixedFormats]
        rule.refusals = [.init(code: .tooManyRows, message: "too many", isAcceptable: true)]
        rule.advice = ["one", "two"]
        rule.planned.triggers = ["audit of Price"]
        rule.done.byTriggers = ["Audit": 8, "a table": 1]
        rule.planned.unreadable = [.init(reason: .notADate, rowCount: 3, example: .text("secret"))]
        rule.planned.forecast = .init(nextDay: 1, nextWeek: 2)
        rule.planned.sample = .init(columns: ["id"])
        rule.planned.sample?.oldest = [[.integer(1)]]
        rule.planned.sample?.kept = [[.integer(2)]]
        rule.remembered.widened = .init(changes: [], removedHolds: ["h"], run: "01A", ended: asOf)
        return rule
    }

    /// A rule that is refused.
    static var refused: RunReport.RuleReport {
        var rule = rule("old-fx", entity: "FxRate", outcome: .refused)
        rule.refusal = .wrongUnit
        rule.message =
            "the newest of 8,200 rows reads as 1970-01-21 in unix_milliseconds; in unix_seconds it is 2026-11-20. "
            + "Is date_format right?"
        return rule
    }
}
