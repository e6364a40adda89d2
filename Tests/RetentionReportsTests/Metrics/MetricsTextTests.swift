import PriceStore
import RetentionJob
import RetentionReports
import Testing

struct MetricsTextTests {
    /// Whoever watches deleted rows alone misses those that went with them.
    @Test func rowsThatGoWithOthersAreCounted() {
        let lines = MetricsText(ReportSample.report(.run, rules: [ReportSample.full])).text
        let labels = "{store=\"prices.sqlite\",rule=\"yahoo-gold\",entity=\"YahooGoldPricePoint\"}"
        for figure in ["cascaded_rows\(labels) 4", "nullified_rows\(labels) 5", "trigger_deleted_rows\(labels) 9"] {
            #expect(lines.contains("retention_rule_\(figure)\n"), "\(lines)")
        }
        let all = lines.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(all.count == Set(all).count && all.allSatisfy { $0.contains("{store=") })
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
        #expect(lines.contains("retention_run_exit_code{store=\"\(label)\"} 0"), "\(lines)")
        #expect(
            lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } })
    }
}
