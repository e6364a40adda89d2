import PriceStore
import RetentionPolicy

/// Past runs as `retention log` shows them.
package struct LogReport {
    private let runs: [LedgerRun]

    /// Makes a report of runs, in the order given.
    package init(_ runs: [LedgerRun]) {
        self.runs = runs
    }

    // MARK: Text

    /// A table of one line for each rule of each run, ending with a line end. Crashed runs stand out.
    package func table(width: Int = 120, usesColour: Bool = false) -> String {
        guard !runs.isEmpty else { return "No run is recorded that matches.\n" }
        let shortLength = shortestDistinctLength
        var table = TextTable(columns: [
            .init("RUN"), .init("STARTED (UTC)"), .init("TIME", .right), .init("EXIT", .right), .init("RULE"),
            .init("OUTCOME"), .init("EXPIRED", .right), .init("DELETED", .right), .init("CASCADED", .right),
            .init("RESIDUE", .right), .init("UNREADABLE", .right),
        ])
        for run in runs {
            let head = [
                SafeText.line(String(run.report.runID.prefix(shortLength))), run.report.started.toSecond.plain,
            ]
            guard run.outcome != .crashed, run.outcome != .running else {
                table.rows.append(.init(cells: head, message: unfinished(run), style: unfinishedStyle(run)))
                continue
            }
            let tail = [
                Figures.duration(run.report.finished.since(run.report.started)), String(run.report.exitCode),
            ]
            if run.report.rules.isEmpty {
                let message = [run.outcome.rawValue, run.report.failure].compactMap { $0 }.joined(separator: ": ")
                table.rows.append(.init(cells: head + tail, message: SafeText.line(message), style: .bad))
            }
            for (index, rule) in run.report.rules.enumerated() {
                let start = index == 0 ? head + tail : ["", "", "", ""]
                table.rows.append(.init(cells: start + cells(rule), style: style(rule.outcome)))
            }
        }
        let lines = table.lines(width: max(60, width)) { usesColour ? $1.painted($0) : $0 }
        return lines.joined(separator: "\n") + "\n"
    }

    /// One run in full, ending with a line end.
    package static func full(_ run: LedgerRun, width: Int = 120, usesColour: Bool = false) -> String {
        let process = run.process
        let heading = [
            ("run", run.report.runID), ("outcome", run.outcome.rawValue),
            ("started", Figures.instant(run.report.started)),
            ("finished", run.isFinished ? Figures.instant(run.report.finished) : "-"),
            ("process", "\(process.pid) on \(process.host), user \(process.user)"),
            ("version", process.version), ("config", run.report.config), ("sha256", run.report.configSHA256),
            ("store", run.report.store),
        ]
        let lines = heading.map { label, value in
            label + String(repeating: " ", count: 10 - label.count) + SafeText.line(value)
        }
        guard run.isFinished else {
            return lines.joined(separator: "\n") + "\n" + LogReport([run]).unfinished(run) + "\n"
        }
        let report = TextReport(run.report, width: width, usesColour: usesColour)
        return lines.joined(separator: "\n") + "\n\n" + report.text
    }

    private func cells(_ rule: RunReport.RuleReport) -> [String] {
        let outcome = rule.outcome.rawValue + (rule.refusal.map { ": " + $0.rawValue } ?? "")
        guard rule.outcome != .disabled else { return [SafeText.line(rule.name), outcome] }
        return [
            SafeText.line(rule.name), outcome, Figures.grouped(rule.expired), Figures.grouped(rule.deleted),
            rule.cascaded > 0 ? Figures.grouped(rule.cascaded) : "",
            rule.residue > 0 ? Figures.grouped(rule.residue) : "",
            rule.unreadableCount > 0 ? Figures.grouped(rule.unreadableCount) : "",
        ]
    }

    private func unfinished(_ run: LedgerRun) -> String {
        let process = SafeText.line("process \(run.process.pid) on \(run.process.host)")
        return run.outcome == .crashed
            ? "CRASHED: \(process) ended without a record; whole batches were deleted up to then, the next run goes on"
            : "running: \(process)"
    }

    private func unfinishedStyle(_ run: LedgerRun) -> Style { run.outcome == .crashed ? .bad : .good }

    private func style(_ outcome: RunReport.Outcome) -> Style {
        switch outcome {
        case .refused, .failed: .bad
        case .interrupted: .caution
        case .planned, .completed, .disabled: .plain
        }
    }

    /// How many characters of the identifiers tell the runs apart; at least 10.
    private var shortestDistinctLength: Int {
        let identifiers = runs.map(\.report.runID)
        let longest = identifiers.map(\.count).max() ?? 10
        let isDistinct = { (length: Int) in Set(identifiers.map { $0.prefix(length) }).count == identifiers.count }
        return (10..<max(11, longest)).first(where: isDistinct) ?? longest
    }

    // MARK: JSON

    /// The runs as JSON, schema `retention.log/1`: the fields of `retention.run/1` and those of the record.
    package var json: String {
        JSONText.object([
            .init("schema", .string("retention.log/1")),
            .init("runs", .array(runs.map(Self.value))),
        ]).document + "\n"
    }

    private static func value(_ run: LedgerRun) -> JSONText {
        guard case .object(var members) = JSONReport(run.report).value else { return .null }
        members.removeAll { $0.name == "schema" }
        if !run.isFinished {
            for index in members.indices where ["finished", "exit_code"].contains(members[index].name) {
                members[index].value = .null
            }
        }
        members += [
            .init("outcome", .string(run.outcome.rawValue)),
            .init("pid", .count(run.process.pid)),
            .init("host", .string(run.process.host)),
            .init("user", .string(run.process.user)),
            .init("version", .string(run.process.version)),
        ]
        return .object(members)
    }
}

extension LedgerRun {
    /// Whether the end of the run is recorded.
    fileprivate var isFinished: Bool { outcome != .running && outcome != .crashed }
}
