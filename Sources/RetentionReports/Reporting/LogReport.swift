import PriceStore
import RetentionJob
import RetentionPolicy

/// The report of `retention log`: past runs.
package struct LogReport {
    private let runs: [LedgerRun]
    private let missed: MissedRuns?

    /// Creates a report of runs, in the given order.
    ///
    /// - Parameter missed: the gaps between runs; nil: the policy does not say how often a run is expected.
    package init(_ runs: [LedgerRun], missed: MissedRuns? = nil) {
        self.runs = runs
        self.missed = missed
    }

    // MARK: Text

    /// A table with one line for each rule of each run, ending with a line end. Crashed and missed runs are highlighted.
    ///
    /// - Parameter tableWidth: the columns of a terminal, to which rows are folded; nil: a row is a line.
    package func table(width: Int = 120, tableWidth: Int? = nil, usesColour: Bool = false) -> String {
        guard !runs.isEmpty else { return "No recorded run matches.\n" + openGapText }
        return tableLines(width: width, tableWidth: tableWidth, usesColour: usesColour).joined(separator: "\n") + "\n"
    }

    private var openGapText: String {
        missed.flatMap { missed in missed.isOverdue ? missed.gaps.last.map(missed.sentence) : nil }.map { $0 + "\n" }
            ?? ""
    }

    private func tableLines(width: Int, tableWidth: Int?, usesColour: Bool) -> [String] {
        let shortLength = shortestDistinctLength
        var table = TextTable(columns: [
            .init("RUN"), .init("STARTED (UTC)"), .init("TIME", .right), .init("EXIT", .right), .init("RULE"),
            .init("OUTCOME"), .init("EXPIRED", .right), .init("DELETED", .right), .init("CASCADED", .right),
            .init("ARCHIVED", .right), .init("RESIDUE", .right), .init("UNREADABLE", .right),
        ])
        var gaps = (missed?.gaps ?? []).filter { $0.until.map { $0 >= runs[0].report.started } ?? true }[...]
        func appendGaps(before start: Instant?) {
            while let missed, let gap = gaps.first,
                start.map({ start in gap.until.map { $0 <= start } ?? false }) ?? true
            {
                let cells = ["", gap.after?.toSecond.plain ?? ""]
                table.rows.append(.init(cells: cells, message: SafeText.line(missed.sentence(gap)), style: .bad))
                gaps.removeFirst()
            }
        }
        for run in runs {
            appendGaps(before: run.report.started)
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
            if let undo = run.report.undo {
                let message = [undo.sentence, run.report.failure].compactMap { $0 }.joined(separator: "; ")
                let style: Style = run.report.exitCode == 0 ? .plain : .bad
                table.rows.append(.init(cells: head + tail, message: SafeText.line(message), style: style))
            } else if run.report.rules.isEmpty {
                let message = [run.outcome.rawValue, run.report.failure].compactMap { $0 }.joined(separator: ": ")
                table.rows.append(.init(cells: head + tail, message: SafeText.line(message), style: .bad))
            }
            for (index, rule) in run.report.rules.enumerated() {
                let start = index == 0 ? head + tail : ["", "", "", ""]
                table.rows.append(.init(cells: start + cells(rule), style: rule.outcome.style))
            }
        }
        appendGaps(before: nil)
        return TextLayout(width: max(60, width), tableWidth: tableWidth, usesColour: usesColour).lines(of: table)
    }

    /// One run in full, ending with a line end.
    package static func full(
        _ run: LedgerRun, width: Int = 120, tableWidth: Int? = nil, usesColour: Bool = false
    ) -> String {
        let process = run.process
        let heading: [(String, String)] =
            [
                ("run", run.report.runID), ("outcome", run.outcome.rawValue),
                ("started", Figures.instant(run.report.started)),
                ("finished", run.isFinished ? Figures.instant(run.report.finished) : "-"),
                ("process", "\(process.pid) on \(process.host), user \(process.operatorText)"),
                ("version", process.version), ("config", run.report.config), ("sha256", run.report.configSHA256),
                ("store", run.report.store),
            ] + (run.undoText.map { [("undo", $0)] } ?? [])
        let lines = heading.map { label, value in
            label + String(repeating: " ", count: 10 - label.count) + SafeText.line(value)
        }
        guard run.isFinished else {
            return lines.joined(separator: "\n") + "\n" + LogReport([run]).unfinished(run) + "\n"
        }
        let text =
            run.report.undo.map {
                UndoText(run.report, $0, width: width, tableWidth: tableWidth, usesColour: usesColour).text
            }
            ?? TextReport(run.report, width: width, tableWidth: tableWidth, usesColour: usesColour).text
        return (lines + deletedLines(run.report)).joined(separator: "\n") + "\n\n" + text
    }

    /// The deleted rows, one line for each rule that deleted any.
    private static func deletedLines(_ report: RunReport) -> [String] {
        report.rules.filter { $0.done.deleted > 0 }.map { rule in
            let dates = [rule.done.oldest, rule.done.newest].map { $0.map(Figures.instant) ?? "?" }
            return
                "deleted   \(SafeText.line(rule.name)): \(Figures.count(rule.done.deleted, "row")) dated \(dates[0]) to "
                + dates[1]
        }
    }

    private func cells(_ rule: RunReport.RuleReport) -> [String] {
        let outcome =
            rule.outcome.rawValue
            + (rule.refusalCodes.isEmpty ? "" : ": " + rule.refusalCodes.map(\.rawValue).joined(separator: ", "))
        guard rule.outcome != .disabled else { return [SafeText.line(rule.name), outcome] }
        return [
            SafeText.line(rule.name), outcome, rule.planned.isCounted ? Figures.grouped(rule.planned.expired) : "",
            Figures.grouped(rule.done.deleted),
            rule.done.cascaded > 0 ? Figures.grouped(rule.done.cascaded) : "",
            rule.done.archived.map { Figures.grouped($0) } ?? "",
            rule.left.expired > 0 ? Figures.grouped(rule.left.expired) : "",
            rule.planned.unreadableCount > 0 ? Figures.grouped(rule.planned.unreadableCount) : "",
        ]
    }

    private func unfinished(_ run: LedgerRun) -> String {
        let process = SafeText.line("process \(run.process.pid) on \(run.process.host)")
        guard run.outcome == .crashed else { return "running: \(process)" }
        let done =
            run.report.undo.map { "whole batches were restored up to then, `retention undo \($0.run)` continues" }
            ?? "whole batches were deleted up to then, the next run continues"
        return "CRASHED: \(process) ended without a record; \(SafeText.line(done))"
    }

    private func unfinishedStyle(_ run: LedgerRun) -> Style { run.outcome == .crashed ? .bad : .good }

    /// How many characters distinguish the IDs of the runs; at least 10.
    private var shortestDistinctLength: Int {
        let identifiers = runs.map(\.report.runID)
        let longest = identifiers.map(\.count).max() ?? 10
        let isDistinct = { (length: Int) in Set(identifiers.map { $0.prefix(length) }).count == identifiers.count }
        return (10..<max(11, longest)).first(where: isDistinct) ?? longest
    }

    // MARK: JSON

    /// The runs as JSON, schema `retention.log/1`: the fields of `retention.run/1` and of the record.
    package var json: String {
        JSONText.object([
            .init("schema", "retention.log/1".json),
            .init("runs", .array(runs.map(Self.value))),
            .init("missed", missed?.json ?? .null),
        ]).document + "\n"
    }

    /// A run of that list.
    static func value(_ run: LedgerRun) -> JSONText {
        let members =
            run.report.members.filter { $0.name != "schema" } + [.init("outcome", run.outcome.rawValue.json)]
            + run.process.members
        let record: [JSONText.Member] = [
            .init("archive_present", run.isArchiveThere.json),
            .init(
                "undone_by", (run.undoneBy.flatMap { $0.isWhole ? $0.undos.first?.run : nil }).json),
            .init(
                "undos",
                .array(
                    (run.undoneBy?.undos ?? []).map {
                        .object([
                            .init("run", $0.run.json), .init("rule_names", .strings($0.rules)),
                            .init("rows", $0.rows.json), .init("skipped", $0.skipped.json),
                        ])
                    })),
        ]
        return .object(members + record)
    }
}

extension RunReport.Outcome {
    /// The style of a rule with this outcome.
    var style: Style {
        switch self {
        case .refused, .failed: .bad
        case .interrupted: .caution
        case .planned, .completed, .disabled: .plain
        }
    }
}
