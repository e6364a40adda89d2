import GRDB
import PriceStore

/// Conditions that search the texts of a column. LIKE and GLOB have wildcards, and LIKE ignores case, so neither is used.
struct TextSQL {
    private let column: String
    private let affinity: Attribute.Affinity

    init(_ attribute: Attribute, _ scope: RowScope) {
        column = scope.column(attribute)
        affinity = attribute.affinity
    }

    func begins(with text: String) -> SQLFragment {
        let found = search("= 1", text)
        // A range can use an index if the column does not convert the text to a number.
        guard affinity == .text || affinity == .none, let end = Self.end(ofPrefix: text) else { return found }
        return "\(column) COLLATE BINARY >= \(bound: text) AND \(column) COLLATE BINARY < \(bound: end) AND \(found)"
    }

    func contains(_ text: String) -> SQLFragment { search("> 0", text) }

    private func search(_ place: String, _ text: String) -> SQLFragment {
        """
        CASE typeof(\(column)) WHEN 'text' THEN instr(\(column), \(bound: text)) \(place) \
        WHEN 'null' THEN NULL ELSE 0 END
        """
    }

    /// The first text after all texts with a prefix, or nil if there is none.
    private static func end(ofPrefix text: String) -> String? {
        var scalars = Array(text.unicodeScalars)
        while let last = scalars.popLast() {
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(String.UnicodeScalarView(scalars))
        }
        return nil
    }
}
