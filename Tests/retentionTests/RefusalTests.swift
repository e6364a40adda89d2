import Foundation
import TestSupport
import Testing

/// What is not counted because a rule is refused. The refusals themselves are in the cases `refusal-*`.
@Suite(.tags(.clock)) struct RefusalTests {
    /// Nobody knows how many rows are left if none were counted.
    @Test(arguments: ["view", "hold", "unit"]) func whatWasNotCountedIsNotZero(_ reason: String) throws {
        let hold = "holds: [{ name: h, entity: Price, reason: r, where: { nothing: 1 } }]"
        let rule =
            switch reason {
            case "view": Sample.rule(entity: "Dear")
            case "hold": Sample.rule()
            default: Sample.rule(format: "unix_milliseconds")
            }
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + "CREATE VIEW Dear AS SELECT * FROM Price; CREATE TABLE Quote(id INTEGER PRIMARY KEY, at INTEGER);"
                + "INSERT INTO Quote(at) VALUES (unixepoch());",
            policy: Sample.policy(
                rule, Sample.rule(name: "quotes", entity: "Quote"),
                head: "metrics: { textfile: figures.prom }\n" + (reason == "hold" ? hold : "")))
        let code = ["view": "unsupported_schema", "hold": "hold_unusable", "unit": "wrong_unit"][reason]
        let report = try job.report()
        for rule in [report.rules[0], try job.report("--dry-run").rules[0], try job.log()[0].rules[0]] {
            #expect(rule.refusal == code && rule.residue == nil && rule.expired == nil, "\(rule)")
            #expect(rule.overdueSeconds == nil && rule.newestExpired == nil, "\(rule)")
        }
        for totals in [report.totals, try job.report("--dry-run").totals, try job.log()[0].totals] {
            #expect(totals == .init(expired: 0, deleted: 0, residue: 0))
        }
        #expect(report.rules[1].residue == 0 && report.rules[1].expired == 0)
        let metrics = try job.text("figures.prom")
        for name in ["residue_rows", "expired_rows", "oldest_overdue_seconds"] {
            let figures = metrics.split(separator: "\n").filter { $0.hasPrefix("retention_rule_\(name){") }
            #expect(figures.count == 1 && figures[0].contains(",rule=\"quotes\""), "\(metrics)")
        }
        #expect(try job.retention("log", "--verify").status == 0)
    }
}
