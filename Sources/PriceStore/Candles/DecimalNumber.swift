/// A decimal number of any length, as servers store prices. Nothing is rounded.
package struct DecimalNumber: Sendable {
    /// Groups of nine digits, the lowest first.
    private var groups: [UInt32]
    /// How many of the groups are after the point.
    private var fraction: Int
    /// How many digits are written after the point.
    private var scale: Int
    private var isNegative: Bool

    private static let base: UInt32 = 1_000_000_000
    private static let digitsPerGroup = 9

    private init(groups: [UInt32], fraction: Int, scale: Int, isNegative: Bool) {
        self.groups = groups
        self.fraction = fraction
        self.scale = scale
        self.isNegative = isNegative && groups.contains { $0 != 0 }
    }

    /// Reads digits with an optional point and sign; nil: the text is not such a number.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        let start = digits.first == UInt8(ascii: "-") ? 1 : 0
        let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.count
        let end = digits.count
        guard start < point else { return nil }
        scale = max(0, end - point - 1)
        fraction = (scale + Self.digitsPerGroup - 1) / Self.digitsPerGroup
        groups = []
        isNegative = start == 1
        func group(_ range: Range<Int>) -> UInt32? {
            var value: UInt32 = 0
            for place in range {
                // The last group is filled with zeros.
                let digit = place < end ? digits[place] &- UInt8(ascii: "0") : 0
                guard digit < 10 else { return nil }
                value = value * 10 + UInt32(digit)
            }
            return value
        }
        for number in (0..<fraction).reversed() {
            let first = point + 1 + number * Self.digitsPerGroup
            guard let value = group(first..<first + Self.digitsPerGroup) else { return nil }
            groups.append(value)
        }
        var last = point
        while last > start {
            let first = max(start, last - Self.digitsPerGroup)
            guard let value = group(first..<last) else { return nil }
            groups.append(value)
            last = first
        }
        isNegative = isNegative && groups.contains { $0 != 0 }
    }

    package init(_ number: Int128) {
        var (rest, groups) = (number.magnitude, [UInt32]())
        while rest > 0 {
            groups.append(UInt32(rest % UInt128(Self.base)))
            rest /= UInt128(Self.base)
        }
        self.init(groups: groups, fraction: 0, scale: 0, isNegative: number < 0)
    }

    /// The sum, with as many digits after the point as the longer of the two.
    package static func + (a: DecimalNumber, b: DecimalNumber) -> DecimalNumber {
        let (a, b) = (a.aligned(with: b), b.aligned(with: a))
        let scale = max(a.scale, b.scale)
        if a.isNegative == b.isNegative {
            return DecimalNumber(
                groups: sum(a.groups, b.groups), fraction: a.fraction, scale: scale, isNegative: a.isNegative)
        }
        let (larger, smaller) = isLess(a.groups, b.groups) ? (b, a) : (a, b)
        return DecimalNumber(
            groups: difference(larger.groups, smaller.groups), fraction: a.fraction, scale: scale,
            isNegative: larger.isNegative)
    }

    /// The product, with all of its digits.
    package static func * (a: DecimalNumber, b: DecimalNumber) -> DecimalNumber {
        var groups = [UInt32](repeating: 0, count: a.groups.count + b.groups.count)
        for (place, factor) in a.groups.enumerated() where factor > 0 {
            var carry: UInt64 = 0
            for (offset, other) in b.groups.enumerated() {
                let value = UInt64(factor) * UInt64(other) + UInt64(groups[place + offset]) + carry
                groups[place + offset] = UInt32(value % UInt64(base))
                carry = value / UInt64(base)
            }
            groups[place + b.groups.count] = UInt32(carry)
        }
        return DecimalNumber(
            groups: groups, fraction: a.fraction + b.fraction, scale: a.scale + b.scale,
            isNegative: a.isNegative != b.isNegative)
    }

    /// The same number with at least as many groups after the point as another one.
    private func aligned(with other: DecimalNumber) -> DecimalNumber {
        guard fraction < other.fraction else { return self }
        var result = self
        result.groups.insert(contentsOf: repeatElement(0, count: other.fraction - fraction), at: 0)
        result.fraction = other.fraction
        return result
    }

    private static func sum(_ a: [UInt32], _ b: [UInt32]) -> [UInt32] {
        var (longer, shorter) = a.count < b.count ? (b, a) : (a, b)
        shorter.append(contentsOf: repeatElement(0, count: longer.count - shorter.count))
        var carry: UInt32 = 0
        for place in longer.indices {
            let value = longer[place] + shorter[place] + carry
            carry = value >= base ? 1 : 0
            longer[place] = value - carry * base
        }
        if carry > 0 { longer.append(carry) }
        return longer
    }

    private static func difference(_ larger: [UInt32], _ smaller: [UInt32]) -> [UInt32] {
        var (result, borrow) = (larger, UInt32(0))
        for place in result.indices {
            let taken = (place < smaller.count ? smaller[place] : 0) + borrow
            borrow = result[place] < taken ? 1 : 0
            result[place] = result[place] + borrow * base - taken
        }
        return result
    }

    private static func isLess(_ a: [UInt32], _ b: [UInt32]) -> Bool {
        for place in (0..<max(a.count, b.count)).reversed() {
            let (left, right) = (place < a.count ? a[place] : 0, place < b.count ? b[place] : 0)
            if left != right { return left < right }
        }
        return false
    }

    /// The nearest double. Equal numbers have the same one.
    package var asDouble: Double {
        var text = Substring(description)
        if text.contains(".") { text = text[...(text.lastIndex { $0 != "0" } ?? text.startIndex)] }
        return Double(text.last == "." ? text.dropLast() : text) ?? .infinity
    }
}

extension DecimalNumber: Comparable {
    /// Whether both are the same number, regardless of trailing zeros.
    package static func == (a: DecimalNumber, b: DecimalNumber) -> Bool { !(a < b) && !(b < a) }

    package static func < (a: DecimalNumber, b: DecimalNumber) -> Bool {
        guard a.isNegative == b.isNegative else { return a.isNegative }
        let (a, b) = (a.aligned(with: b), b.aligned(with: a))
        return a.isNegative ? isLess(b.groups, a.groups) : isLess(a.groups, b.groups)
    }
}

extension DecimalNumber: CustomStringConvertible {
    package var description: String {
        func digits(_ groups: some Sequence<UInt32>) -> String {
            groups.map { $0.padded(Self.digitsPerGroup) }.joined()
        }
        let whole = digits(groups[fraction...].reversed()).drop { $0 == "0" }
        let rest = digits(groups[..<fraction].reversed()).prefix(scale)
        return (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole) + (scale > 0 ? "." + rest : "")
    }
}
