import Foundation
import TestSupport
import Testing

/// Deletes that nobody intended, in the running program: wider policies and rows that came back; and what a
/// dry run shows of the rows.
struct ChangedPolicyTests {
    private func job(_ rule: String = Sample.rule(age: "60d"), head: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(20, daysAgo: 90) + Sample.rows(30, daysAgo: 40) + Sample.rows(5, daysAgo: 1),
            policy: "")
        try set(rule, of: job, head: head)
        return job
    }

    private func set(_ rules: String..., of job: LaunchedJob, head: String = "") throws {
        let text = "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined()
        try job.folder.write(text, to: "retention.yaml")
    }

    // MARK: Wider policies

    @Test func aWiderPolicyIsRefusedUntilItIsAcceptedOnce() throws {
        let job = try job()
        #expect(try job.report().rules[0].deleted == 20)
        try set(Sample.rule(age: "30d"), of: job)
        let dry = try job.report("--dry-run")
        let run = try job.report()
        for report in [dry, run] {
            #expect(report.exitCode == 65 && report.rules[0].refusal == "policy_widened")
            #expect(report.rules[0].widened?.rows == 30 && report.rules[0].deleted == 0)
            #expect(report.rules[0].widened?.changes == [.init(key: "max_age", was: "\"60d\"", now: "\"30d\"")])
        }
        let text = try job.retention("run").output.replacing(#/\s+/#, with: " ")
        #expect(text.contains("max_age was 60d and is 30d; 30 rows, dated from "), "\(text)")
        // Who accepts it is still held by the rule's own limit; the ledger tells the policies apart.
        try set(Sample.rule("limits: { max_fraction: 0.5 }", age: "30d"), of: job)
        let limited = try job.report("--accept", "policy_widened")
        #expect(limited.exitCode == 65 && limited.rules[0].refusal == "too_large_fraction")
        #expect(
            try job.rows(
                "SELECT count(DISTINCT config_sha256), min(length(config_sha256)) FROM run",
                in: "retention.ledger.sqlite") == ["3|64"])
        try set(Sample.rule(age: "30d"), of: job)
        #expect(try job.report("--accept", "policy_widened").rules[0].deleted == 30)
        #expect(try job.report().exitCode == 0)
        #expect(
            try job.rows("SELECT accepted FROM run_rule WHERE deleted = 30", in: "retention.ledger.sqlite")
                == ["policy_widened"])
        #expect(try job.retention("log", "--verify").status == 0)
        // A narrower policy needs nobody.
        try set(Sample.rule(age: "1440h"), of: job)
        #expect(try job.retention("run").status == 0)
    }

    /// The ledger tells a rule that has changed from a policy that has.
    @Test func aCommentChangesNoRule() throws {
        let job = try job()
        try job.report()
        try set(Sample.rule(age: "60d"), of: job, head: "# Ask before you change this.")
        try job.report()
        try set(Sample.rule(age: "70d"), of: job)
        try job.report()
        let counts = "SELECT count(*), count(rule_sha256), count(DISTINCT rule_sha256) FROM run_rule"
        #expect(try job.rows(counts, in: "retention.ledger.sqlite") == ["3|3|2"])
    }

    @Test func theFirstRunAndARunWithoutALedgerAreNotChecked() throws {
        let job = try job(head: "ledger: none")
        let check = try job.retention("check")
        #expect(check.output.contains("without a ledger nothing is compared"), "\(check)")
        #expect(try job.report().rules[0].deleted == 20)
        try set(Sample.rule(age: "30d"), of: job, head: "ledger: none")
        #expect(try job.report().rules[0].deleted == 30)
        let first = try self.job()
        #expect(try first.retention("check").output.contains("before the first run nothing is compared"))
        try first.report()
        #expect(!(try first.retention("check").output.contains("before the first run nothing is compared")))
    }

    @Test func aRuleThatWasRefusedIsComparedWithItsLastRealRun() throws {
        let job = try job()
        try job.report()
        try set(Sample.rule(age: "30d"), of: job)
        for _ in 0..<3 { #expect(try job.report().rules[0].refusal == "policy_widened") }
        // A rule of the same entity by another name, and one that comes back after it was removed.
        try set(Sample.rule(name: "other", age: "60d"), of: job)
        #expect(try job.report().rules[0].widened?.rows == 0)
        #expect(try job.report("--accept", "policy_widened").exitCode == 0)
        try set(
            Sample.rule("enabled: false", name: "other", age: "60d"), Sample.rule(name: "gold", age: "30d"), of: job)
        #expect(try job.report().rules[1].refusal == "policy_widened")
    }

    @Test func aRemovedHoldIsRefusedEveryNightUntilItIsAccepted() throws {
        let hold = "holds: [{ name: tax, entity: Price, reason: tax }]"
        let job = try job(head: hold)
        #expect(try job.report().rules[0].held == 20)
        // Neither a refused run, nor one of another rule, nor a night without the rule makes it forgotten.
        try set(Sample.rule(age: "60d"), of: job)
        for _ in 0..<2 { #expect(try job.report().rules[0].refusal == "policy_widened") }
        try set(Sample.rule("enabled: false", age: "60d"), Sample.rule(name: "other", age: "400d"), of: job)
        try job.report("--accept", "policy_widened", "--rule", "other")
        try job.report("--rule", "gold")
        try set(Sample.rule(age: "60d"), of: job)
        #expect(try job.report().rules[0].refusal == "policy_widened")
        #expect(try job.report("--accept", "policy_widened").rules[0].deleted == 20)
    }

    @Test func whatTheLedgerCannotTellIsRefused() throws {
        let job = try job()
        try job.report()
        for damage in ["'damaged'", "''", "rules || char(10) || 'more'", "replace(rules, '60d', 'sixty')"] {
            let kept = try job.rows("SELECT hex(rules) FROM run", in: "retention.ledger.sqlite")[0]
            try job.change("UPDATE run SET rules = \(damage)", in: "retention.ledger.sqlite")
            let report = try job.report("--dry-run")
            #expect(report.rules[0].refusal == "policy_widened", "\(damage)")
            #expect(report.rules[0].message?.contains("cannot be read") == true, "\(damage)")
            try job.change("UPDATE run SET rules = CAST(X'\(kept)' AS TEXT)", in: "retention.ledger.sqlite")
        }
        // Text that a reader of YAML rejects is recorded as escapes.
        try set(Sample.rule("where: { symbol: { ne: \"\\ufeff\\uffff\" } }", age: "60d"), of: job)
        #expect(try job.report().exitCode == 0)
        try set(Sample.rule(age: "5d"), of: job)
        #expect(try job.report().rules[0].widened?.rows == 30)
    }

    @Test func twoPoliciesOfOneStoreDoNotDisturbEachOther() throws {
        let job = try job()
        try job.folder.write(
            "version: 1\nstore: prices.sqlite\nrules:\n  - \(Sample.rule(name: "second", age: "80d"))\n",
            to: "second.yaml")
        try job.report()
        // Its rule is new for the entity.
        #expect(try job.report("-c", "second.yaml").rules[0].refusal == "policy_widened")
        try job.report("-c", "second.yaml", "--accept", "policy_widened")
        for _ in 0..<2 {
            #expect(try job.report("-c", "second.yaml").exitCode == 0)
            #expect(try job.report().exitCode == 0)
        }
    }

    /// A narrower rule is agreed by the run that has it, but not beside one of its table that waits, if one of them keeps rows.
    @Test(arguments: [("", ["policy_widened"]), ("keep_last: { count: 2 }", [])])
    func whatIsNarrowerIsAgreed(_ keeping: String, _ refused: [String]) throws {
        let job = try job()
        func run(_ first: String, _ second: String) throws -> [String?] {
            try set(
                Sample.rule(keeping, name: "a", age: first),
                Sample.rule("where: { symbol: B }", name: "b", age: second),
                of: job)
            return try job.report().rules.map(\.refusal)
        }
        #expect(try run("60d", "60d") == [nil, nil])
        #expect(try run("30d", "80d") == ["policy_widened", nil])
        #expect(try run("60d", "60d").compactMap(\.self) == refused)
    }

    /// What one table or store accepts, and what `--rule` accepts for another rule, holds for that run.
    @Test func whatIsAcceptedInPartHoldsForThatRun() throws {
        let job = try LaunchedJob(
            ["p_a", "p_b"].map { "CREATE TABLE \($0)(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);" }
                .joined()
                + ["p_a", "p_b"].flatMap { [Sample.rows(3, daysAgo: 40, in: $0), Sample.rows(3, daysAgo: 1, in: $0)] }
                .joined(),
            policy: "")
        func set(_ age: String) throws { try self.set(Sample.rule(name: "p", entity: "p_*", age: age), of: job) }
        try set("60d")
        #expect(try job.report().exitCode == 0)
        try set("30d")
        #expect(try job.report("--rule", "p:p_a", "--accept", "policy_widened").totals.deleted == 3)
        #expect(try job.report().rules.map(\.refusal) == ["policy_widened", "policy_widened"])
        #expect(try job.report("--rule", "p", "--accept", "policy_widened").totals.deleted == 3)
        #expect(try job.report().rules.map(\.refusal) == ["policy_widened", "policy_widened"])
        #expect(try job.report("--accept", "policy_widened").exitCode == 0)
        #expect(try job.report().exitCode == 0)
    }

    @Test func aRuleThatTheFirstRunLeftOutIsNotNew() throws {
        let job = try job()
        try set(
            Sample.rule("where: { symbol: A }", name: "a", age: "60d"),
            Sample.rule("where: { symbol: B }", name: "b", age: "60d"),
            of: job)
        try job.report("--rule", "a")
        #expect(try job.report().exitCode == 0)
    }

    @Test func aNewRuleWhoseCascadesReachAnotherRulesRowsIsRefused() throws {
        let job = try job()
        try job.change(
            "CREATE TABLE Source(id INTEGER PRIMARY KEY, at INTEGER);"
                + "ALTER TABLE Price ADD COLUMN source INTEGER REFERENCES Source ON DELETE CASCADE;"
                + "INSERT INTO Source VALUES (1, unixepoch() - 500 * 86400), (2, unixepoch()); UPDATE Price SET source = 1;"
        )
        try job.report()
        try set(Sample.rule(age: "60d"), Sample.rule(name: "sources", entity: "Source"), of: job)
        let report = try job.report("--dry-run")
        #expect(report.rules[1].refusal == "policy_widened" && report.rules[1].widened?.rows == 36)
    }

    @Test func whatIsNotInForceCoversNoWiderRule() throws {
        func refusal(_ job: LaunchedJob, _ arguments: String...) throws -> String? {
            try job.report(arguments).rules[0].refusal
        }
        // A disabled rule, and one that is enabled.
        let disabled = try job()
        try set(
            Sample.rule(age: "60d"), Sample.rule("enabled: false, limits: { max_rows: 9 }", name: "off", age: "30d"),
            of: disabled)
        for _ in 0..<2 { #expect(try disabled.report().exitCode == 0) }
        try set(
            Sample.rule(age: "30d"), Sample.rule("enabled: false, limits: { max_rows: 9 }", name: "off", age: "30d"),
            of: disabled)
        let report = try disabled.report()
        #expect(report.rules[0].refusal == "policy_widened" && report.rules[0].widened?.rows == 30)
        try set(Sample.rule(age: "60d"), Sample.rule(name: "off", age: "30d"), of: disabled)
        #expect(try disabled.report().rules[1].refusal == "policy_widened")
        // A policy that was carried out once, by hand.
        let dead = try job()
        try dead.report()
        try dead.folder.write(Sample.policy(Sample.rule(name: "once", age: "30d")), to: "once.yaml")
        #expect(try refusal(dead, "-c", "once.yaml") == "policy_widened")
        try dead.report("-c", "once.yaml", "--accept", "policy_widened")
        try FileManager.default.removeItem(atPath: dead.path("once.yaml"))
        try set(Sample.rule(age: "30d"), of: dead)
        #expect(try refusal(dead) == "policy_widened")
        // A policy that has moved and has become narrower since.
        let moved = try job(Sample.rule(age: "30d"))
        try moved.report("--as-of", "2020-01-01")
        try FileManager.default.moveItem(atPath: moved.path("retention.yaml"), toPath: moved.path("prod.yaml"))
        #expect(try refusal(moved, "-c", "prod.yaml", "--as-of", "2020-01-02") == nil)
        try moved.folder.write(Sample.policy(Sample.rule(age: "60d")), to: "prod.yaml")
        #expect(try refusal(moved, "-c", "prod.yaml") == nil)
        try moved.folder.write(Sample.policy(Sample.rule(age: "30d")), to: "prod.yaml")
        #expect(try refusal(moved, "-c", "prod.yaml") == "policy_widened")
    }

    @Test func theDateOfAHoldIsNotChangedByADisabledRule() throws {
        let hold = "holds: [{ name: tax, entity: Price, until: 2020-01-01, reason: tax }]"
        let job = try job()
        try job.change("ALTER TABLE Price ADD COLUMN made INTEGER; UPDATE Price SET made = 1577836799")
        func set(_ format: String) throws {
            try self.set(
                Sample.rule(age: "60d"), Sample.rule("enabled: false", name: "off", date: "made", format: format),
                of: job, head: hold)
        }
        try set("unix_seconds")
        #expect(try job.report().rules[0].held == 20)
        try set("apple_seconds")
        for _ in 0..<2 { #expect(try job.report().rules[0].refusal == "policy_widened") }
        // Another policy of the store reads other dates, and that is no change of this one.
        try set("unix_seconds")
        try job.folder.write(
            Sample.policy(Sample.rule("where: { symbol: EUR }", name: "second", date: "price")), to: "second.yaml")
        try job.report("-c", "second.yaml", "--accept", "policy_widened")
        for _ in 0..<2 { #expect(try job.report().rules[0].refusal == nil) }
    }

    @Test func aNewNameIsAcceptedOnce() throws {
        func rules(_ second: String, of job: LaunchedJob) throws {
            try set(
                Sample.rule("where: { symbol: A }", name: "a"), Sample.rule("where: { symbol: B }", name: second),
                of: job)
        }
        let job = try job()
        try rules("b", of: job)
        try job.report()
        try rules("gold", of: job)
        try job.report("--rule", "a")
        for _ in 0..<2 { #expect(try job.report().rules.map(\.refusal) == [nil, "policy_widened"]) }
        #expect(try job.report("--dry-run").rules[1].widened?.rows == 0)
        #expect(try job.report("--accept", "policy_widened").exitCode == 0)
        #expect(try job.report().exitCode == 0)
        // Two rules may not share the limit of one that is gone.
        let limit = "limits: { max_rows: 15 }"
        let split = try self.job()
        try set(
            Sample.rule("where: { symbol: XAUUSD }, \(limit)", name: "a", age: "60d"),
            Sample.rule("where: { symbol: B }", name: "b", age: "60d"), of: split)
        try split.report("--as-of", "2020-01-01")
        try set(
            Sample.rule("where: { symbol: XAUUSD, id: { gt: 10 } }, \(limit)", name: "a", age: "60d"),
            Sample.rule("where: { symbol: XAUUSD }, \(limit)", name: "c", age: "60d"), of: split)
        #expect(try split.report().rules.map(\.refusal) == [nil, "policy_widened"])
    }

    @Test(arguments: [
        (
            "CREATE TABLE Feed(id INTEGER PRIMARY KEY, at INTEGER); INSERT INTO Feed SELECT id, at FROM Price;"
                + "CREATE TRIGGER t AFTER DELETE ON Feed BEGIN DELETE FROM Price WHERE id = OLD.id; END",
            ["", Sample.rule(name: "feed", entity: "Feed", age: "30d")]
        ),
        (
            "CREATE TABLE Note(price INTEGER REFERENCES Price(id) ON DELETE CASCADE); INSERT INTO Note SELECT id FROM Price",
            ["relationships: nullify, accept: [relationship_denied]", ""]
        ),
    ]) func aTriggerAndTheSchemaCanWidenARule(change: String, rules: [String]) throws {
        let first = { Sample.rule($0, age: "60d") }
        let job = try job(first(rules[0]))
        try job.change(change)
        try job.report("--as-of", "2020-01-01")
        if rules[1].isEmpty {
            try set(first(rules[0].replacing("nullify", with: "deny")), of: job)
        } else {
            try set(first(rules[0]), rules[1], of: job)
        }
        #expect(try job.report().rules.last?.refusal == "policy_widened")
    }

    // MARK: Rows that came back

    @Test func rowsThatCameBackAreRefusedAndFewLateOnesAreReported() throws {
        let job = try job()
        try job.report()
        try job.change(Sample.rows(3, daysAgo: 100))
        let late = try job.report()
        #expect(late.rules[0].late == 3 && late.rules[0].deleted == 3 && late.exitCode == 0)
        try job.change(Sample.rows(1001, daysAgo: 100))
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments)
            #expect(report.rules[0].refusal == "rows_came_back" && report.rules[0].late == 1001)
        }
        #expect(try job.report("--accept", "rows_came_back").rules[0].deleted == 1001)
    }

    @Test func rowsThatExpireAsTheyShouldAreNeverLate() throws {
        let job = try job()
        try job.report("--as-of", Sample.midnight(1))
        try job.change(Sample.rows(1100, daysAgo: 60))
        let due = try job.report("--dry-run").rules[0]
        #expect(due.refusal == nil && due.late == 0 && due.expired ?? 0 > 1000, "\(due)")
    }

    @Test(arguments: [
        "holds: [{ name: b, entity: Price, where: { symbol: EUR }, reason: x }]", "keep_last: { count: 1500 }",
    ])
    func rowsThatAreKeptAsBeforeDoNotHideThoseThatCameBack(keeping: String) throws {
        let isHold = keeping.hasPrefix("holds")
        let rule = Sample.rule("limits: { max_late_rows: 10 }" + (isHold ? "" : ", " + keeping), age: "60d")
        let job = try job(rule, head: isHold ? keeping : "")
        try job.change(Sample.rows(1400, daysAgo: 300, symbol: "EUR") + Sample.rows(200, daysAgo: 301))
        #expect(try job.report().rules[0].deleted > 0)
        try job.change(Sample.rows(100, daysAgo: 400))
        let report = try job.report()
        #expect(report.rules[0].refusal == "rows_came_back" && report.rules[0].late == 100)
    }

    @Test func aRunInThePastDoesNotMakeTheLedgerForget() throws {
        let job = try job()
        try job.report()
        try job.report("--as-of", "2020-01-01")
        try job.change(Sample.rows(1001, daysAgo: 100))
        #expect(try job.report().rules[0].refusal == "rows_came_back")
    }

    @Test func theLimitOfLateRowsIsARuleOfThePolicy() throws {
        let job = try job(Sample.rule("limits: { max_late_rows: 0 }", age: "60d"))
        try job.report()
        try job.change(Sample.rows(1, daysAgo: 100))
        #expect(try job.report().rules[0].refusal == "rows_came_back")
    }

    @Test func aRestoredBackupIsNotDeletedTheNextNight() throws {
        let job = try LaunchedJob(
            Sample.price + "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 2999) "
                + "INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1, unixepoch() - (3000 - n) * 7200 FROM c;",
            policy: Sample.policy(Sample.rule(age: "60d")))
        try FileManager.default.copyItem(atPath: job.path("prices.sqlite"), toPath: job.path("backup.sqlite"))
        let deleted = try job.report().rules[0].deleted
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try FileManager.default.moveItem(atPath: job.path("backup.sqlite"), toPath: job.path("prices.sqlite"))
        let report = try job.report()
        #expect(report.rules[0].refusal == "rows_came_back" && report.rules[0].late == deleted)
        // A hold keeps the rows.
        let hold = "holds: [{ name: restored, entity: Price, reason: a restored backup }]"
        try set(Sample.rule(age: "60d"), of: job, head: hold)
        #expect(try job.report().exitCode == 0 && job.number("SELECT count(*) FROM Price") == 3000)
    }

    @Test func rowsOfAnUndoAreHeldAndNotLate() throws {
        let job = try job(head: "archive: { folder: archive }")
        try job.makeFolder("archive")
        let run = try job.report().run
        #expect(try job.retention("undo", run).status == 0)
        let held = try job.report()
        #expect(held.rules[0].refusal == "restored_rows" && held.rules[0].late == nil)
        // Another limit is no reason to delete them.
        try set(Sample.rule("limits: { max_late_rows: 5 }", age: "60d"), of: job, head: "archive: { folder: archive }")
        let late = try job.report()
        #expect(late.rules[0].refusals.map(\.code) == ["restored_rows"] && late.rules[0].late == nil)
        #expect(try job.report("--accept", "restored_rows").rules[0].deleted == 20)
    }

    @Test func aNarrowerRuleThatIsInterruptedRemembersWhatWasLeft() throws {
        let batch = "batch: { rows: 1, pause: 1min }, "
        func rule(_ limit: Int, _ more: String = "") -> String {
            Sample.rule("\(more)limits: { max_rows: \(limit) }", age: "60d")
        }
        let job = try job(rule(9000))
        try job.report()
        try set(rule(8999, batch), of: job)
        try job.change(Sample.rows(9, daysAgo: 61))
        let left = try job.number("SELECT count(*) FROM Price")
        let run = try RunningProgram(job, "run")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < left })
        run.send(SIGTERM)
        #expect(run.wait() == 128 + SIGTERM)
        #expect(try job.number("SELECT count(*) FROM Price") == left - 1)
        try job.change(Sample.rows(1001, daysAgo: 100))
        #expect(try job.report().rules[0].refusal == "rows_came_back")
    }

    // MARK: What a dry run shows

    @Test func aDryRunShowsRowsAndWhatExpiresSoon() throws {
        let job = try job(Sample.rule(age: "40d12h"))
        try job.change("UPDATE Price SET symbol = 'a' || char(10) || 'b' WHERE id = 1")
        let report = try job.report("--dry-run", "--sample", "2")
        let rule = report.rules[0]
        #expect(rule.sample?.columns == ["id", "symbol", "price", "at"])
        #expect(
            rule.sample?.oldestRows.map { $0[0] } == ["20", "19"]
                && rule.sample?.newestRows.map { $0[0] } == ["2", "1"])
        #expect(rule.sample?.newestRows[1][1] == "\"a\\nb\"")
        #expect(rule.sample?.keptRows.map { $0[0] } == ["50", "49"])
        #expect(rule.forecast == .init(nextDay: 30, nextWeek: 0))
        let text = try job.retention("run", "--dry-run", "--sample", "1").output
        #expect(text.contains("gold: 30 rows will expire within 24 hours, 0 in the 7 days after"), "\(text)")
        #expect(text.contains("\ndeleted   20  ") && text.contains("\nkept      50  "), "\(text)")
        #expect(try job.report().rules[0].forecast == nil)
        let page = try job.retention("report", "--html", "-").output
        #expect(page.contains("Next 24 h") && page.contains("Then 7 days"))
    }
}
