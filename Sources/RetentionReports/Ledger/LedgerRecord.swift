package import PriceStore
import RetentionJob

/// The canonical form of values, which hashes are made of: the same values give the same text wherever and whenever it is
/// made, and different values a different one.
///
/// A line for each value that is not NULL, sorted by name: `name=`, then `i` for an integer, `t` for a text, `r` for a
/// double or `b` for bytes, the length of what follows in bytes, `:`, and the value. NULL is left out, so that an
/// attribute which a later version adds does not change old records.
package enum LedgerRecord {
    /// The text of some values.
    package static func text(_ values: [String: StoreValue]) -> String {
        values.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
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
    /// The values as a store gives them back: SQLite's text ends at a NUL character.
    var recordable: Self {
        mapValues { value in
            guard case .text(let text) = value, text.utf8.contains(0) else { return value }
            return .text(text.replacing("\0", with: "\u{FFFD}"))
        }
    }
}
