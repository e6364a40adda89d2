import GRDB
public import PriceStore

/// Access to single rows by identity.
extension SQLiteWriter {
    /// Inserts one row and returns its ID.
    public func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID {
        try change("saving a row of \(entity)") { db in
            let scope = try tableScope(entity, db)
            if scope.table.managed != nil {
                let (outcome, key) = try insertManaged(values, .fail, scope, db)
                if let key { return objectID(scope, [key]) }
                var reason = "it already exists"
                if case .rejected(let text) = outcome { reason = text }
                throw failure(.constraint, "a row of \(scope.table.name) cannot be saved: \(reason)")
            }
            let named = values.sorted { $0.key < $1.key }
            let columns = try scope.attributes(named.map(\.key), store: name).map(\.name.quotedIdentifier)
            let statement = SQLFragment(
                insertText(into: scope.table.sql, columns, .fail, sets: [], returning: scope.table.keySQL),
                named.map(\.value))
            let key = try constrained(scope.table, values, db) { try rows(statement, db).first }
            guard let key else {
                throw failure(.constraint, "a trigger of the store skipped a new row of \(scope.table.name)")
            }
            return objectID(scope, key)
        }
    }

    /// Sets attributes of one row if it is still as expected.
    public func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool {
        try change("updating \(id)") { db in
            let scope = try tableScope(id.entity, db)
            let condition = try stillCondition(id, expected, scope)
            guard !values.isEmpty else {
                return try exists("SELECT 1 FROM \(scope.from()) WHERE \(condition)", db)
            }
            return try update(values, scope, where: condition, listed: false, db).updatedCount > 0
        }
    }

    /// Deletes one row if it is still as expected.
    public func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool {
        try change("deleting \(id)") { db in
            let scope = try tableScope(id.entity, db)
            let condition = try stillCondition(id, expected, scope)
            if scope.table.managed != nil {
                return try transaction(.normal) { try deleteManaged(condition, scope, db) } > 0
            }
            return try namingReferences(to: scope.table, db) {
                try execute("DELETE FROM \(scope.target()) WHERE \(condition)", db)
                return db.changesCount > 0
            }
        }
    }

    /// The condition that a row has an ID and the expected values: the same bytes and storage class, whatever the column's collation and
    /// affinity.
    private func stillCondition(
        _ id: ObjectID, _ expected: [String: StoreValue], _ scope: RowScope
    ) throws -> SQLFragment {
        var parts = [try keyCondition(id, scope)]
        for (attribute, value) in expected.sorted(by: { $0.key < $1.key }) {
            let column = try scope.column(attribute, store: name)
            let kind = value.databaseValue.isNull ? "null" : value.storageClass
            parts.append("typeof(\(column)) = '\(kind)' AND \(column) COLLATE BINARY IS \(bound: value)")
        }
        return .joined(parts, by: " AND ", empty: .never)
    }
}

extension SQLiteFile {
    /// The scope of a table whose rows have a key. Throws for views and other entities without one.
    func tableScope(_ entity: String, _ db: Database) throws -> RowScope {
        try tableScope(of: StoreFetchRequest(entity: entity), db)
    }

    /// The rows that a request covers, which must belong to a table and have a key.
    func tableScope(of request: StoreFetchRequest, _ db: Database) throws -> RowScope {
        let scope = try scope(of: request, db)
        guard scope.table.entity.kind == .table, !scope.table.keySQL.isEmpty else {
            throw keyless(scope.table)
        }
        return scope
    }

    /// The error for rows without a key: those of a view, or of a table whose columns hide its rowid.
    func keyless(_ table: SQLiteTable) -> StoreError {
        failure(.unsupported, "the rows of \(table.name) have no key that identifies them")
    }

    /// Sets values of a row. If the store refuses them, the error says which and why, where SQLite does not.
    func constrained<T>(
        _ table: SQLiteTable, _ values: [String: StoreValue], _ db: Database, _ body: () throws -> T
    ) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            guard let reason = try refusal(of: values, table, error.resultCode, error.reason, db) else { throw error }
            throw failure(
                .constraint, "a row of \(table.name) cannot be saved: \(reason)", engineCode: "SQLITE_CONSTRAINT")
        }
    }

    /// Why the store refuses values of a row, if SQLite names neither the attribute nor the table; otherwise nil.
    func refusal(
        of values: [String: StoreValue], _ table: SQLiteTable, _ code: ResultCode, _ reason: String, _ db: Database
    ) throws -> String? {
        if reason == Self.refusedReference { return try missingReference(values, of: table, db) }
        guard code == .SQLITE_MISMATCH else { return nil }
        // Only a rowid has one type.
        let name = table.rowIDAlias ?? "rowid"
        let kind = values.first { $0.key.folded == name.folded }?.value.storageClass ?? "another value"
        return "its key \(name) must be an integer, not \(kind)"
    }
}
