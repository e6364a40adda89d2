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
    /// The text of some values, in UTF-8.
    package static func text(_ values: [String: StoreValue]) -> [UInt8] {
        var text: [UInt8] = []
        for (name, value) in values.lazy.filter({ !$0.value.isNull }).sorted(by: { $0.key < $1.key }) {
            let (kind, content) = canonical(value)
            for part in [name, kind, String(content.utf8.count), ":", content, "\n"] { text += part.utf8 }
        }
        return text
    }

    private static func canonical(_ value: StoreValue) -> (kind: String, content: String) {
        switch value {
        case .null: ("", "")
        case .integer(let number): ("=i", String(number))
        case .real(let number): ("=r", "\(number)")
        case .text(let text): ("=t", text)
        case .blob(let bytes): ("=b", HexText.text(bytes))
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
