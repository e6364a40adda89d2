import PriceStore

/// A column of a query, and its name in the result.
typealias NamedSQL = (name: String, sql: SQLFragment)

/// A piece of SQL with its bound values, in order. Identifiers come from the catalog and are quoted. Values are never part of the text.
///
/// A literal where a fragment is needed is one without values.
struct SQLFragment: Hashable, ExpressibleByStringInterpolation {
    /// A piece of text, or a placeholder for a value.
    private enum Part: Hashable {
        case text(String)
        case value(String?)
    }

    private var parts: [Part]

    init(_ text: String) { parts = text.isEmpty ? [] : [.text(text)] }

    init(stringLiteral text: String) { self.init(text) }

    private init(parts: [Part]) { self.parts = parts }

    /// A bound value with a type: `$1::int8`. Without a type, the server uses that of the other operand.
    static func bound(_ value: String?, _ type: String? = nil) -> SQLFragment {
        SQLFragment(parts: [.value(value)] + (type.map { [.text("::" + $0)] } ?? []))
    }

    var statement: (text: String, values: [String?]) {
        var text = ""
        var values: [String?] = []
        for part in parts {
            switch part {
            case .text(let piece): text += piece
            case .value(let value):
                values.append(value)
                text += "$\(values.count)"
            }
        }
        return (text, values)
    }

    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment { SQLFragment(parts: a.parts + b.parts) }

    static func += (a: inout SQLFragment, b: SQLFragment) { a.parts += b.parts }

    static let always = SQLFragment("TRUE")
    static let never = SQLFragment("FALSE")

    /// The parts, joined by a separator; `empty` if there are none.
    static func joined(_ parts: [SQLFragment], by separator: SQLFragment, empty: SQLFragment = .never) -> SQLFragment {
        guard let first = parts.first else { return empty }
        return parts.dropFirst().reduce(first) { $0 + separator + $1 }
    }

    /// Columns of a query with their names in the result.
    static func columns(_ columns: [NamedSQL]) -> SQLFragment {
        joined(columns.map { $0.sql + " AS \($0.name)" }, by: ", ")
    }

    /// A bound list of values with their type: `$1::int8[]`.
    static func list(_ values: some Sequence<String?>, _ type: String) -> SQLFragment {
        .bound(ServerArray.text(values), type + "[]")
    }

    static func list(_ numbers: some Sequence<some BinaryInteger>, _ type: String) -> SQLFragment {
        .list(numbers.map { "\($0)" }, type)
    }

    /// The conjunction of conditions, each in parentheses. Conditions that are always true are left out.
    static func all(_ parts: [SQLFragment]) -> SQLFragment {
        let parts = parts.filter { $0 != .always }
        if parts.count == 1 { return parts[0] }
        return joined(parts.map { "(" + $0 + ")" }, by: " AND ", empty: .always)
    }

    /// The disjunction of conditions, each in parentheses.
    static func any(_ parts: [SQLFragment]) -> SQLFragment {
        if parts.count == 1 { return parts[0] }
        return joined(parts.map { "(" + $0 + ")" }, by: " OR ")
    }

    /// The condition as a WHERE clause with a leading space; empty if it is always true.
    var whereClause: SQLFragment { self == .always ? "" : " WHERE " + self }
}

extension DefaultStringInterpolation {
    /// A fragment inside a literal would lose its values: it is added with `+`.
    @available(*, unavailable)
    mutating func appendInterpolation(_ fragment: SQLFragment) {}
}
