import PriceStore
import RetentionJob
import RetentionPolicy

/// The review as text, for a terminal or a mail.
package struct ReviewText {
    private let review: Review
    private let layout: TextLayout

    package init(_ review: Review, _ layout: TextLayout = TextLayout()) {
        (self.review, self.layout) = (review, layout)
    }

    /// The whole text, ending with a line end.
    package var text: String {
        let plan = review.plan
        var lines = layout.heading(
            "review",
            [plan.store, "as of \(Figures.instant(plan.asOf))", "\(plan.config) \(plan.configSHA256.prefix(8))"])
        lines += Self.top(review.topLines, review.sentences, layout)
        for table in [review.ruleTable, review.nightTable, review.holdTable, review.runTable] {
            lines += Self.lines(of: table, layout)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What happened, what comes, and what needs attention.
    static func top(
        _ lines: [(label: String, text: String, style: Style)], _ sentences: [(text: String, style: Style)],
        _ layout: TextLayout
    ) -> [String] {
        lines.flatMap { layout.note($0.label, $0.text, $0.style) }
            + sentences.flatMap { text, style in
                TextWidth.wrap("- " + SafeText.line(text), width: layout.width, indent: 2).map {
                    layout.paint($0, style)
                }
            }
    }

    /// A table below its caption, after an empty line; empty if it has no row.
    static func lines(of table: ReviewTable, _ layout: TextLayout) -> [String] {
        table.rows.isEmpty
            ? [] : [""] + TextWidth.wrap(table.caption, width: layout.width) + table.text.lines(layout)
    }
}

extension ReviewTable {
    /// The columns of a terminal.
    fileprivate var text: TextTable {
        TextTable(
            columns: columns.prefix(shortCount).enumerated().map { index, column -> TextTable.Column in
                let isText = endsWithText && index == shortCount - 1
                return .init(
                    column.heading.uppercased(), column.isNumber ? .right : .left,
                    isAlwaysShown: endsWithText || texts != nil,
                    label: isText ? "" : nil, isText: isText)
            },
            rows: rows.enumerated().map { index, row in
                .init(
                    cells: row.cells.prefix(shortCount).map(SafeText.line),
                    messages: (texts?.ofRows[index] ?? []).map(SafeText.line), style: row.style)
            })
    }
}
