import Foundation
import RetentionJob
import TestSupport
import Testing

@testable import retention

/// The outputs of a run for others: figures for a monitoring system, and the policy's commands.
struct NoticeTests {
    private func job(_ head: String, rule: String = "", expired: Int = 3) throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(expired, daysAgo: 40) + Sample.rows(5, daysAgo: 1),
            policy: Sample.policy(Sample.rule(rule), head: head))
    }

    // MARK: Metrics

    @Test func theFiguresOfTheRunAreWritten() throws {
        let job = try job("metrics: { textfile: retention.prom }\nexpected_every: 1d")
        #expect(try job.retention("run").status == 0)
        let text = try job.text("retention.prom")
        let paths = try ["prices.sqlite", "retention.yaml"].map { try #require(FilePlace.realPath(job.path($0))) }
        let run = "store=\"\(paths[0])\",policy=\"\(paths[1])\""
        let ofRule = run + #",rule="gold",entity="Price""#
        for line in [
            "retention_rule_deleted_rows{\(ofRule)} 3", "retention_rule_expired_rows{\(ofRule)} 3",
            "retention_rule_residue_rows{\(ofRule)} 0", "retention_rule_oldest_overdue_seconds{\(ofRule)} 0",
            "retention_rule_outcome{\(ofRule),outcome=\"completed\"} 1",
            "retention_rule_outcome{\(ofRule),outcome=\"refused\"} 0",
            "retention_run_exit_code{\(run)} 0", "retention_run_expected_seconds{\(run)} 86400",
            "retention_info{\(run),version=\"\(RetentionCommand.version)\"} 1",
            "retention_rule_forecast_rows{\(ofRule),period=\"next_day\"} 0",
        ] {
            #expect(text.contains(line + "\n"), "\(line)\n\(text)")
        }
        #expect(text.contains("retention_rule_entity_bytes{\(ofRule)} "))
        #expect(try job.listing().filter { $0.contains(".prom") } == ["retention.prom"])
        let mode = try FileManager.default.attributesOfItem(atPath: job.path("retention.prom"))[.posixPermissions]
        #expect((mode as? Int).map { $0 & 0o444 } == 0o444)
    }

    @Test func aRefusedRuleShowsItsOverdueRows() throws {
        let job = try job("metrics: { textfile: retention.prom }", rule: "limits: { max_rows: 1 }")
        #expect(try job.retention("run").status == 65)
        let text = try job.text("retention.prom")
        #expect(text.contains("outcome=\"refused\"} 1\n") && text.contains("} 8640"), "\(text)")
        #expect(text.contains(",code=\"too_many_rows\"} 1\n") && !text.contains("last_success"), "\(text)")
    }

    /// They are those of its last run, but for what the ledger does not have.
    @Test func aRunOfOneRuleKeepsTheFiguresOfTheOthers() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(9, daysAgo: 40) + Sample.rows(9, daysAgo: 1)
                + "CREATE TABLE News AS SELECT * FROM Price;",
            policy: Sample.policy(
                Sample.rule("limits: { max_rows: 1 }"), Sample.rule(name: "news", entity: "News"),
                head: "metrics: { textfile: retention.prom }"))
        func gold() throws -> [Substring] {
            try job.text("retention.prom").split(separator: "\n").filter {
                $0.contains("rule=\"gold\"") && !$0.hasPrefix("retention_rule_forecast_rows{")
            }
        }
        #expect(try job.retention("run").status == 65)
        let night = try gold()
        #expect(night.contains { $0.hasPrefix("retention_rule_refused{") })
        #expect(try job.retention("run", "--rule", "news").status == 0)
        #expect(try gold() == night)
        #expect(try figure("exit_code", of: job) == "65")
        #expect(try job.text("retention.prom").contains("rule=\"news\",entity=\"News\"} 0\n"))
    }

    private func figure(_ name: String, of job: LaunchedJob) throws -> String? {
        try job.text("retention.prom").split(separator: "\n").first { $0.hasPrefix("retention_run_\(name){") }?
            .split(separator: " ").last.map(String.init)
    }

    @Test func theLastSuccessSurvivesFailuresAndARunThatCannotBegin() throws {
        let job = try job("metrics: { textfile: retention.prom }")
        #expect(try job.retention("run").status == 0)
        let success = try #require(try figure("last_success_timestamp_seconds", of: job))
        try job.change(Sample.rows(9, daysAgo: 40))
        try job.folder.write(
            Sample.policy(
                Sample.rule("limits: { max_rows: 1 }"), head: "metrics: { textfile: retention.prom }"),
            to: "retention.yaml")
        #expect(try job.retention("run").status == 65)
        #expect(try figure("last_success_timestamp_seconds", of: job) == success)
        let failure = try #require(try figure("last_timestamp_seconds", of: job))
        try FileManager.default.moveItem(atPath: job.path("prices.sqlite"), toPath: job.path("aside"))
        #expect(try job.retention("run").status == 66)
        #expect(try figure("exit_code", of: job) == "66" && figure("last_timestamp_seconds", of: job) != failure)
        #expect(try figure("last_success_timestamp_seconds", of: job) == success)
        try FileManager.default.moveItem(atPath: job.path("aside"), toPath: job.path("prices.sqlite"))
        try job.folder.write(String(repeating: "no database ", count: 100), to: "retention.ledger.sqlite")
        #expect(try job.retention("run").status == 74)
        #expect(try figure("exit_code", of: job) == "74")
        #expect(try figure("last_success_timestamp_seconds", of: job) == success)
    }

    /// The figures are those of the run that has the lock.
    @Test func aRunThatFindsAnotherWritesNoFigures() throws {
        let job = try job("metrics: { textfile: retention.prom }")
        let lock = try RunLock.acquire(storePath: job.path("prices.sqlite"))
        defer { withExtendedLifetime(lock) {} }
        #expect(try job.retention("run").status == 75)
        #expect(try !job.listing().contains("retention.prom"))
    }

    /// It takes longer than the 15 seconds after which the file is written again.
    @Test func aLongRunShowsHowFarItIs() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.slowDeletes(steps: 2_000_000) + Sample.rows(5000, daysAgo: 40)
                + Sample.rows(5, daysAgo: 1),
            policy: Sample.policy(
                Sample.rule("batch: { rows: 1 }"), head: "metrics: { textfile: retention.prom }"))
        let run = try RunningProgram(job, "run")
        defer {
            run.send(SIGKILL)
            _ = run.wait()
        }
        let isShown = (0..<4).contains { _ in eventually { (try? figure("in_progress", of: job)) == "1" } }
        try #require(isShown)
        let text = try job.text("retention.prom")
        let figures = text.matches(of: #/retention_rule_(?:deleted|residue)_rows\{[^}]*\} (\d+)/#)
        let counts = figures.compactMap { Int($0.1) }
        #expect(counts.count == 2 && counts.reduce(0, +) == 5000 && !counts.contains(0), "\(text)")
    }

    @Test func aDryRunWritesNothing() throws {
        let job = try job("metrics: { textfile: retention.prom }\non_success: [touch, told]")
        #expect(try job.retention("run", "--dry-run").status == 0)
        #expect(try job.listing() == ["prices.sqlite", "retention.yaml"])
    }

    @Test func figuresThatCannotBeWrittenAreExit73() throws {
        let job = try job("metrics: { textfile: nowhere/retention.prom }")
        let end = try job.retention("run")
        #expect(end.status == 73 && end.output.contains("metrics not written"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }

    /// As on a full disk: neither the store nor the figures can be used.
    @Test func theNoticeHasTheExitCodeOfTheProcess() throws {
        let job = try job(
            "metrics: { textfile: nowhere/retention.prom }\non_failure: [sh, -c, 'cat >told; echo $RETENTION_EXIT_CODE >code']"
        )
        try job.folder.write(String(repeating: "no database ", count: 99), to: "prices.sqlite")
        let end = try job.retention("run", "--quiet")
        #expect(try end.status == 74 && job.text("code") == "74\n", "\(end)")
        let help = "; help: retention explain 74, man retention, man retention-run\n"
        #expect(try job.text("told").contains("(exit 74)") && end.errors.contains(help), "\(end)")
    }

    /// As on a full disk: the store, the ledger and the figures. The notice and standard error say the same.
    @Test func allThatCouldNotBeWrittenIsTold() throws {
        let job = try job("metrics: { textfile: nowhere/retention.prom }\non_failure: [sh, -c, 'cat >told']")
        for file in ["prices.sqlite", "retention.ledger.sqlite"] {
            try job.folder.write(String(repeating: "no database ", count: 99), to: file)
        }
        #expect(try LaunchedProgram.shell("retention run --quiet >shown 2>&1", in: job.folder.url).status == 74)
        for text in try [job.text("shown"), job.text("told")] {
            #expect(text.matches(of: #/warning: run not recorded: /#).count == 1, "\(text)")
            #expect(text.matches(of: #/warning: metrics not written: /#).count == 1, "\(text)")
        }
    }

    /// The log is opened before anything else is.
    @Test func aRunWithoutTheFolderOfItsLogIsRecordedAndTold() throws {
        let job = try job(
            "log: { file: logs/r.log }\nmetrics: { textfile: retention.prom }\non_failure: [sh, -c, 'echo $RETENTION_RUN >id']"
        )
        try job.makeFolder("logs")
        #expect(try job.retention("run").status == 0)
        try job.move("logs", to: "aside")
        let end = try job.retention("run", "--quiet")
        #expect(end.status == 73 && end.errors.contains("retention: run "), "\(end)")
        let run = try #require(try job.log().first { $0.exitCode == 73 })
        #expect(try job.text("id") == run.run + "\n")
        #expect(try figure("exit_code", of: job) == "73")
    }

    /// Its rules have the mistake, so it is certain where ledger, figures and command are.
    @Test func aNightWithAMistakeInItsPolicyIsRecordedAndTold() throws {
        let job = try job(
            "metrics: { textfile: retention.prom }\non_failure: [sh, -c, 'cat >told; echo $RETENTION_EXIT_CODE >code']")
        #expect(try job.retention("run").status == 0)
        let good = try job.text("retention.yaml")
        try job.folder.write(good.replacing("max_age: 30d", with: "max_age: 30m"), to: "retention.yaml")
        let dry = try job.retention("run", "--dry-run")
        #expect(try dry.status == 78 && dry.errors.hasPrefix("retention.yaml:") && !job.listing().contains("code"))
        let end = try job.retention("run")
        #expect(end.status == 78 && end.output.isEmpty && end.errors.contains("retention: run "), "\(end)")
        #expect(end.errors.contains("\nretention.yaml:6:") && end.errors.hasSuffix("1 error\n"), "\(end)")
        let (run, code) = (try #require(try job.log().last), try job.text("code"))
        #expect(run.exitCode == 78 && run.failure?.contains("30m") == true && code == "78\n", "\(run)")
        #expect(try job.text("told").contains("\nfailure: "))
        #expect(try figure("exit_code", of: job) == "78")
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
        // Where the ledger is must be certain.
        try job.folder.write(try job.text("retention.yaml") + "leger: other.sqlite\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 78 && job.retention("log").status == 78)
        try job.folder.write(good, to: "retention.yaml")
        #expect(try job.retention("run").status == 0 && job.log().map(\.exitCode) == [0, 78, 0])
    }

    @Test func theNoticeOfAPolicyThatDoesNotFitIsASentence() throws {
        let job = try job("on_failure: [sh, -c, 'cat >told']")
        try job.change("ALTER TABLE Price RENAME TO Price2")
        #expect(try job.retention("run").status == 78)
        let told = try job.text("told")
        #expect(told.contains("\nfailure: the store has no entity 'Price'; did you mean 'Price2'?\n"), "\(told)")
    }

    private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Debian has it in the package `prometheus`.
    @Test(.enabled(if: promtool != nil, "promtool is not installed"), arguments: ["Price", "a\"b\\c\nd é"])
    func promtoolFindsNothingWrong(entity: String) throws {
        let table = "\"" + entity.replacing("\"", with: "\"\"") + "\""
        let quoted = try #require(String(data: JSONEncoder().encode(entity), encoding: .utf8))
        let job = try LaunchedJob(
            "CREATE TABLE \(table)(at INTEGER); INSERT INTO \(table) VALUES (unixepoch()), (unixepoch() - 4000000)",
            policy: Sample.policy(Sample.rule(entity: quoted), head: "metrics: { textfile: retention.prom }"))
        #expect(try job.retention("run").status == 0)
        let text = try job.text("retention.prom")
        let end = try LaunchedProgram.shell(
            "\(try #require(Self.promtool)) check metrics < retention.prom", in: job.folder.url)
        #expect(
            end.status == 0 && end.output.isEmpty && end.errors.isEmpty, "\(end)\n\(text)")
    }

    /// The alert rules of docs/operations.md.
    @Test(.enabled(if: promtool != nil, "promtool is not installed"))
    func theAlertRulesAreValidAndNameFiguresThatThereAre() throws {
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/operations.md"), encoding: .utf8)
        let rules = try #require(CodeBlock.blocks(of: page).first { $0.text.hasPrefix("groups:") }).text
        let job = try job("metrics: { textfile: retention.prom }\nexpected_every: 1d")
        try job.folder.write(rules, to: "rules.yml")
        let end = try LaunchedProgram.shell("\(try #require(Self.promtool)) check rules rules.yml", in: job.folder.url)
        #expect(end.status == 0, "\(end)")
        #expect(try job.retention("run").status == 0)
        let text = try job.text("retention.prom")
        let names = Set(rules.matches(of: /retention_[a-z_]+/).map { String($0.0) })
        try #require(names.count > 3)
        for name in names { #expect(text.contains("\n\(name){"), "\(name)") }
    }

    // MARK: Commands

    @Test func theCommandGetsTheReport() throws {
        let copy = "[sh, -c, 'cat >mail; cp $RETENTION_REPORT report.json']"
        let job = try job("on_success: \(copy)\non_failure: [touch, failed]")
        #expect(try job.retention("run").status == 0)
        #expect(try Report(json: job.text("report.json")).rules[0].deleted == 3)
        let mail = try job.text("mail")
        #expect(mail.hasPrefix("run · ") && mail.contains("\nDeleted 3 rows in "), "\(mail)")
        #expect(try !job.listing().contains("failed"))
    }

    @Test func aFailureHasItsOwnCommand() throws {
        let job = try job(
            "on_failure: [sh, -c, 'cp $RETENTION_REPORT report.json']\non_success: [touch, good]",
            rule: "limits: { max_rows: 1 }")
        #expect(try job.retention("run").status == 65)
        #expect(try Report(json: job.text("report.json")).rules[0].refusal == "too_many_rows")
        #expect(try !job.listing().contains("good"))
    }

    @Test func aRunThatCannotBeginIsAFailure() throws {
        let job = try job("on_failure: [sh, -c, 'cp $RETENTION_REPORT report.json']")
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        #expect(try job.retention("run").status == 66)
        let text = try job.text("report.json")
        #expect(text.contains("\"exit_code\": 66") && text.contains("store not found"), "\(text)")
        // What is not known is null; the run is in the ledger under its identifier.
        #expect(text.contains("\"engine\": null"), "\(text)")
        let run = try #require(try job.log().first)
        #expect(run.outcome == "failed" && run.exitCode == 66 && text.contains("\"run\": \"\(run.run)\""), "\(text)")
        #expect(run.failure?.contains("store not found") == true)
        let shown = try job.retention("log").output
        #expect(shown.contains("  FAILED   exit 66: prices.sqlite: store not found"), "\(shown)")
    }

    @Test func aRunThatFindsAnotherAtWorkHasNoRecordOfItsOwn() throws {
        let job = try job("on_failure: [sh, -c, 'cp $RETENTION_REPORT report.json; cat >mail']")
        let lock = try RunLock.acquire(storePath: job.path("prices.sqlite"))
        defer { withExtendedLifetime(lock) {} }
        let end = try job.retention("run")
        #expect(end.status == 75)
        let run = try #require(end.errors.firstMatch(of: #/retention: run (\w+) on /#)?.1, "\(end)")
        #expect(try job.text("mail").hasPrefix("run · \(run) on "), "the mail has the ID of standard error")
        let text = try job.text("report.json")
        #expect(text.contains("\"run\": null") && text.contains("\"engine\": null"), "\(text)")
        #expect(try job.log().isEmpty)
    }

    /// A failed run that never checked the clock must not make a wrong clock acceptable. It failed, and was not missed.
    @Test func aRunThatCannotBeginIsFailedAndNotMissed() throws {
        let job = try job("expected_every: 1d")
        try FileManager.default.moveItem(atPath: job.path("prices.sqlite"), toPath: job.path("aside"))
        #expect(try job.retention("run").status == 66)
        #expect(try job.number("SELECT clock_believed FROM run", in: "retention.ledger.sqlite") == 0)
        let missed = try job.retention("log", "--missed")
        #expect(missed.status == 65 && missed.output.hasSuffix(", failed before its first rule.\n"), "\(missed)")
        #expect(try job.retention("log", "--verify").status == 0)
        try FileManager.default.moveItem(atPath: job.path("aside"), toPath: job.path("prices.sqlite"))
        #expect(try job.retention("run").status == 0)
        #expect(try job.log().map(\.outcome) == ["failed", "completed"])
        #expect(try job.retention("log", "--missed").status == 0)
    }

    @Test func noLedgerIsMadeBesideSomethingThatIsNoStore() throws {
        let job = try job("")
        try Data("no database at all".utf8).write(to: job.folder.url.appending(path: "prices.sqlite"))
        #expect(try job.retention("run").status == 74)
        #expect(try job.listing() == ["prices.sqlite", "retention.yaml"])
    }

    @Test func noLedgerIsMadeWhereOnlyALinkLeads() throws {
        let job = try job("")
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: job.path("prices.sqlite"), withDestinationPath: job.path("unmounted/prices.sqlite"))
        #expect(try job.retention("run").status == 66)
        #expect(try !job.listing().contains("retention.ledger.sqlite"))
    }

    @Test func noShellAndNoSecrets() throws {
        let job = try job("on_success: [./tell, \"a b; touch x\", $HOME]")
        let script = try job.folder.write(
            "#!/bin/sh\nenv > seen; printf '%s\\n' \"$@\" > words\necho heard\n", to: "tell")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
        let end = try LaunchedProgram.run(
            LaunchedProgram.folder.appending(path: "retention"), ["run"], in: job.folder.url,
            environment: ["PATH": "/usr/bin:/bin", "PGPASSWORD": "secret", "HOME": "/nowhere"])
        #expect(end.status == 0 && end.errors.contains("heard\n") && !end.output.contains("heard"), "\(end)")
        #expect(try job.text("words") == "a b; touch x\n$HOME\n")
        let seen = try job.text("seen")
        #expect(!seen.contains("secret") && seen.contains("HOME=/nowhere\n"), "\(seen)")
        #expect(seen.contains("RETENTION_OUTCOME=completed\n") && seen.contains("RETENTION_EXIT_CODE=0\n"), "\(seen)")
    }

    @Test(arguments: [("[false]", "false ended with exit status 1"), ("[no-such-program-x]", "cannot be run")])
    func aCommandThatFailsIsAWarning(command: String, warning: String) throws {
        let job = try job("on_success: \(command)")
        let end = try job.retention("run")
        #expect(end.status == 0 && end.output.contains(warning), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }

    /// The run is over then, and its report is not printed yet.
    @Test(arguments: [SIGTERM, SIGINT], [1, 2])
    func aSignalDuringACommandIsWaitedThroughAndASecondOneEndsTheRun(signal: Int32, count: Int) throws {
        let job = try job(
            "on_success: [/bin/sh, -c, 'echo began >began; until test -e go; do sleep 0.01; done; echo ended >ended']")
        let run = try RunningProgram(job, "run")
        #expect(eventually { (try? job.listing().contains("began")) ?? false })
        for _ in 0..<count {
            run.send(signal)
            #expect(run.hasTakenItsSignals())
        }
        // What the command holds open keeps the run from being seen to end.
        try job.folder.write("", to: "go")
        #expect(run.wait() == (count == 1 ? 0 : 128 + signal))
        #expect(try job.text("stdout.txt").contains("Deleted 3 rows") == (count == 1))
        if count == 1 { #expect(try job.listing().contains("ended")) }
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }
}
