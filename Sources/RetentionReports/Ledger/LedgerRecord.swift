package import PriceStore
import RetentionJob

/// The canonical form of values, from which hashes are made. Equal values always have the same text, and different values have different
/// texts.
///
/// There is one line for each value that is not NULL, sorted by name: `name=`, then `i` for an integer, `t` for a text, `r` for a double or
/// `b` for bytes, the length of the value in bytes, `:`, and the value. NULL is omitted, so that an attribute of a later version does not
/// change old records.
package enum LedgerRecord {
    /// The text of some values.
    package static func text(_ values: [String: StoreValue]) -> String {
        values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .compactMap { name, value in canonical(value).map { "\(name)=\($0)\n" } }.joined()
    }

    private static func canonical(_ value: StoreValue) -> String? {
        switch value {
        case .null: nil
        case .integer(let number): "i\(String(number).utf8.count):\(number)"
        case .real(let number): "r\("\(number)".utf8.count):\(number)"
        case .text(let text): "t\(text.utf8.count):\(text)"
        case .blob(let bytes): "b\(bytes.count * 2):\(HexText.text(bytes))"
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
