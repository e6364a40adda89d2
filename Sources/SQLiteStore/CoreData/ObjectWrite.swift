import GRDB
import PriceStore

/// Inserts and updates of objects of a Core Data store.
extension SQLiteFile {
    /// Inserts an object with the next key of its table, its entity's number and a lock counter of 1, and records it in the history.
    ///
    /// - Returns: the outcome and, if the object was saved, its key.
    func insertManaged(
        _ values: [String: StoreValue], _ onConflict: ConflictPolicy, _ scope: RowScope, _ db: Database
    ) throws -> (outcome: InsertOutcome, key: StoreValue?) {
        switch try managedRow(values, onConflict, scope, db) {
        case .refused(let reason): return (.rejected(reason), nil)
        case .row(var row):
            let next = try nextKey(scope, db)
            row.rowID = ("Z_PK", next)
            let (outcome, found) = try insert(row, into: scope.table.sql, returning: ["Z_PK"], db)
            guard outcome == .saved else { return (outcome, nil) }
            let recorder = try coreDataRecorder(db)
            if found.first == .integer(next) {
                try setLastKey(next, scope, db)
                try recorder?.recordInsert(of: scope.table.tableName, key: next)
            } else if case .integer(let key)? = found.first {
                try recorder?.recordUpdates(of: scope.table.tableName, keys: "\(key)")
            }
            return (.saved, found.first)
        }
    }

    /// A row to insert, or why it cannot be one.
    enum ManagedRow {
        case row(NewRow)
        case refused(String)
    }

    /// The row of a new object by column names, without its key.
    func managedRow(
        _ values: [String: StoreValue], _ onConflict: ConflictPolicy, _ scope: RowScope, _ db: Database
    ) throws -> ManagedRow {
        guard let entity = scope.table.managed, let managed = entity.managed, !entity.isHistory else {
            throw failure(.unsupported, "rows of \(scope.table.name) cannot be saved: no model of the store has them")
        }
        guard !managed.isAbstract else {
            throw failure(
                .unsupported,
                "\(entity.name) is abstract: only its sub-entities have rows (\(entity.subentities.list))")
        }
        var named: [(column: String, value: StoreValue)] = []
        var given: Set<String> = []
        for (key, value) in values {
            let attribute = try scope.attribute(key, store: name)
            if !value.isNull { given.insert(attribute.name) }
            if let link = managed.relationships[attribute.name], !value.isNull {
                if let reason = try refusal(of: value, link, entity, db) { return .refused(reason) }
            }
            named.append((scope.table.column(attribute), value))
        }
        for attribute in scope.table.entity.attributes
        where attribute.isRequired && !attribute.isGenerated && !given.contains(attribute.name) {
            return .refused("\(entity.name).\(attribute.name) must have a value")
        }
        var row = NewRow(values: named.sorted { $0.column < $1.column }, onConflict: onConflict)
        row.identity = [("Z_ENT", .integer(entity.number)), ("Z_OPT", .integer(1))]
        row.replaceable = try replaceable(onConflict, scope, db)
        return .row(row)
    }

    /// Why a reference cannot be set to a value, or nil if it can. The value must be the key of a row, and nothing else may have to be set
    /// with it.
    private func refusal(
        of value: StoreValue, _ relationship: ManagedRelationship, _ entity: CoreDataEntity, _ db: Database
    ) throws -> String? {
        guard let schema = try catalog.coreData(db),
            let link = schema.links(of: entity).first(where: { $0.relationship == relationship }),
            case .own(let reference) = link.storage, reference.companions.isEmpty, link.back == nil
        else { return "\(entity.name).\(relationship.name) cannot be set with a key only" }
        let table = "main." + link.destinationTable.quotedIdentifier
        return try exists("SELECT 1 FROM \(table) WHERE Z_PK = \(bound: value)", db)
            ? nil : "\(entity.name).\(relationship.name) refers to no row of \(relationship.destination)"
    }

    /// Sets attributes of the rows that match a condition, increments their lock counters and records them in the history. Returns their
    /// keys.
    func updateManaged(
        _ values: [String: StoreValue], _ scope: RowScope, where condition: SQLFragment, _ db: Database
    ) throws -> [[StoreValue]] {
        guard let managed = scope.table.managed?.managed, scope.table.managed?.isHistory == false else {
            throw failure(.unsupported, "rows of \(scope.table.name) cannot be changed: no model of the store has them")
        }
        var sets: [SQLFragment] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let attribute = try scope.attribute(key, store: name)
            guard managed.attributes[attribute.name] != nil, !attribute.isGenerated else {
                throw failure(
                    .unsupported, "\(scope.table.name).\(attribute.name) cannot be set: it is not a stored attribute")
            }
            guard !value.isNull || !attribute.isRequired else {
                throw failure(.constraint, "\(scope.table.name).\(attribute.name) must have a value")
            }
            sets.append("\(scope.table.columnSQL(attribute)) = \(bound: value)")
        }
        sets.append("Z_OPT = ifnull(Z_OPT, 0) + 1")
        let table = temporaryName("updated")
        try execute("CREATE TEMP TABLE \(table) (k0 INTEGER PRIMARY KEY)", db)
        temporaries.keyLists.append(table)
        try execute("INSERT INTO temp.\(table) SELECT \(scope.key[0]) FROM \(scope.from()) WHERE \(condition)", db)
        let chosen = "SELECT k0 FROM temp.\(table)"
        try coreDataRecorder(db)?.recordUpdates(of: scope.table.tableName, keys: chosen)
        let assignments = SQLFragment.joined(sets, by: ", ", empty: "")
        try execute("UPDATE OR ABORT \(scope.table.sql) SET \(assignments) WHERE Z_PK IN (\(chosen))", db)
        return try rows(
            "SELECT \(scope.identity.list) FROM \(scope.from()) WHERE \(scope.key[0]) IN (\(chosen)) ORDER BY 1", db)
    }

    /// Deletes the rows that match a condition as a batch delete does. Returns their number.
    func deleteManaged(_ condition: SQLFragment, _ scope: RowScope, _ db: Database) throws -> Int {
        let request = DeleteWork(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: scope.table.name)))
        guard let objects = try ObjectDelete(request, scope, self, db) else {
            try execute("DELETE FROM \(scope.target()) WHERE \(SQLFragment.all([condition, scope.membership]))", db)
            return db.changesCount
        }
        defer { try? dropClearedRows(db) }
        var result = BatchDeleteResult(deletedCount: 0)
        let keys: SQLFragment = "SELECT \(scope.key[0]) FROM \(scope.from()) WHERE \(condition)"
        try objects.delete(keys, whole: .never, into: &result)
        return result.deletedCount
    }

    // MARK: Keys

    /// The next key: one more than the greatest ever assigned, which is recorded for the root entity.
    func nextKey(_ scope: RowScope, _ db: Database) throws -> Int64 {
        try nextKey(of: rootNumber(scope), in: scope.table.tableName, db)
    }

    /// The next key of a table whose greatest key is recorded under an entity number.
    func nextKey(of number: Int64, in table: String, _ db: Database) throws -> Int64 {
        let greatest = try row(
            """
            SELECT max(ifnull((SELECT Z_MAX FROM main.Z_PRIMARYKEY WHERE Z_ENT = \(bound: number)), 0), \
            ifnull((SELECT max(Z_PK) FROM main.\(table.quotedIdentifier)), 0))
            """, db)?.first
        guard case .integer(let last) = greatest, last >= 0, last < .max else {
            throw failure(
                .unsupported,
                "there is no next key for \(table): the last one in Z_PRIMARYKEY, or in the table, is the "
                    + "largest possible number or not a number", hint: "the program that owns the store must fix it")
        }
        return last + 1
    }

    private func setLastKey(_ key: Int64, _ scope: RowScope, _ db: Database) throws {
        try unboundStatement("UPDATE main.Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", db).execute(
            arguments: [key, rootNumber(scope)])
    }

    private func rootNumber(_ scope: RowScope) -> Int64 { scope.table.managed?.chain.last ?? 0 }

    /// The recorder of the current transaction, or nil if the store keeps no history.
    func coreDataRecorder(_ db: Database) throws -> CoreDataHistory.Recorder? {
        if let recorder = temporaries.recorder { return recorder }
        let recorder = try catalog.coreData(db)?.history?.recorder(self, db)
        temporaries.recorder = recorder
        return recorder
    }

    /// Completes the history of a transaction that is about to be committed.
    func finishCoreDataHistory() throws {
        try temporaries.recorder?.finish()
        temporaries.recorder = nil
    }
}
