import Foundation
import TestSupport
import Testing

/// Holds in the running program: what they keep is reported, a dry run says what the run does, and the ledger remembers them.
@Suite(.tags(.clock)) struct HoldJobTests {
    private static let holds = """
        holds:
          - { name: tax, entity: Price, where: { symbol: XAUUSD }, from: \(Sample.date(80)), until: \(Sample.date(50)), reason: tax audit }
          - { name: notes, entity: Note, reason: a dispute }
        """

    /// 6 gold rows and 4 euro rows, 8 of them older than 30 days; a note hangs on a euro row.
    private func job(_ holds: String = Self.holds, head: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price
                + "CREATE TABLE Note(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price ON DELETE CASCADE);"
                + "CREATE INDEX Note_price ON Note(price);"
                + Sample.rows(2, daysAgo: 90) + Sample.rows(3, daysAgo: 60) + Sample.rows(1, daysAgo: 1)
                + Sample.rows(3, daysAgo: 60, symbol: "EURUSD") + Sample.rows(1, daysAgo: 1, symbol: "EURUSD")
                + "INSERT INTO Note(price) SELECT max(id) - 1 FROM Price;",
            policy: Sample.policy(Sample.rule(), head: head + "\n" + holds))
        return job
    }

    private func setHolds(_ holds: String, of job: LaunchedJob, head: String = "") throws {
        try job.folder.write(Sample.policy(Sample.rule(), head: head + "\n" + holds), to: "retention.yaml")
    }

    @Test func heldRowsAreNotSaidToBeGone() throws {
        let job = try job()
        #expect(try job.retention("run").output.contains("; 4 expired rows are held."))
        let again = try job.retention("run")
        #expect(again.output.contains("; 4 expired rows are held."), "\(again)")
        let id = try #require(try job.log().last)
        #expect(id.rules[0].held == 4)
        #expect(try job.retention("log", "--run", id.run).output.contains("; 4 expired rows are held."))
        // Several rules may mean the same rows.
        try job.folder.write(
            Sample.policy(Sample.rule(), Sample.rule(name: "older", age: "40d"), head: Self.holds), to: "retention.yaml"
        )
        let two = try job.retention("run", "--accept", "policy_widened")
        #expect(two.output.contains("; expired rows are held."), "\(two)")
        try setHolds("", of: job)
        let none = try job.retention("run", "--accept", "policy_widened", "--accept", "rows_came_back")
        #expect(none.output.contains("; no expired row is left."), "\(none)")
    }

    @Test func whatHoldsKeepIsTheSameInTheDryRunTheRunTheMetricsAndThePage() throws {
        let job = try job(head: "metrics: { textfile: \"retention.prom\" }")
        let dry = try job.report("--dry-run")
        #expect(dry.rules[0].expired == 4 && dry.rules[0].held == 4 && dry.rules[0].keptByRule == 0)
        #expect(
            dry.rules[0].keptByHold == [
                .init(hold: "tax", rows: 3, related: 0), .init(hold: "notes", rows: 1, related: 1),
            ])
        #expect(dry.holds?.map(\.kept) == [3, 1] && dry.holds?.map(\.state) == ["in_force", "in_force"])
        let text = try job.retention("run", "--dry-run").output
        #expect(text.contains("gold: 3 expired rows kept by the hold tax\n"), "\(text)")
        #expect(text.contains("gold: 1 expired row kept by the hold notes, because held rows"), "\(text)")
        let run = try job.report()
        #expect(
            run.rules[0].deleted == 4 && run.rules[0].held == 4 && run.rules[0].keptByHold == dry.rules[0].keptByHold)
        #expect(run.exitCode == 0 && run.rules[0].residue == 0 && run.rules[0].cascaded == 0)
        #expect(try job.number("SELECT count(*) FROM Price") == 6 && job.number("SELECT count(*) FROM Note") == 1)
        let figures = try job.text("retention.prom")
        #expect(figures.contains("rule=\"gold\",entity=\"Price\",hold=\"tax\"} 3"), "\(figures)")
        let page = try job.retention("report", "--html", "-")
        #expect(page.status == 0 && page.output.contains("<h2 id=\"holds\">Holds</h2>"))
        #expect(
            try job.rows("SELECT kept_by_hold FROM run_rule", in: "retention.ledger.sqlite") == ["3 0 tax\n1 1 notes"])
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test func aRemovedHoldIsReportedUntilARunHasDeletedItsRows() throws {
        let job = try job()
        #expect(try job.report().exitCode == 0)
        try setHolds("", of: job)
        let dry = try job.report("--dry-run")
        #expect(dry.rules[0].refusal == "policy_widened" && dry.rules[0].widened?.rows == 5)
        #expect(dry.rules[0].message?.contains("the holds tax, notes") == true, "\(dry)")
        // A run that is refused forgets nothing.
        for _ in 1...2 {
            let refused = try job.report()
            #expect(refused.rules[0].widened?.rows == 5 && refused.totals.deleted == 0)
        }
        let run = try job.report("--accept", "policy_widened")
        #expect(run.rules[0].deleted == 4 && run.rules[0].cascaded == 1)
    }
}
