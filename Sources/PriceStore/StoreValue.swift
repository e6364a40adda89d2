/// A value as a store holds it: one of five storage classes, as in SQLite.
public enum StoreValue: Hashable, Sendable {
    /// No value.
    case null
    /// A signed integer of 64 bits.
    case integer(Int64)
    /// A double. NaN is stored as ``null`` by the engines.
    case real(Double)
    /// A text in UTF-8.
    case text(String)
    /// Bytes.
    case blob([UInt8])

    /// Whether this is ``null``.
    public var isNull: Bool { self == .null }
}
