import RetentionJob
import RetentionPolicy

/// The layout of a report for people.
package struct TextLayout {
    /// The columns to which sentences are wrapped.
    package let width: Int
    /// The columns of a terminal, which no table is wider than; nil: a row is a line.
    let tableWidth: Int?
    /// Whether the reader is a terminal that shows colours.
    let usesColour: Bool

    package init(width: Int = 120, tableWidth: Int? = nil, usesColour: Bool = false) {
        // 38: what is indented by two on a terminal of 40 columns.
        (self.width, self.tableWidth) = (max(38, width), tableWidth.map { max(38, $0) })
        self.usesColour = usesColour
    }

    func paint(_ text: String, _ style: Style) -> String { usesColour ? style.painted(text) : text }

    /// The first lines of a report: its mode and its subject, in parts.
    func heading(_ mode: String, _ parts: [String]) -> [String] {
        var lines = TextWidth.fit(([mode] + parts.map(SafeText.line)).joined(separator: " · "), width: width, indent: 4)
        lines[0] = paint(mode, .heading) + lines[0].dropFirst(mode.count)
        return lines
    }

    /// A value after a label in a column of its own, wrapped below itself.
    func entry(_ label: String, _ value: String, width: Int) -> [String] {
        let column = 10
        let lines = TextWidth.fit(SafeText.line(value), width: width - column)
        return lines.enumerated().map { index, line in
            let start = index == 0 ? label : ""
            return start + String(repeating: " ", count: column - start.count) + line
        }
    }

    /// A sentence after a label, wrapped with a hanging indent.
    func note(_ label: String, _ text: String, _ style: Style) -> [String] {
        let start = SafeText.line(label) + ": "
        let indent = TextWidth.of(start) > 24 ? 4 : TextWidth.of(start)
        let lines = TextWidth.wrap(start + SafeText.line(text), width: width, indent: indent)
        return lines.enumerated().map { index, line in
            let margin = index == 0 ? min(start.count, line.count) : indent
            return line.prefix(margin) + paint(String(line.dropFirst(margin)), style)
        }
    }
}
