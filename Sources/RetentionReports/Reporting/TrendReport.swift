import RetentionJob
import RetentionPolicy

/// How many rows each rule has deleted from run to run, a line a rule.
struct TrendReport {
    let runs: [LedgerRun]
    /// Whether the reader is a terminal, on which a line of blocks shows the trend; otherwise numbers do.
    var usesBlocks: Bool
    /// The columns of the terminal; nil: it is not a terminal.
    var width: Int?

    private static let blocks = Array("▁▂▃▄▅▆▇█")
    /// More runs than this do not fit on a line.
    private static let mostRuns = 60

    /// The lines, with a heading; empty if no rule has ended twice.
    var lines: [String] {
        var names: [String] = []
        for rule in runs.flatMap(\.report.rules) where !names.contains(rule.name) { names.append(rule.name) }
        var table = TextTable(columns: [
            .init("DELETED, RUN BY RUN"), .init(""), .init("LAST", .right), .init("MOST", .right),
        ])
        for name in names {
            // A run without this rule has no place in its line, but one that crashed has.
            let counts: [Int?] = runs.compactMap { run -> Int?? in
                if run.outcome == .crashed { return .some(nil) }
                return run.report.rules.first { $0.name == name && $0.outcome != .disabled }.map { .some($0.deleted) }
            }.suffix(shownRuns)
            let known = counts.compactMap(\.self)
            guard known.count > 1, let last = known.last, let most = known.max() else { continue }
            table.rows.append(
                .init(cells: [
                    SafeText.line(name), course(counts, most: most), Figures.grouped(last), Figures.grouped(most),
                ]))
        }
        guard !table.rows.isEmpty else { return [] }
        return table.lines(width: 0, foldWidth: width) { text, _ in text }
    }

    /// How many runs fit beside the longest name and the figures.
    private var shownRuns: Int {
        guard let width else { return Self.mostRuns }
        let longest = runs.flatMap(\.report.rules).map { TextWidth.of(SafeText.line($0.name)) }.max() ?? 0
        return max(10, min(Self.mostRuns, width - max(longest, 20) - 32))
    }

    /// One character a run, or its number; `x` for a run that crashed.
    private func course(_ counts: [Int?], most: Int) -> String {
        guard usesBlocks else { return counts.suffix(10).map { $0.map(String.init) ?? "x" }.joined(separator: " ") }
        return String(
            counts.map { count -> Character in
                guard let count else { return "x" }
                guard most > 0 else { return Self.blocks[0] }
                // Any number above 0 is visibly higher than 0.
                return Self.blocks[count == 0 ? 0 : 1 + Int(Int128(count) * 6 / Int128(most))]
            })
    }
}
