package import PriceStore
import RetentionJob
import RetentionPolicy

/// The canonical form of values, from which hashes are made. Equal values always have the same text, and different values have different
/// texts.
///
/// There is one line for each value that is not NULL, sorted by name: `name=`, then `i` for an integer, `t` for a text, `r` for a double or
/// `b` for bytes, the length of the value in bytes, `:`, and the value. NULL is omitted, so that an attribute of a later version does not
/// change old records.
package enum LedgerRecord {
    /// The text of some values.
    package static func text(_ values: [String: StoreValue]) -> String {
        var text = ""
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let (kind, length, content) = canonical(value) else { continue }
            text += name
            text += kind
            text += String(length)
            text += ":"
            text += content
            text += "\n"
        }
        return text
    }

    private static func canonical(_ value: StoreValue) -> (kind: String, length: Int, content: String)? {
        func whole(_ kind: String, _ content: String) -> (String, Int, String) { (kind, content.utf8.count, content) }
        return switch value {
        case .null: nil
        case .integer(let number): whole("=i", String(number))
        case .real(let number): whole("=r", "\(number)")
        case .text(let text): whole("=t", text)
        case .blob(let bytes): whole("=b", HexText.text(bytes))
        }
    }
}

extension [String: StoreValue] {
    /// The values as a store returns them. In SQLite a text ends at a NUL character.
    var recordable: Self {
        mapValues { value in
            guard case .text(let text) = value, text.utf8.contains(0) else { return value }
            return .text(text.replacing("\0", with: "\u{FFFD}"))
        }
    }
}
