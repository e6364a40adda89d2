import Foundation
import GRDB
import PriceStore

/// A piece of SQL with its bound values, in order. Identifiers come from the catalog and are quoted. Values are never part of the text.
///
/// A literal where a fragment is needed is one, and can contain others: `"SELECT 1 FROM price WHERE \(condition) LIMIT \(bound: limit)"`.
struct SQLFragment: Hashable, ExpressibleByStringInterpolation {
    var text: String
    var arguments: [StoreValue]

    init(_ text: String, _ arguments: [StoreValue] = []) {
        self.text = text
        self.arguments = arguments
    }

    init(stringLiteral text: String) { self.init(text) }

    init(stringInterpolation parts: StringInterpolation) { self = parts.fragment }

    /// The parts of a literal, put together.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var fragment = SQLFragment("")

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ text: String) { fragment.text += text }

        mutating func appendInterpolation(_ sql: String) { fragment.text += sql }

        mutating func appendInterpolation(_ number: some BinaryInteger) { fragment.text += "\(number)" }

        mutating func appendInterpolation(_ other: SQLFragment) { fragment += other }

        /// A value, for which the text has a question mark.
        mutating func appendInterpolation(bound value: some StoreConvertible) {
            fragment += SQLFragment("?", [value.storeValue])
        }

        /// Values with commas between them.
        mutating func appendInterpolation(bound values: [StoreValue]) {
            fragment += SQLFragment(values.map { _ in "?" }.list, values)
        }
    }

    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        SQLFragment(a.text + b.text, a.arguments + b.arguments)
    }

    static func += (a: inout SQLFragment, b: SQLFragment) {
        a.text += b.text
        a.arguments += b.arguments
    }

    static let always = SQLFragment("1")
    static let never = SQLFragment("0")

    /// The parts joined by a separator; `empty` if there are none.
    static func joined(_ parts: [SQLFragment], by separator: String, empty: SQLFragment) -> SQLFragment {
        guard let first = parts.first else { return empty }
        return parts.dropFirst().reduce(first) { "\($0)\(separator)\($1)" }
    }

    /// All conditions joined by AND, without those that are always true.
    static func all(_ parts: [SQLFragment]) -> SQLFragment {
        chain(parts.filter { $0 != .always }, by: " AND ", empty: .always)
    }

    static func any(_ parts: [SQLFragment]) -> SQLFragment { chain(parts, by: " OR ", empty: .never) }

    private static func chain(_ parts: [SQLFragment], by separator: String, empty: SQLFragment) -> SQLFragment {
        if parts.count == 1 { return parts[0] }
        // SQLite limits the depth of an expression (SQLITE_MAX_EXPR_DEPTH, 1,000), and the depth of a chain is its length.
        if parts.count > 100 {
            let middle = parts.count / 2
            let halves = [parts[..<middle], parts[middle...]]
            return chain(halves.map { chain(Array($0), by: separator, empty: empty) }, by: separator, empty: empty)
        }
        return joined(parts.map { "(\($0))" }, by: separator, empty: empty)
    }

    /// The values as GRDB binds them.
    var statementArguments: StatementArguments { StatementArguments(arguments.map(\.databaseValue)) }

    /// The condition as a WHERE clause with a leading space; empty if it is always true.
    var whereClause: SQLFragment { self == .always ? "" : " WHERE \(self)" }
}

extension DefaultStringInterpolation {
    /// A fragment inside a plain text would lose its values.
    @available(*, unavailable)
    mutating func appendInterpolation(_ fragment: SQLFragment) {}
}

extension StoreValue {
    /// The value as GRDB binds it.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
