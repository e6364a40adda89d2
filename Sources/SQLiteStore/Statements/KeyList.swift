import GRDB
import PriceStore

/// Object IDs in statements.
extension SQLiteFile {
    /// The ID of a row of a scope, from the values of its ``RowScope/identity``.
    func objectID(_ scope: RowScope, _ key: [StoreValue]) -> ObjectID {
        guard key.count > 1, case .integer(let number) = key[1], let name = scope.table.managed?.memberNames[number]
        else {
            return ObjectID(entity: scope.table.name, key: key, storeIdentifier: storeIdentifier)
        }
        // A row of a sub-entity has the same ID whichever entity is queried.
        return ObjectID(entity: name, key: [key[0]], storeIdentifier: storeIdentifier)
    }

    /// The condition that a row has one of these IDs.
    func keyCondition(_ ids: [ObjectID], _ scope: RowScope, _ db: Database) throws -> SQLFragment {
        try check(ids, scope.table)
        guard !ids.isEmpty else { return .never }
        return "\(scope.key.operand) IN (\(try keyList(ids.map(\.key), columns: scope.key.count, db)))"
    }

    /// The condition that a row has this ID.
    func keyCondition(_ id: ObjectID, _ scope: RowScope) throws -> SQLFragment {
        try check([id], scope.table)
        return .joined(zip(scope.key, id.key).map { "\($0) = \(bound: $1)" }, by: " AND ", empty: .never)
    }

    /// Throws if an ID belongs to another entity or store, or does not fit the entity's key.
    func check(_ ids: [ObjectID], _ table: SQLiteTable) throws(StoreError) {
        let entity = table.name.folded
        let width = table.keySQL.count
        guard width > 0 else { throw keyless(table) }
        var isMisfit = false
        for id in ids {
            guard
                id.entity == table.name || id.entity.folded == entity
                    || table.managed?.subentities.contains(id.entity) == true,
                id.storeIdentifier == nil || id.storeIdentifier == storeIdentifier
            else { throw Self.foreignIDs(ids, table.name, self) }
            if id.key.count != width { isMisfit = true }
        }
        guard !isMisfit else {
            throw failure(.unsupported, "an object ID of \(table.name) does not have the \(width) values of its key")
        }
    }

    /// The error for IDs of several entities or of another store. It names them all.
    private static func foreignIDs(_ ids: [ObjectID], _ entity: String, _ connection: SQLiteFile)
        -> StoreError
    {
        let others = Set(ids.compactMap(\.storeIdentifier)).subtracting([connection.storeIdentifier])
        if let other = others.min() {
            let entities = Set(ids.filter { $0.storeIdentifier == other }.map(\.entity)).sorted()
            return connection.failure(
                .unsupported, "object IDs of \(entities.list) belong to another store, \(other)",
                hint: "send a separate request to each store")
        }
        let entities = Set(ids.map(\.entity)).union([entity]).sorted()
        return connection.failure(
            .unsupported, "the object IDs of one request belong to several entities: \(entities.list)",
            hint: "make one request for each entity")
    }

    /// Keys as the right side of an IN: one JSON text for rowids, otherwise bound values or, because the number of parameters is limited, a
    /// temporary table that is dropped when the current work ends.
    private func keyList(_ keys: [[StoreValue]], columns: Int, _ db: Database) throws -> SQLFragment {
        if columns == 1, let rowIDs = Self.integers(keys) {
            return "SELECT value FROM json_each(\(bound: "[" + rowIDs.map(String.init).joined(separator: ",") + "]"))"
        }
        let row = "(" + Array(repeating: "?", count: columns).list + ")"
        // SQLITE_MAX_COMPOUND_SELECT does not apply to VALUES. SQLITE_MAX_VARIABLE_NUMBER is at least 32,766.
        if keys.count * columns <= 1000 {
            return SQLFragment("VALUES " + Array(repeating: row, count: keys.count).list, Array(keys.joined()))
        }
        let table = temporaryName("keys")
        let names = (0..<columns).map { "k\($0)" }.list
        try execute("CREATE TEMP TABLE \(table) (\(names), PRIMARY KEY (\(names))) WITHOUT ROWID", db)
        temporaries.keyLists.append(table)
        let insert = "INSERT OR IGNORE INTO temp.\(table) VALUES \(row)"
        for key in keys { try execute(SQLFragment(insert, key), db) }
        return "SELECT \(names) FROM temp.\(table)"
    }

    private static func integers(_ keys: [[StoreValue]]) -> [Int64]? {
        var integers: [Int64] = []
        integers.reserveCapacity(keys.count)
        for key in keys {
            guard case .integer(let value)? = key.first else { return nil }
            integers.append(value)
        }
        return integers
    }

    /// Drops the key tables created after the first `known`.
    func dropKeyLists(beyond known: Int, _ db: Database) {
        while temporaries.keyLists.count > known {
            // A rollback may have dropped it already.
            try? db.execute(sql: "DROP TABLE IF EXISTS temp.\(temporaries.keyLists.removeLast())")
        }
    }
}
