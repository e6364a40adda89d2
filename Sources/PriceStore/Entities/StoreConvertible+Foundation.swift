public import Foundation

extension Data: StoreConvertible {
    /// Bytes.
    public var storeValue: StoreValue { .blob([UInt8](self)) }

    /// Reads bytes.
    public init?(storeValue: StoreValue) {
        guard case .blob(let bytes) = storeValue else { return nil }
        self.init(bytes)
    }
}

extension UUID: StoreConvertible {
    /// The 16 bytes, as Core Data and GRDB store them.
    public var storeValue: StoreValue { withUnsafeBytes(of: uuid) { .blob([UInt8]($0)) } }

    /// Reads 16 bytes, or a text.
    public init?(storeValue: StoreValue) {
        switch storeValue {
        case .text(let text): self.init(uuidString: text)
        case .blob(let bytes) where bytes.count == 16:
            self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        default: return nil
        }
    }
}

extension Decimal: StoreConvertible {
    /// An integer of 64 bits if it is one, otherwise a text with all digits; NULL if it is not a number. It belongs in an attribute with the
    /// affinity `text`: columns for numbers make a double of such a text, which is not read as a decimal number.
    public var storeValue: StoreValue {
        if isNaN { return .null }
        let text = description
        return Int64(text).map(StoreValue.integer) ?? .text(text)
    }

    /// Reads an integer, or a text with no more digits than a decimal number can hold.
    public init?(storeValue: StoreValue) {
        switch storeValue {
        case .integer(let number): self.init(number)
        case .text(let text):
            // Foundation would read `12 euros` as 12, and round what has more digits.
            let digits = text.hasPrefix("-") ? text.dropFirst() : Substring(text)
            let parts = digits.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let isNumber = parts.allSatisfy {
                !$0.isEmpty && $0.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            }
            guard isNumber, parts.count < 3, let number = Decimal(string: text),
                digits.utf8.count <= 38
                    || Self.shortened(digits) == Self.shortened(Substring(number.magnitude.description))
            else { return nil }
            self = number
        case .null, .real, .blob: return nil
        }
    }

    /// The digits without zeros before and after the number.
    private static func shortened(_ digits: Substring) -> Substring {
        var digits = digits.drop { $0 == "0" }
        while digits.contains("."), let last = digits.last, last == "0" || last == "." { digits.removeLast() }
        return digits
    }
}

/// A type for dates, which are stored in a format, one of ``DateEncoding``: `Date` of Foundation, and ``Instant``.
///
/// ```swift
/// let isOld = Attribute("time", .unixSeconds) < Date() - 30 * 86_400
/// ```
public protocol InstantConvertible {
    /// The instant, to the microsecond.
    var instant: Instant { get }

    /// Makes the date of an instant.
    init(_ instant: Instant)
}

extension Instant: InstantConvertible {
    /// The instant itself.
    public var instant: Instant { self }

    /// Takes the instant itself.
    public init(_ instant: Instant) { self = instant }
}

extension Date: InstantConvertible {
    /// The instant, to the nearest microsecond.
    public var instant: Instant { Instant(self) }
}
