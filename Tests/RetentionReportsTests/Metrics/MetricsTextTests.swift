import PriceStore
import RetentionJob
import RetentionReports
import Testing

struct MetricsTextTests {
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
