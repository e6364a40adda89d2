@preconcurrency import Glibc
import PriceStore
import RetentionPolicy

/// Collects the keys of a saved plan's rows.
///
/// A key has a line of its values as SQL literals, as SQLite's `quote` writes them, separated by bars. Keys of one integer are in numeric order,
/// all others in the byte order of their lines.
///
/// Memory holds all keys until the end: 8 bytes a row for keys of one integer, otherwise the line.
struct KeyCollector {
    private var numbers: [Int64] = []
    private var lines: [[UInt8]] = []

    /// Adds the rows of one batch.
    mutating func add(_ ids: [ObjectID]) {
        for id in ids {
            if id.key.count == 1, case .integer(let number) = id.key[0] {
                numbers.append(number)
            } else {
                lines.append(Self.line(id))
            }
        }
    }

    /// The keys of all added rows.
    consuming func keys() -> KeyList {
        // A table with both kinds has a key column without a type: then all keys are lines.
        guard lines.isEmpty else {
            return .lines((lines + numbers.map { Array("\($0)".utf8) }).sorted { $0.lexicographicallyPrecedes($1) })
        }
        var ranges: [ClosedRange<Int64>] = []
        for number in zip(numbers, numbers.dropFirst()).contains(where: >) ? numbers.sorted() : numbers {
            if let last = ranges.last, last.upperBound != .max, last.upperBound + 1 == number {
                ranges[ranges.count - 1] = last.lowerBound...number
            } else {
                ranges.append(number...number)
            }
        }
        return .numbers(ranges)
    }

    static func line(_ id: ObjectID) -> [UInt8] { Array(id.key.map(literal).joined(separator: "|").utf8) }

    /// A value as SQLite's `quote` writes it, except that text continues after a NUL; a double as by `printf('%!.17g', value)`.
    private static func literal(_ value: StoreValue) -> String {
        switch value {
        case .null: return "NULL"
        case .integer(let number): return "\(number)"
        case .text(let text):
            return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        case .blob(let bytes): return "X'" + HexText.text(bytes).uppercased() + "'"
        case .real(let number):
            var buffer = [CChar](repeating: 0, count: 64)
            _ = withVaList([number]) { vsnprintf(&buffer, buffer.count, "%.17g", $0) }
            let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard !text.contains("."), number.isFinite else { return text }
            guard let exponent = text.firstIndex(of: "e") else { return text + ".0" }
            return text[..<exponent] + ".0" + text[exponent...]
        }
    }
}
