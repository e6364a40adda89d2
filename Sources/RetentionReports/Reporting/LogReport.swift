import PriceStore
import RetentionJob
import RetentionPolicy

/// The report of `retention log`: past runs.
package struct LogReport {
    private let runs: [LedgerRun]
    private let missed: MissedRuns?
    private let names: RunNames
    private let storeName: ((String) -> String)?
    private let others: Set<String>
    private let leavesOut: Bool

    /// Creates a report of runs, in the given order.
    ///
    /// - Parameters:
    ///   - missed: the gaps between runs; nil: the policy does not say how often a run is expected.
    ///   - names: how the runs are shown; nil: by IDs that are distinct among them.
    ///   - storeName: how their stores are shown; nil: the runs are of one store.
    ///   - others: the files of the policies whose names are shown beside their runs.
    ///   - leavesOut: whether there are earlier runs.
    package init(
        _ runs: [LedgerRun], missed: MissedRuns? = nil, names: RunNames? = nil, storeName: ((String) -> String)? = nil,
        others: Set<String> = [], leavesOut: Bool = false
    ) {
        (self.runs, self.missed, self.storeName) = (runs, missed, storeName)
        (self.others, self.leavesOut) = (others, leavesOut)
        self.names = names ?? RunNames(runs.map(\.report.runID))
    }

    // MARK: Text

    /// A table with a row for each run and each gap, in order of time, ending with a line end. On a terminal a long result is below its row.
    package func table(_ layout: TextLayout = TextLayout()) -> String {
        guard !runs.isEmpty else {
            let open = missed.flatMap { missed in missed.isOverdue ? missed.gaps.last.map(missed.sentence) : nil }
            return "No recorded run matches.\n" + (open.map { $0 + "\n" } ?? "")
        }
        var table = TextTable(columns: [
            .init("STARTED (UTC)", .right), .init("OUTCOME"), .init("STORE", leaving: 1),
            .init("RESULT", label: "", isText: true), .init("TIME", .right), .init("RUN"),
        ])
        var gaps = ArraySlice((missed?.gaps ?? []).filter { $0.until.map { $0 >= runs[0].report.started } ?? true })
        func appendGaps(before start: Instant?) {
            while let missed, let gap = gaps.first, start.map({ gap.due ?? missed.now < $0 }) ?? true {
                let cells = [gap.due.map(names.time) ?? "", "MISSED", "", SafeText.line(missed.clause(gap))]
                table.rows.append(.init(cells: cells, style: .bad))
                gaps.removeFirst()
            }
        }
        for run in runs {
            appendGaps(before: run.report.started)
            let time = run.isFinished ? Figures.duration(run.report.finished.since(run.report.started)) : ""
            table.rows.append(
                .init(
                    cells: [
                        names.time(run.report.started), outcome(run).word,
                        SafeText.line(storeName?(run.report.store) ?? ""), SafeText.line(result(run)), time,
                        names.short(run.report.runID),
                    ], style: outcome(run).style))
        }
        appendGaps(before: nil)
        let end = leavesOut ? ["Earlier runs are not shown: --last \(runs.count * 2) shows more."] : []
        return (table.lines(layout) + end).joined(separator: "\n") + "\n"
    }

    /// The outcome in the table. What needs a look is in capitals.
    private func outcome(_ run: LedgerRun) -> (word: String, style: Style) {
        switch run.outcome {
        case .completed where run.report.undo != nil: ("undo", run.report.exitCode == 0 ? .plain : .bad)
        case .completed where run.report.exitCode == 0: ("ok", .plain)
        case .running: (run.outcome.rawValue, .good)
        default: (run.outcome.rawValue.uppercased(), run.outcome == .interrupted ? .caution : .bad)
        }
    }

    /// What a run did, with the reasons first: `gold: too_many_rows; 12 deleted`.
    private func result(_ run: LedgerRun) -> String {
        let report = run.report
        guard run.isFinished else {
            return "process \(run.process.pid) on \(run.process.host)"
                + (run.outcome == .crashed ? " ended without a record" : "")
        }
        var parts = report.failure.map { [report.short($0)] } ?? []
        if let undo = report.undo {
            parts.append("\(undo.result), of \(names.short(undo.run))")
        } else {
            parts += report.rules.compactMap { rule in
                if rule.outcome == .refused {
                    return "\(rule.name): \(rule.refusalCodes.map(\.rawValue).joined(separator: ", "))"
                }
                return rule.outcome == .failed && report.failure == nil
                    ? "\(rule.name): \(report.short(rule.message ?? ""))" : nil
            }
            parts += report.pending.refused
            let gone = report.goneCount
            if gone > 0 || parts.isEmpty {
                parts.append(gone == 0 ? "nothing deleted" : "\(Figures.grouped(gone)) deleted")
            }
            if report.residueCount > 0, run.undoneBy == nil {
                parts.append("\(Figures.grouped(report.residueCount)) left")
            }
        }
        if others.contains(report.config) { parts.append("by the policy \(report.config)") }
        if let text = report.asOfText { parts.append(text) }
        let only = report.onlyRules.isEmpty ? [] : ["\(report.onlyRules.listed("and")) only"]
        return (report.exitCode == 0 || run.outcome == .refused ? "" : "exit \(report.exitCode): ")
            + (only + parts).joined(separator: "; ")
    }

    /// A table of runs that have an archive, with what can be undone, ending with a line end.
    package func undoList(_ layout: TextLayout) -> String {
        guard !runs.isEmpty else { return "No run\(storeName == nil ? " of this store" : "") has an archive.\n" }
        var table = TextTable(columns: [
            .init("STARTED (UTC)", .right), .init("RUN"), .init("STORE"), .init("ROWS", .right),
            .init("UNDO", label: ""),
        ])
        table.rows = runs.map { run in
            let rows = run.report.archive.flatMap { $0.isComplete ? Figures.grouped($0.rows) : nil } ?? ""
            let cells = [
                names.time(run.report.started), names.short(run.report.runID),
                SafeText.line(storeName?(run.report.store) ?? ""), rows,
                SafeText.line(run.undoText ?? "nothing was deleted"),
            ]
            return .init(cells: cells, style: run.canBeUndone ? .plain : .caution)
        }
        return table.lines(layout).joined(separator: "\n") + "\n"
    }

    /// One run in full, ending with a line end.
    ///
    /// - Parameter isLast: whether it is the last run of its policy. A refusal of an earlier one may be solved.
    package static func full(_ run: LedgerRun, _ layout: TextLayout = TextLayout(), isLast: Bool = true) -> String {
        let (process, width) = (run.process, layout.tableWidth ?? .max)
        let heading: [(String, String)] =
            [
                ("run", run.report.runID), ("outcome", run.outcome.rawValue),
                ("started", Figures.instant(run.report.started)),
                ("finished", run.isFinished ? Figures.instant(run.report.finished) : "-"),
                ("process", "\(process.pid) on \(process.host), user \(process.operatorText)"),
                ("version", process.version), ("config", run.report.config), ("sha256", run.report.configSHA256),
                ("store", run.report.store),
            ] + (run.undoText.map { [("undo", $0)] } ?? [])
        let lines = heading.flatMap { label, value in layout.entry(label, value, width: width) }
        guard run.isFinished else {
            return (lines + TextWidth.fit(unfinished(run), width: width)).joined(separator: "\n") + "\n"
        }
        let text =
            run.report.undo.map { UndoText(run.report, $0, layout).text }
            ?? TextReport(run.report, layout, tellsLeft: run.undoneBy == nil, showsCommands: isLast).text
        let deleted = deletedRows(run.report).flatMap { layout.entry("deleted", $0, width: width) }
        return (lines + deleted).joined(separator: "\n") + "\n\n" + text
    }

    /// The deleted rows, a text for each rule that deleted any.
    private static func deletedRows(_ report: RunReport) -> [String] {
        report.rules.filter { $0.done.deleted > 0 }.map { rule in
            let dates = [rule.done.oldest, rule.done.newest].map { $0.map(Figures.instant) ?? "?" }
            let rows = Figures.count(rule.done.deleted, "row")
            return "\(rule.name): \(rows) dated \(dates[0]) to \(dates[1])"
        }
    }

    private static func unfinished(_ run: LedgerRun) -> String {
        let process = SafeText.line("process \(run.process.pid) on \(run.process.host)")
        guard run.outcome == .crashed else { return "running: \(process)" }
        let done =
            run.report.undo.map { "whole batches were restored up to then, `retention undo \($0.run)` continues" }
            ?? "whole batches were deleted up to then, the next run continues"
        return "CRASHED: \(process) ended without a record; \(SafeText.line(done))"
    }

    // MARK: JSON

    /// The runs as JSON, schema `retention.log/1`: the fields of `retention.run/1` and of the record.
    package var json: String {
        let document: JSONText = [
            "schema": "retention.log/1", "runs": .array(runs.map(Self.value)), "missed": missed?.json ?? .null,
        ]
        return document.document + "\n"
    }

    static func value(_ run: LedgerRun) -> JSONText {
        let members =
            run.report.members.filter { $0.name != "schema" && $0.name != "outcome" }
            + [.init("outcome", run.outcome.rawValue.json)]
            + run.process.members
        let undos = (run.undoneBy?.undos ?? []).map { undo -> JSONText in
            [
                "run": undo.run.json, "rule_names": undo.rules.json, "rows": undo.rows.json,
                "skipped": undo.skipped.json,
            ]
        }
        let undoneBy = run.undoneBy.flatMap { $0.isWhole ? $0.undos.first?.run : nil }
        return .object(
            members + [
                .init("archive_present", run.isArchiveThere.json), .init("undone_by", undoneBy.json),
                .init("undos", .array(undos)),
            ])
    }
}

extension RunReport.Outcome {
    var style: Style {
        switch self {
        case .refused, .failed: .bad
        case .interrupted: .caution
        case .planned, .completed, .disabled: .plain
        }
    }
}
