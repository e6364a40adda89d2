package import PriceStore

/// How text compares in a column.
package enum ReferenceCollation: Sendable {
    /// By bytes.
    case binary
    /// By bytes, ASCII letters without case.
    case noCase
}

/// Values as SQL compares them, written out slowly.
///
/// What is judged of affinity: a number bound to a text column compares as its decimal text, a text of plain digits
/// bound to a numeric column compares as that number. Generators keep to values for which that is all there is to say.
package enum ReferenceValue {
    /// The value as a column of that affinity would take it.
    package static func converted(_ value: StoreValue, _ affinity: Attribute.Affinity) -> StoreValue {
        switch (affinity, value) {
        case (.text, .integer(let number)): return .text(String(number))
        case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
            return Int64(text).map(StoreValue.integer) ?? value
        default: return value
        }
    }

    /// Below 0: a sorts first; 0: equal; above 0: b sorts first; nil: one of them is NULL, so that nothing is known.
    package static func compare(_ a: StoreValue, _ b: StoreValue, _ collation: ReferenceCollation = .binary) -> Int? {
        if a.isNull || b.isNull { return nil }
        let (rankA, rankB) = (rank(a), rank(b))
        if rankA != rankB { return rankA - rankB }
        switch (a, b) {
        case (.integer(let a), .integer(let b)): return order(a, b)
        // Servers sort NaN after all other numbers.
        case (.real(let a), .real(let b)) where a.isNaN || b.isNaN: return (a.isNaN ? 1 : 0) - (b.isNaN ? 1 : 0)
        case (.real(let a), .real(let b)): return order(a, b)
        case (.integer(let a), .real(let b)): return compare(a, b)
        case (.real(let a), .integer(let b)): return -compare(b, a)
        case (.text(let a), .text(let b)): return order(bytes(a, collation), bytes(b, collation))
        case (.blob(let a), .blob(let b)): return order(a, b)
        default: return 0
        }
    }

    /// Whether two values are the same, NULL being the same as NULL.
    package static func isSame(_ a: StoreValue, _ b: StoreValue, _ collation: ReferenceCollation = .binary) -> Bool {
        a.isNull || b.isNull ? a.isNull && b.isNull : compare(a, b, collation) == 0
    }

    /// Numbers sort before text, text before bytes.
    private static func rank(_ value: StoreValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func bytes(_ text: String, _ collation: ReferenceCollation) -> [UInt8] {
        text.utf8.map { collation == .noCase && 65...90 ~= $0 ? $0 + 32 : $0 }
    }

    private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a == b ? 0 : 1 }

    private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.lexicographicallyPrecedes(b) ? -1 : a == b ? 0 : 1
    }

    /// Exactly, also where a double cannot tell two integers apart.
    private static func compare(_ a: Int64, _ b: Double) -> Int {
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = b.rounded(.down)
        let byWhole = order(a, Int64(whole))
        return byWhole != 0 ? byWhole : b > whole ? -1 : 0
    }
}
