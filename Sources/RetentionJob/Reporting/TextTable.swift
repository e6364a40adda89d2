/// A table of aligned columns for a terminal. A column in which no row says anything is left out.
struct TextTable {
    /// How a column stands.
    enum Alignment { case left, right }

    /// A column: its heading and where its cells stand.
    struct Column {
        var heading: String
        var alignment: Alignment
        /// Whether the column stays where all of its cells are empty.
        var isAlwaysShown: Bool

        init(_ heading: String, _ alignment: Alignment = .left, isAlwaysShown: Bool = false) {
            self.heading = heading
            self.alignment = alignment
            self.isAlwaysShown = isAlwaysShown
        }
    }

    /// A row: one text for each column, or texts for the first columns and then a message in place of the rest.
    struct Row {
        var cells: [String]
        /// A sentence that takes the place of the cells that are missing, wrapped to the width.
        var message: String?
        var style: Style = .plain
    }

    var columns: [Column]
    var rows: [Row] = []

    private static let gap = "  "

    /// The lines of the table.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; only messages are wrapped to it, figures never.
    ///   - paint: puts a text in a style; widths are measured before.
    func lines(width: Int, paint: (String, Style) -> String) -> [String] {
        let shown = columns.indices.filter { index in
            columns[index].isAlwaysShown || rows.contains { index < $0.cells.count && !$0.cells[index].isEmpty }
        }
        let widths = columns.indices.map { index in
            rows.reduce(TextWidth.of(columns[index].heading)) { widest, row in
                index < row.cells.count ? max(widest, TextWidth.of(row.cells[index])) : widest
            }
        }
        let headings = shown.map { padded(columns[$0].heading, to: widths[$0], columns[$0].alignment) }
        var lines = [paint(trimmed(headings.joined(separator: Self.gap)), .heading)]
        for row in rows {
            let cells = shown.filter { $0 < row.cells.count }
                .map { padded(row.cells[$0], to: widths[$0], columns[$0].alignment) }
            let start = cells.joined(separator: Self.gap)
            guard let message = row.message else {
                lines.append(paint(trimmed(start), row.style))
                continue
            }
            let indent = TextWidth.of(start) + Self.gap.count
            let wrapped = TextWidth.wrap(message, width: max(40, width - indent))
            for (index, line) in wrapped.enumerated() {
                let margin = index == 0 ? start + Self.gap : String(repeating: " ", count: indent)
                lines.append(margin + paint(line, row.style))
            }
        }
        return lines
    }

    private func padded(_ text: String, to width: Int, _ alignment: Alignment) -> String {
        let padding = String(repeating: " ", count: max(0, width - TextWidth.of(text)))
        return alignment == .left ? text + padding : padding + text
    }

    private func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}

/// How a piece of a report looks on a terminal that shows colours.
enum Style {
    case plain, heading, good, caution, bad

    /// The text in this style.
    func painted(_ text: String) -> String {
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

/// How many columns of a terminal a text takes.
enum TextWidth {
    /// The width of a text on one line: combining marks take none, East Asian characters and emoji two.
    static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { width, character in
            width + (character.unicodeScalars.contains(where: isWide) ? 2 : isMark(character) ? 0 : 1)
        }
    }

    /// The text in lines of at most `width` columns, broken at spaces; a word that is longer stands alone.
    static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var lineWidth = 0
        for word in text.split(separator: " ") {
            let wordWidth = of(String(word))
            if !line.isEmpty, lineWidth + 1 + wordWidth > width {
                lines.append(line)
                line = ""
                lineWidth = 0
            }
            line += line.isEmpty ? String(word) : " " + word
            lineWidth += wordWidth + (lineWidth == 0 ? 0 : 1)
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        return lines
    }

    private static func isMark(_ character: Character) -> Bool {
        character.unicodeScalars.allSatisfy {
            switch $0.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format, .control: true
            default: false
            }
        }
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
