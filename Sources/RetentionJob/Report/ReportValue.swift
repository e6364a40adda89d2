package import Logging
package import PriceStore
package import RetentionPolicy

/// A report value: its form in JSON, and its columns in the ledger.
package protocol ReportValue: Sendable {
    var json: JSONText { get }
    /// The columns for a value of that name.
    static func columns(_ name: String) -> [Attribute]
    /// Sets these columns. NULL is an unknown value.
    func record(_ name: String, in row: inout [String: StoreValue])
    /// Reads the value from a row; nil: the row has none.
    init?(_ name: String, of row: [String: StoreValue])
}

/// A value in one column.
package protocol ColumnValue: ReportValue {
    static var affinity: Attribute.Affinity { get }
    var stored: StoreValue { get }
    init?(stored: StoreValue)
}

extension ColumnValue {
    package static var affinity: Attribute.Affinity { .text }
    package var stored: StoreValue {
        switch json {
        case .integer(let number): .integer(number)
        case .bool(let flag): .integer(flag ? 1 : 0)
        case let text: .text(text.description)
        }
    }
    package static func columns(_ name: String) -> [Attribute] {
        [Attribute(name: name, affinity: affinity, declaredType: affinity == .text ? "TEXT" : "INTEGER")]
    }
    package func record(_ name: String, in row: inout [String: StoreValue]) { row[name] = stored }
    package init?(_ name: String, of row: [String: StoreValue]) { self.init(stored: row[name] ?? .null) }
}

/// A number of rows, bytes and the like. A wrong number in a ledger must not overflow a sum.
package protocol CountValue: ColumnValue, BinaryInteger {}

extension CountValue {
    package static var affinity: Attribute.Affinity { .integer }
    package var json: JSONText { .integer(Int64(self)) }
    package init?(stored: StoreValue) {
        guard case .integer(let number) = stored else { return nil }
        self.init(clamping: min(max(0, number), 1 << 48))
    }
}

extension Int: CountValue {}
extension Int32: CountValue {}
extension Int64: CountValue {}

extension Bool: ColumnValue {
    package static var affinity: Attribute.Affinity { .integer }
    package var json: JSONText { .bool(self) }
    package init?(stored: StoreValue) {
        guard case .integer(let number) = stored else { return nil }
        self = number == 1
    }
}

/// Seconds in JSON, microseconds in the ledger.
extension Duration: ColumnValue {
    package static var affinity: Attribute.Affinity { .integer }
    package var json: JSONText { .number(Figures.seconds(self)) }
    package var stored: StoreValue { .integer(wholeMicroseconds) }
    package init?(stored: StoreValue) {
        guard let count = Int64(stored: stored) else { return nil }
        self.init(wholeMicroseconds: count)
    }
}

extension String: ColumnValue {
    package var json: JSONText { .string(self) }
    package init?(stored: StoreValue) {
        guard case .text(let text) = stored else { return nil }
        self = text
    }
}

/// A value that is recorded by its word.
package protocol WordValue: ColumnValue {
    var rawValue: String { get }
    init?(rawValue: String)
}

extension WordValue {
    package var json: JSONText { .string(rawValue) }
    package init?(stored: StoreValue) {
        guard case .text(let word) = stored else { return nil }
        self.init(rawValue: word)
    }
}

extension DateEncoding: WordValue {}

/// RFC 3339 in UTC; the ledger also has microseconds since 1970, for comparison.
extension Instant: ReportValue {
    package var json: JSONText { .string(rfc3339) }
    package static func columns(_ name: String) -> [Attribute] { String.columns(name) + Int64.columns(name + "_us") }
    package func record(_ name: String, in row: inout [String: StoreValue]) {
        (row[name], row[name + "_us"]) = (.text(rfc3339), .integer(microseconds))
    }
    package init?(_ name: String, of row: [String: StoreValue]) {
        guard case .integer(let microseconds) = row[name + "_us"] else { return nil }
        self.init(microseconds: microseconds)
    }
}

extension Optional: ReportValue where Wrapped: ReportValue {
    package var json: JSONText { self?.json ?? .null }
    package static func columns(_ name: String) -> [Attribute] { Wrapped.columns(name) }
    package func record(_ name: String, in row: inout [String: StoreValue]) {
        for column in Self.columns(name) { row[column.name] = .null }
        self?.record(name, in: &row)
    }
    package init?(_ name: String, of row: [String: StoreValue]) { self = Wrapped(name, of: row) }
}

/// A list element that the ledger stores on one line.
package protocol LineValue: Sendable {
    var json: JSONText { get }
    var line: String { get }
    init?(line: String)
}

extension Array: ReportValue, ColumnValue where Element: LineValue {
    package var json: JSONText { .array(map(\.json)) }
    package var stored: StoreValue { .text(map { SafeText.escaped($0.line) }.joined(separator: "\n")) }
    package init?(stored: StoreValue) {
        guard case .text(let text) = stored else { return nil }
        self = text.fields(separatedBy: "\n").filter { !$0.isEmpty }.compactMap {
            Element(line: SafeText.unescaped($0))
        }
    }
}

extension String: LineValue {
    package var line: String { self }
    package init?(line: String) { self = line }
}

extension Logger.MetadataValue {
    /// A value in the log: numbers stay numbers.
    package init(_ value: some ReportValue) { self = .stringConvertible(value.json) }
}
