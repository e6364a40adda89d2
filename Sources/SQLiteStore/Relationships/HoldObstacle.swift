import GRDB
package import PriceStore

extension SQLiteFile {
    /// Why it is uncertain that holds keep their rows from a delete, or nil if it is certain.
    ///
    /// The condition of a delete spares held rows, but triggers of the store may still change or delete them. A delete with a trigger that
    /// may do so is refused.
    func obstacleOfHolds(
        _ holds: [HeldRows], _ request: BatchDeleteRequest, writing target: String?, _ db: Database
    ) throws -> HoldObstacle? {
        guard !holds.isEmpty, let effects = try triggerEffects(of: request, writing: target, db) else { return nil }
        return try threat(to: holds, effects, db)
    }

    /// What triggers of the store do when rows are deleted, or nil if it has no triggers and no tables that replace rows.
    func triggerEffects(
        of request: BatchDeleteRequest, writing target: String?, _ db: Database
    ) throws -> TriggerEffects? {
        let cause = TriggerEffects.Cause(request, writing: target)
        if let known = catalog.triggerEffects[cause] { return known }
        let effects = try readTriggerEffects(of: request, writing: target, db)
        catalog.triggerEffects[cause] = .some(effects)
        return effects
    }

    private func readTriggerEffects(
        of request: BatchDeleteRequest, writing target: String?, _ db: Database
    ) throws -> TriggerEffects? {
        guard try catalog.schema(db).canReach else { return nil }
        let own = try scope(of: request.fetchRequest, db).table
        var (losing, clearing): ([String], [String: [String]?]) = ([own.tableName], [:])
        var derived: [String: Set<String>]?
        if let managed = own.managed, let schema = try catalog.coreData(db) {
            losing.addMissing(schema.reachedTables(from: managed).sorted())
            // Not every one of these tables loses references, but Core Data creates no triggers that fire on that.
            for entity in schema.entities.values { clearing[entity.table] = .some(nil) }
            derived = try Dictionary(grouping: schema.entities.values, by: \.table.folded).mapValues {
                let attributes = try $0.flatMap { try scope($0.name, db).table.entity.attributes }
                return Set(attributes.filter(\.isGenerated).compactMap(\.column?.folded))
            }
        } else {
            let keys = try keyGraph(of: own.name, request.relationships, db)
            losing.addMissing(keys.losing)
            clearing = keys.clearing
        }
        return try TriggerEffects(
            of: losing, clearing: clearing, writing: target.map { TriggerText.Change.writes(into: $0) } ?? [],
            derived: derived, self, db)
    }

    /// Why it is uncertain that holds keep their rows from an insert into a table, or nil if it is certain.
    func obstacleOfHolds(
        _ holds: [HeldRows], insertingInto table: String, replaces: Bool, _ db: Database
    ) throws -> HoldObstacle? {
        guard !holds.isEmpty else { return nil }
        let writes = TriggerText.Change.writes(into: table, replacing: replaces)
        return try threat(to: holds, TriggerEffects(of: [], clearing: [:], writing: writes, self, db), db)
    }

    private func threat(to holds: [HeldRows], _ effects: TriggerEffects, _ db: Database) throws -> HoldObstacle? {
        for hold in holds {
            let scope = try scope(hold.entity, db)
            let name = scope.table.tableName
            let attributes = Set(hold.rows.allAttributeNames).compactMap { scope.table.entity.attribute(named: $0) }
            let definition = try catalog.schema(db).definition(of: name)
            guard let reason = effects.threat(to: name, definition, attributes: attributes) else { continue }
            return HoldObstacle(hold: hold, reason: reason)
        }
        return nil
    }
}

extension SQLiteFile {
    package func obstacle(
        to holds: [HeldRows], of delete: BatchDeleteRequest, writing target: String?
    ) throws(StoreError) -> HoldObstacle? {
        try run("looking at the triggers of \(delete.fetchRequest.entity)") { db in
            try obstacleOfHolds(holds, delete, writing: target, db)
        }
    }

    package func obstacle(
        to holds: [HeldRows], insertingInto entity: String, replacing: Bool
    ) throws(StoreError) -> HoldObstacle? {
        try run("looking at the triggers of \(entity)") { db in
            try obstacleOfHolds(holds, insertingInto: scope(entity, db).table.tableName, replaces: replacing, db)
        }
    }
}

extension SQLiteFile {
    /// Whether deletes from an entity can delete rows of another one or the same, or change attributes of them.
    package func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool {
        try run("following the relationships of \(entity)") { db in
            let own = try scope(entity, db).table
            let way = try way(from: own, relationships, db)
            return try tables(named: other, db).contains { table in
                try table.isSame(as: own) || way.reaches(table) || !way.cleared(table, attributes).isEmpty
            }
        }
    }

    /// The given attributes of an entity that deletes from another one or the same can set to NULL or a default.
    package func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String] {
        try run("following the relationships of \(entity)") { db in
            let way = try way(from: scope(entity, db).table, relationships, db)
            return try tables(named: other, db).flatMap { try way.cleared($0, attributes).flatMap(\.attributes) }
        }
    }

    /// Whether triggers of the store may change or delete rows of a table when rows of an entity are deleted.
    package func triggersMayTouch(
        _ table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool {
        try run("looking at the triggers of \(entity)") { db in
            let request = BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: entity),
                relationships: relationships == .deny ? .asDeclared : relationships)
            let effects = try triggerEffects(of: request, writing: nil, db)
            return try tables(named: table, db).contains { effects?.mayTouch($0.tableName) == true }
        }
    }

    private func way(
        from own: SQLiteTable, _ relationships: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> CascadeWay {
        try CascadeWay(scope(own.name, db), relationships == .deny ? .asDeclared : relationships, self, db)
    }
}

extension SQLiteFile {
    /// The entity with a name, or the entities whose objects are in the table with that name.
    fileprivate func tables(named name: String, _ db: Database) throws -> [SQLiteTable] {
        if let table = try catalog.table(name, db) { return [table] }
        let entities = try catalog.coreData(db)?.entities.values.filter { $0.table.folded == name.folded }
        return try entities?.compactMap { try catalog.table($0.name, db) } ?? []
    }
}
