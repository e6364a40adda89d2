import PriceStore
package import RetentionJob
import RetentionPolicy

/// The report of an undo, or of its dry run, for people.
package struct UndoText {
    private let report: RunReport
    private let undo: RunReport.Undo
    private let layout: TextLayout

    package init(_ report: RunReport, _ undo: RunReport.Undo, _ layout: TextLayout) {
        (self.report, self.undo, self.layout) = (report, undo, layout)
    }

    /// The maximum number of skipped rows that are shown. The JSON report has more.
    private static let mostShown = 20

    /// The verbs for what an undo did.
    fileprivate static let done = ["restored", "restored", "skipped", "deleted", "left out"]

    private var isDryRun: Bool { report.mode == .undoDryRun }

    /// The whole report, ending with a line end.
    package var text: String {
        var lines = layout.heading(
            isDryRun ? "undo, dry run" : "undo", [report.store, "run \(undo.run)", undo.archive])
        if !undo.tables.isEmpty { lines += [""] + table.lines(layout) }
        lines += undo.skippedRows.prefix(Self.mostShown).flatMap { row in
            let key = row.key.map { SafeText.example($0) }.joined(separator: ", ")
            return layout.note("skipped", "\(row.table) \(key): \(row.reason)", .bad)
        }
        let hidden = undo.done.leftCount - min(undo.skippedRows.count, Self.mostShown)
        if hidden > 0, !undo.skippedRows.isEmpty {
            lines += layout.note("skipped", "\(Figures.count(hidden, "more row"))", .bad)
        }
        lines += triggers
        lines += waiting
        lines += report.warnings.flatMap { layout.note("warning", $0, .caution) }
        if let failure = report.failure { lines += layout.note("failure", failure, .bad) }
        lines += TextWidth.wrap(closing, width: layout.width)
        return lines.joined(separator: "\n") + "\n"
    }

    /// The rules that the next run refuses, with the reason. Rules with the same reason share it.
    private var waiting: [String] {
        let groups = Dictionary(grouping: undo.waiting.indices) { undo.waiting[$0].reason.withoutEntityAndCounts }
        return groups.values.sorted { $0[0] < $1[0] }.flatMap { places -> [String] in
            let (first, others) = (undo.waiting[places[0]], places.dropFirst().map { undo.waiting[$0].rule })
            let lines = layout.note("\(first.rule) waits", first.reason, .caution)
            guard !others.isEmpty else { return lines }
            let label = others.joined(separator: ", ") + (others.count == 1 ? " waits" : " wait")
            return lines + layout.note(label, "for the same reason as \(first.rule)", .caution)
        }
    }

    /// The triggers that the undo fires, and what happens to them.
    private var triggers: [String] {
        guard !undo.triggers.isEmpty else { return [] }
        let names = undo.triggers.joined(separator: ", ")
        switch undo.triggerChoice {
        case .skip: return layout.note("triggers", "\(isDryRun ? "would be skipped" : "skipped"): \(names)", .plain)
        case .fire: return layout.note("triggers", "\(isDryRun ? "would fire" : "fired"): \(names)", .plain)
        case nil:
            return layout.note("refused", "the undo would fire triggers of the store: \(names)", .bad)
                + layout.note("hint", RunReport.Undo.triggerChoices, .plain)
        }
    }

    private var table: TextTable {
        TextTable(
            columns: [
                .init("TABLE"), .init("ARCHIVED", .right),
                .init(isDryRun ? "TO RESTORE" : "RESTORED", .right, isAlwaysShown: true),
                .init("PRESENT", .right), .init("SKIPPED", .right), .init("REFERENCES", .right),
                .init("NOT RESTORED", .right),
                .init("CHANGED", .right), .init("CANDLES RESTORED", .right), .init("CANDLES DELETED", .right),
            ],
            rows: undo.tables.map { table in
                let done = table.done
                let counts = [
                    done.presentCount, done.skippedCount, done.referenceCount, done.skippedReferenceCount,
                    table.changed ?? 0,
                    done.restoredCandleCount, done.deletedCandleCount,
                ]
                return .init(
                    cells: [
                        SafeText.line(table.name), Figures.grouped(table.archived), Figures.grouped(done.restoredCount),
                    ]
                        + counts.map { $0 == 0 ? "" : Figures.grouped($0) },
                    style: done.leftCount > 0 ? .bad : .plain)
            })
    }

    private var closing: String {
        let exit = report.exitCode == 0 ? "" : " (exit \(report.exitCode))"
        if isDryRun, undo.needsTriggerChoice { return "Nothing was changed. An undo would be refused\(exit)." }
        if isDryRun {
            return
                "Nothing was changed. An undo would \(undo.clauses(["restore", "restore", "skip", "delete", "leave out"]))\(exit)."
        }
        let time = Figures.duration(report.finished.since(report.started))
        let clauses = undo.clauses(Self.done)
        return "\(clauses.prefix(1).uppercased())\(clauses.dropFirst()) in \(time)\(exit)."
    }
}

extension RunReport.Undo {
    /// What the undo did: `restored 12 rows and skipped 1 row`.
    var result: String { clauses(UndoText.done) }

    /// What was done, with the verbs for rows, references, skipped rows, deleted candles, and rows without an archive.
    fileprivate func clauses(_ verbs: [String]) -> String {
        let done = done
        var parts = ["\(verbs[0]) " + (done.restoredCount == 0 ? "no rows" : Figures.count(done.restoredCount, "row"))]
        if done.referenceCount > 0 {
            parts.append("\(verbs[1]) the references of \(Figures.count(done.referenceCount, "row"))")
        }
        if done.restoredCandleCount > 0 {
            parts.append("\(verbs[1]) the former values of \(Figures.count(done.restoredCandleCount, "candle"))")
        }
        if done.deletedCandleCount > 0 {
            parts.append("\(verbs[3]) \(Figures.count(done.deletedCandleCount, "candle"))")
        }
        if done.skippedCount > 0 { parts.append("\(verbs[2]) \(Figures.count(done.skippedCount, "row"))") }
        if done.skippedReferenceCount > 0 {
            parts.append("\(verbs[2]) the references of \(Figures.count(done.skippedReferenceCount, "row"))")
        }
        if unarchivedCount > 0 {
            parts.append("\(verbs[4]) \(Figures.count(unarchivedCount, "row")) deleted without an archive")
        }
        var text = parts.listed("and")
        if done.presentCount > 0 {
            text +=
                "; \(Figures.count(done.presentCount, "row", "was", "were")) there already"
        }
        return text
    }
}
