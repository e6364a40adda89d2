@preconcurrency import Glibc
package import PriceStore
import RetentionPolicy

/// A digest of the keys of a saved plan's rows.
///
/// The canonical form is a line for each row: its key values as SQL literals, as SQLite's `quote` writes them, separated by bars. Keys of
/// one integer are in numeric order, all others in the byte order of their lines. The digest is the SHA-256 of these lines.
///
/// Memory holds all keys until the end: 8 bytes a row for keys of one integer, otherwise the line.
package struct KeyDigest {
    private var numbers: [Int64] = []
    private var lines: [[UInt8]] = []

    package init() {}

    /// Adds the rows of one batch.
    package mutating func add(_ ids: [ObjectID]) {
        for id in ids {
            if id.key.count == 1, case .integer(let number) = id.key[0] {
                numbers.append(number)
            } else {
                lines.append(Self.line(id) + [UInt8(ascii: "\n")])
            }
        }
    }

    /// The keys of all added rows, in the order of the canonical form.
    package mutating func keys() -> KeyList {
        sort()
        guard lines.isEmpty else { return .lines(lines.map { $0.dropLast() }) }
        var ranges: [ClosedRange<Int64>] = []
        for number in numbers {
            if let last = ranges.last, last.upperBound != .max, last.upperBound + 1 == number {
                ranges[ranges.count - 1] = last.lowerBound...number
            } else {
                ranges.append(number...number)
            }
        }
        return .numbers(ranges)
    }

    /// The digest of all added rows, as 64 hexadecimal digits.
    package mutating func finish() -> String {
        sort()
        var hash = SHA256()
        var buffer: [UInt8] = []
        for number in numbers {
            buffer += "\(number)\n".utf8
            if buffer.count > 1 << 16 {
                hash.update(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        hash.update(buffer)
        for line in lines { hash.update(line) }
        return hash.digits()
    }

    private mutating func sort() {
        // A table with both kinds has a key column without a type: then all keys are lines.
        if !lines.isEmpty {
            lines += numbers.map { Array("\($0)\n".utf8) }
            numbers = []
            lines.sort { $0.lexicographicallyPrecedes($1) }
        } else if zip(numbers, numbers.dropFirst()).contains(where: >) {
            numbers.sort()
        }
    }

    /// The line of a row, without its end.
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
