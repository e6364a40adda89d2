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

    /// A rule with a value in every field.
    static var full: RunReport.RuleReport {
        var rule = gold
        rule.outcome = .completed
        rule.message = "one\\nline"
        (rule.keptByRule, rule.deleted, rule.cascaded, rule.nullified, rule.residue) = (3, 499_999, 4, 5, 1)
        (rule.batches, rule.elapsed, rule.lockElapsed) = (100, .microseconds(1_234_567), .milliseconds(5))
        (rule.unpriced, rule.candlesCreated, rule.candlesChanged) = (6, 7, 8)
        (rule.archived, rule.held, rule.late, rule.removedFiles) = (500_012, 9, 10, 11)
        rule.keptByTier = [.init(unit: .day, rowCount: 2), .init(unit: .year, rowCount: 1)]
        rule.keptByHold = [.init(hold: "a hold", rowCount: 9, relatedCount: 2)]
        rule.oldest = Instant(microseconds: -1)
        rule.newest = asOf
        rule.newestExpired = asOf.advanced(byMicroseconds: -7)
        (rule.oldestDeleted, rule.newestDeleted) = (rule.oldest, rule.newestExpired)
        rule.oldestOverdue = rule.cutoff.advanced(byMicroseconds: -1_500_000)
        (rule.entitySizeBytes, rule.methodReason) = (4096, "a reason")
        rule.accepted = [.futureDates, .mixedFormats]
        rule.refusals = [.init(code: .tooManyRows, message: "too many", isAcceptable: true)]
        rule.advice = ["one", "two"]
        rule.triggers = ["audit of Price"]
        rule.deletedByTriggers = ["Audit": 8, "a table": 1]
        rule.unreadable = [.init(reason: .notADate, rowCount: 3, example: .text("secret"))]
        rule.externalFiles = ["f"]
        rule.forecast = .init(nextDay: 1, nextWeek: 2)
        rule.sample = .init(columns: ["id"])
        rule.sample?.oldest = [[.integer(1)]]
        rule.sample?.kept = [[.integer(2)]]
        rule.widened = .init(changes: [], removedHolds: ["h"], run: "01A", ended: asOf)
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
