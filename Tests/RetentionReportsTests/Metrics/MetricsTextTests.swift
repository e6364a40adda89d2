import Foundation
import PriceStore
import RetentionReports
import Testing

@testable import RetentionJob

struct MetricsTextTests {
    /// Whoever watches deleted rows alone misses those that went with them.
    @Test func rowsThatGoWithOthersAreCounted() {
        let lines = MetricsText(ReportSample.report(.run, rules: [ReportSample.full])).text
        let labels =
            "{store=\"prices.sqlite\",policy=\"conf/retention.yaml\",rule=\"yahoo-gold\",entity=\"YahooGoldPricePoint\"}"
        for figure in ["cascaded_rows\(labels) 4", "nullified_rows\(labels) 5", "trigger_deleted_rows\(labels) 9"] {
            #expect(lines.contains("retention_rule_\(figure)\n"), "\(lines)")
        }
        let all = lines.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(all.count == Set(all).count && all.allSatisfy { $0.contains("{store=") })
    }

    /// Of many stores the file is read once, before this run replaces it.
    @Test func theFileSaysWhenTheLastRunsSucceeded() throws {
        let folder = FileManager.default.temporaryDirectory
        let path = folder.appendingPathComponent("figures-\(UUID().uuidString).prom").path
        let stores: [(store: String, seconds: Int64)] = [("/data/a \"b\" c} 5.sqlite", 7), ("/data/b.sqlite", 9)]
        try MetricsText.write(
            stores.map { store, seconds -> MetricsText in
                var ends = LedgerHistory.Ends()
                ends.success = Instant(unixSeconds: seconds)
                var report = ReportSample.report(.run, rules: [ReportSample.refused])
                report.exitCode = 65
                return MetricsText(report, store: store, ends: ends)
            }, to: path)
        let past = MetricsText.Successes(in: path)
        try FileManager.default.removeItem(atPath: path)
        for (store, seconds) in stores {
            #expect(past.end(of: "conf/retention.yaml", store: store) == Instant(unixSeconds: seconds))
        }
        #expect(past.end(of: "conf/other.yaml", store: "/data/b.sqlite") == nil)
        #expect(MetricsText.Successes(in: path).end(of: "conf/retention.yaml", store: "/data/b.sqlite") == nil)
    }

    /// What is known only at the end is that of the run before.
    @Test func aRunInProgressShowsWhatIsLeft() {
        var rule = ReportSample.gold
        (rule.done.deleted, rule.left.expired) = (120_000, 0)
        var report = ReportSample.report(.run, rules: [rule])
        report.finished = report.started
        let now = report.started.advanced(byMicroseconds: 16_000_000)
        var ends = LedgerHistory.Ends()
        (ends.last, ends.exitCode) = (Instant(unixSeconds: 9), 75)
        let text = MetricsText(report, ends: ends, now: now).text
        for line in [
            "rule_deleted_rows{store=\"prices.sqlite\",policy=\"conf/retention.yaml\",rule=\"yahoo-gold\",entity=\"YahooGoldPricePoint\"} 120000",
            "rule_residue_rows{store=\"prices.sqlite\",policy=\"conf/retention.yaml\",rule=\"yahoo-gold\",entity=\"YahooGoldPricePoint\"} 380000",
            "run_in_progress{store=\"prices.sqlite\",policy=\"conf/retention.yaml\"} 1",
            "run_duration_seconds{store=\"prices.sqlite\",policy=\"conf/retention.yaml\"} 16",
            "run_last_timestamp_seconds{store=\"prices.sqlite\",policy=\"conf/retention.yaml\"} 9",
            "run_exit_code{store=\"prices.sqlite\",policy=\"conf/retention.yaml\"} 75",
        ] { #expect(text.contains("retention_\(line)\n"), "\(line)\n\(text)") }
        #expect(!text.contains("run_outcome{") && !text.contains("last_success"))
        #expect(!MetricsText(report, now: now).text.contains("run_exit_code"))
    }

    /// A label may have any character, but a reader of lines must not be led astray.
    @Test(arguments: [
        ("a\"b\\c\nd", #"a\"b\\c\nd"#), ("a\rb", #"a\\rb"#), ("a\u{1}b\u{7F}c", #"a\\u{1}b\\u{7F}c"#),
        ("a\u{85}b", #"a\\u{85}b"#), ("a\u{202E}b\u{2028}c\u{200B}", #"a\\u{202E}b\\u{2028}c\\u{200B}"#),
        ("gold é", "gold é"),
    ])
    func aLabelHasNoControlCharacter(store: String, label: String) {
        let report = RunReport(
            runID: "01K", mode: .run, asOf: Instant(unixSeconds: 0), started: Instant(unixSeconds: 0), config: "",
            configSHA256: "", store: store, engine: "sqlite")
        let lines = MetricsText(report).text.split(separator: "\n")
        #expect(lines.contains("retention_run_exit_code{store=\"\(label)\",policy=\"\"} 0"), "\(lines)")
        #expect(
            lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } })
    }

    /// At most 200 series of a figure have a store of their own.
    @Test func theFiguresOfManyStoresAreSummed() {
        let stores = (1...300).map { number in
            var rule = ReportSample.gold
            (rule.outcome, rule.done.deleted) = (.completed, number)
            var report = ReportSample.report(.run, rules: [rule])
            report.exitCode = number == 250 ? 75 : 0
            report.finished = Instant(unixSeconds: Int64(1_800_000_000 - number))
            return MetricsText(report, store: "/data/\(number).sqlite")
        }
        let lines = MetricsText.text(of: stores).split(separator: "\n")
        func series(_ name: String) -> [Substring] { lines.filter { $0.hasPrefix("retention_\(name){") } }
        #expect(series("rule_deleted_rows").count == 201)
        let sum = (201...300).reduce(0, +)
        let others = "{store=\"others\",policy=\"conf/retention.yaml\""
        #expect(series("rule_deleted_rows").last?.hasPrefix("retention_rule_deleted_rows\(others),rule=") == true)
        #expect(series("rule_deleted_rows").last?.hasSuffix("} \(sum)") == true)
        // The worst of codes and times.
        #expect(series("run_exit_code").last == "retention_run_exit_code\(others)} 75")
        #expect(
            series("run_last_timestamp_seconds").last == "retention_run_last_timestamp_seconds\(others)} 1799999700")
        // A figure with several series of a store has fewer stores.
        #expect(series("rule_outcome").count { !$0.contains("others") } <= 200)
        let completed = series("rule_outcome").filter { $0.contains("outcome=\"completed\"}") }
        #expect(completed.last?.hasSuffix(" \(300 - completed.count + 1)") == true)
        #expect(lines.count { $0.hasPrefix("# TYPE retention_rule_deleted_rows ") } == 1)
    }

    /// Only the beginning of a large file is read. A path that is cut is no policy.
    @Test func aLineThatIsCutNamesNoPolicy() {
        let policy = ReviewSample.policy(["gold"])
        let text = "# HELP retention_x Some figure.\nretention_x{policy=\"/tmp\",rule=\"other\"} 1\n"
        #expect(MetricsText.other(than: policy, in: Array(text.utf8)) == "/tmp")
        #expect(MetricsText.other(than: policy, in: Array(text.utf8.dropLast(1))) == nil)
    }

    /// A policy that is moved after a night without a store stays the same.
    @Test func figuresOfARunThatCouldNotBeginAreOfNoOtherPolicy() {
        var report = ReportSample.report(.run, rules: [])
        (report.config, report.failure) = ("/tmp", "store not found")
        let text = MetricsText(report).text
        #expect(text.contains("policy=\"/tmp\""))
        #expect(MetricsText.other(than: ReviewSample.policy(["gold"]), in: Array(text.utf8)) == nil)
    }
}
