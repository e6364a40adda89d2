import RetentionPolicy

/// A table of aligned columns for a terminal. A column without a value in any row is omitted.
struct TextTable {
    /// The alignment of a column.
    enum Alignment { case left, right }

    /// A column: its heading and its alignment.
    struct Column {
        var heading: String
        var alignment: Alignment
        /// Whether the column is shown even if all of its cells are empty.
        var isAlwaysShown: Bool

        init(_ heading: String, _ alignment: Alignment = .left, isAlwaysShown: Bool = false) {
            self.heading = heading
            self.alignment = alignment
            self.isAlwaysShown = isAlwaysShown
        }
    }

    /// A row: one text for each column, or texts for the first columns and then a message in place of the others.
    struct Row {
        var cells: [String]
        /// A sentence instead of the missing cells, wrapped to the width.
        var message: String?
        var style: Style = .plain
    }

    var columns: [Column]
    var rows: [Row] = []

    private static let gap = "  "
    /// The indentation of the continuation lines of a folded row.
    private static let foldIndent = "    "

    /// The lines of the table.
    ///
    /// - Parameters:
    ///   - width: the columns to which messages are wrapped.
    ///   - foldWidth: the columns of a terminal. Wider rows continue below, broken between cells; nil: a row is always one line.
    ///   - paint: formats a text in a style. Widths are measured before.
    func lines(
        width: Int, foldWidth: Int? = nil, paint: (String, Style) -> String
    ) -> [String] {
        let widths = columns.indices.map { index in
            rows.reduce(TextWidth.of(columns[index].heading)) { widest, row in
                index < row.cells.count ? max(widest, TextWidth.of(row.cells[index])) : widest
            }
        }
        let groups = columnGroups(widths, foldWidth)
        var lines = folded(columns.map(\.heading), groups, widths, foldWidth).map { paint($0, .heading) }
        for row in rows {
            let start = folded(row.cells, groups, widths, foldWidth)
            guard let message = row.message else {
                lines += start.map { paint($0, row.style) }
                continue
            }
            let last = groups[0].filter { $0 < row.cells.count }.map { padded(row.cells[$0], to: widths[$0], $0) }
                .joined(separator: Self.gap)
            let indent = TextWidth.of(last) + Self.gap.count
            if let foldWidth, groups.count > 1 || foldWidth - indent < 40 {
                let wrapped = TextWidth.wrap(message, width: foldWidth - Self.foldIndent.count)
                lines += start + wrapped.map { Self.foldIndent + paint($0, row.style) }
                continue
            }
            let wrapped = TextWidth.wrap(message, width: max(40, width - indent))
            for (index, line) in wrapped.enumerated() {
                lines.append(
                    (index == 0 ? last + Self.gap : String(repeating: " ", count: indent)) + paint(line, row.style))
            }
        }
        return lines
    }

    /// The columns to show, in groups that fit on one line each.
    private func columnGroups(_ widths: [Int], _ foldWidth: Int?) -> [[Int]] {
        let shown = columns.indices.filter { index in
            columns[index].isAlwaysShown || rows.contains { index < $0.cells.count && !$0.cells[index].isEmpty }
        }
        guard let foldWidth else { return [shown] }
        var groups: [[Int]] = [[]]
        var used = 0
        for index in shown {
            if !groups[groups.count - 1].isEmpty, used + Self.gap.count + widths[index] > foldWidth {
                groups.append([])
                used = Self.foldIndent.count - Self.gap.count
            }
            used += (groups == [[]] ? 0 : Self.gap.count) + widths[index]
            groups[groups.count - 1].append(index)
        }
        return groups
    }

    /// The cells of a row, one line for each group of columns that has any. A cell that is wider than the terminal is wrapped.
    private func folded(_ cells: [String], _ groups: [[Int]], _ widths: [Int], _ foldWidth: Int?) -> [String] {
        groups.enumerated().flatMap { number, group -> [String] in
            let present = group.filter { $0 < cells.count }
            guard groups.count == 1 || present.contains(where: { !cells[$0].isEmpty }) else { return [] }
            let indent = number == 0 ? "" : Self.foldIndent
            let line = indent + present.map { padded(cells[$0], to: widths[$0], $0) }.joined(separator: Self.gap)
            guard let foldWidth, group.count == 1, TextWidth.of(trimmed(line)) > foldWidth else {
                return [trimmed(line)]
            }
            return TextWidth.wrap(cells[group[0]], width: foldWidth - indent.count).map { indent + $0 }
        }
    }

    private func padded(_ text: String, to width: Int, _ column: Int) -> String {
        let padding = String(repeating: " ", count: max(0, width - TextWidth.of(text)))
        return columns[column].alignment == .left ? text + padding : padding + text
    }

    private func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}

/// The style of a piece of a report on a terminal that shows colours.
package enum Style {
    case plain, heading, good, caution, bad

    /// The text in this style.
    package func painted(_ text: String) -> String {
        let code =
            switch self {
            case .plain: ""
            case .heading: "1"
            case .good: "32"
            case .caution: "33"
            case .bad: "31"
            }
        return code.isEmpty ? text : "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
