@preconcurrency import Glibc
import PriceStore

/// Reads numbers in pending files, with all their digits.
enum PendingNumber {
    /// The result of reading a text for a column.
    enum Reading: Equatable {
        /// A number, as the column stores it.
        case number(StoreValue)
        /// A number that the column cannot hold: written with as many digits, the stored value is another number.
        case inexact
        case notANumber
    }

    /// Reads digits with an optional sign, fraction and exponent.
    static func read(_ text: String, for attribute: Attribute) -> Reading {
        if let integer = Int64(text) { return holds(integer, attribute) ? .number(.integer(integer)) : .inexact }
        guard let double = double(text, allowsExponent: true) else { return .notANumber }
        switch attribute.precision {
        case .decimal: return .number(.text(text))
        case .double: return isExact(double, text, safeDigits: 15) ? .number(.real(double)) : .inexact
        case .single:
            return isExact(Double(Float(double)), text, safeDigits: 6) ? .number(.real(double)) : .inexact
        }
    }

    /// Reads a number that is a date. A fraction may be rounded, because an instant has only microseconds.
    static func readDate(_ text: String, allowsExponent: Bool) -> Reading {
        if let integer = Int64(text) { return .number(.integer(integer)) }
        guard let double = double(text, allowsExponent: allowsExponent) else { return .notANumber }
        let isWhole = !text.utf8.contains(UInt8(ascii: "."))
        return double.isFinite && (!isWhole || isExact(double, text, safeDigits: 15))
            ? .number(.real(double)) : .inexact
    }

    /// Whether a column holds a whole number exactly.
    static func holds(_ integer: Int64, _ attribute: Attribute) -> Bool {
        guard attribute.affinity == .real else { return true }
        return attribute.precision == .single ? Float(exactly: integer) != nil : Double(exactly: integer) != nil
    }

    /// The nearest double, which may be infinite; nil: the text is not a number.
    private static func double(_ text: String, allowsExponent: Bool) -> Double? {
        // Double() also accepts hexadecimal, "inf" and "nan".
        let isDecimal = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"): true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): allowsExponent
            default: false
            }
        }
        return isDecimal ? Double(text) : nil
    }

    /// Whether a double, written with as many digits as a text, is the number in the text.
    ///
    /// - Parameter safeDigits: the number of digits that every double keeps unless it is too small.
    private static func isExact(_ double: Double, _ text: String, safeDigits: Int) -> Bool {
        let written = Decimal(text.utf8)
        guard double.isFinite, !written.digits.isEmpty else { return double == 0 }
        if written.digits.count <= safeDigits, double.isNormal { return true }
        // No double has more digits.
        guard written.digits.count <= 800 else { return false }
        var buffer = [CChar](repeating: 0, count: 1024)
        let count = withVaList([Int32(written.digits.count - 1), double.magnitude]) {
            vsnprintf(&buffer, buffer.count, "%.*e", $0)
        }
        return count > 0 && Decimal(buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, isPrinted: true) == written
    }

    /// A number without its sign: its digits, without leading zeros and without trailing zeros of a fraction, and the power of ten of the
    /// last digit.
    private struct Decimal: Equatable {
        var digits: [UInt8] = []
        var exponent = 0

        /// Reads a text that is a number.
        ///
        /// - Parameter isPrinted: whether it was printed with as many digits as the number it is compared with.
        init(_ text: some Sequence<UInt8>, isPrinted: Bool = false) {
            var (hasPoint, power, isPower, isNegative) = (false, 0, false, false)
            for byte in text {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"):
                    let digit = byte - UInt8(ascii: "0")
                    if isPower {
                        power = min(power * 10 + Int(digit), 1_000_000)
                    } else {
                        if digit > 0 || !digits.isEmpty { digits.append(digit) }
                        if hasPoint { exponent -= 1 }
                    }
                case UInt8(ascii: "."): hasPoint = true
                case UInt8(ascii: "-"): isNegative = isPower
                case UInt8(ascii: "e"), UInt8(ascii: "E"): isPower = true
                default: break
                }
            }
            while digits.last == 0, exponent < 0, !isPrinted {
                digits.removeLast()
                exponent += 1
            }
            exponent += isNegative ? -power : power
        }
    }
}
