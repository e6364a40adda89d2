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
    /// The texts of some rows, in UTF-8.
    package static func texts(of rows: [[String: StoreValue]]) -> [[UInt8]] {
        var names: [String] = []
        return rows.map { row in
            // Most rows have the names of the row before: they are sorted once.
            var values = names.compactMap { row[$0] }
            if values.count < max(names.count, row.count) {
                names = row.keys.sorted()
                values = names.compactMap { row[$0] }
            }
            var text: [UInt8] = []
            text.reserveCapacity(2048)
            func add(_ part: String) {
                var part = part
                part.withUTF8 { text.append(contentsOf: $0) }
            }
            for (name, value) in zip(names, values) where !value.isNull {
                let (kind, content) = canonical(value)
                add(name)
                add(kind)
                add(String(content.utf8.count))
                add(":")
                add(content)
                add("\n")
            }
            return text
        }
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
