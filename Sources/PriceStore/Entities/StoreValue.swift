/// A value as a store holds it: one of five storage classes, as in SQLite.
///
/// ```swift
/// let price: [String: StoreValue] = ["time": 1_735_689_600, "metal": "copper", "price": 4.5]
/// context.insert(entity: "price", values: price)
/// ```
public enum StoreValue: Sendable {
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
    public var isNull: Bool { if case .null = self { true } else { false } }

    package var isText: Bool { if case .text = self { true } else { false } }

    /// The name of the storage class, as SQLite's `typeof` returns it. Messages name it and never show values.
    package var storageClass: String {
        switch self {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }
}

extension StoreValue: Hashable {
    /// Whether both have the same storage class and are equal. Texts are equal if their bytes are equal, as in a store: an `é` of one code
    /// point and an `é` of two are different keys, although Swift considers the strings equal.
    public static func == (a: StoreValue, b: StoreValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a == b
        case (.text(let a), .text(let b)): a == b && a.utf8.elementsEqual(b.utf8)
        case (.blob(let a), .blob(let b)): a == b
        default: false
        }
    }

    /// Hashes the storage class and the value. Texts that Swift considers equal collide, which is harmless.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .integer(let value):
            hasher.combine(1 as UInt8)
            hasher.combine(value)
        case .real(let value):
            hasher.combine(2 as UInt8)
            hasher.combine(value)
        case .text(let value):
            hasher.combine(3 as UInt8)
            hasher.combine(value)
        case .blob(let bytes):
            hasher.combine(4 as UInt8)
            hasher.combine(bytes)
        }
    }
}
