import Foundation
import Testing

/// `thin` in the running program: the dry run, the run, the reports, the ledger, and what goes with it.
struct ThinJobTests {
    private static let thin = "thin: { per: [symbol], daily: 60d, monthly: forever }"

    private static let asOf = ["--as-of", "2026-03-01T12:00:00Z"]

    /// Four rows on each of 100 days for each of two symbols, at 00:00, 06:00, 12:00 and 18:00 UTC; the newest is of 1 March 2026.
    private func job(_ settings: String = Self.thin, head: String = "", age: String = "30d") throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price
                + """
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 399)
                INSERT INTO Price(at, symbol)
                SELECT unixepoch('2026-03-01') - i * 21600, s.symbol
                FROM n, (SELECT 'XAUUSD' AS symbol UNION ALL SELECT 'EURUSD') AS s;
                """,
            policy: Sample.policy(Sample.rule(settings, age: age), head: "timezone: UTC\n" + head))
    }

    @Test func whatATierKeepsIsTheSameInTheDryRunTheRunTheMetricsAndTheLedger() throws {
        let job = try job(head: "metrics: { textfile: \"retention.prom\" }")
        let before = try job.number("SELECT count(*) FROM Price")
        let dry = try job.report(["--dry-run"] + Self.asOf).rules[0]
        let tiers = try #require(dry.keptByTier)
        // Of each symbol: 29 days of January, whose last row is older than 30 January 12:00, and two months.
        #expect(tiers == [.init(tier: "daily", rows: 58), .init(tier: "monthly", rows: 4)])
        #expect(dry.keptByRule == 62 && dry.expired == 500 && dry.deleted == 0)
        let text = try job.perform(["run", "--dry-run"] + Self.asOf).output
        #expect(
            text.contains(
                "\(dry.keptByRule) rows before the cutoff kept by thin: keeps \(tiers[1].rows) monthly, \(tiers[0].rows) daily\n"
            ),
            "\(text)")
        #expect(try job.retention("report", "--html", "-").status == 0)
        let run = try job.report(Self.asOf).rules[0]
        #expect(run.deleted == dry.expired && run.keptByTier == tiers && run.residue == 0)
        #expect(try job.number("SELECT count(*) FROM Price") == before - run.deleted)
        let figures = try job.text("retention.prom")
        #expect(
            figures.contains("rule=\"gold\",entity=\"Price\",tier=\"monthly\"} \(tiers[1].rows)"), "\(figures)")
        #expect(
            try job.rows("SELECT kept_by_tier FROM run_rule", in: "retention.ledger.sqlite")
                == ["\(tiers[0].rows) daily\n\(tiers[1].rows) monthly"])
        let log = try job.retention("log", "--format", "json")
        #expect(log.status == 0 && log.output.contains("\"kept_by_tier\""), "\(log)")
        let again = try job.report(Self.asOf).rules[0]
        #expect(again.deleted == 0 && again.outcome == "completed" && again.keptByTier == tiers)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test func rowsThatATierLetsGoHaveNotComeBack() throws {
        let job = try job("thin: { daily: 60d }, limits: { max_late_rows: 0 }")
        #expect(try job.report("--as-of", "2026-01-30T12:00:00Z").rules[0].deleted == 292)
        let run = try job.report(Self.asOf)
        #expect(run.exitCode == 0 && run.rules[0].deleted == 240 && run.rules[0].late == 0, "\(run)")
    }

    @Test func keepLastAHoldAnArchiveAndAPlanGoWithIt() throws {
        let job = try job(
            Self.thin + ", keep_last: { count: 200, per: [symbol] }",
            head: """
                archive: { folder: archive }
                holds: [{ name: tax, entity: Price, where: { symbol: EURUSD }, from: 2025-12-11, until: 2025-12-21, reason: tax }]
                """)
        try job.makeFolder("archive")
        let before = try job.rows("SELECT id, at, symbol FROM Price ORDER BY id")
        let dry = try job.report(["--dry-run", "--save-plan", "plan.txt"] + Self.asOf)
        // Before the cutoff, of each symbol: the last 81 of the 200 newest rows, and 11 of the tiers. Ten days of a symbol are held.
        #expect(dry.rules[0].held == 40 && dry.rules[0].keptByRule == 184)
        let run = try job.report("--plan", "plan.txt")
        #expect(run.exitCode == 0 && run.rules[0].deleted == dry.rules[0].expired)
        #expect(run.rules[0].archived == run.rules[0].deleted)
        let undo = try job.retention("undo", run.run)
        #expect(undo.status == 0, "\(undo)")
        #expect(try job.rows("SELECT id, at, symbol FROM Price ORDER BY id") == before)
    }

    @Test func checkFindsAnUnknownColumnAndATierWithoutAnEffect() throws {
        let unknown = try job("thin: { per: [symbl], daily: 60d }").retention("check")
        #expect(
            unknown.status == 78 && unknown.output.contains("Price has no attribute 'symbl'; did you mean 'symbol'?"),
            "\(unknown)")
        let short = try job("thin: { daily: 20d }").retention("check")
        #expect(
            short.status == 78 && short.output.contains("'daily' must be longer than 'max_age'"), "\(short)")
    }
}
