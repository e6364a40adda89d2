import PriceStore
package import RetentionJob
import RetentionPolicy

/// The figures of the last run for a monitoring system, in the text format of Prometheus.
package struct MetricsText {
    private let report: RunReport
    private let expectedSeconds: Duration?

    /// Creates the figures of a run.
    ///
    /// - Parameter expectedEvery: how often a run is expected; nil: not set.
    package init(_ report: RunReport, expectedEvery: Duration? = nil) {
        self.report = report
        expectedSeconds = expectedEvery
    }

    /// The beginning of every such file.
    static let firstWords = "# HELP retention_"

    /// The whole file. Every figure is a gauge of the last run, with a help line.
    ///
    /// Source: prometheus.io/docs/instrumenting/exposition_formats, "Text format".
    package var text: String {
        var lines: [String] = []
        func gauge(_ name: String, _ help: String, _ samples: [(labels: [(String, String)], value: String)]) {
            guard !samples.isEmpty else { return }
            lines.append("# HELP retention_\(name) \(help)")
            lines.append("# TYPE retention_\(name) gauge")
            for sample in samples {
                let labels = ([("store", report.store)] + sample.labels)
                    .map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
                lines.append("retention_\(name){\(labels)} \(sample.value)")
            }
        }
        func run(_ name: String, _ help: String, _ value: String?) {
            gauge("run_" + name, help, value.map { [([], $0)] } ?? [])
        }
        func rules(_ name: String, _ help: String, _ value: (RunReport.RuleReport) -> String?) {
            gauge(
                "rule_" + name, help,
                report.rules.filter { $0.outcome != .disabled }.compactMap { rule in
                    value(rule).map { (labels(rule), $0) }
                })
        }
        func labels(_ rule: RunReport.RuleReport) -> [(String, String)] {
            [("rule", rule.name), ("entity", rule.entity)]
        }
        func value(_ json: JSONText) -> String? { json == .null ? nil : json.description }

        run("last_timestamp_seconds", "When the last run ended, in seconds since 1970.", seconds(report.finished))
        run(
            "last_success_timestamp_seconds", "When the last run ended, if its exit code was 0.",
            report.exitCode == 0 ? seconds(report.finished) : nil)
        gauge(
            "run_outcome", "1 for the outcome of the last run, 0 for all others.",
            LedgerRun.Outcome.recorded.map { outcome in
                ([("outcome", outcome.rawValue)], outcome == report.ledgerOutcome ? "1" : "0")
            })
        run("duration_seconds", "How long the last run took.", Figures.seconds(report.finished.since(report.started)))
        run("expected_seconds", "How often a run is expected.", expectedSeconds.map(Figures.seconds))
        run(
            "archive_bytes", "The size of the last run's archive; 0: it made none.",
            report.archivedCount.map { _ in String(report.archive?.sizeBytes ?? 0) })
        for field in RunReport.values {
            if let metric = field.metric {
                gauge(metric.name, metric.help, value(field.json(report)).map { [([], $0)] } ?? [])
            }
        }

        gauge(
            "rule_outcome", "1 for the outcome of the rule in the last run, 0 for all others.",
            report.rules.flatMap { rule in
                RunReport.Outcome.allCases.filter { $0 != .planned }.map { outcome in
                    (labels(rule) + [("outcome", outcome.rawValue)], outcome == rule.outcome ? "1" : "0")
                }
            })
        for field in RunReport.RuleReport.values {
            if let metric = field.metric { rules(metric.name, metric.help) { value(field.json($0)) } }
        }
        gauge(
            "rule_held_rows", "Expired rows that a hold keeps.",
            report.rules.flatMap { rule in
                rule.kept.byHold.map {
                    (labels(rule) + [("hold", $0.hold)], String($0.rowCount))
                }
            })
        gauge(
            "rule_tier_rows", "Rows before the cutoff that a tier of thin keeps.",
            report.rules.flatMap { rule in
                rule.kept.byTier.map {
                    (labels(rule) + [("tier", $0.unit.tierName)], String($0.rowCount))
                }
            })
        rules("oldest_overdue_seconds", "How long the oldest remaining row has been expired; 0: none remains.") {
            !$0.planned.isCounted ? nil : $0.left.expired == 0 ? "0" : $0.overdue.map(Figures.seconds)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func seconds(_ instant: Instant) -> String {
        Figures.seconds(Duration(wholeMicroseconds: instant.microseconds))
    }

    /// The value of a label. A backslash, a quote and a line end are escaped. The format has no escape for other unsafe characters, so they
    /// are written as in texts for people.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default:
                for escaped in SafeText.line(String(scalar)).unicodeScalars {
                    text.unicodeScalars.append(contentsOf: (escaped == "\\" ? "\\\\" : String(escaped)).unicodeScalars)
                }
            }
        }
        return text
    }
}

extension LedgerRun.Outcome {
    /// The outcomes that a run itself can report.
    fileprivate static let recorded: [Self] = [.completed, .refused, .failed, .interrupted]
}
