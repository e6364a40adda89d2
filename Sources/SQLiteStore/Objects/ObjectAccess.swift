import GRDB
public import PriceStore

/// Access to single rows by identity.
extension SQLiteWriter {
    /// Inserts one row and returns its ID.
    public func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID {
        try change("saving a row of \(entity)") { db in
            let scope = try tableScope(entity, db)
            if scope.table.managed != nil { return try insertManagedObject(values, scope, db) }
            let named = values.sorted { $0.key < $1.key }
            let columns = try scope.attributes(named.map(\.key), store: name).map(\.name.quotedIdentifier)
            let statement = SQLFragment(
                insertText(into: scope.table.sql, columns, .fail, sets: [], returning: scope.table.keySQL),
                named.map(\.value.databaseValue))
            let key = try constrained(entity) { try rows(statement, db).first }
            guard let key else {
                throw StoreError(
                    .constraint, store: name,
                    message: "a trigger of the store skipped a new row of \(scope.table.name)")
            }
            return objectID(scope, key)
        }
    }

    /// Sets attributes of one row if it is still as expected.
    public func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool {
        try change("updating a row of \(id.entity)") { db in
            let scope = try tableScope(id.entity, db)
            let condition = try stillCondition(id, expected, scope)
            guard !values.isEmpty else {
                return try row(SQLFragment("SELECT 1 FROM \(scope.from()) WHERE ") + condition, db) != nil
            }
            if scope.table.managed != nil {
                return try constrained(id.entity) { try updateManaged(values, scope, where: condition, db).count > 0 }
            }
            let update = try setting(values, scope)
            try constrained(id.entity) { try execute(update + " WHERE " + condition, db) }
            return db.changesCount > 0
        }
    }

    /// Deletes one row if it is still as expected.
    public func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool {
        try change("deleting a row of \(id.entity)") { db in
            let scope = try tableScope(id.entity, db)
            let condition = try stillCondition(id, expected, scope)
            if scope.table.managed != nil {
                return try transaction(.normal) { try deleteManaged(condition, scope, db) } > 0
            }
            try execute(SQLFragment("DELETE FROM \(scope.target()) WHERE ") + condition, db)
            return db.changesCount > 0
        }
    }

    private func insertManagedObject(
        _ values: [String: StoreValue], _ scope: RowScope, _ db: Database
    ) throws -> ObjectID {
        let (outcome, key) = try insertManaged(values, .fail, scope, db)
        if let key { return objectID(scope, [key]) }
        var reason = "it already exists"
        if case .rejected(let text) = outcome { reason = text }
        throw StoreError(.constraint, store: name, message: "a row of \(scope.table.name) cannot be saved: \(reason)")
    }

    /// The condition that a row has an ID and the expected values: the same bytes and storage class, whatever the column's collation and
    /// affinity.
    private func stillCondition(
        _ id: ObjectID, _ expected: [String: StoreValue], _ scope: RowScope
    ) throws -> SQLFragment {
        var parts = [try keyCondition(id, scope)]
        for (attribute, value) in expected.sorted(by: { $0.key < $1.key }) {
            let column = scope.column(try scope.attribute(attribute, store: name))
            let bound = value.databaseValue
            if bound.isNull {
                parts.append(SQLFragment("\(column) IS NULL"))
            } else {
                parts.append(
                    SQLFragment(
                        "typeof(\(column)) = '\(value.storageClass)' AND \(column) COLLATE BINARY IS ?", [bound]))
            }
        }
        return .joined(parts, by: " AND ", empty: .never)
    }
}

extension SQLiteFileConnection {
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
        StoreError(
            .unsupported, store: name, message: "the rows of \(table.name) have no key that identifies them")
    }

    /// Reports a value that a column cannot hold as a broken constraint.
    func constrained<T>(_ entity: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_MISMATCH {
            throw StoreError(
                .constraint, store: name,
                message: "a value for \(entity) has a type that its column cannot hold: "
                    + (error.message ?? "datatype mismatch"))
        }
    }
}

extension StoreValue {
    /// SQLite's `typeof` name of the value's storage class.
    var storageClass: String {
        switch self {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }
}
