import Foundation
@preconcurrency import Glibc
import TestSupport
import Testing

/// What the job says while it works, when it should say nothing, and what it remembers.
struct LogAndQuietTests {
    /// A rule that deletes 10 rows, one that is refused, and one that is disabled.
    private func job(head: String = "", isRefused: Bool = true) throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0)
                + "CREATE TABLE \"Fx Rate\"(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(2, daysAgo: 100, in: "\"Fx Rate\""),
            policy: Sample.policy(
                Sample.rule("batch: { rows: 4 }"),
                Sample.rule("enabled: \(isRefused)", name: "fx", entity: "Fx Rate"),
                Sample.rule("enabled: false", name: "off", age: "400d"), head: head))
    }

    // MARK: Columns without a date

    @Test func aColumnWithoutReadableDatesIsReportedEvenIfQuiet() throws {
        struct Report: Decodable { var warnings: [String] }
        let job = try LaunchedJob(
            Sample.price + "INSERT INTO Price(at) VALUES (NULL), (5);", policy: Sample.policy(Sample.rule()))
        let sentence = "gold deletes nothing, because it can read no value of Price.at as a date: "
        let quiet = try job.retention("run", "--quiet")
        #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.errors.contains(sentence), "\(quiet)")
        #expect(
            quiet.errors.contains("1 row with no value; 1 row with a date before `earliest`, such as 5"), "\(quiet)")
        for mode in [["run"], ["run", "--dry-run"]] {
            let end = try job.perform(mode + ["--format", "json"])
            let report = try JSONDecoder().decode(Report.self, from: Data(end.output.utf8))
            #expect(end.status == 0 && report.warnings.contains { $0.contains(sentence) }, "\(end)")
        }
    }

    // MARK: The log

    @Test func eachRuleHasOneLineOfText() throws {
        let end = try job().retention("run", "--as-of", Sample.midnight(0))
        #expect(end.status == 65)
        let lines = end.errors.split(separator: "\n").filter { $0.contains("rule finished") }
        let time =
            #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z info rule finished run=\w{26} store=prices\.sqlite "#
        let patterns = [
            "rule=gold entity=Price cutoff=\(Sample.midnight(30)) outcome=completed expired=10 deleted=10 cascaded=0 nullified=0 unreadable=0 residue=0 batches=3",
            "rule=fx entity=\"Fx Rate\" cutoff=\(Sample.midnight(30)) outcome=refused expired=2 deleted=0 cascaded=0 nullified=0 unreadable=0 residue=2 batches=0",
            "rule=off entity=Price cutoff=\(Sample.midnight(400)) outcome=disabled deleted=0 cascaded=0 nullified=0 batches=0",
        ]
        try #require(lines.count == 3)
        for (line, pattern) in zip(lines, patterns) {
            let whole = try Regex(time + pattern + #" seconds=\d+(\.\d+)?( held=0)? trigger_deleted=0$"#)
            #expect(line.contains(whole), "\(line)")
        }
        #expect(
            end.errors.contains(
                #/ warning rule not completed run=\w+ store=prices.sqlite rule=fx refusal=would_empty_entity reason=/#))
        let all = end.errors.split(separator: "\n")
        #expect(all.allSatisfy { $0.contains(#/ run=\w{26} store=prices.sqlite /#) }, "\(end.errors)")
        #expect(all.last?.contains(#/ outcome=refused .* ?seconds=[\d.]+/#) == true, "\(end.errors)")
        #expect(all.first?.contains(" info run started ") == true && all.last?.contains(" info run finished ") == true)
        #expect(all.count { $0.contains(" warning ") } == 1)
    }

    @Test func eachRuleHasOneLineOfJSON() throws {
        struct Line: Decodable, Equatable {
            var level, message, rule, entity, cutoff, outcome: String
            var expired: Int?
            var deleted, batches: Int
        }
        let end = try job().retention("run", "--as-of", Sample.midnight(0), "--log-format", "json")
        let lines = end.errors.split(separator: "\n").filter { $0.contains("rule finished") }
        let cutoff = Sample.midnight(30)
        #expect(
            try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) } == [
                Line(
                    level: "info", message: "rule finished", rule: "gold", entity: "Price", cutoff: cutoff,
                    outcome: "completed", expired: 10, deleted: 10, batches: 3),
                Line(
                    level: "info", message: "rule finished", rule: "fx", entity: "Fx Rate", cutoff: cutoff,
                    outcome: "refused", expired: 2, deleted: 0, batches: 0),
                Line(
                    level: "info", message: "rule finished", rule: "off", entity: "Price",
                    cutoff: Sample.midnight(400), outcome: "disabled", expired: nil, deleted: 0, batches: 0),
            ])
        // Every line is JSON, not only these. What is not a text is a number.
        for line in end.errors.split(separator: "\n") {
            let members = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(members["time"] is String)
            if line.contains("rule finished") { #expect(members["seconds"] is Double) }
        }
    }

    struct Level: CustomTestStringConvertible, Sendable {
        var arguments: [String]
        var head = ""
        var isInfo: Bool
        var isWarning: Bool
        var testDescription: String { (arguments + [head]).joined(separator: " ") }
    }

    @Test(arguments: [
        Level(arguments: [], isInfo: true, isWarning: true),
        Level(arguments: ["--log-level", "warning"], isInfo: false, isWarning: true),
        Level(arguments: ["--log-level", "error"], isInfo: false, isWarning: false),
        Level(arguments: [], head: "log: { level: error }", isInfo: false, isWarning: false),
        // The command line overrides the file, and --quiet only raises the level.
        Level(arguments: ["--log-level", "info"], head: "log: { level: error }", isInfo: true, isWarning: true),
        Level(arguments: ["--quiet"], isInfo: false, isWarning: true),
        Level(arguments: ["--quiet", "--log-level", "error"], isInfo: false, isWarning: false),
    ])
    func theLevelLimitsTheLog(_ level: Level) throws {
        let end = try job(head: level.head).perform(["run"] + level.arguments)
        #expect(end.errors.contains(" info ") == level.isInfo, "\(end.errors)")
        #expect(end.errors.contains(" warning ") == level.isWarning, "\(end.errors)")
        // What was refused is reported in any case.
        #expect(end.status == 65 && end.output.contains("would_empty_entity"), "\(end)")
    }

    // MARK: --quiet

    @Test(arguments: [[], ["--format", "json"], ["--dry-run"]] as [[String]])
    func quietSaysNothingAtAllWhenAllWentWell(_ arguments: [String]) throws {
        let end = try job(isRefused: false).perform(["run", "--quiet"] + arguments)
        #expect(end.status == 0 && end.output.isEmpty && end.errors.isEmpty, "\(end)")
    }

    @Test func aLogFileKeepsItsLevelUnderQuiet() throws {
        let job = try job(head: "log: { file: job.log, level: info }", isRefused: false)
        try job.retention("run", "--dry-run")
        #expect(try !job.listing().contains("job.log"))
        let end = try job.retention("run", "--quiet")
        #expect(end.status == 0 && end.output.isEmpty && end.errors.isEmpty, "\(end)")
        let log = try job.text("job.log")
        #expect(log.contains(" info run started ") && log.contains(" store=prices.sqlite rule=gold "))
        // The next run writes behind it.
        try job.retention("run", "--quiet")
        #expect(try job.text("job.log").hasPrefix(log) && job.text("job.log") != log)
    }

    @Test func standardOutputCarriesTheReportAndNothingElse() throws {
        let end = try job().retention("run", "--format", "json", "--verbose", "--log-level", "trace")
        #expect(try Report(json: end.output).rules.count == 3)
        #expect(end.errors.contains("statement: ") && end.errors.contains("plan: "))
        #expect(end.errors.contains("  plan: SEARCH retention_row USING COVERING INDEX Price_at (at>? AND at<?)\n"))
    }

    /// What cron mails and the journal gets is on one stream.
    @Test func nothingIsSaidTwiceWhereBothStreamsHaveOneReader() throws {
        let job = try job()
        #expect(try LaunchedProgram.shell("retention run --quiet >mail 2>&1", in: job.folder.url).status == 65)
        let mail = try job.text("mail")
        #expect(mail.matches(of: #/refusing to delete/#).count == 1 && !mail.contains(" warning "), "\(mail)")
        let run = try #require(try job.log().first?.run)
        #expect(mail.hasPrefix("run · \(run) on "), "\(mail)")
        // Its reader may be in any folder.
        let command = #/ retention run -c /\S+/retention.yaml --rule fx --accept would_empty_entity\n/#
        #expect(mail.contains(command), "\(mail)")
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        _ = try LaunchedProgram.shell("retention run --quiet >mail 2>&1", in: job.folder.url)
        let second = try job.text("mail")
        #expect(second.matches(of: #/store not found/#).count == 1, "\(second)")
        // There is no report, so a line says what the error is about.
        let (failed, store) = (try #require(try job.log().last?.run), job.path("prices.sqlite"))
        let line = "retention: run \(failed) on "
        let help = "; help: retention explain 66, man retention, man retention-run\n"
        #expect(second.hasPrefix(line) && second.contains(", store \(store)\(help)"), "\(second)")
    }

    @Test func aDamagedLedgerIsToldOnce() throws {
        let job = try job(isRefused: false)
        #expect(try job.retention("run", "--quiet").status == 0)
        let damage = "dd if=/dev/zero of=retention.ledger.sqlite bs=4096 seek=1 count=1 conv=notrunc 2>/dev/null"
        let script = "\(damage); retention run --quiet >mail 2>&1"
        #expect(try LaunchedProgram.shell(script, in: job.folder.url).status == 74)
        let mail = try job.text("mail")
        #expect(mail.matches(of: #/SQLITE_CORRUPT/#).count == 1, "\(mail)")
        #expect(mail.contains("; help: retention explain 74, man retention, man retention-run\n"), "\(mail)")
    }

    @Test func aGoodNightIsOneLineOfTheJournal() throws {
        let job = try job(isRefused: false)
        let script = "exec >journal 2>&1; JOURNAL_STREAM=$(stat -c %d:%i journal) retention run --quiet"
        #expect(try LaunchedProgram.shell(script, in: job.folder.url).status == 0)
        let run = try #require(try job.log().first?.run)
        let line = try job.text("journal")
        #expect(
            line.contains(#/^Deleted 10 rows in .*; no expired row is left\. prices\.sqlite, run \w+\n$/#), "\(line)")
        #expect(line.contains(run))
        // Another reader gets nothing.
        let other = "JOURNAL_STREAM=1:2 retention run --quiet >journal 2>&1"
        #expect(try LaunchedProgram.shell(other, in: job.folder.url).status == 0)
        #expect(try job.text("journal").isEmpty)
    }

    @Test func aWarningOfAGoodNightIsSaidOnce() throws {
        let job = try LaunchedJob(
            Sample.price + "INSERT INTO Price(at) VALUES (NULL), (5);", policy: Sample.policy(Sample.rule()))
        _ = try LaunchedProgram.shell("retention run --quiet >mail 2>&1", in: job.folder.url)
        let mail = try job.text("mail")
        let lines = mail.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasSuffix(", store \(job.path("prices.sqlite"))"), "\(mail)")
        #expect(
            lines.last?.hasPrefix("retention: warning: no date can be read: gold deletes nothing") == true, "\(mail)")
    }

    // MARK: retention log

    /// Four runs, 40 to 10 days ago: two that completed, one that was refused, one of another policy.
    private func jobWithLedger() throws -> LaunchedJob {
        let job = try job(isRefused: false)
        try job.retention("run")
        try job.change(Sample.rows(2, daysAgo: 90))
        try job.retention("run")
        try job.folder.write(
            Sample.policy(Sample.rule(name: "fx", entity: "Fx Rate")), to: "retention.yaml")
        #expect(try job.retention("run", "--accept", "policy_widened").status == 65)
        try job.folder.write(Sample.policy(Sample.rule(name: "new")), to: "retention.yaml")
        try job.retention("run", "--accept", "policy_widened")
        try job.retention("run", "--dry-run")
        for number in 1...4 {
            let time = "unixepoch('2026-10-01') + \(number) * 86400"
            try job.change(
                "UPDATE run SET started_us = (\(time)) * 1000000, started = strftime('%Y-%m-%dT%H:%M:%SZ', \(time), 'unixepoch') "
                    + "WHERE number = \(number)", in: "retention.ledger.sqlite")
        }
        return job
    }

    @Test func logFiltersRuns() throws {
        let job = try jobWithLedger()
        func outcomes(_ arguments: [String]) throws -> [String] {
            try job.log(arguments).map { "\($0.outcome ?? "-") \($0.rules.map { "\($0.name) \($0.deleted)" })" }
        }
        let all = [
            #"completed ["gold 10", "fx 0", "off 0"]"#, #"completed ["gold 2", "fx 0", "off 0"]"#,
            #"refused ["fx 0"]"#, #"completed ["new 0"]"#,
        ]
        #expect(try outcomes([]) == all)
        #expect(try outcomes(["--last", "2"]) == Array(all[2...]))
        #expect(try outcomes(["--last", "99"]) == all)
        // Only the requested rule is shown.
        #expect(try outcomes(["--rule", "gold"]) == [#"completed ["gold 10"]"#, #"completed ["gold 2"]"#])
        #expect(try outcomes(["--rule", "fx", "--last", "1"]) == [#"refused ["fx 0"]"#])
        #expect(try job.retention("log", "--rule", "silver").status == 64)
        #expect(try outcomes(["--since", "2026-10-03"]) == Array(all[1...]))
        #expect(try outcomes(["--since", "2026-10-03T00:00:01Z"]) == Array(all[2...]))
        #expect(try outcomes(["--outcome", "refused"]) == [all[2]])
        #expect(try outcomes(["--outcome", "disabled"]) == Array(all[..<2]))
        #expect(try outcomes(["--outcome", "completed", "--since", "2026-10-03"]) == [all[1], all[3]])
        #expect(try outcomes(["--outcome", "crashed"]).isEmpty)
        let run = try #require(try job.log().first?.run)
        #expect(try outcomes(["--run", run]) == [all[0]])
        #expect(try outcomes(["--run", String(run.dropLast(3)).lowercased(), "--last", "1"]).contains(all[0]))
    }

    @Test func logShowsATableForPeople() throws {
        let job = try jobWithLedger()
        let lines = try job.retention("log").output.split(separator: "\n")
        try #require(lines.count == 5)
        let (first, run) = (try #require(try job.log().first?.run), try #require(try job.log().last?.run))
        #expect(lines[1].contains(#/^ +2 Oct (2026 )?00:00  ok       10 deleted  +\d+ d \d\d h  /#), "\(lines)")
        #expect(lines[1].hasSuffix("  \(first.prefix(10))") && lines[2].contains("  ok       2 deleted  "), "\(lines)")
        #expect(lines[3].contains(#/  REFUSED  fx: would_empty_entity; \d+ left  /#), "\(lines)")
        #expect(lines[4].contains("  ok       nothing deleted  "), "\(lines)")
        // The ID is long enough.
        let shown = try #require(lines[4].split(separator: " ").last.map(String.init))
        #expect(try job.retention("log", "--run", shown).output.contains("run       \(run)\n"))
        #expect(try job.retention("log", "--run", run).output.contains("run       \(run)\n"))
    }

    // MARK: A run that dies

    @Test func aKilledRunIsShownAsCrashedAndTheNextOneFinishes() throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price + Sample.slowDeletes(steps: 20_000)
                + Sample.rows(500, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 10 }")))
        let run = try RunningProgram(job, "run")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < 503 })
        run.send(SIGKILL)
        #expect(run.wait() == 128 + SIGKILL)
        let left = try job.number("SELECT count(*) FROM Price")
        // Whole batches, of the oldest rows, and the store is sound.
        #expect((503 - left).isMultiple(of: 10) && left > 3)
        #expect(try job.number("SELECT max(id) FROM Price WHERE id <= 500") == left - 3)
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])

        let crashed = try #require(try job.log().last)
        #expect(crashed.outcome == "crashed" && crashed.exitCode == nil && crashed.pid == Int(run.processID))
        #expect(try job.retention("log").output.contains("  CRASHED  process \(run.processID) "))
        try job.change("DROP TRIGGER Price_slow")
        let next = try job.retention("run", "--format", "json")
        #expect(next.status == 0 && next.errors.contains("warning earlier run crashed"))
        #expect(try Report(json: next.output).totals == Report.Totals(expired: left - 3, deleted: left - 3, residue: 0))
        #expect(try job.log().map(\.outcome) == ["crashed", "completed"])
        #expect(try job.log("--outcome", "crashed").map(\.run) == [crashed.run])
    }
}
