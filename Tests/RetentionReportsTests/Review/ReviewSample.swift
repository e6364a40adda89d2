import PriceStore
import RetentionPolicy

@testable import RetentionJob
@testable import RetentionReports

/// A review with a ledger of some nights, which tests change before they read it.
enum ReviewSample {
    static let day: Int64 = 86_400_000_000
    static let now = ReportSample.asOf

    static func instant(_ days: Int64, hour: Int64 = 0) -> Instant {
        now.advanced(byMicroseconds: days * day + hour * day / 24)
    }

    /// A policy with an archive and limits, so that it lacks nothing, and a run a day.
    static func policy(_ names: [String]) -> Policy { policy(names.map { rule($0) }) }

    private static func policy(_ plan: [RunReport.RuleReport]) -> Policy {
        let mark = Mark(line: 1, column: 1)
        var rules: [Rule] = []
        for planned in plan {
            var age = MaxAge(written: "30d")
            age.days = 30
            var rule = Rule(
                name: planned.name, entity: planned.entity, dateAttribute: "at", maxAge: age, marks: Marks(whole: mark))
            rule.limits.maxFraction = 0.5
            rule.isArchived = true
            rules.append(rule)
        }
        var policy = Policy(
            file: PolicySource(path: "retention.yaml", sha256: "", lines: []),
            store: .init(StoreKind("prices.sqlite"), written: "prices.sqlite", mark: mark), rules: rules)
        var every = MaxAge(written: "1d")
        every.days = 1
        policy.expectedEvery = every
        return policy
    }

    /// A rule as a dry run finds it, or as a run leaves it.
    static func rule(
        _ name: String = "gold", _ outcome: RunReport.Outcome = .planned, expired: Int = 0, rows: Int? = 1000,
        entity: String = "Price", refusal: RefusalCode? = nil
    ) -> RunReport.RuleReport {
        var rule = ReportSample.rule(name, entity: entity, outcome: outcome)
        rule.refusal = refusal
        (rule.planned.rows, rule.planned.expired) = (rows, expired)
        rule.planned.forecast = .init(nextDay: 10, nextWeek: 70)
        rule.left.expired = outcome == .completed ? 0 : expired
        if outcome == .completed { (rule.done.deleted, rule.done.archived) = (expired, expired) }
        return rule
    }

    /// A run that began at 03:00 some days ago.
    static func run(
        _ daysAgo: Int64, _ rules: [RunReport.RuleReport] = [rule(.init("gold"), .completed, expired: 10)],
        failure: String? = nil
    ) -> LedgerRun {
        var report = ReportSample.report(.run, rules: rules)
        report.runID = "01JD\(1000 + 100 - daysAgo)00000000000000000"
        report.started = instant(-daysAgo, hour: -21)
        report.finished = report.started.advanced(byMicroseconds: 900_000)
        report.failure = failure
        report.exitCode = failure == nil ? rules.contains { $0.outcome == .refused } ? 65 : 0 : 75
        return LedgerRun(
            number: Int(1000 - daysAgo), report: report, outcome: report.runOutcome,
            process: LedgerProcess(pid: 1, host: "gold", user: "cron", version: "1.2.3"))
    }

    /// An undo of a run, some days ago at 09:00.
    static func undo(_ daysAgo: Int64, of run: LedgerRun, restored: Int) -> LedgerRun {
        var undo = run
        undo.number += 1
        undo.report.mode = .undo
        undo.report.runID = "01JDUNDO000000000000000000"
        undo.report.started = instant(-daysAgo, hour: -15)
        undo.report.finished = undo.report.started
        undo.report.rules = []
        var table = RunReport.Undo.Table(name: "Price")
        table.done.restoredCount = restored
        undo.report.undo = .init(run: run.report.runID, archive: "a.sqlite", rules: ["gold"], tables: [table])
        return undo
    }

    /// The review of some runs and of what a run would do now.
    static func review(
        _ plan: [RunReport.RuleReport] = [rule()], _ runs: [LedgerRun], others: [LedgerRun] = [],
        reached: [String: Set<String>] = [:]
    ) -> Review {
        var report = ReportSample.report(.dryRun, rules: plan)
        report.started = now
        return Review(
            plan: report, runs: runs, others: others, dates: [:], storeSizeBytes: 3 << 20,
            policy: policy(plan), reached: reached)
    }
}

extension LedgerRun {
    /// Notes that an undo has restored rows of the run.
    mutating func note(_ undo: LedgerRun) {
        undoneBy = .init()
        if let figures = undo.report.undo { undoneBy?.note(figures, by: undo, deletedAgainBy: nil) }
    }
}

extension Review {
    /// The text, with white space made plain.
    var words: String {
        ReviewText(self).text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// What is said of the last run, the next one, and what needs attention.
    var top: [String] { topLines.map { "\($0.label): \($0.text)" } + sentences.map(\.text) }
}
