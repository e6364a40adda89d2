import PriceStore
import RetentionJob

/// The runs that have an archive, for people.
package struct UndoList {
    private let runs: [LedgerRun]

    package init(_ runs: [LedgerRun]) { self.runs = runs }

    /// A table with one line for each run, ending with a line end; see ``TextReport`` for the widths.
    package func text(width: Int = 120, tableWidth: Int? = nil, usesColour: Bool = false) -> String {
        guard !runs.isEmpty else { return "No recorded run of this store has an archive.\n" }
        var table = TextTable(columns: [.init("RUN"), .init("STARTED (UTC)"), .init("ROWS", .right), .init("UNDO")])
        for run in runs {
            let archive = run.report.archive
            table.rows.append(
                .init(
                    cells: [
                        SafeText.line(run.report.runID), run.report.started.toSecond.plain,
                        archive.map { $0.isComplete ? Figures.grouped($0.rows) : "" } ?? "",
                    ], message: SafeText.line(run.undoText ?? "nothing was deleted"),
                    style: run.canBeUndone ? .plain : .caution))
        }
        let layout = TextLayout(width: max(60, width), tableWidth: tableWidth, usesColour: usesColour)
        return layout.lines(of: table).joined(separator: "\n") + "\n"
    }
}
