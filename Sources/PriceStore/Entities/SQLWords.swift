// Words of standard SQL, which all engines write in the same way.

extension String {
    /// The name as an SQL identifier in a statement. An engine may quote it in its own way.
    package var quotedIdentifier: String { standardIdentifier }

    /// The name as an identifier of standard SQL, for people and for a schema: in double quotes, with quotes doubled.
    package var standardIdentifier: String {
        // Names are quoted for every statement, and few contain a quote.
        guard utf8.contains(UInt8(ascii: "\"")) else { return "\"\(self)\"" }
        return "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The text as an SQL literal: in single quotes, with quotes doubled.
    package var quotedLiteral: String {
        "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}

extension [String] {
    /// The names as a list for a schema, in parentheses.
    package var standardList: String { "(" + map(\.standardIdentifier).joined(separator: ", ") + ")" }
}

extension StorePredicate.Operator {
    package var sql: String {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}

extension Relationship.DeleteRule {
    package var sqlAction: String {
        switch self {
        case .cascade: "CASCADE"
        case .nullify: "SET NULL"
        case .setDefault: "SET DEFAULT"
        case .restrict: "RESTRICT"
        case .noAction: "NO ACTION"
        }
    }
}
