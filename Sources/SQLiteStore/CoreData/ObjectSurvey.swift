import GRDB
import PriceStore

/// What a delete of objects would do, without doing it.
extension SQLiteFileConnection {
    /// What a request's delete does to other objects; nil: its entity is a plain table.
    func graph(
        _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> ObjectGraph? {
        guard let entity = try scope(of: request.fetchRequest, db).table.managed,
            let schema = try catalog.coreData(db)
        else { return nil }
        return ObjectGraph(
            schema: schema, entity: entity, relationships: request.relationships, removed: removed, step: step,
            connection: self, db: db)
    }

    /// Whether the deletes of a survey must be followed through the relationships of the model.
    ///
    /// Not if only counts of related rows would result, and they are not requested: if no relationship can forbid a
    /// delete, and no cascade leads to rows of a rule.
    func objectsAreInPlay(_ request: SurveyRequest, _ db: Database) throws -> Bool {
        let deletes =
            request.preceding + [
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(
                        entity: request.entity, includesSubentities: request.includesSubentities),
                    relationships: request.relationships)
            ]
        guard let schema = try catalog.coreData(db) else { return false }
        let entities = try deletes.compactMap { try catalog.table($0.fetchRequest.entity, db)?.managed }
        let tables = Set(entities.map(\.table))
        // Two entities of one table may share rows.
        if tables.count < Set(entities.map(\.name)).count { return true }
        return try deletes.contains { delete in
            guard let graph = try graph(delete, RemovedRows(), step: 0, db),
                schema.needsObjects(graph.entity, delete.relationships)
            else { return false }
            return request.countsRelatedRows || graph.canMatter(tables)
        }
    }

    /// Completes the survey of a rule whose rows and cascades are among the removed ones.
    func completeObjects(
        _ graph: ObjectGraph, _ request: SurveyRequest, _ scope: RowScope, into survey: inout Findings, _ db: Database
    ) throws {
        survey.nullifiedCount = try nullifiedObjects(graph, db)
        survey.obstacles = try graph.obstacles()
        survey.externalFiles = try externalFiles(graph, db)
        if survey.leavesReadableRows {
            survey.leavesReadableRows = try leavesReadableRows(request, scope, graph.removed, step: graph.step, db)
        }
        if survey.obstacles.isEmpty { survey.unsupported = try graph.togetherObstacle() }
    }

    /// Why the history cannot be continued with the deletes of an entity's rows; nil: it can, or the store keeps none.
    func historyObstacle(_ entity: CoreDataEntity, _ db: Database) throws -> String? {
        guard let schema = try catalog.coreData(db) else { return nil }
        return schema.history?.obstacle(schema.reached(from: entity))
    }

    /// Deny rules that apply to an entity's deletes even if no row is deleted.
    func denials(_ request: SurveyRequest, _ db: Database) throws -> [Survey.Obstacle] {
        let delete = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: request.entity, includesSubentities: request.includesSubentities),
            relationships: request.relationships)
        return try graph(delete, RemovedRows(), step: 0, db)?.denials() ?? []
    }

    /// Remaining rows that lose a reference: each counted once, however many references it loses.
    private func nullifiedObjects(_ graph: ObjectGraph, _ db: Database) throws -> Int {
        try Dictionary(grouping: try graph.nullifications(), by: \.table).values.reduce(0) { sum, queries in
            let union = queries.map { "SELECT child.Z_PK" + $0.rows }.joined(separator: " UNION ")
            return try sum + count(SQLFragment("SELECT count(*) FROM (SELECT * FROM (\(union)) GROUP BY 1)"), db)
        }
    }

    /// Why rows of an entity cannot be deleted in this store, or nil.
    func unsupported(
        _ entity: CoreDataEntity, _ schema: CoreDataSchema, _ relationships: BatchDeleteRequest.RelationshipRule
    ) -> String? {
        if !schema.hasModel, relationships == .asDeclared {
            return
                "the store has no model, so its relationships are unknown: give the model's .mom file, or say what "
                + "happens to rows that refer to deleted rows: nullify, cascade or deny"
        }
        for member in schema.reached(from: entity) {
            if let reason = member.unsupported { return "\(member.name): \(reason)" }
        }
        return nil
    }
}

extension CoreDataSchema {
    /// An entity, its sub-entities, and those at the other ends of the relationships that its deletes follow.
    func reached(from entity: CoreDataEntity) -> [CoreDataEntity] {
        var reached: [CoreDataEntity] = []
        var waiting = [entity]
        var seen: Set<Int64> = []
        while let next = waiting.popLast() {
            guard seen.insert(next.number).inserted else { continue }
            reached.append(next)
            waiting += next.subentities.compactMap { self.entity($0) }
            for link in links(of: next) where link.relationship.deleteRule == .cascade {
                if let other = self.entity(link.relationship.destination) { waiting.append(other) }
            }
        }
        return reached.sorted { $0.number < $1.number }
    }

    /// The entities that can lose rows by a delete: the named one, those at the other ends of its cascades and of theirs, and
    /// the sub-entities of all these.
    func losing(
        from entity: CoreDataEntity, _ relationships: BatchDeleteRequest.RelationshipRule
    ) -> [CoreDataEntity] {
        var waiting = [entity]
        if relationships == .cascade { waiting += oneWayLinks(to: entity.table).compactMap { self.entity($0.owner) } }
        var found: [Int64: CoreDataEntity] = [:]
        while let next = waiting.popLast() {
            guard found.updateValue(next, forKey: next.number) == nil else { continue }
            waiting += next.subentities.compactMap { self.entity($0) }
            let isNamed = entity.numbers.contains(next.number)
            for link in links(of: next) {
                let rule = isNamed ? link.rule(overriddenBy: relationships) : link.relationship.deleteRule
                if rule == .cascade, let other = self.entity(link.relationship.destination) { waiting.append(other) }
            }
        }
        return found.values.sorted { $0.number < $1.number }
    }

    /// Whether a delete of an entity's rows concerns more than those rows.
    func needsObjects(
        _ entity: CoreDataEntity, _ relationships: BatchDeleteRequest.RelationshipRule
    ) -> Bool {
        if history != nil || !oneWayLinks(to: entity.table).isEmpty { return true }
        let members = [entity] + entity.subentities.compactMap { self.entity($0) }
        if members.contains(where: { !$0.externalAttributes.isEmpty }) { return true }
        if !unprovenReferences.isEmpty { return true }
        return links(of: entity).contains {
            relationships != .asDeclared || $0.relationship.deleteRule != .noAction
        }
    }
}
