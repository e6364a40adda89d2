import GRDB
import PriceStore

/// Deletes objects of a Core Data store: the rows of a batch and the rows that cascade from them. It also clears references of remaining
/// rows.
///
/// Each batch takes a few statements on sets of keys, whatever the number of rows. The keys are in temporary tables, which may spill to a
/// temporary file.
struct ObjectDelete {
    private let request: BatchDeleteRequest
    private let scope: RowScope
    private let graph: ObjectGraph
    private let connection: SQLiteFile
    private let db: Database

    /// The delete of a request, or nil if it affects only the named rows, so that a plain delete suffices.
    init?(_ work: DeleteWork, _ scope: RowScope, _ connection: SQLiteFile, _ db: Database) throws {
        guard let entity = scope.table.managed, let schema = try connection.catalog.coreData(db) else { return nil }
        if let reason = connection.unsupported(entity, schema, work.relationships) {
            throw connection.failure(.unsupported, "refusing to delete from \(entity.name): \(reason)")
        }
        guard schema.needsObjects(entity) else { return nil }
        request = work.request
        self.scope = scope
        self.connection = connection
        self.db = db
        graph = ObjectGraph(
            schema: schema, entity: entity, removed: connection.temporaries.batchRows, step: 0, connection: connection,
            db: db)
    }

    /// Deletes the rows whose keys a query yields.
    ///
    /// - Parameters:
    ///   - whole: the request's predicate for the rows of the scope.
    ///   - result: gets the rows that are deleted and those that lose a reference and remain.
    /// - Throws: ``StoreError`` of kind `constraint` if a relationship forbids the delete. The caller rolls the batch back.
    func delete(_ keys: SQLFragment, whole: SQLFragment, into result: inout BatchDeleteResult) throws {
        try connection.emptyBatchRows(db)
        let own = try connection.removedTable(scope.table.tableName, graph.removed, db)
        try connection.execute("INSERT INTO temp.\(own) SELECT *, 0, 0 FROM (\(keys))", db)
        let named = db.changesCount
        if named == 0 { return try check(graph.denials()) }
        try graph.cascade()
        try check(graph.obstacles())
        try connection.confirmKept(db) { try reached($0) }
        if request.resultType == .objectIDs { result.objectIDs += try objectIDs(own) }
        let recorder = graph.entity.isHistory ? nil : try connection.coreDataRecorder(db)
        try countDown(recorder)
        let losses = try graph.nullifications()
        for loss in losses where loss.rowsAfterwards == nil {
            result.nullifiedCount += try nullify(loss.table, loss.reference, loss.rows, recorder)
        }
        try deletePairs()
        let alsoNamed = try cascadedButNamed(own, whole)
        var gone = 0
        for table in try graph.losingTables() {
            let removed = try connection.removedTable(table, graph.removed, db)
            try recorder?.recordDeletes(of: table, keys: "SELECT k0 FROM temp.\(removed)", graph.schema)
            try connection.execute(
                "DELETE FROM main.\(table.quotedIdentifier) WHERE Z_PK IN (SELECT k0 FROM temp.\(removed))", db)
            gone += db.changesCount
            result.nullifiedCount -= try connection.forgetCleared(table, nil, removed, db)
        }
        for loss in losses {
            guard let rows = loss.rowsAfterwards else { continue }
            result.nullifiedCount += try nullify(loss.table, loss.reference, rows, recorder)
        }
        result.deletedCount += named + alsoNamed
        result.cascadedCount += gone - named - alsoNamed
    }

    /// The condition that a row of an entity is deleted, or nil if none is. In the rule's own table only rows that a cascade deletes count.
    func reached(_ entity: RowScope) throws -> SQLFragment? {
        let table = entity.table.tableName
        guard entity.table.managed != nil, let removed = graph.removed.tables[table.folded] else { return nil }
        let isOwn = table == scope.table.tableName
        return "\(RowScope.alias).Z_PK IN (SELECT k0 FROM temp.\(removed)\(isOwn ? " WHERE wave > 0" : ""))"
    }

    // MARK: Lost references

    /// Increments the lock counter of the to-many side of a reference once for each row that it loses, so that the result does not depend
    /// on the batch size.
    private func countDown(_ recorder: CoreDataHistory.Recorder?) throws {
        for link in try graph.losingLinks() where link.relationship.deleteRule == .nullify {
            guard case .own(let reference) = link.storage, link.inverse?.isToMany == true else { continue }
            let table = link.destinationTable
            let column = "parent." + reference.column.quotedIdentifier
            let losses = try graph.ends(of: link, "TRUE").map {
                "SELECT \(column) AS k0, count(*) AS losses" + $0 + " GROUP BY 1"
            }
            let removed = try connection.removedTable(table, graph.removed, db)
            for loss in losses {
                let stays = "NOT EXISTS (SELECT 1 FROM temp.\(removed) AS own WHERE own.k0 = stayer.Z_PK)"
                try recorder?.recordUpdates(
                    of: table,
                    keys: "SELECT stayer.k0 FROM (SELECT k0, k0 AS Z_PK FROM (\(loss))) AS stayer WHERE \(stays)")
                try connection.execute(
                    """
                    UPDATE main.\(table.quotedIdentifier) AS stayer SET Z_OPT = ifnull(Z_OPT, 0) + gone.losses \
                    FROM (\(loss)) AS gone WHERE stayer.Z_PK = gone.k0 AND \(stays)
                    """, db)
            }
        }
    }

    /// Clears a reference of remaining rows, with its companion columns. Returns how many of them lost none before in this delete.
    private func nullify(
        _ table: String, _ reference: ModelLink.Reference, _ rows: String, _ recorder: CoreDataHistory.Recorder?
    ) throws -> Int {
        guard let noted = try connection.noteCleared(table, nil, "child.Z_PK\(rows)", db) else { return 0 }
        let keys = "SELECT k0 FROM temp.\(noted.keys)"
        try recorder?.recordUpdates(of: table, keys: keys)
        let sets = ([reference.column] + reference.companions).map { "\($0.quotedIdentifier) = NULL" }.list
        try connection.execute(
            "UPDATE main.\(table.quotedIdentifier) SET \(sets), Z_OPT = ifnull(Z_OPT, 0) + 1 WHERE Z_PK IN (\(keys))",
            db)
        return noted.newCount
    }

    /// Deletes the pairs of deleted rows: those of their own relationships, and of one-way ones to them.
    private func deletePairs() throws {
        func delete(_ table: String, _ columns: [String], _ keys: String) throws {
            for column in columns {
                try connection.execute(
                    "DELETE FROM main.\(table.quotedIdentifier) WHERE \(column.quotedIdentifier) IN (\(keys))", db)
            }
        }
        for link in try graph.losingLinks() where link.relationship.deleteRule != .noAction {
            guard case .pairs(let table, let own, _) = link.storage else { continue }
            try delete(table, own, graph.keys(having: link))
        }
        for link in try graph.oneWayLinks() {
            guard case .pairs(let table, _, let other) = link.storage else { continue }
            let removed = try connection.removedTable(link.destinationTable, graph.removed, db)
            try delete(table, other, "SELECT k0 FROM temp.\(removed)")
        }
    }

    // MARK: Counts

    /// The number of rows that a cascade deleted and that the request also names, for a later batch. They count as deleted.
    private func cascadedButNamed(_ own: String, _ whole: SQLFragment) throws -> Int {
        let cascaded = "FROM temp.\(own) WHERE wave > 0"
        guard try connection.exists("SELECT 1 \(cascaded)", db) else { return 0 }
        let isCascaded = "\(RowScope.alias).Z_PK IN (SELECT k0 \(cascaded))"
        return try connection.count("SELECT count(*) FROM \(scope.from()) WHERE \(isCascaded) AND (\(whole))", db)
    }

    /// The IDs of the rows that the request names.
    private func objectIDs(_ own: String) throws -> [ObjectID] {
        let key = "\(RowScope.alias).Z_PK"
        let rows = try connection.rows(
            """
            SELECT \(scope.identity.list) FROM temp.\(own) AS removed CROSS JOIN \(scope.from()) \
            WHERE \(key) = removed.k0 AND removed.wave = 0 ORDER BY \(key)
            """, db)
        return rows.map { connection.objectID(scope, $0) }
    }

    private func check(_ obstacles: [Survey.Obstacle]) throws {
        guard let first = obstacles.first else { return }
        throw connection.failure(
            .constraint, "a relationship prevents the delete of rows of \(scope.table.name): " + first.text,
            hint: "nothing of the batch is deleted")
    }
}

extension Survey.Obstacle {
    var text: String {
        let name = "\(relationship.source).\(relationship.sourceAttributes.list)"
        let rows = "\(rowCount) \(rowCount == 1 ? "row" : "rows")"
        let others = "\(rows) of \(relationship.destination)"
        return switch objection {
        case .pointing: "\(rows) of \(name) refer to them"
        case .denyRule:
            "the delete rule of \(name) is deny, so a batch delete is refused; \(others) "
                + "\(rowCount == 1 ? "is" : "are") at its other end"
        case .mandatoryInverse: "the inverse of \(name) is mandatory, and \(others) would lose it"
        case .noInverse: "\(rows) of \(name) refer to them, and it has no inverse"
        }
    }
}
