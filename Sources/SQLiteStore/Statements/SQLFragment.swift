import Foundation
import GRDB
import PriceStore

/// A piece of SQL with its bound values, in order. Identifiers come from the catalog and are quoted. Values are never part of the text.
struct SQLFragment: Hashable {
    var text: String
    var arguments: [DatabaseValue]

    init(_ text: String, _ arguments: [DatabaseValue] = []) {
        self.text = text
        self.arguments = arguments
    }

    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        SQLFragment(a.text + b.text, a.arguments + b.arguments)
    }

    static func + (a: SQLFragment, b: String) -> SQLFragment { SQLFragment(a.text + b, a.arguments) }

    static func += (a: inout SQLFragment, b: SQLFragment) { a = a + b }

    static let always = SQLFragment("1")
    static let never = SQLFragment("0")

    /// The parts joined by a separator; `empty` if there are none.
    static func joined(_ parts: [SQLFragment], by separator: String, empty: SQLFragment) -> SQLFragment {
        guard let first = parts.first else { return empty }
        return parts.dropFirst().reduce(first) { $0 + separator + $1 }
    }

    /// All conditions joined by AND, without those that are always true.
    static func all(_ parts: [SQLFragment]) -> SQLFragment {
        chain(parts.filter { $0 != .always }, by: " AND ", empty: .always)
    }

    /// All conditions joined by OR.
    static func any(_ parts: [SQLFragment]) -> SQLFragment { chain(parts, by: " OR ", empty: .never) }

    private static func chain(_ parts: [SQLFragment], by separator: String, empty: SQLFragment) -> SQLFragment {
        if parts.count == 1 { return parts[0] }
        // SQLite limits the depth of an expression (SQLITE_MAX_EXPR_DEPTH, 1,000), and the depth of a chain is its length.
        if parts.count > 100 {
            let middle = parts.count / 2
            let halves = [parts[..<middle], parts[middle...]]
            return chain(halves.map { chain(Array($0), by: separator, empty: empty) }, by: separator, empty: empty)
        }
        return joined(parts.map { SQLFragment("(") + $0 + ")" }, by: separator, empty: empty)
    }

    var statementArguments: StatementArguments { StatementArguments(arguments) }
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

    /// A value as GRDB reads it.
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .blob([UInt8](value))
        }
    }
}
