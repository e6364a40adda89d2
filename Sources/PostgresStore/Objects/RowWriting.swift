public import PriceStore

extension PostgresDatabase {
    /// A new value as an expression of the column's type.
    ///
    /// A text for a date column is an ISO 8601 date. A date with an offset is converted to the session's zone, which is the policy's,
    /// before a column without a zone stores it.
    func newValue(_ value: StoreValue, _ attribute: Attribute, _ table: PostgresTable) -> SQLFragment {
        let type = attribute.declaredType
        switch (table.type(attribute), value) {
        case (.timestamp, .text(let text)), (.date, .text(let text)):
            return "(" + .bound(text, "timestamptz") + ")::\(type)"
        case (.integer, .real(let number)):
            return .bound(Int64(exactly: number).map(String.init) ?? number.serverText, type)
        default: return .bound(value.serverText, type)
        }
    }

    func named(
        _ values: [String: StoreValue], _ scope: RowScope
    ) throws -> [(attribute: Attribute, value: StoreValue)] {
        try values.sorted { $0.key < $1.key }.map { (try scope.attribute($0.key), $0.value) }
    }

    func insertStatement(
        _ scope: RowScope, _ values: [String: StoreValue], _ onConflict: ConflictPolicy, into target: String? = nil
    ) throws -> SQLFragment {
        let named = try named(values, scope)
        let columns = named.map(\.attribute.name.quotedIdentifier).joined(separator: ", ")
        let expressions = named.map { newValue($0.value, $0.attribute, scope.table) }
        let source =
            named.isEmpty
            ? "DEFAULT VALUES"
            : "(\(columns)) VALUES (" + .joined(expressions, by: ", ") + ")"
        return "INSERT INTO \(target ?? scope.table.sql) AS \(RowScope.alias) " + source
            + (try conflictClause(onConflict, named.map(\.attribute.name), scope))
    }

    /// The ON CONFLICT clause for a key that exists already.
    ///
    /// - Parameter scope: the scope whose alias the rows have.
    func conflictClause(_ policy: ConflictPolicy, _ names: [String], _ scope: RowScope) throws -> SQLFragment {
        let table = scope.table
        switch policy {
        case .fail: return ""
        case .ignore: return " ON CONFLICT DO NOTHING"
        case .replace:
            // The key that the new row names; the primary key comes first.
            let keys =
                [table.entity.primaryKey]
                + table.indexes.filter { $0.isUnique && $0.isOrdered }.map {
                    $0.columns.compactMap { $0 }
                }
            guard let key = keys.first(where: { !$0.isEmpty && $0.allSatisfy(names.contains) }) else {
                return ""
            }
            let rest = names.filter { !key.contains($0) }
            let target = key.map(\.quotedIdentifier).joined(separator: ", ")
            if rest.isEmpty { return " ON CONFLICT (\(target)) DO NOTHING" }
            let sets = rest.map { "\($0.quotedIdentifier) = excluded.\($0.quotedIdentifier)" }.joined(separator: ", ")
            let clause = SQLFragment(" ON CONFLICT (\(target)) DO UPDATE SET \(sets)")
            return try replaceable(policy, scope).map { clause + " WHERE " + $0.condition } ?? clause
        }
    }

    /// Whether a row has all values of a new row, so that replacing it would change nothing.
    ///
    /// - Parameter source: where to look for the row; nil for the table.
    func isStored(_ values: [String: StoreValue], _ scope: RowScope, in source: String? = nil) throws -> Bool {
        guard !values.isEmpty else { return false }
        let same = try named(values, scope).map { attribute, value in
            let column = "\(RowScope.alias).\(attribute.name.quotedIdentifier)"
            let new = newValue(value, attribute, scope.table)
            return switch scope.table.type(attribute) {
            case .integer, .real, .numeric, .timestamptz, .timestamp, .date:
                "\(column) IS NOT DISTINCT FROM " + new
            // A collation may equate different texts, and some types have no equality.
            default: "\(column)::text COLLATE \"C\" IS NOT DISTINCT FROM (" + new + ")::text COLLATE \"C\""
            }
        }
        let from = source.map { "\($0) AS \(RowScope.alias)" } ?? scope.from
        return try exists("SELECT 1 FROM \(from)" + SQLFragment.all(same).whereClause + " LIMIT 1")
    }

    /// The condition of the rows of a scope that a new row may replace, and the message for others; nil if it may replace all.
    func replaceable(
        _ onConflict: ConflictPolicy, _ scope: RowScope
    ) throws -> (condition: SQLFragment, otherwise: String)? {
        guard onConflict == .replace, !heldFromReplacing.isEmpty else { return nil }
        let all = Holds(session: self, all: heldFromReplacing)
        let holds = try heldFromReplacing.filter { try all.held($0, scope) != nil }
        guard !holds.isEmpty else { return nil }
        return (try Holds(session: self, all: holds).areSpared(by: nil, scope), holds.refusalToReplace)
    }
}

extension PostgresWriter {
    /// Adds a row. A row that breaks a constraint leaves nothing behind.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        do {
            let scope = RowScope(try requireTable(entity))
            let statement = try insertStatement(scope, values, onConflict)
            let changed = try transaction(.normal) { try execute(statement).changedCount }
            if changed == 0, let replaceable = try replaceable(onConflict, scope) {
                return try isStored(values, scope) ? .ignored : .rejected(replaceable.otherwise)
            }
            return changed > 0 || onConflict != .ignore ? .saved : .ignored
        } catch {
            let storeError = StoreError(error, store: name, doing: "adding a row to \(entity)")
            guard storeError.engineCode != nil, [.constraint, .unsupported].contains(storeError.kind) else {
                throw storeError
            }
            return .rejected(Self.reason(storeError))
        }
    }

    /// The server's message without the name of the operation.
    private static func reason(_ error: StoreError) -> String {
        guard let colon = error.message.firstRange(of: ": ") else { return error.message }
        var text = String(error.message[colon.upperBound...])
        if let undone = text.firstRange(of: "the transaction is rolled back: ") { text.removeSubrange(undone) }
        // The value would appear in `invalid input syntax for type integer: "abc"`.
        if error.engineCode?.hasPrefix("SQLSTATE 22") == true, let quote = text.firstRange(of: ": \"") {
            text = String(text[..<quote.lowerBound])
        }
        return text
    }
}
