/// A Swift type whose values a store can hold: `Int`, `Int64`, `Double`, `Bool`, `String`, `[UInt8]`, `Data`, `UUID`, `Decimal`, optionals
/// of them, and types with such a raw value.
///
/// ```swift
/// enum Metal: String, StoreConvertible { case gold, silver }
/// let value = StoreValue(Metal.gold)
/// let metal = Metal(storeValue: value)
/// ```
public protocol StoreConvertible {
    /// The value as a store holds it.
    var storeValue: StoreValue { get }

    /// Reads a stored value; nil: it is of another type.
    init?(storeValue: StoreValue)
}

extension StoreValue: StoreConvertible {
    /// The value itself.
    public var storeValue: StoreValue { self }

    /// Takes the value itself.
    public init(storeValue: StoreValue) { self = storeValue }

    /// The value of a Swift type as a store holds it.
    public init(_ value: some StoreConvertible) { self = value.storeValue }
}

extension StoreConvertible where Self: FixedWidthInteger & SignedInteger {
    /// An integer.
    @inlinable public var storeValue: StoreValue { .integer(Int64(self)) }

    /// Reads an integer; nil: it is too large for the type.
    @inlinable
    public init?(storeValue: StoreValue) {
        guard case .integer(let number) = storeValue else { return nil }
        self.init(exactly: number)
    }
}

extension Int64: StoreConvertible {}
extension Int: StoreConvertible {}

extension Double: StoreConvertible {
    /// A double.
    public var storeValue: StoreValue { .real(self) }

    /// Reads a double, or an integer, which is rounded to the nearest double.
    public init?(storeValue: StoreValue) {
        switch storeValue {
        case .real(let number): self = number
        case .integer(let number): self.init(number)
        default: return nil
        }
    }
}

extension Bool: StoreConvertible {
    /// 1 or 0, as SQLite and Core Data store it.
    public var storeValue: StoreValue { .integer(self ? 1 : 0) }

    /// Reads a 1 or a 0.
    public init?(storeValue: StoreValue) {
        guard case .integer(let number) = storeValue, 0...1 ~= number else { return nil }
        self = number == 1
    }
}

extension String: StoreConvertible {
    /// A text.
    public var storeValue: StoreValue { .text(self) }

    /// Reads a text.
    public init?(storeValue: StoreValue) {
        guard case .text(let text) = storeValue else { return nil }
        self = text
    }
}

extension [UInt8]: StoreConvertible {
    /// Bytes.
    public var storeValue: StoreValue { .blob(self) }

    /// Reads bytes.
    public init?(storeValue: StoreValue) {
        guard case .blob(let bytes) = storeValue else { return nil }
        self = bytes
    }
}

extension StoreConvertible where Self: RawRepresentable, RawValue: StoreConvertible {
    /// The raw value as a store holds it.
    public var storeValue: StoreValue { rawValue.storeValue }

    /// Reads a raw value; nil: no value of the type has it.
    public init?(storeValue: StoreValue) {
        guard let raw = RawValue(storeValue: storeValue) else { return nil }
        self.init(rawValue: raw)
    }
}

extension Optional: StoreConvertible where Wrapped: StoreConvertible {
    /// The value, or ``StoreValue/null``.
    @inlinable public var storeValue: StoreValue { self?.storeValue ?? .null }

    /// Reads a value; NULL is nil.
    @inlinable
    public init?(storeValue: StoreValue) {
        if storeValue.isNull {
            self = .none
        } else {
            guard let value = Wrapped(storeValue: storeValue) else { return nil }
            self = .some(value)
        }
    }
}

extension StoreValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByStringInterpolation
{
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A double.
    public init(floatLiteral value: Double) { self = .real(value) }

    /// 1 or 0.
    public init(booleanLiteral value: Bool) { self = value.storeValue }

    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension StoreValue: CustomStringConvertible {
    /// The value for a debugger, such as `NULL`, `17`, `'gold'` and `16 bytes`. Messages never show values.
    public var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): "'\(value)'"
        case .blob(let bytes): bytes.count.counted("byte")
        }
    }
}
