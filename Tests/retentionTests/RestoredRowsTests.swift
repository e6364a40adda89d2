import Foundation
import TestSupport
import Testing

/// Rows that an undo has restored stay, whatever becomes of the file of the policy, until its rules keep them or somebody accepts.
struct RestoredRowsTests {
    private static let head = "archive: { folder: archive, keep: 30d }"

    /// Five prices that are 100 days old and two new ones. A run has deleted the old ones, and they are restored.
    private func job(_ rules: String..., sql: String = "") throws -> (job: LaunchedJob, run: String) {
        let rules = rules.isEmpty ? [Sample.rule()] : rules
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0) + sql, policy: Self.policy(rules))
        try job.makeFolder("archive")
        let run = try job.report()
        #expect(run.exitCode == 0 && run.totals.deleted == 5)
        #expect(try job.retention("undo", run.run).status == 0)
        return (job, run.run)
    }

    private static func policy(_ rules: [String], head: String = head) -> String {
        "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined()
    }

    private func write(_ rules: String..., to job: LaunchedJob, head: String = head, as file: String = "retention.yaml")
        throws
    { try job.folder.write(Self.policy(rules, head: head), to: file) }

    /// What a run refuses, for all its rules; nothing is deleted.
    private func refused(_ job: LaunchedJob, _ arguments: String...) throws -> [[String]] {
        let before = try job.rows("SELECT * FROM Price")
        let dry = try job.report(["--dry-run"] + arguments)
        let run = try job.report(arguments)
        #expect(dry.rules.map { $0.refusals.map(\.code) } == run.rules.map { $0.refusals.map(\.code) })
        #expect(try job.rows("SELECT * FROM Price") == before)
        return run.rules.map { $0.refusals.map(\.code) }
    }

    @Test func bytesOfThePolicyEndNothing() throws {
        let (job, _) = try job()
        let text = try job.text("retention.yaml")
        for other in [text + "# a comment\n", text.replacing("  - ", with: "  -   "), text + "\n\n", text] {
            try job.folder.write(other, to: "retention.yaml")
            #expect(try refused(job) == [["restored_rows"]])
        }
        try job.move("retention.yaml", to: "moved.yaml")
        #expect(try refused(job, "-c", "moved.yaml") == [["restored_rows"]])
        try job.folder.write(text, to: "copy.yaml")
        #expect(try refused(job, "-c", "copy.yaml") == [["restored_rows"]])
    }

    @Test func namesOfRulesEndNothing() throws {
        let (job, _) = try job()
        try write(Sample.rule(name: "other"), to: job)
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"]])
        // Split in two, and a rule without rows of its own.
        try write(
            Sample.rule("where: { symbol: XAUUSD }", name: "a"), Sample.rule("where: { symbol: XAGUSD }", name: "b"),
            to: job)
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"], []])
        try write(
            Sample.rule("align: day"), Sample.rule(name: "b"), to: job)
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"], ["restored_rows"]])
    }

    @Test func aLongerAgeEndsItOnlyIfItKeepsTheRows() throws {
        let (job, _) = try job()
        try write(Sample.rule(age: "60d"), to: job)
        #expect(try refused(job) == [["restored_rows"]])
        try write(Sample.rule(age: "400d"), to: job)
        let kept = try job.report()
        #expect(kept.exitCode == 0 && kept.totals.deleted == 0)
        // Back again.
        try write(Sample.rule(), to: job)
        #expect(try refused(job) == [["restored_rows", "policy_widened"]])
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"]])
    }

    /// The rows expire by an age that was chosen after the undo, and that would have kept them at the time of the undone run.
    @Test func aLongerAgeEndsItForGood() throws {
        let (job, run) = try job()
        let month = 30 * 86_400 * 1_000_000
        try job.change(
            "UPDATE run SET as_of_us = as_of_us - \(month) WHERE run = '\(run)'", in: "retention.ledger.sqlite")
        try write(Sample.rule(age: "60d"), to: job)
        #expect(try refused(job) == [["restored_rows"]])
        try write(Sample.rule(age: "90d"), to: job)
        let report = try job.report()
        #expect(report.exitCode == 0 && report.totals.deleted == 5, "\(report)")
    }

    @Test func aRunInThePastAndADisabledRuleEndNothing() throws {
        let (job, _) = try job()
        #expect(try job.report("--as-of", "2020-01-01").exitCode == 0)
        #expect(try refused(job) == [["restored_rows"]])
        try write(Sample.rule("enabled: false"), to: job)
        #expect(try job.report().exitCode == 0)
        try write(Sample.rule(), to: job)
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"]])
        try write(
            Sample.rule(), to: job,
            head: Self.head + "\nholds: [{ name: h, entity: Price, reason: r, where: { price: 1.5 } }]")
        #expect(try job.report("--accept", "policy_widened").exitCode == 0)
        try write(Sample.rule(), to: job)
        #expect(try refused(job, "--accept", "policy_widened") == [["restored_rows"]])
    }

    @Test func eachOfTwoUndosIsAcceptedForItself() throws {
        let (job, first) = try job()
        let again = try job.report("--accept", "restored_rows")
        #expect(again.totals.deleted == 5 && again.rules[0].accepted == ["restored_rows"])
        #expect(try job.report().exitCode == 0)
        #expect(try job.retention("undo", again.run).status == 0)
        #expect(try refused(job) == [["restored_rows"]])
        #expect(try job.report().rules[0].message?.contains("run \(again.run) had deleted") == true)
        #expect(try job.retention("undo", first).status == 0)
        #expect(try refused(job) == [["restored_rows"]])
    }

    /// Ledgers of earlier versions have the code `held`.
    @Test func anOldLedgerIsUnderstood() throws {
        let (job, _) = try job()
        #expect(try refused(job) == [["restored_rows"]])
        #expect(try job.report("--accept", "restored_rows").totals.deleted == 5)
        try job.change(
            "UPDATE run_rule SET accepted = replace(accepted, 'restored_rows', 'held'), refusal = replace(refusal, 'restored_rows', "
                + "'held')", in: "retention.ledger.sqlite")
        #expect(try job.log().contains { $0.rules.contains { $0.accepted == ["restored_rows"] } })
        try job.change(Sample.rows(2, daysAgo: 100))
        #expect(try job.report().totals.deleted == 2)
    }

    /// A rule waits for a trigger only if that may delete or change restored rows.
    @Test(arguments: [
        ("INSERT INTO Log VALUES (OLD.id)", false), ("DELETE FROM Price WHERE id = OLD.id", true),
        ("INSERT INTO Text(Text, rowid, symbol) VALUES ('delete', OLD.id, OLD.symbol)", false),
        ("REPLACE INTO Log VALUES (OLD.id)", false), ("REPLACE INTO Price(id) VALUES (OLD.id)", true),
        ("DELETE FROM Seen WHERE id = OLD.id", true), ("UPDATE Price SET price = 0 WHERE id = OLD.id", true),
    ])
    func aTriggerThatCannotReachThemIsNoReason(_ body: String, _ waits: Bool) throws {
        let (job, _) = try job()
        try job.change(
            """
            CREATE TABLE Quote(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
            CREATE TABLE Log(id INTEGER PRIMARY KEY); CREATE TABLE Seen(id INTEGER);
            CREATE VIRTUAL TABLE Text USING fts5(symbol, content='Quote', content_rowid='id');
            CREATE TRIGGER seen AFTER DELETE ON Seen BEGIN DELETE FROM Price WHERE id = OLD.id; END;
            CREATE TRIGGER quote AFTER DELETE ON Quote BEGIN \(body); END;
            """ + Sample.rows(3, daysAgo: 100, in: "Quote") + Sample.rows(1, daysAgo: 0, in: "Quote")
                + "INSERT INTO Text(Text) VALUES ('rebuild');")
        let none = "archive: none"
        try write(Sample.rule(), Sample.rule(none, name: "quotes", entity: "Quote"), to: job)
        let rules = try job.report("--dry-run", "--accept", "policy_widened").rules
        #expect(rules.map(\.refusal) == ["restored_rows", waits ? "restored_rows" : nil], "\(rules)")
    }

    /// A cascade or a trigger takes restored rows with others that had not expired in the undone run.
    @Test(arguments: [
        "ALTER TABLE Price ADD COLUMN lot INTEGER REFERENCES Lot(id) ON DELETE CASCADE; UPDATE Price SET lot = 1;",
        "CREATE TRIGGER gone AFTER DELETE ON Lot BEGIN DELETE FROM Price WHERE at < 2000000000; END;",
    ])
    func nothingTakesThemWithOtherRows(_ link: String) throws {
        let (job, _) = try job()
        let now = Sample.unixSeconds(0)
        try job.change(
            "CREATE TABLE Lot(id INTEGER PRIMARY KEY, at INTEGER); INSERT INTO Lot VALUES (1, \(now - 40 * 86400)), (2, \(now));"
                + link)
        let lots = Sample.rule(name: "lots", entity: "Lot")
        try write(Sample.rule(age: "200d"), lots, to: job)
        for arguments in [[], ["--rule", "lots"]] {
            #expect(try job.report(arguments + ["--accept", "policy_widened"]).rules.last?.refusal == "restored_rows")
            #expect(try job.number("SELECT count(*) FROM Price") == 7)
        }
        let taken = try job.report(
            "--rule", "lots", "--accept", "policy_widened", "--accept", "restored_rows",
            "--accept", "would_empty_entity")
        #expect(taken.rules[0].deleted == 1)
        #expect(try job.report("--rule", "lots").exitCode == 0)
    }

    /// An acceptance is that of the rule as it was, not of its name.
    @Test func anotherRuleOfTheNameIsNotAccepted() throws {
        func rule(_ name: String, _ part: String) -> String { Sample.rule("where: { id: \(part) }", name: name) }
        let (even, odd) = ("[1, 2, 3]", "[4, 5]")
        let (job, _) = try job(rule("a", even), rule("b", odd))
        #expect(try job.report("--rule", "a", "--accept", "restored_rows").totals.deleted == 3)
        #expect(try refused(job) == [[], ["restored_rows"]])
        for rules in [[rule("a", odd)], [rule("b", even), rule("a", odd)]] {
            try job.folder.write(Self.policy(rules), to: "retention.yaml")
            #expect(try refused(job).last?.contains("restored_rows") == true)
        }
    }

    /// It is for a run that is completed.
    @Test func aRunThatIsStoppedAcceptsNothingForTheNext() throws {
        let (job, _) = try job()
        try write(Sample.rule("batch: { rows: 1, pause: 1min }"), to: job)
        let left = try job.number("SELECT count(*) FROM Price")
        let run = try RunningProgram(job, "run", "--accept", "restored_rows")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < left })
        run.send(SIGTERM)
        #expect(run.wait() == 128 + SIGTERM)
        let stopped = try #require(try job.log().last)
        #expect(stopped.rules[0].outcome == "interrupted" && stopped.totals.deleted == 1)
        #expect(try refused(job) == [["restored_rows"]])
        try write(Sample.rule(), to: job)
        #expect(try job.report("--accept", "restored_rows").totals.residue == 0)
        #expect(try job.report().exitCode == 0)
    }
}
