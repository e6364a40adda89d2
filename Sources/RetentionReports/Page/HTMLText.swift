import PriceStore
import RetentionJob

/// Pieces of HTML. Only ``escaped(_:)`` puts text of unknown origin into a page.
enum HTMLText {
    /// A text as the content of an element or a quoted attribute value: on one line, without markup and without characters that hide or
    /// reverse text.
    static func escaped(_ text: String) -> String {
        var safe = ""
        for scalar in SafeText.line(text).unicodeScalars {
            switch scalar {
            case "&": safe += "&amp;"
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "\"": safe += "&quot;"
            case "'": safe += "&#39;"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    /// A table with the columns that have a value; empty if it has no row. On a narrow page each row becomes a block, and each cell has its
    /// heading.
    static func table(_ table: ReviewTable, style: String = "wide") -> String {
        guard !table.rows.isEmpty else { return "" }
        let shown = table.columns.indices.filter { index in table.rows.contains { !$0.cells[index].isEmpty } }
        func tag(_ name: String, _ index: Int, _ text: String, _ more: String) -> String {
            let kind =
                table.columns[index].isNumber ? "number" : text.count > 16 || more.contains("col") ? "long" : "short"
            return "<\(name) class=\"\(kind)\"\(more)>\(escaped(text))</\(name)>"
        }
        let headings = shown.map { tag("th", $0, table.columns[$0].heading, " scope=\"col\"") }
        let texts = table.texts.flatMap { $0.ofRows.allSatisfy(\.isEmpty) ? nil : $0 }
        let lastHeading = texts.map { "<th class=\"long\" scope=\"col\">\(escaped($0.heading))</th>" } ?? ""
        let rows = table.rows.enumerated().map { row, content in
            let (cells, style) = content
            var parts = shown.map { index in
                index == 0
                    ? tag("th", 0, cells[0], " scope=\"row\"")
                    : tag("td", index, cells[index], " data-label=\"\(escaped(table.columns[index].heading))\"")
            }
            if let (heading, ofRows) = texts {
                let lines = ofRows[row].map(escaped).joined(separator: "<br>")
                parts.append("<td class=\"long\" data-label=\"\(escaped(heading))\">\(lines)</td>")
            }
            return "<tr class=\"\(style)\">\(parts.joined())</tr>"
        }
        return """
            <div class="\(style)" role="region" aria-label="\(escaped(table.caption))" tabindex="0"><table>
            <caption>\(escaped(table.caption))</caption>
            <thead><tr>\(headings.joined())\(lastHeading)</tr></thead><tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></div>
            """
    }
}
