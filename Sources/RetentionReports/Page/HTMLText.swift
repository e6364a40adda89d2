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

    /// An instant, to the minute for people and in full for programs.
    static func time(_ instant: Instant) -> String {
        "<time datetime=\"\(instant.rfc3339)\">\(instant.toSecond.plain.dropLast(3))</time>"
    }

    /// A table whose cells are HTML.
    ///
    /// - Parameters:
    ///   - caption: what the table shows, as text.
    ///   - columns: the headings, as text, and whether the column holds numbers.
    ///   - rows: the cells, the first of which names the row; and a class for the row, or nil.
    static func table(
        _ caption: String, _ columns: [(heading: String, isNumber: Bool)], _ rows: [(cells: [String], style: String?)]
    ) -> String {
        var lines = ["<div class=\"wide\" role=\"region\" aria-label=\"\(escaped(caption))\" tabindex=\"0\"><table>"]
        lines.append("<caption>\(escaped(caption))</caption>")
        let headings = columns.map { column in
            "<th scope=\"col\"\(column.isNumber ? " class=\"number\"" : "")>\(escaped(column.heading))</th>"
        }
        lines.append("<thead><tr>\(headings.joined())</tr></thead><tbody>")
        for row in rows {
            let cells = zip(row.cells.indices, row.cells).map { index, cell in
                let name = index < columns.count && columns[index].isNumber ? " class=\"number\"" : ""
                return index == 0 ? "<th scope=\"row\"\(name)>\(cell)</th>" : "<td\(name)>\(cell)</td>"
            }
            let style = row.style.map { " class=\"\($0)\"" } ?? ""
            lines.append("<tr\(style)>\(cells.joined())</tr>")
        }
        lines.append("</tbody></table></div>")
        return lines.joined(separator: "\n")
    }
}
