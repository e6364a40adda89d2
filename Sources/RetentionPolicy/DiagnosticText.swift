import PriceStore

/// Diagnostics for a terminal: position, message, the line, and a caret under the marked part.
package enum DiagnosticText {
    /// The maximum width of a source line that is shown, in terminal columns.
    private static let widestLine = 110
    private static let tabWidth = 4
    /// Messages contain names, which may be a megabyte long in a hostile file.
    private static let longestMessage = 600

    /// Renders diagnostics in the given order, then their number, without a line end after the last line.
    ///
    /// Control characters of the file are escaped, so that a file cannot control the terminal. Long lines are cut around the caret. Without
    /// diagnostics the text is empty.
    ///
    /// - Parameters:
    /// - width: the columns of a terminal, to which messages are wrapped and source lines are cut; nil: no limit.
    ///   - paint: formats a text in the style of a severity.
    package static func render(
        _ diagnostics: [Diagnostic], source: PolicySource, width: Int? = nil,
        paint: (String, Diagnostic.Severity) -> String = { text, _ in text }
    ) -> String {
        guard !diagnostics.isEmpty else { return "" }
        let gutter = diagnostics.map { String($0.mark.line).count + 1 }.reduce(3, max)
        var lines: [String] = []
        for diagnostic in diagnostics {
            let mark = diagnostic.mark
            let place = "\(escaped(source.path)):\(mark.line):\(mark.column)"
            let message = escaped(String(diagnostic.message.prefix(longestMessage)))
            lines += head(place + ": ", "\(diagnostic.severity):", message, width) {
                paint($0, diagnostic.severity)
            }
            guard mark.line >= 1, mark.line <= source.lines.count else { continue }
            let number = String(mark.line)
            let widest = min(widestLine, max(20, (width ?? .max) - gutter - 5))
            let (text, caret) = excerpt(source.lines[mark.line - 1], mark, widest)
            lines.append(String(repeating: " ", count: gutter - number.count) + number + " | " + text)
            lines.append(String(repeating: " ", count: gutter) + " | " + paint(caret, diagnostic.severity))
        }
        lines.append(summary(diagnostics))
        return lines.joined(separator: "\n")
    }

    /// Place, severity and message, wrapped.
    private static func head(
        _ place: String, _ severity: String, _ message: String, _ width: Int?, _ paint: (String) -> String
    ) -> [String] {
        let line = place + severity + " " + message
        var lines = width.map { TextWidth.fit(line, width: max(40, $0), indent: 4) } ?? [line]
        if lines[0].hasPrefix(place + severity) {
            lines[0] = place + paint(severity) + lines[0].dropFirst(place.count + severity.count)
        }
        return lines
    }

    private static func summary(_ diagnostics: [Diagnostic]) -> String {
        let parts = Diagnostic.Severity.allCases.map { severity in
            let count = diagnostics.count { $0.severity == severity }
            if count == 0 { return "" }
            return severity == .advice ? count.counted("piece") + " of advice" : count.counted("\(severity)")
        }
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// The line as it is shown, and the line of the caret below it.
    private static func excerpt(_ line: String, _ mark: Mark, _ widest: Int) -> (text: String, caret: String) {
        // Only the part near the caret is shown, so a line of a megabyte is not processed completely.
        let skipped = max(0, mark.column - 2 * widestLine)
        let mark = Mark(line: mark.line, column: mark.column - skipped, length: min(mark.length, widestLine))
        let nearby = line.unicodeScalars.dropFirst(skipped)
        // The text that is shown for each character of the line, and its width.
        var cells = nearby.prefix(mark.column + 2 * widestLine).map(cell)
        while let last = cells.last, last.text.allSatisfy({ $0 == " " }), cells.count >= mark.column + mark.length {
            cells.removeLast()
        }
        let start = max(0, min(mark.column - 1, cells.count))
        let end = max(start, min(start + mark.length, cells.count))
        func width(_ range: Range<Int>) -> Int { cells[range].reduce(0) { $0 + $1.width } }

        var first = 0
        var last = cells.count
        if width(0..<cells.count) > widest {
            // Keep some of the text before the caret, then fill the line after it.
            first = start
            while first > 0, width(first - 1..<start) <= widest / 3 { first -= 1 }
            last = first
            var used = 0
            while last < cells.count, used + cells[last].width <= widest {
                used += cells[last].width
                last += 1
            }
            while first > 0, used + cells[first - 1].width <= widest {
                first -= 1
                used += cells[first].width
            }
        }
        let head = first > 0 || skipped > 0 ? "…" : ""
        let text = head + cells[first..<last].map(\.text).joined() + (last < cells.count ? "…" : "")
        let indent = head.count + width(first..<max(first, start))
        let length = max(1, width(start..<max(start, min(end, last))))
        return (text, String(repeating: " ", count: indent) + "^" + String(repeating: "~", count: length - 1))
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { $0 == "\t" ? "\\t" : cell($0).text }.joined()
    }

    private static func cell(_ scalar: Unicode.Scalar) -> (text: String, width: Int) {
        if scalar == "\t" { return (String(repeating: " ", count: tabWidth), tabWidth) }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            let text = "\\u{\(String(scalar.value, radix: 16))}"
            return (text, text.utf8.count)
        case .nonspacingMark, .enclosingMark: return (String(scalar), 0)
        default: return (String(scalar), TextWidth.isWide(scalar) ? 2 : 1)
        }
    }
}
