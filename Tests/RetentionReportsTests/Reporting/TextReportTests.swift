import Foundation
import PriceStore
import RetentionPolicy
import RetentionReports
import Testing

@testable import RetentionJob

struct TextReportTests {
    private func lines(_ report: RunReport, width: Int = 120) -> [String] {
        TextReport(report, .init(width: width)).text.split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    private func dryRun(_ rules: [RunReport.RuleReport]) -> RunReport { ReportSample.report(.dryRun, rules: rules) }

    @Test func headNamesModeStoreInstantAndPolicy() {
        let head = lines(dryRun([ReportSample.gold]))[0]
        #expect(head == "dry run · prices.sqlite · as of 2026-11-21 00:00:00Z · retention.yaml 3f2a91c0")
    }

    @Test func whatRunsOfManyStoresWaitedForIsOneSum() {
        var reports = [ReportSample.report(.run, rules: []), ReportSample.report(.run, rules: [])]
        #expect(TextReport.waited(reports, TextLayout()).isEmpty)
        reports[0].waits = ["other writers": 1_000_000]
        reports[1].waits = ["other writers": 200_000, "standby": 100_000]
        let says = ["waited: 1.3 s: other writers 1.2 s, standby 100 ms"]
        #expect(TextReport.waited(reports, TextLayout()) == says, "\(TextReport.waited(reports, TextLayout()))")
    }

    @Test func figuresStandUnderTheirHeadings() throws {
        var second = ReportSample.rule("t", entity: "Tick")
        second.planned.rows = 431
        let text = lines(dryRun([ReportSample.gold, second]))
        let heading = try #require(text.first { $0.hasPrefix("RULE") })
        let gold = try #require(text.first { $0.hasPrefix("yahoo-gold") })
        let tick = try #require(text.first { $0.hasPrefix("t ") })
        for column in ["ENTITY", "MAX AGE", "CUTOFF (UTC)"] {
            let offset = try #require(heading.range(of: column)).lowerBound.utf16Offset(in: heading)
            for row in [gold, tick] {
                let cells = Array(row)
                #expect(cells[offset] != " " && cells[offset - 1] == " ", "\(column) in \(row)")
            }
        }
        let end = try #require(heading.range(of: "ROWS")).upperBound.utf16Offset(in: heading)
        #expect(Array(gold)[end - 1] == "0" && Array(tick)[end - 1] == "1")
        #expect(gold.contains("543,200") && gold.contains("500,000  92.0%"))
        #expect(gold.hasSuffix("92.0%") && tick.hasSuffix("0"), "the words of an engine are for programs")
    }

    @Test func whatARunWaitedForIsSummedUp() {
        var report = ReportSample.report(.run, rules: [ReportSample.gold])
        report.waits = ["a standby": 3_000_000, "pauses for other programs": 38_000_000]
        #expect(lines(report).contains("waited: 41.0 s: pauses for other programs 38.0 s, a standby 3.0 s"))
        #expect(
            report.json.description.replacing(" ", with: "").contains(
                #""waited":[{"reason":"astandby","seconds":3},"#), "\(report.json.description)")
        report.waits = ["pauses for other programs": 900_000]
        #expect(!TextReport(report).text.contains("waited"))
    }

    @Test func silentGroupsAreLines() {
        var rule = ReportSample.gold
        rule.planned.silent = .init(
            count: 5, newest: [("symbol XPT", ReportSample.asOf), ("symbol XPD", ReportSample.asOf)])
        let text = lines(dryRun([rule]))
        #expect(text.contains("yahoo-gold: no new row of symbol XPT since 2026-11-21 00:00:00Z"), "\(text)")
        #expect(text.contains("yahoo-gold: nor of 3 other groups of keep_last"), "\(text)")
        #expect(dryRun([rule]).document.contains("\"silent_groups\": 5"))
    }

    @Test func columnsThatSayNothingAreLeftOut() {
        var rule = ReportSample.rule("r", outcome: .completed)
        rule.planned.expired = 0
        let text = TextReport(ReportSample.report(.run, rules: [rule])).text
        #expect(!text.contains("ROWS") && !text.contains("RESIDUE") && !text.contains("BATCHES"))
        #expect(text.contains("DELETED"))
        rule.planned.rows = 10
        rule.left.expired = 3
        #expect(TextReport(ReportSample.report(.run, rules: [rule])).text.contains("RESIDUE"))
    }

    @Test(arguments: [80, 120, 160])
    func refusalIsBelowItsRow(width: Int) throws {
        let text = lines(dryRun([ReportSample.refused]), width: width)
        let start = try #require(text.firstIndex { $0.hasPrefix("old-fx") })
        #expect(text[start].hasSuffix("  refused") && !text[start].contains("2026-10-22"))
        #expect(text[start + 1].hasPrefix("    refused: the newest of 8,200 rows"))
        let end = try #require(text.firstIndex { $0.hasSuffix("(wrong_unit)") })
        for line in text[start...end].dropFirst() {
            #expect(line.hasPrefix("    ") && line.count <= width, "\(line)")
        }
    }

    /// Whatever columns are left, a reason is not under the heading of a figure.
    @Test func refusalIsNotADeletedRow() throws {
        let text = lines(ReportSample.report(.run, rules: [ReportSample.refused]))
        let heading = try #require(text.first { $0.hasPrefix("RULE") })
        let row = try #require(text.first { $0.hasPrefix("old-fx") })
        #expect(heading.hasSuffix("  DELETED  OUTCOME") && row.hasSuffix("        0  refused"), "\(text)")
    }

    @Test func whatRepeatsIsLeftOut() {
        var other = ReportSample.rule("Tick", entity: "Tick")
        #expect(!TextReport(dryRun([other])).text.contains("ENTITY"))
        #expect(TextReport(dryRun([other])).text.contains("  2026-10-22 00:00  "))
        other.cutoff = other.cutoff.advanced(byMicroseconds: 4_000_000)
        let text = TextReport(dryRun([other, ReportSample.gold])).text
        #expect(text.contains("ENTITY") && text.contains("  2026-10-22 00:00  "), "\(text)")
    }

    /// On a narrow terminal the less important columns are below their row.
    @Test(arguments: [40, 60, 80, 100])
    func aTerminalBreaksNoRow(width: Int) {
        let report = dryRun([ReportSample.gold, ReportSample.refused])
        let text = TextReport(report, .init(width: width, tableWidth: width)).text
        for line in text.split(separator: "\n") { #expect(line.count <= width, "\(line)") }
        #expect(text.contains(#/\nRULE +.*EXPIRED/#) && text.contains(#/\nyahoo-gold +.*500,000  92.0%/#), "\(text)")
        for part in ["543,200", "2026-10-22 00:00", "YahooGoldPricePoint", "updateTime"] {
            #expect(text.replacing(#/\s+/#, with: " ").contains(part), "\(part)\n\(text)")
        }
        let wide = TextReport(report, .init(width: 300, tableWidth: 300)).text
        #expect(wide == TextReport(report, .init(width: 300)).text)
    }

    @Test(arguments: 40...80) func noLineBreaksBeforeAUnit(width: Int) {
        var rule = ReportSample.gold
        (rule.outcome, rule.done.batches, rule.done.elapsed) = (.completed, 2, .milliseconds(63))
        let report = ReportSample.report(.run, rules: [rule])
        let text = TextReport(report, .init(width: width, tableWidth: width)).text
        for line in text.split(separator: "\n") {
            #expect(line.prefixMatch(of: #/ *(ms|s|min|h)\b/#) == nil, "\(text)")
        }
        #expect(text.contains("63 ms"))
    }

    @Test func aLongNameHasALineOfItsOwn() {
        var rule = ReportSample.gold
        rule.name = String(repeating: "n", count: 40)
        let text = TextReport(dryRun([rule, ReportSample.refused]), .init(width: 80, tableWidth: 80)).text
        #expect(text.contains("\nRULE\n  MAX AGE") && text.contains("\n\(rule.name)\n  30d"), "\(text)")
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test func theHeadOfARunNamesItAndItsMachine() {
        let report = ReportSample.report(.run, rules: [ReportSample.gold])
        let text = TextReport(report, host: "gold").text
        #expect(text.hasPrefix("run · \(report.runID) on gold · prices.sqlite · as of "), "\(text)")
    }

    /// What ended the run is said once, however many rules it ended.
    @Test func noReasonIsThereTwice() {
        func rule(_ name: String, _ message: String) -> RunReport.RuleReport {
            var rule = ReportSample.rule(name, outcome: .interrupted)
            rule.message = message
            return rule
        }
        var report = ReportSample.report(
            .run,
            rules: [
                rule("a", "locked; nothing was deleted"), rule("b", "the run ended before"),
                rule("c", "the run ended before"), rule("d", "it ended; 48 rows are left"),
                rule("e", "it ended; 48 rows are left"),
            ])
        (report.failure, report.exitCode) = ("locked; 3 rows are deleted and committed", 75)
        let text = TextReport(report).text
        #expect(text.matches(of: #/locked/#).count == 1 && text.contains("\nb, c: the run ended before\n"), "\(text)")
        #expect(text.contains("\nd, e, each: it ended; 48 rows are left\n"), "a sum is not 48")
        #expect(text.contains("\nhelp: retention explain 75, man retention, man retention-run\n"))
    }

    @Test func theCommandThatAcceptsIsWhole() {
        var rule = ReportSample.rule("a b", outcome: .refused)
        rule.refusals = [.init(code: .tooManyRows, message: "refusing to", isAcceptable: true)]
        rule.refusal = .tooManyRows
        let command = "retention run -c conf/retention.yaml --rule 'a b' --accept too_many_rows"
        #expect(TextReport(dryRun([rule])).text.contains("a b: to accept that for one run: \(command)\n"))
        let narrow = lines(dryRun([rule]), width: 40)
        #expect(narrow.contains("     " + command), "it is on one line: \(narrow)")
        rule.refusals.append(.init(code: .futureDates, message: "refusing to", isAcceptable: true))
        #expect(!TextReport(dryRun([rule])).text.contains("to accept that"))
    }

    /// What is accepted for one rule or table waits again in the next run.
    @Test func aWiderRuleIsAcceptedWithTheWholePolicy() {
        var rule = ReportSample.rule("pairs:btc", outcome: .refused)
        rule.family = "pairs"
        let run = "retention run -c conf/retention.yaml"
        for (code, start) in [
            (RefusalCode.tooManyRows, "to accept that for one run: \(run) --rule pairs:btc"),
            (.policyWidened, "to accept the whole policy: \(run)"),
        ] {
            rule.refusals = [.init(code: code, message: "refusing to", isAcceptable: true)]
            rule.refusal = code
            let text = TextReport(dryRun([rule]), .init(width: 200)).text
            #expect(text.contains("\npairs:btc: \(start) --accept \(code.rawValue)\n"), "\(text)")
        }
    }

    @Test func noRowOfARefusedRuleWouldBeDeleted() {
        var rule = ReportSample.rule("fx", outcome: .refused)
        rule.planned.sample = .init(columns: ["id"])
        rule.planned.sample?.oldest = [[.integer(1)]]
        let text = TextReport(dryRun([rule])).text
        #expect(text.contains("\nfx: oldest and newest expired rows, first rows to keep\nIS       id\nexpired  1\n"))
        rule.outcome = .planned
        #expect(TextReport(dryRun([rule])).text.contains("\nWOULD BE  id\ndeleted   1\n"))
    }

    @Test func whatSeveralRulesAreToldToDoIsSaidOnce() {
        func rule(_ name: String, _ reason: String, _ remedy: String) -> RunReport.RuleReport {
            var rule = ReportSample.rule(name, outcome: .refused)
            (rule.refusal, rule.message) = (.tooManyRows, reason + remedy)
            rule.refusals = [.init(code: .tooManyRows, message: reason + remedy, isAcceptable: true, remedy: remedy)]
            return rule
        }
        let (remedy, other) = ("to accept it, pass --accept too_many_rows for one run, or write it down", "go home")
        let rules = [
            rule("a", "refusing to delete 3 rows; ", remedy), rule("b", "refusing. Why? ", remedy),
            rule("c", "refusing to delete; ", other),
        ]
        let text = TextReport(dryRun(rules)).text
        #expect(text.contains("\na, b: to accept it, write it down\n"), "\(text)")
        #expect(text.matches(of: #/write it down/#).count == 1, "\(text)")
        for reason in ["refusing to delete 3 rows", "refusing. Why?", "refusing to delete; go home"] {
            #expect(text.contains("    \(reason) (too_many_rows)\n"), "\(text)")
        }
        #expect(TextReport(dryRun([rules[0], rules[2]])).text.contains("3 rows; to accept it, write it down\n"))
    }

    /// Whatever else a rule is refused for, and whether a command accepts all of that.
    @Test func aReasonOfSeveralRulesIsThereOnce() {
        let rules = ["a", "b"].map { name in
            var rule = ReportSample.rule(name, entity: name, outcome: .refused)
            let remedy = "to accept it, pass --accept clock_jumped for one run, or write it down"
            let message = "refusing to delete from \(name): the clock is odd; \(remedy)"
            (rule.refusal, rule.message) = (.clockJumped, message)
            rule.refusals = [.init(code: .clockJumped, message: message, isAcceptable: true, remedy: remedy)]
            if name == "b" {
                rule.refusals.append(.init(code: .tooManyRows, message: "refusing to", isAcceptable: true))
            }
            return rule
        }
        let text = TextReport(dryRun(rules), .init(width: 200)).text
        #expect(text.matches(of: #/the clock is odd/#).count == 1, "\(text)")
        #expect(text.contains("\n    refused for the same reason as a (clock_jumped)\n"), "\(text)")
        #expect(text.contains("\nb: also refused (too_many_rows)"), "\(text)")
    }

    /// A count is that of each rule, and what continues the line above stays below it.
    @Test func aSentenceAboutSeveralRulesIsThereOnce() {
        let rules = ["a", "b", "c"].map { name in
            var rule = ReportSample.rule(name)
            rule.planned.expired = 1
            rule.method.reason = "a reason"
            rule.planned.forecast = .init(nextDay: name == "c" ? 2 : 1, nextWeek: 7)
            rule.planned.silent = .init(count: 2, newest: [("symbol \(name)", ReportSample.asOf)])
            return rule
        }
        let text = lines(dryRun(rules))
        #expect(text.filter { $0.contains("a reason") } == ["a, b, c: a reason"], "\(text)")
        #expect(
            text.filter { $0.contains("will expire") } == [
                "a, b, each: 1 row will expire within 24 hours, 7 in the 7 days after",
                "c: 2 rows will expire within 24 hours, 7 in the 7 days after",
            ], "\(text)")
        let others = text.filter { $0.contains("nor of") }
        #expect(others == ["a", "b", "c"].map { "\($0): nor of 1 other group of keep_last" }, "\(text)")
    }

    @Test func theFirstRunSaysHowMuchItDeletesAndWhetherItCanBeUndone() {
        var report = dryRun([ReportSample.gold])
        func found() -> String {
            var report = report
            for index in report.rules.indices { report.rules[index].remembered.isFirst = report.isFirst }
            return TextReport(report, TextLayout(width: 80)).text
        }
        #expect(!found().contains("first run"))
        report.isFirst = true
        let text = """
            This would be the first run: 500,000 of 543,200 rows (92.0%). Without an archive
            the rows could not be restored. To keep copies for 30 days:
              mkdir -m 700 conf/archive
              archive: { folder: archive, keep: 30d }    # in the policy
            Nothing was changed.
            """
        #expect(found().contains(text), "\(found())")
        report.config = "retention.yaml"
        #expect(found().contains("\n  mkdir -m 700 archive\n"), "\(found())")
        report.config = "/my data/retention.yaml"
        #expect(found().contains("\n  mkdir -m 700 '/my data/archive'\n"), "\(found())")
        report.engine = "postgresql"
        #expect(
            found().contains("  CREATE SCHEMA retention_archive\n  archive: { schema: retention_archive, keep: 30d }"))
        (report.rules[0].done.archived, report.hasArchive) = (0, true)
        #expect(found().contains("(92.0%).\nNothing was changed."), "\(found())")
        // Only what is known exactly is said, and without an archive the rest.
        (report.rules[0].done.archived, report.hasArchive) = (nil, false)
        report.rules[0].planned.triggers = ["t of u"]
        #expect(found().contains("This would be the first run. Without an archive the rows could"), "\(found())")
        (report.rules[0].done.archived, report.hasArchive) = (0, true)
        #expect(!found().contains("first run"), "what triggers delete is not counted")
        report.rules[0].planned.triggers = []
        var other = ReportSample.gold
        other.done.archived = 0
        report.rules.append(other)
        #expect(!found().contains("first run"), "two rules may count the same rows")
        report.rules[0].planned.filter = .isIn("symbol", [.text("XAUUSD")])
        report.rules[1].planned.filter = .isIn("symbol", [.text("XAGUSD")])
        #expect(found().contains("first run: 1,000,000 of 1,086,400 rows (92.0%)."), "\(found())")
        (other.entity, other.planned.rows) = ("Tick", nil)
        report.rules[1] = other
        #expect(!found().contains("first run"), "the rows of a rule are not counted")
        report.rules[1] = ReportSample.refused
        #expect(!found().contains("first run"), "the rows of a refused rule are not counted")
        (report.rules[1].planned.rows, report.rules[1].planned.expired) = (100, 50)
        #expect(found().contains("500,050 of 543,300 rows (92.0%) are expired."), "\(found())")
        report.rules[1].planned.isCounted = false
        #expect(found().contains("first run: 500,000 of 543,200 rows (92.0%)"), "\(found())")
        report.rules = [ReportSample.rule("r")]
        report.rules[0].planned.rows = 10
        #expect(!found().contains("first run"), "it deletes nothing")
    }

    @Test func theReportOfTheFirstRunSaysTheSame() {
        var rule = ReportSample.gold
        (rule.outcome, rule.done.deleted, rule.left.expired) = (.completed, 500_000, 0)
        var report = ReportSample.report(.run, rules: [rule])
        report.isFirst = true
        report.rules[0].remembered.isFirst = true
        let text =
            "This was the first run: 500,000 of 543,200 rows (92.0%). Without an archive the rows cannot be restored.\nDeleted"
        #expect(TextReport(report).text.contains(text), "\(TextReport(report).text)")
        (report.rules[0].done.archived, report.hasArchive) = (500_000, true)
        #expect(TextReport(report).text.contains("(92.0%).\nDeleted"))
        report.rules[0].done.cascaded = 1
        #expect(TextReport(report).text.contains("first run: 500,000 of 543,200 rows (92.0%), and 1 related row.\n"))
        // What stopped it, or refused another rule, changes nothing of that.
        report.rules[0].outcome = .interrupted
        report.rules.append(ReportSample.refused)
        report.rules[1].remembered.isFirst = true
        #expect(TextReport(report).text.contains("first run: 500,000 of 543,200 rows (92.0%), and 1 related row.\n"))
        (report.rules[0].done.archived, report.hasArchive) = (nil, false)
        report.rules[0].planned.rows = nil
        let inexact = "This was the first run. Without an archive the rows cannot be restored.\n"
        #expect(TextReport(report).text.contains(inexact), "\(TextReport(report).text)")
        report.rules = [report.rules[0]]
        (report.rules[0].planned.rows, report.rules[0].outcome) = (543_200, .completed)
        // A rule that was refused until now, beside another one.
        report.isFirst = false
        report.rules.append(ReportSample.rule("old"))
        #expect(TextReport(report).text.contains("This was the first run of \(rule.name): 500,000 of 543,200 rows"))
        report.rules[0].remembered.isFirst = false
        #expect(!TextReport(report).text.contains("first run"))
    }

    @Test func closingSentenceOfARunSaysWhatIsLeft() {
        var rule = ReportSample.gold
        rule.outcome = .interrupted
        rule.done.deleted = 488_000
        rule.left.expired = 12_000
        var report = ReportSample.report(.run, rules: [rule])
        report.exitCode = 75
        #expect(
            TextReport(report).text.hasSuffix(
                "Deleted 488,000 rows in 12.3 s; 12,000 expired rows are left (exit 75).\n"))
    }

    /// The closing sentence, the log and JSON have one number of rows that are left.
    @Test func closingSentenceHasTheResidueOfAllRules() {
        func rule(_ name: String, _ outcome: RunReport.Outcome, expired: Int, residue: Int, of entity: String = "t")
            -> RunReport.RuleReport
        {
            var rule = ReportSample.rule(name)
            (rule.entity, rule.outcome, rule.planned.expired, rule.left.expired) = (entity, outcome, expired, residue)
            rule.done.deleted = expired - residue
            return rule
        }
        func tail(_ rules: [RunReport.RuleReport]) -> String? {
            TextReport(ReportSample.report(.run, rules: rules)).text.split(separator: "\n").last.map(String.init)
        }
        let (a, b) = (rule("a", .refused, expired: 51, residue: 51), rule("b", .refused, expired: 56, residue: 56))
        #expect(tail([a, b]) == "Deleted no rows in 12.3 s; 2 rules refused and 107 expired rows are left.")
        #expect(
            tail([a, rule("b", .completed, expired: 56, residue: 0)])
                == "Deleted 56 rows in 12.3 s; 1 rule refused and 51 expired rows are left.")
        #expect(
            tail([
                a, rule("b", .interrupted, expired: 56, residue: 6),
                rule("c", .refused, expired: 1, residue: 1, of: "u"),
            ])
                == "Deleted 50 rows in 12.3 s; 2 rules refused and 58 expired rows are left.")
    }

    @Test func pendingLineIsThereOnlyWithPendingSources() {
        var report = dryRun([ReportSample.gold])
        #expect(!TextReport(report).text.contains("pending"))
        report.hasPendingSources = true
        #expect(lines(report)[1] == "pending   nothing would be imported")
        // A file waits, and an error came before all of them.
        report.pending.problems = ["in/bad.csv: wrong header"]
        #expect(lines(report)[1...2] == ["pending   nothing would be imported", "pending: in/bad.csv: wrong header"])
        report.pending.problems = []
        (report.mode, report.failure) = (.run, "database is locked")
        #expect(!TextReport(report).text.contains("pending"))
        (report.mode, report.failure) = (.dryRun, nil)
        report.pending.files = 1
        report.pending.saved = 43_200
        #expect(lines(report)[1] == "pending   1 file, 43,200 rows would be imported")
    }

    @Test func hostileValuesStayOnOneHarmlessLine() {
        var rule = ReportSample.gold
        rule.planned.unreadable = [
            .init(
                reason: .notADate, rowCount: 1234,
                example: .text("x\ny\u{1B}[31m\u{202E}" + String(repeating: "z", count: 100))),
            .init(reason: .null, rowCount: 2, example: .null),
        ]
        rule.method.index = "ix\u{7}\nevil"
        let text = TextReport(dryRun([rule])).text
        #expect(text.contains("1,234 unreadable rows kept: not a date"))
        #expect(text.contains(#""x\ny\u{1B}[31m\u{202E}zzz"#) && text.contains("z…\""))
        #expect(text.contains("2 unreadable rows kept: no value\n"))
        #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" || $0 == "\u{7}" })
        #expect(!text.contains(String(repeating: "z", count: 41)))
    }

    @Test func tellsWhatEachTierKeeps() {
        var rule = ReportSample.gold
        rule.kept.byRuleCount = 1353
        rule.kept.byTier = [.init(unit: .hour, rowCount: 1312), .init(unit: .month, rowCount: 41)]
        #expect(
            TextReport(dryRun([rule]), .init(width: 200)).text.contains(
                ": 1,353 rows before the cutoff kept by thin: keeps 41 monthly, 1,312 hourly\n"))
        rule.kept.byRuleCount = 1360
        #expect(TextReport(dryRun([rule]), .init(width: 200)).text.contains("by keep_last and thin: keeps"))
    }

    @Test func spendsALineOnEverythingElseThatHappened() {
        var rule = ReportSample.gold
        rule.kept.byRuleCount = 12
        rule.done.cascaded = 3
        rule.done.nullified = 1
        rule.accepted = [.futureDates]
        rule.advice = ["Tick.gold has no index: CREATE INDEX ix ON Tick(gold)"]
        var report = ReportSample.report(.run, rules: [rule])
        report.warnings = ["no room for a vacuum"]
        report.failure = "disk full"
        let text = TextReport(report, .init(width: 200)).text
        for line in [
            "yahoo-gold: 12 rows before the cutoff kept by keep_last\n", "yahoo-gold: 3 related rows cascaded\n",
            "yahoo-gold: 1 reference nullified\n", "future_dates", "advice: Tick.gold has no index: CREATE INDEX",
            "warning: no room for a vacuum\n", "failure: disk full\n",
        ] {
            #expect(text.contains(line), "\(line)")
        }
    }

    @Test func coloursOnlyWhenAskedAndNeverInTheAlignment() {
        let report = dryRun([ReportSample.gold, ReportSample.refused])
        let coloured = TextReport(report, .init(usesColour: true)).text
        #expect(coloured.contains("\u{1B}["))
        let bare = coloured.replacing(#/\u{1B}\[[0-9]+m/#, with: "")
        #expect(bare == TextReport(report).text)
    }
}
