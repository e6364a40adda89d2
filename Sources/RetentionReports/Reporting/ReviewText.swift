import PriceStore
import RetentionJob
import RetentionPolicy

/// The review as text, for a terminal or a mail.
package struct ReviewText {
    private let review: Review
    private let layout: TextLayout

    /// Makes the text form of a review; see ``TextReport`` for the widths.
    package init(_ review: Review, width: Int = 120, tableWidth: Int? = nil, usesColour: Bool = false) {
        self.review = review
        layout = TextLayout(width: width, tableWidth: tableWidth, usesColour: usesColour)
    }

    /// The whole text, ending with a line end.
    package var text: String {
        let plan = review.plan
        var lines = layout.heading(
            "review",
            [plan.store, "as of \(Figures.instant(plan.asOf))", "\(plan.config) \(plan.configSHA256.prefix(8))"])
        lines += review.topLines.flatMap { layout.note($0.label, $0.text, $0.style) }
        lines += review.sentences.flatMap { text, style in
            TextWidth.wrap("- " + SafeText.line(text), width: layout.width, indent: 2).map { layout.paint($0, style) }
        }
        for table in [review.ruleTable, review.holdTable, review.runTable] {
            guard !table.rows.isEmpty else { continue }
            lines += ["", table.caption] + layout.lines(of: table.text)
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ReviewTable {
    /// The columns of a terminal.
    fileprivate var text: TextTable {
        TextTable(
            columns: columns.prefix(shortCount).map {
                .init($0.heading.uppercased(), $0.isNumber ? .right : .left, isAlwaysShown: wraps)
            },
            rows: rows.map { cells, style in
                let cells = cells.prefix(shortCount).map(SafeText.line)
                return wraps
                    ? .init(cells: cells.dropLast(), message: cells.last, style: style)
                    : .init(cells: cells, style: style)
            })
    }
}
