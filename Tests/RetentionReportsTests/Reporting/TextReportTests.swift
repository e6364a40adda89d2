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

    @Test func whatRunsOfManyStoresWaitedForIsOneSum() {
        var reports = [ReportSample.report(.run, rules: []), ReportSample.report(.run, rules: [])]
        #expect(TextReport.waited(reports, TextLayout()).isEmpty)
        reports[0].waits = ["other writers": 1_000_000]
        reports[1].waits = ["other writers": 200_000, "standby": 100_000]
        let says = ["waited: 1.3 s: other writers 1.2 s, standby 100 ms"]
        #expect(TextReport.waited(reports, TextLayout()) == says, "\(TextReport.waited(reports, TextLayout()))")
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

    /// What stopped it, or refused another rule, changes nothing of that.
    @Test func theReportOfAFirstRunThatWasInterruptedSaysTheSame() {
        var rule = ReportSample.gold
        (rule.outcome, rule.done.deleted, rule.left.expired) = (.interrupted, 500_000, 0)
        (rule.done.archived, rule.done.cascaded) = (500_000, 1)
        var report = ReportSample.report(.run, rules: [rule, ReportSample.refused])
        (report.isFirst, report.hasArchive) = (true, true)
        for index in report.rules.indices { report.rules[index].remembered.isFirst = true }
        #expect(TextReport(report).text.contains("first run: 500,000 of 543,200 rows (92.0%), and 1 related row.\n"))
    }

    /// The closing sentence, the log and JSON have one number of rows that are left.
    @Test func closingSentenceHasTheResidueOfAllRules() {
        let rules =
            [
                ("a", "t", .refused, 51, 51), ("b", "t", .interrupted, 56, 6), ("c", "u", .refused, 1, 1),
            ] as [(String, String, RunReport.Outcome, Int, Int)]
        var report = ReportSample.report(
            .run,
            rules: rules.map { name, entity, outcome, expired, residue in
                var rule = ReportSample.rule(name, entity: entity, outcome: outcome)
                (rule.planned.expired, rule.left.expired, rule.done.deleted) = (expired, residue, expired - residue)
                return rule
            })
        report.exitCode = 75
        let end = "\nDeleted 50 rows in 12.3 s; 2 rules refused and 58 expired rows are left (exit 75).\n"
        #expect(TextReport(report).text.hasSuffix(end), "\(TextReport(report).text)")
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

    @Test func coloursOnlyWhenAskedAndNeverInTheAlignment() {
        let report = dryRun([ReportSample.gold, ReportSample.refused])
        let coloured = TextReport(report, .init(usesColour: true)).text
        #expect(coloured.contains("\u{1B}["))
        let bare = coloured.replacing(#/\u{1B}\[[0-9]+m/#, with: "")
        #expect(bare == TextReport(report).text)
    }
}
