import Foundation
import Testing

/// Accidents of a policy: what was left out, mistyped or too small.
extension PitfallTests {
    /// SERVER-68477, pimcore 7926.
    @Test(arguments: [
        "", "null", "~", "0", "0d", "-30d", "NaN", ".nan", "'NaN'", "\"\"", "none", "false", "-1", ".inf",
    ])
    func noValueMeansDeleteAllOrKeepNothing(_ value: String) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(20, daysAgo: 100) + Sample.rows(1, daysAgo: 0),
            policy: """
                version: 1
                store: prices.sqlite
                rules:
                  - name: gold
                    entity: Price
                    date_attribute: at
                    date_format: unix_seconds
                    max_age: \(value)
                """)
        for arguments in [["check"], ["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 78 && (end.errors + end.output).contains("max_age"), "\(end)")
        }
        #expect(try count(job) == 21)
    }

    /// The same in the data: a date that is NaN, infinite, empty or 0 is no date.
    @Test func aDateThatIsNoNumberIsKept() throws {
        let job = try job(
            Sample.rows(500, daysAgo: 100) + Sample.rows(500, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES (NULL), (0), (0.0), (''), ('NaN'), (9e999), (-9e999), (x'');")
        #expect(try job.report().rules[0].deleted == 500)
        #expect(try count(job) == 508)
    }

    /// restic 4568.
    @Test func aTypoInASelectorDeletesNothing() throws {
        let rows = Sample.rows(20, daysAgo: 100) + Sample.rows(20, daysAgo: 50)
        for keys in ["wher: { symbol: XAUUSD }", "keep_lst: { count: 1 }", "where: { symbol: { eq: XAUUSD } }"] {
            let job = try job(rows, keys)
            let end = try job.retention("run")
            #expect(end.status == 78 && end.errors.contains("retention.yaml:"), "\(end)")
            #expect(try count(job) == 40)
        }
        // The selector of all but one symbol, mistyped, selects every row.
        let job = try job(rows, "where: { symbol: { ne: XAUSUD } }")
        let report = try job.report()
        #expect(report.exitCode == 65 && report.rules[0].refusal == "would_empty_entity")
        #expect(try count(job) == 40)
    }

    /// Timescale 5132.
    @Test func aSourceThatFellSilentKeepsItsRows() throws {
        let rows = Sample.rows(20, daysAgo: 100) + Sample.rows(20, daysAgo: 60, symbol: "XAUEUR")
        let silent = try job(rows)
        let report = try silent.report()
        #expect(report.exitCode == 65 && report.rules[0].refusal == "would_empty_entity")
        #expect(try count(silent) == 40)
        // One source among others does not empty the entity: its newest row is kept by name.
        let job = try job(rows + Sample.rows(5, daysAgo: 0, symbol: "XAGUSD"), "keep_last: { count: 1, per: [symbol] }")
        #expect(try job.report().rules[0].keptByRule == 2)
        #expect(
            try job.rows("SELECT symbol, count(*) FROM Price GROUP BY symbol ORDER BY symbol")
                == ["XAGUSD|5", "XAUEUR|1", "XAUUSD|1"])
    }

    /// VictoriaMetrics 9751, UniSuper, trinity 1638.
    @Test func thereIsNoDefaultAge() throws {
        let without =
            "version: 1\nstore: prices.sqlite\nrules:\n  - { name: gold, entity: Price, date_attribute: at, date_format: unix_seconds }\n"
        for policy in [without, without + "defaults: { max_age: 30d }\n", "version: 1\nstore: prices.sqlite\n"] {
            let job = try LaunchedJob(
                Sample.price + Sample.rows(20, daysAgo: 1000) + Sample.rows(1, daysAgo: 0), policy: policy)
            #expect(try job.retention("run").status == 78)
            #expect(try count(job) == 21)
        }
        // What no rule names stays, however old.
        let job = try job(
            Sample.rows(1, daysAgo: 0) + "CREATE TABLE Other(at); INSERT INTO Other VALUES (1), (1600000000);")
        #expect(try job.report().exitCode == 0)
        #expect(try job.number("SELECT count(*) FROM Other") == 2)
    }

    /// VictoriaMetrics 25, KPMG's Teams.
    @Test func aSmallerAgeByMistakeIsStoppedByTheRulesLimit() throws {
        let keys = "limits: { max_fraction: 0.5, max_rows: 1000 }"
        let job = try job(Sample.rows(10, daysAgo: 400) + Sample.rows(90, daysAgo: 40), keys, age: "300d")
        #expect(try job.report().rules[0].deleted == 10)
        try job.folder.write(Sample.policy(Sample.rule(keys, age: "30d")), to: "retention.yaml")
        // Without the limit all would go, which is another refusal.
        try job.change(Sample.rows(20, daysAgo: 0))
        #expect(try job.report().rules[0].refusal == "policy_widened")
        let dry = try job.report("--dry-run", "--accept", "policy_widened")
        let run = try job.report("--accept", "policy_widened")
        for report in [dry, run] {
            #expect(report.exitCode == 65 && report.rules[0].refusal == "too_large_fraction", "\(report)")
        }
        #expect(try count(job) == 110)
        // The ledger shows which policy it was.
        #expect(
            try job.rows(
                "SELECT count(DISTINCT config_sha256), min(length(config_sha256)) FROM run",
                in: "retention.ledger.sqlite")
                == ["2|64"])
    }

    /// Kyoto University and HPE: the script was changed while it ran.
    @Test func aPolicyThatIsReplacedDuringTheRunDoesNotMatter() throws {
        let job = try job(
            Sample.slowDeletes(steps: 3000) + Sample.rows(600, daysAgo: 100) + Sample.rows(50, daysAgo: 0),
            "batch: { rows: 10 }")
        let hash = try LaunchedProgram.shell("sha256sum <retention.yaml", in: job.folder.url).output.prefix(64)
        let run = try RunningProgram(job, "run", "--format", "json")
        #expect(job.hasBegunSlowDeletes())
        try job.folder.write(
            Sample.policy(Sample.rule("allow_empty: true", name: "other", age: "1s")), to: "retention.yaml")
        #expect(run.isRunning)
        #expect(run.wait() == 0)
        let report = try job.text("stdout.txt")
        #expect(report.contains(hash) && !report.contains("\"other\""))
        #expect(try count(job) == 50)
    }
}
