import GRDB
import PriceStore

/// Surveys of deletes of objects.
extension SQLiteFile {
    /// The graph of a request's delete, or nil if its entity is a plain table.
    func graph(
        _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> ObjectGraph? {
        guard let entity = try scope(of: request.fetchRequest, db).table.managed,
            let schema = try catalog.coreData(db)
        else { return nil }
        return ObjectGraph(schema: schema, entity: entity, removed: removed, step: step, connection: self, db: db)
    }

    /// Whether the deletes of a survey must be followed through the relationships of the model.
    ///
    /// They need not be if the only result would be counts of related rows that are not requested: no relationship can forbid a delete, and
    /// no cascade reaches rows of a rule.
    func objectsAreInPlay(_ request: SurveyRequest, _ schema: CoreDataSchema, _ db: Database) throws -> Bool {
        let deletes =
            request.preceding + [
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(
                        entity: request.entity, includesSubentities: request.includesSubentities))
            ]
        let entities = try deletes.compactMap { try catalog.table($0.fetchRequest.entity, db)?.managed }
        let tables = Set(entities.map(\.table))
        // Two entities of one table may share rows.
        let mayShare = tables.count < Set(entities.map(\.name)).count
        return try mayShare
            || deletes.contains { delete in
                guard let entity = try scope(of: delete.fetchRequest, db).table.managed, schema.needsObjects(entity)
                else { return false }
                return request.counts.related || canMatter(schema, entity, tables)
            }
    }

    /// Whether, judging by the model, a relationship can forbid a delete from an entity or a cascade can reach one of the tables.
    private func canMatter(_ schema: CoreDataSchema, _ entity: CoreDataEntity, _ tables: Set<String>) -> Bool {
        let reached = schema.reachedTables(from: entity)
        let links = schema.links(of: entity) + reached.flatMap { schema.links[$0] ?? [] }
        return !reached.isDisjoint(with: tables)
            || reached.union([entity.table]).contains { !schema.oneWayLinks(to: $0).isEmpty }
            || links.contains { link in
                let rule = link.relationship.deleteRule
                return rule == .deny || rule == .nullify && link.inverse?.isOptional == false
            }
    }

    /// Completes the survey of a rule whose rows and cascades are already in the tables of removed rows.
    func completeObjects(
        _ graph: ObjectGraph, _ request: SurveyRequest, _ scope: RowScope, into survey: inout Findings, _ db: Database
    ) throws {
        // Each row that loses references counts once.
        survey.related.nullifiedCount = try Dictionary(grouping: graph.nullifications(), by: \.table).values.reduce(0) {
            try $0 + graph.count($1.map(\.rows))
        }
        survey.related.obstacles = try graph.obstacles()
        if survey.leavesReadableRows {
            survey.leavesReadableRows = try leavesReadableRows(request, scope, graph.removed, step: graph.step, db)
        }
        if survey.related.obstacles.isEmpty { survey.unsupported = try graph.togetherObstacle() }
    }

    /// Notes what the history would lose or could not record if rows of an entity are deleted.
    func noteHistory(
        _ entity: CoreDataEntity, before cutoff: Instant, into survey: inout Findings, _ db: Database
    ) throws {
        guard let schema = try catalog.coreData(db), let history = schema.history else { return }
        survey.losses.history = history.obstacle(schema.reached(from: entity))
        guard entity.isHistory else { return }
        survey.losses.mirror = history.mirror
        // Programs follow a history by its keys: only the first ones may go. 1: the one before a gap has a time.
        let gap = """
            WITH kept(k) AS (
                SELECT Z_PK FROM main.ATRANSACTION WHERE (ZTIMESTAMP < ?) IS NOT TRUE UNION
                SELECT Z_PK FROM (SELECT Z_PK FROM main.ATRANSACTION ORDER BY ZTIMESTAMP DESC, Z_PK DESC LIMIT 1))
            SELECT typeof(ZTIMESTAMP) IN ('integer', 'real') FROM main.ATRANSACTION
            WHERE Z_PK = (SELECT min(k) FROM kept)
                AND EXISTS (SELECT 1 FROM main.ATRANSACTION WHERE Z_PK > (SELECT min(k) FROM kept) AND Z_PK NOT IN kept)
            """
        let seconds = Double(cutoff.microseconds) / 1e6 - 978_307_200
        if survey.expiredCount > 0, survey.unsupported == nil,
            let hasTime = try Bool.fetchOne(db, sql: gap, arguments: [seconds])
        {
            let found =
                hasTime
                ? "a clock was wrong when transactions were written: some that are expired follow one that is not"
                : "a transaction has no time in ATRANSACTION.ZTIMESTAMP that can be read, and some after it are expired"
            survey.unsupported = found + ", and without them programs that follow the history would miss changes"
            survey.remedy =
                hasTime
                ? "wait: it ends by itself when the transactions before them have expired, too, and the app has saved since"
                : "give it the time of its neighbours, or leave out the rule"
        }
    }

    /// The deny rules that forbid deletes of an entity even if no row is deleted; nil: it is a plain table.
    func denials(_ request: SurveyRequest, _ db: Database) throws -> [Survey.Obstacle]? {
        let delete = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: request.entity, includesSubentities: request.includesSubentities))
        return try graph(delete, RemovedRows(), step: 0, db)?.denials()
    }

    /// Why rows of an entity cannot be deleted in this store, or nil if they can.
    func unsupported(
        _ entity: CoreDataEntity, _ schema: CoreDataSchema, _ relationships: BatchDeleteRequest.RelationshipRule
    ) -> String? {
        guard schema.hasModel else { return "the store has no model, so its relationships are unknown" }
        guard relationships == .asDeclared else {
            return "the delete rules of the model decide what happens to rows that refer to deleted ones"
        }
        for member in schema.reached(from: entity) {
            if let reason = member.unsupported { return "\(member.name): \(reason)" }
            if member.keepsFiles {
                return "\(member.name) keeps values in files beside the store (Allows External Storage), which only "
                    + "Core Data deletes"
            }
        }
        return nil
    }

    /// What to do about a delete that is refused although the model allows it, or nil if there is no more to say.
    func remedy(
        _ table: SQLiteTable, _ relationships: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> String? {
        guard table.managed != nil, let schema = try catalog.coreData(db) else { return nil }
        guard schema.hasModel else { return "name the model's .mom file as `store: { path:, model: }`" }
        return relationships == .asDeclared ? nil : "leave out `relationships`"
    }
}

extension CoreDataSchema {
    /// The entities that can lose rows in a delete: the named one, those that cascades reach, and all their sub-entities.
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

    /// The tables that lose rows through cascades from rows of an entity, and perhaps more where entities share a table.
    func reachedTables(from entity: CoreDataEntity) -> Set<String> {
        var reached: Set<String> = []
        var waiting = links[entity.table] ?? []
        while let link = waiting.popLast() {
            guard link.relationship.deleteRule == .cascade, reached.insert(link.destinationTable).inserted else {
                continue
            }
            waiting += links[link.destinationTable] ?? []
        }
        return reached
    }

    /// Whether a delete of an entity's rows affects more than those rows.
    func needsObjects(_ entity: CoreDataEntity) -> Bool {
        if history != nil || !oneWayLinks(to: entity.table).isEmpty { return true }
        return links(of: entity).contains { $0.relationship.deleteRule != .noAction }
    }
}
