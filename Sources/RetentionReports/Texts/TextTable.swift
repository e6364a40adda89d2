import RetentionPolicy

/// A table of aligned columns for a terminal. A column without a value in any row is omitted.
///
/// A row is never broken: on a terminal that is too narrow, columns move below their rows, as `heading value`.
struct TextTable {
    /// The alignment of a column.
    enum Alignment { case left, right }

    /// A column: its heading and its alignment.
    struct Column {
        var heading: String
        var alignment: Alignment
        /// Whether the column is shown even if all of its cells are empty.
        var isAlwaysShown: Bool
        /// How early the column moves below the rows: the highest first, and of equals the last one.
        var leaving: Int
        /// What precedes a cell below its row.
        var label: String
        /// Whether a cell that is too long for its row is below it, before any column moves.
        var isText: Bool

        init(
            _ heading: String, _ alignment: Alignment = .left, isAlwaysShown: Bool = false, leaving: Int = 0,
            label: String? = nil, isText: Bool = false
        ) {
            (self.heading, self.alignment, self.isAlwaysShown) = (heading, alignment, isAlwaysShown)
            (self.leaving, self.label, self.isText) = (leaving, label ?? heading.lowercased(), isText)
        }
    }

    /// A row: a text for each column, or for the first columns.
    struct Row {
        var cells: [String]
        /// The sentences below the row, each wrapped to the width.
        var messages: [String] = []
        var style: Style = .plain
    }

    var columns: [Column]
    var rows: [Row] = []

    private static let gap = "  "
    /// What is below a row is indented by this.
    private static let indent = "    "
    /// The least width of a column of texts.
    private static let leastText = 14

    func lines(_ layout: TextLayout) -> [String] {
        var widths = columns.indices.map { index in
            rows.reduce(TextWidth.of(columns[index].heading)) { widest, row in
                index < row.cells.count ? max(widest, TextWidth.of(row.cells[index])) : widest
            }
        }
        var shown = columns.indices.filter { index in
            columns[index].isAlwaysShown || rows.contains { index < $0.cells.count && !$0.cells[index].isEmpty }
        }
        var (alone, below): (Int?, [Int]) = (nil, [])
        if let most = layout.tableWidth {
            func excess() -> Int {
                shown.reduce(alone == nil ? -most : 2 - most) { $0 + widths[$1] + Self.gap.count }
                    - Self.gap.count
            }
            let text = shown.first { columns[$0].isText }
            let whole = text.map { widths[$0] } ?? 0
            if let text { widths[text] = min(whole, max(Self.leastText, whole - excess())) }
            // A long name has a line of its own.
            if excess() > 0, let first = shown.first, widths[first] > most / 3 {
                alone = first
                shown.removeFirst()
            }
            let movable = shown.dropFirst(alone == nil ? 1 : 0)
            for index in movable.sorted(by: { (columns[$0].leaving, $0) > (columns[$1].leaving, $1) })
            where excess() > 0 {
                shown.removeAll { $0 == index }
                below.append(index)
            }
            // Columns that have left make room.
            if let text { widths[text] = min(whole, widths[text] + max(0, -excess())) }
        }
        func isBelow(_ index: Int, _ cells: [String]) -> Bool {
            below.contains(index) || columns[index].isText && TextWidth.of(cells[index]) > widths[index]
        }
        func line(_ cells: [String]) -> [String] {
            let cells = shown.filter { $0 < cells.count }.map { index in
                padded(isBelow(index, cells) ? "" : cells[index], to: widths[index], index)
            }
            var line = (alone == nil ? "" : Self.gap) + cells.joined(separator: Self.gap)
            while line.last == " " { line.removeLast() }
            return line.isEmpty ? [] : [line]
        }
        let headings = columns.map(\.heading)
        var lines = ((alone.map { [headings[$0]] } ?? []) + line(headings)).map { layout.paint($0, .heading) }
        var above = ""
        for row in rows {
            // A name that has a line of its own is above all rows with it.
            let name = alone.map { row.cells[$0] } ?? ""
            lines += ((name == above ? [] : [name]) + line(row.cells)).map { layout.paint($0, row.style) }
            above = name
            let details = columns.indices.filter {
                $0 < row.cells.count && !row.cells[$0].isEmpty && isBelow($0, row.cells)
            }.map { (columns[$0].label + " " + row.cells[$0]).drop { $0 == " " } }
            for text in [details.joined(separator: " · ")] + row.messages where !text.isEmpty {
                let wrapped = TextWidth.wrap(text, width: (layout.tableWidth ?? layout.width) - Self.indent.count)
                lines += wrapped.map { Self.indent + layout.paint($0, row.style) }
            }
        }
        return lines
    }

    /// A cell with spaces up to the width of its column.
    private func padded(_ text: String, to width: Int, _ column: Int) -> String {
        let padding = String(repeating: " ", count: max(0, width - TextWidth.of(text)))
        return columns[column].alignment == .left ? text + padding : padding + text
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
