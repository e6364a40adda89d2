package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// The figures of the last run, or of one in progress, for a monitoring system, in the text format of Prometheus.
package struct MetricsText {
    private var report: RunReport
    private let expectedSeconds: Duration?
    private let store: String
    private let version: String
    private var ends: LedgerHistory.Ends
    private let isRunning: Bool
    private var outcome: LedgerRun.Outcome

    /// Creates the figures of a run.
    ///
    /// - Parameters:
    ///   - store: the real path or the address of the store; nil: as the policy writes it.
    ///   - ends: how the runs before it ended.
    ///   - now: the time, if the run is in progress; nil: it has ended.
    package init(
        _ report: RunReport, expectedEvery: Duration? = nil, store: String? = nil, version: String = "",
        ends: LedgerHistory.Ends = .init(), now: Instant? = nil
    ) {
        (self.report, expectedSeconds, self.version, self.ends) = (report, expectedEvery, version, ends)
        self.store = store ?? report.store
        isRunning = now != nil
        outcome = report.runOutcome
        self.report.rules += ends.leftOut
        guard let now else {
            // The ledger knows whether runs of some rules have had all of them. What is bad after such a run stays bad until then.
            guard report.onlyRules.isEmpty || ends.last == nil else {
                if let code = ends.exitCode, code > report.exitCode {
                    (self.report.exitCode, outcome) = (code, ends.outcome ?? outcome)
                }
                return
            }
            self.ends.last = report.finished
            if report.exitCode == 0 { self.ends.success = report.finished }
            return
        }
        // The exit code is that of the run before, and what is not deleted yet is left.
        self.report.finished = now
        self.report.exitCode = ends.exitCode ?? 0
        self.report.unknown = ends.exitCode == nil ? ["exit_code"] : []
        for index in report.rules.indices where report.rules[index].outcome == .planned {
            self.report.rules[index].left.expired =
                max(0, report.rules[index].planned.expired - report.rules[index].done.deleted)
        }
    }

    /// Creates the figures of a store that a run has not reached; nil: no run of it is recorded.
    package init?(_ policy: Policy, store: String, version: String, before ends: LedgerHistory.Ends) {
        guard let last = ends.last else { return nil }
        var report = RunReport(
            runID: "", mode: .run, asOf: last, started: last, config: Self.config(policy.file.path), configSHA256: "",
            store: store, engine: "")
        (report.finished, report.exitCode) = (last, ends.exitCode ?? 0)
        report.unknown = Set(RunReport.values.map(\.name)).subtracting(["exit_code"])
        self.init(report, store: store, version: version, ends: ends)
    }

    /// The path of a policy as a label.
    package static func config(_ path: String) -> String { FilePlace.realPath(path) ?? path }

    /// Replaces the file of the figures, if there are some.
    package static func write(_ stores: [MetricsText], to path: String) throws(StoreError) {
        guard !stores.isEmpty else { return }
        try ReplacedFile.write(
            text(of: stores), to: path, as: .figures,
            hint: "check the folder and its permissions, or change metrics.textfile")
    }

    /// When the last runs with exit code 0 ended, as a file of figures says.
    package struct Successes {
        /// By the labels of the figure.
        private var ends: [String: Instant] = [:]

        /// Reads the first MiB of the file, which may be missing.
        package init(in path: String) {
            let figure = "retention_run_last_success_timestamp_seconds{"
            let bytes = FilePlace(path).firstBytes(1 << 20) ?? []
            // The bytes may end in the middle of a line.
            let lines = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? bytes.startIndex)]
            for line in String(decoding: lines, as: UTF8.self).split(separator: "\n") where line.hasPrefix(figure) {
                guard let space = line.lastIndex(of: " "), let seconds = Double(line[space...].dropFirst()),
                    let time = Int64(exactly: (seconds * 1_000_000).rounded())
                else { continue }
                ends[String(line[..<space].dropFirst(figure.count).dropLast())] = Instant(microseconds: time)
            }
        }

        /// When the last one ended; nil: the file does not say so.
        ///
        /// - Parameter config: the path of the policy as a label.
        package func end(of config: String, store: String) -> Instant? {
            ends[MetricsText.joined([("store", store), ("policy", config)])]
        }
    }

    /// The beginning of every such file.
    static let firstWords = "# HELP retention_"

    /// The other policy whose figures are in a file; nil: there are none of one that exists.
    package static func other(than policy: Policy, in bytes: [UInt8]) -> String? {
        // The bytes may end in the middle of a line.
        let lines = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? bytes.startIndex)]
        let parts = String(decoding: lines, as: UTF8.self).split(separator: "\"", omittingEmptySubsequences: false)
        func labels(_ name: String) -> [String] {
            zip(parts, parts.dropFirst()).filter { $0.0.hasSuffix(name + "=") }.map { String($0.1) }
        }
        let rules = labels("rule")
        // A run that could not begin has figures without rules, which do not tell whose they are.
        guard !rules.isEmpty else { return nil }
        return Set(labels("policy")).sorted().first {
            FilePlace.realPath($0) != nil && policy.isOther($0, withRules: rules)
        }
    }

    /// The whole file. Every figure is a gauge of the last run, with a help line.
    package var text: String { Self.text(of: [self]) }

    /// The most series of a figure of many stores, before the sums of the other stores.
    static let mostSeries = 200
    /// What the label `store` is for these sums. A real path begins with a slash.
    static let others = "others"

    /// The file of many stores, each figure with its series together. The last ones of too many stores are one store in it, with sums, and
    /// of times and codes the worst.
    ///
    /// Source: prometheus.io/docs/instrumenting/exposition_formats, "Text format".
    package static func text(of stores: [MetricsText]) -> String {
        var names: [String] = []
        var figures: [String: (help: String, own: [(labels: String, value: String)], others: [String: String])] = [:]
        for store in stores {
            for gauge in store.gauges where !gauge.samples.isEmpty {
                var figure = figures[gauge.name] ?? (gauge.help, [], [:])
                if figures[gauge.name] == nil { names.append(gauge.name) }
                let isOwn = figure.others.isEmpty && figure.own.count + gauge.samples.count <= mostSeries
                for sample in gauge.samples {
                    let name = isOwn || stores.count == 1 ? store.store : others
                    let labels = joined([("store", name), ("policy", store.report.config)] + sample.labels)
                    if name == others {
                        let sum = figure.others[labels].map { joined($0, sample.value, of: gauge.name) }
                        figure.others[labels] = sum ?? sample.value
                    } else {
                        figure.own.append((labels, sample.value))
                    }
                }
                figures[gauge.name] = figure
            }
        }
        let lines = names.flatMap { name -> [String] in
            guard let figure = figures[name] else { return [] }
            let samples = figure.own + figure.others.sorted { $0.key < $1.key }.map { ($0, $1) }
            return ["# HELP retention_\(name) \(figure.help)", "# TYPE retention_\(name) gauge"]
                + samples.map { "retention_\(name){\($0.labels)} \($0.value)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A figure of two stores as one.
    private static func joined(_ one: String, _ other: String, of name: String) -> String {
        guard let first = Double(one), let second = Double(other) else { return one }
        if name.hasSuffix("timestamp_seconds") { return first < second ? one : other }
        if ["info", "run_exit_code", "run_expected_seconds", "rule_oldest_overdue_seconds"].contains(name) {
            return first > second ? one : other
        }
        if let first = Int64(one), let second = Int64(other) { return String(first + second) }
        return String(first + second)
    }

    /// The figures of the store.
    private var gauges: [(name: String, help: String, samples: [(labels: [(String, String)], value: String)])] {
        var gauges: [(name: String, help: String, samples: [(labels: [(String, String)], value: String)])] = []
        func gauge(_ name: String, _ help: String, _ samples: [(labels: [(String, String)], value: String)]) {
            gauges.append((name, help, samples))
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

        gauge("info", "The version of the program.", [([("version", version)], "1")])
        run("in_progress", "1 while a run is in progress.", isRunning ? "1" : "0")
        run(
            "last_timestamp_seconds", "When the last run of all rules ended, in seconds since 1970.",
            ends.last.map(seconds))
        run(
            "last_success_timestamp_seconds", "When the last run of all rules with exit code 0 ended.",
            ends.success.map(seconds))
        gauge(
            "run_outcome", "1 for the outcome of the last run, 0 for all others.",
            isRunning
                ? []
                : LedgerRun.Outcome.recorded.map { outcome in
                    ([("outcome", outcome.rawValue)], outcome == self.outcome ? "1" : "0")
                })
        run("expected_seconds", "How often a run is expected.", expectedSeconds.map(Figures.seconds))
        run(
            "archive_bytes", "The size of the last run's archive; 0: it made none.",
            isRunning ? nil : report.archivedCount.map { _ in String(report.archive?.sizeBytes ?? 0) })
        for field in RunReport.values {
            if let metric = field.metric {
                let known = report.unknown.contains(field.name) ? nil : value(field.json(report))
                gauge(metric.name, metric.help, known.map { [([], $0)] } ?? [])
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
            guard let metric = field.metric else { continue }
            rules(metric.name, metric.help) { $0.unknown.contains(field.name) ? nil : value(field.json($0)) }
        }
        typealias Parts = [(String, Int)]
        let parts: [(name: String, label: String, help: String, of: (RunReport.RuleReport) -> Parts)] = [
            (
                "refused", "code", "1 for each reason why the last run refused the rule.",
                { $0.refusalCodes.map { ($0.rawValue, 1) } }
            ),
            ("held_rows", "hold", "Expired rows that a hold keeps.", { $0.kept.byHold.map { ($0.hold, $0.rowCount) } }),
            (
                "tier_rows", "tier", "Rows before the cutoff that a tier of thin keeps.",
                { $0.kept.byTier.map { ($0.unit.tierName, $0.rowCount) } }
            ),
            (
                "forecast_rows", "period", "Rows that will expire within a day, and in the week after.",
                { $0.planned.forecast.map { [("next_day", $0.nextDay), ("next_week", $0.nextWeek)] } ?? [] }
            ),
        ]
        for part in parts {
            gauge(
                "rule_" + part.name, part.help,
                report.rules.flatMap { rule in part.of(rule).map { (labels(rule) + [(part.label, $0)], String($1)) } })
        }
        rules("oldest_overdue_seconds", "How long the oldest remaining row has been expired; 0: none remains.") {
            !$0.planned.isCounted ? nil : $0.left.expired == 0 ? "0" : $0.overdue.map(Figures.seconds)
        }
        return gauges
    }

    private func seconds(_ instant: Instant) -> String {
        Figures.seconds(Duration(wholeMicroseconds: instant.microseconds))
    }

    private static func joined(_ labels: [(String, String)]) -> String {
        labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
    }

    /// The value of a label. A backslash, a quote and a line end are escaped. The format has no escape for other unsafe characters, so they
    /// are written as in texts for people.
    private static func escaped(_ value: String) -> String {
        if value.isPlainASCII, !value.utf8.contains(where: { [34, 92].contains($0) }) { return value }
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
