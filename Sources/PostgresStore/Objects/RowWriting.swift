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
        default: return .bound(Self.text(value, table.type(attribute)), type)
        }
    }

    func named(
        _ values: [String: StoreValue], _ scope: RowScope
    ) throws -> [(attribute: Attribute, value: StoreValue)] {
        try values.sorted { $0.key < $1.key }.map { (try scope.attribute($0.key), $0.value) }
    }

    /// Inserts rows with the same attributes, in their order, from lists of their values.
    func insertion(
        of rows: some Collection<[String: StoreValue]>, _ scope: RowScope, _ onConflict: ConflictPolicy,
        into target: String? = nil
    ) throws -> SQLFragment {
        let keys = (rows.first?.keys).map { $0.sorted() } ?? []
        let attributes = try keys.map { try scope.attribute($0) }
        let names = attributes.map(\.name)
        let start = SQLFragment("INSERT INTO \(target ?? scope.table.sql) AS \(RowScope.alias) ")
        let conflict = try conflictClause(onConflict, names, scope)
        guard !keys.isEmpty else { return start + "DEFAULT VALUES" + conflict }
        let lists = zip(keys, attributes).map { key, attribute in
            let type = scope.table.type(attribute)
            return SQLFragment.list(rows.map { Self.text($0[key] ?? .null, type) }, "text")
        }
        let columns = keys.indices.map { "c\($0)" }
        let values = zip(columns, attributes).map { column, attribute in
            let isLocal = [.timestamp, .date].contains(scope.table.type(attribute))
            return "\(column)\(isLocal ? "::timestamptz" : "")::\(Self.typeOfAnyLength(attribute.declaredType))"
        }
        return start + "\(names.standardList) SELECT \(values.joined(separator: ", ")) FROM unnest("
            + .joined(lists, by: ", ")
            + ") WITH ORDINALITY AS listed (\(columns.joined(separator: ", ")), place) ORDER BY place" + conflict
    }

    /// A type without its length. A cast to a length cuts what is longer; an insert refuses it.
    private static func typeOfAnyLength(_ type: String) -> String {
        let plain = type.replacing(#/\([0-9, ]+\)/#, with: "")
        for (fixed, any) in [("character", "bpchar"), ("bit", "varbit")]
        where plain == fixed || plain.hasPrefix(fixed + "[") {
            return any + plain.dropFirst(fixed.count)
        }
        return plain
    }

    private static func text(_ value: StoreValue, _ type: ColumnType) -> String? {
        if case .real(let number) = value, type == .integer, let whole = Int64(exactly: number) { return String(whole) }
        return value.serverText
    }

    /// The ON CONFLICT clause for a key that exists already.
    func conflictClause(_ policy: ConflictPolicy, _ names: [String], _ scope: RowScope) throws -> SQLFragment {
        let table = scope.table
        switch policy {
        case .fail: return ""
        case .ignore: return " ON CONFLICT DO NOTHING"
        case .replace:
            guard let key = replacedKey(names, table) else { return "" }
            let rest = names.filter { !key.contains($0) }
            let target = key.map(\.quotedIdentifier).joined(separator: ", ")
            if rest.isEmpty { return " ON CONFLICT (\(target)) DO NOTHING" }
            let sets = rest.map { "\($0.quotedIdentifier) = excluded.\($0.quotedIdentifier)" }.joined(separator: ", ")
            let clause = SQLFragment(" ON CONFLICT (\(target)) DO UPDATE SET \(sets)")
            return try replaceable(policy, scope).map { clause + " WHERE " + $0.condition } ?? clause
        }
    }

    /// The key by which a new row with some attributes replaces another one, the primary key first; nil: it names no key.
    func replacedKey(_ names: [String], _ table: PostgresTable) -> [String]? {
        let keys =
            [table.entity.primaryKey]
            + table.indexes.filter { $0.isUnique && $0.isOrdered && !$0.columns.contains(nil) }.map {
                $0.columns.compactMap(\.self)
            }
        return keys.first { !$0.isEmpty && $0.allSatisfy(names.contains) }
    }

    /// Whether a row has all values of a new row, so that replacing it would change nothing.
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

    /// Why the server refuses a row, in its words. Throws any other error.
    func refusal(_ error: any Error, _ entity: String) throws(StoreError) -> String {
        let error = StoreError(error, store: name, doing: "adding a row to \(entity)")
        guard let code = error.engineCode, [.constraint, .unsupported].contains(error.kind) else { throw error }
        var text = error.message.firstRange(of: ": ").map { String(error.message[$0.upperBound...]) } ?? error.message
        if let undone = text.firstRange(of: "the transaction is rolled back: ") { text.removeSubrange(undone) }
        // The value would appear in `invalid input syntax for type integer: "abc"`.
        if code.hasPrefix("SQLSTATE 22"), let quote = text.firstRange(of: ": \"") {
            text = String(text[..<quote.lowerBound])
        }
        return text
    }
}

extension PostgresWriter {
    /// Adds a row. A row that breaks a constraint leaves nothing behind.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        do {
            let scope = RowScope(try requireTable(entity))
            let changed = try transaction(.normal) { try insert([values], scope, onConflict) }
            if changed == 0, let replaceable = try replaceable(onConflict, scope) {
                return try isStored(values, scope) ? .ignored : .rejected(replaceable.otherwise)
            }
            return changed > 0 || onConflict != .ignore ? .saved : .ignored
        } catch {
            return .rejected(try refusal(error, entity))
        }
    }

    /// Adds rows, as many at once as have the same attributes. It is nil if a row breaks a constraint: then nothing was added, and the rows
    /// must be inserted one by one.
    package func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> Int? {
        do {
            let scope = RowScope(try requireTable(entity))
            // The statement does not say which row was not replaced. Rows without values cannot be listed.
            if try rows.contains(where: \.isEmpty) || replaceable(onConflict, scope) != nil { return nil }
            var savedCount = 0
            try transaction(.normal) {
                for portion in Self.portions(rows) {
                    savedCount += try insert(portion, scope, onConflict)
                }
            }
            return savedCount
        } catch {
            // 21000: two rows have the same key, and one statement cannot replace a row twice.
            if (error as? StoreError)?.engineCode != "SQLSTATE 21000" { _ = try refusal(error, entity) }
            return nil
        }
    }

    /// Inserts rows and returns their number. Citus counts ignored rows too, unless the statement returns its rows.
    private func insert(
        _ rows: some Collection<[String: StoreValue]>, _ scope: RowScope, _ onConflict: ConflictPolicy
    ) throws -> Int {
        let count = try execute(insertion(of: rows, scope, onConflict) + " RETURNING 1").changedCount
        // What is checked at the end of the transaction would refuse all rows of a file.
        try execute("SET CONSTRAINTS ALL IMMEDIATE")
        return count
    }

    /// Consecutive rows with the same attributes.
    private static func portions(_ rows: [[String: StoreValue]]) -> [ArraySlice<[String: StoreValue]>] {
        var portions: [ArraySlice<[String: StoreValue]>] = []
        var start = 0
        for index in rows.indices.dropFirst() where rows[index].keys != rows[start].keys {
            portions.append(rows[start..<index])
            start = index
        }
        if start < rows.count { portions.append(rows[start...]) }
        return portions
    }
}
