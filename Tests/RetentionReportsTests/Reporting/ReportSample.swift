import PriceStore
import RetentionJob
import RetentionPolicy

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
        rule.rows = 543_200
        rule.expired = 500_000
        rule.residue = 500_000
        rule.method = "range batches"
        rule.index = "ix_time"
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
