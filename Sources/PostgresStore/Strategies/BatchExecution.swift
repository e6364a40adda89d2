public import PriceStore

extension PostgresWriter {
    /// Executes a batch delete in one transaction. A deadlock, a serialization failure, a lock timeout and a lost
    /// connection are tried again.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(namingEntity(request)))
    }

    /// Executes a batch of a deletion, or all of it, in one transaction.
    func execute(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        // No ID names no row, whatever the entity.
        if case .objectIDs([]) = request.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        if request.rollup == nil, request.technique == .partitions, let result = try dropNextPartitions(request) {
            return result
        }
        let what = "deleting rows of \(request.fetchRequest.entity)"
        let (table, reach, locks): (PostgresTable, ReachOfDelete, String)
        let (firesTriggers, listsKept): (Bool, Bool)
        let predicate = request.fetchRequest.predicate
        do {
            table = try requireTable(request.fetchRequest.entity)
            reach = try self.reach(of: table, request.asDeclared.relationships)
            locks = try self.locks(reach)
            changedTables.formUnion(reach.losing.map(\.sql))
            firesTriggers = try self.firesTriggers(reach)
            try noteBatch(on: changed(request, reach), firesTriggers: firesTriggers)
            listsKept =
                try predicate.sparesKeptRows && !reach.overridesRules && run(what) { try canListKept(predicate, table) }
            // What triggers and the workers of a cluster have done to kept rows no number of this server tells.
            if predicate.sparesKeptRows, firesTriggers || table.isDistributed, !listsKept {
                try forgetChangedRows(of: table)
            }
        } catch {
            throw StoreError(error, store: name, doing: what)
        }
        if request.archiveRule != nil { try archiver?.prepare(reach, request.rollup, self) }
        var part: ArchivePart?
        if reach.overridesRules {
            guard request.rollup == nil else {
                throw StoreError(
                    .unsupported, store: name,
                    message: "rows of \(request.fetchRequest.entity) become candles only if no other rows refer to them"
                )
            }
            let result = try batch(what, isolation: "REPEATABLE READ", locks: locks) {
                let result = try guarded(request, reach, &part) { try deleteOverridingRules(request, reach, $0) }
                try part?.checkAll(result)
                if result.deletedCount > 0 { try requireRest(of: table, request.mustLeave) }
                return result
            }
            if let part { archiver?.didCommit(part) }
            return result
        }
        // The server counts changed rows twice if foreign keys overlap. Then they are counted first, in the same snapshot.
        let isPredicted = reach.isEntangled && request.technique == .whole
        let denies = request.relationships == .deny && !reach.keys.isEmpty
        let isOneState: Bool
        do {
            if listsKept {
                try listKept(
                    of: predicate, table, isFirst: request.continuation == nil, firesTriggers: firesTriggers)
            }
            // Only of rows that are counted and no more is it looked up again what is kept beside them. A cluster has no one state.
            let isPlain = request.archiveRule == nil && request.rollup == nil && request.resultType != .objectIDs
            isOneState =
                try isPredicted || denies && request.technique == .whole || request.rollupMemory != nil
                || predicate.sparesKeptRows && !(listsKept && isPlain) && !table.isDistributed
                || needsOneState(request, reach)
                || request.archiveRule != nil && !reach.keys.isEmpty
        } catch {
            throw StoreError(error, store: name, doing: what)
        }
        let result = try batch(
            what, isolation: isOneState ? "REPEATABLE READ" : "READ COMMITTED",
            usesOnePlan: BatchDelete.usesOnePlan(request, table), locks: isOneState ? locks : ""
        ) {
            guard listsKept else { return try deleteBatch(request, table, reach, &part, isOneState: isOneState) }
            return try sparingListed(of: predicate, table, firesTriggers: firesTriggers) {
                try deleteBatch(request, table, reach, &part, isOneState: isOneState)
            }
        }
        if let part { archiver?.didCommit(part) }
        return result
    }

    /// The tables whose rows a batch may change.
    private func changed(_ request: DeleteWork, _ reach: ReachOfDelete) throws -> [PostgresTable] {
        try reach.losing
            + (reach.nullifying.map(\.source) + [request.rollup?.target].compactMap(\.self)).compactMap(table)
    }

    /// The body of a batch, inside its transaction.
    private func deleteBatch(
        _ request: DeleteWork, _ table: PostgresTable, _ reach: ReachOfDelete, _ part: inout ArchivePart?,
        isOneState: Bool
    ) throws -> BatchDeleteResult {
        let denies = request.relationships == .deny && !reach.keys.isEmpty
        let isPredicted = reach.isEntangled && request.technique == .whole
        let predicted = isPredicted ? try foreseenCounts(request) : nil
        let before = try reach.keys.isEmpty || isPredicted ? nil : changeCounts(reach)
        if denies, request.technique == .whole { try refusePointing(request, table) }
        var result = try guarded(request, reach, &part) { part in
            var batch = try BatchDelete(request, self, part, looksAgain: keeping == .lookedUp && !isOneState)
            let continuation = try batch.run()
            var result = BatchDeleteResult(
                deletedCount: batch.deletedCount, objectIDs: batch.objectIDs, continuation: continuation)
            result.candles = batch.candles
            return result
        }
        if let allowed = request.allowedRows, result.deletedCount > allowed {
            // Between the search for the end of the batch and the delete another session has added rows. The next try sees them.
            throw StoreError(
                .busy, store: name,
                message:
                    "another session adds expired rows: a batch would delete \(result.deletedCount.counted("row")) where "
                    + "max_rows allows \(allowed)",
                engineCode: "SQLSTATE 40001", hint: "nothing of this batch is deleted; run again")
        }
        if let predicted {
            result.cascadedCount = predicted.cascaded
            result.nullifiedCount = predicted.nullified
        } else if let before {
            let after = try changeCounts(reach)
            result.cascadedCount = after.deleted - before.deleted
            result.nullifiedCount = after.updated - before.updated
        }
        // What the keys have done shows rows that others have added at any time before.
        let pointing = result.cascadedCount + result.nullifiedCount
        if denies, request.technique != .whole, pointing > 0 {
            throw denial(
                request, [(pointing, table.entity.incomingRelationships.map(\.text).joined(separator: " or "))])
        }
        try part?.checkAll(result)
        return result
    }

    /// Carries out a delete inside its transaction, with what it takes in the archive. The transaction fails if held rows, rows without
    /// a copy, or a schema that nobody has planned for are touched.
    ///
    /// - Parameter body: is given what copies the rows; nil: they are not archived.
    private func guarded(
        _ request: DeleteWork, _ reach: ReachOfDelete, _ part: inout ArchivePart?,
        _ body: (ArchivePart?) throws -> BatchDeleteResult
    ) throws -> BatchDeleteResult {
        part = nil
        let firesTriggers = try firesTriggers(reach)
        let held = try heldMarks(request, reach)
        if let rule = request.archiveRule {
            guard let archiver else {
                throw StoreError(
                    .unsupported, store: name, message: "rows must be archived, but no archive was started")
            }
            // Rows that are reported as archived are on disk. The servers of a cluster commit one after the other, so each commit
            // is synchronous.
            try execute("SET LOCAL synchronous_commit = on")
            part = try archiver.part(of: rule, reach, self)
        }
        let before = try part?.changes(firesTriggers: firesTriggers) ?? []
        var result = try body(part)
        // What triggers have put off until the commit is looked at, too.
        if firesTriggers, request.archiveRule != nil || !held.isEmpty { try execute("SET CONSTRAINTS ALL IMMEDIATE") }
        try refuseChangedSchema(reach)
        if let part {
            try part.check(
                zip(part.changes(firesTriggers: firesTriggers), before).map(-), ownCount: result.deletedCount,
                firesTriggers: firesTriggers)
            try part.finish()
            result.archivedCount = part.rowCount
        }
        try checkHeld(request, reach, held)
        return result
    }

    private func foreseenCounts(_ request: DeleteWork) throws -> RemovedCounts {
        var removed = RemovedRows(self)
        try removed.add(request.asDeclared)
        return try counts(of: removed, request.asDeclared.relationships, nil)
    }

    /// Throws if rows refer to rows that would be deleted, and the deletion deletes them neither now nor later.
    private func refusePointing(_ request: DeleteWork, _ table: PostgresTable) throws {
        var removed = RemovedRows(self)
        try removed.add(request.asDeclared)
        let scope = RowScope(table)
        let named = try condition(request.allRows ?? request.fetchRequest.predicate, scope)
        let obstacles = try table.entity.incomingRelationships.map { key in
            var query = SQLFragment("SELECT DISTINCT child.tableoid, child.ctid\(try removed.references(key, in: [0]))")
            if request.allRows == nil {
                query += " AND (child.tableoid, child.ctid) NOT IN (SELECT t, c FROM named_0)"
            } else if key.source == table.name {
                query +=
                    " AND NOT EXISTS (SELECT 1 FROM \(scope.from) WHERE \(RowScope.alias).tableoid = child.tableoid "
                    + "AND \(RowScope.alias).ctid = child.ctid AND (" + named + "))"
            }
            let found = try rows(removed.tables + " SELECT count(*) FROM (" + query + ") AS found").first
            return (found?[0].flatMap { Int($0) } ?? 0, key.text)
        }.filter { $0.0 > 0 }
        guard obstacles.isEmpty else { throw denial(request, obstacles) }
    }

    private func denial(_ request: DeleteWork, _ obstacles: [(rowCount: Int, source: String)]) -> StoreError {
        let list = obstacles.map { "\($0.rowCount) \($0.rowCount == 1 ? "row" : "rows") of \($0.source)" }
        return StoreError(
            .constraint, store: name,
            message: "rows of \(request.fetchRequest.entity) that would be deleted are referenced by "
                + list.joined(separator: ", ") + ", and deny does not allow that",
            hint: "delete those first, or ask for cascade or nullify")
    }

    /// Rows that this session has deleted and updated in the tables behind the foreign keys, as the server counts them.
    private func changeCounts(_ reach: ReachOfDelete) throws -> (deleted: Int, updated: Int) {
        let updated = try Set(reach.nullifying.map(\.source)).sorted().map { try requireTable($0) }
        let row = try rows(
            SQLFragment(
                "SELECT \(changeCount("deleted", Array(reach.losing.dropFirst()))), " + changeCount("updated", updated))
        ).first
        return (row?[0].flatMap { Int($0) } ?? 0, row?[1].flatMap { Int($0) } ?? 0)
    }
}

extension PostgresConnection {
    /// How many rows of tables and their partitions this transaction has `deleted` or `updated`, in SQL.
    func changeCount(_ change: String, _ tables: [PostgresTable]) -> String {
        guard !tables.isEmpty else { return "0" }
        let list = tables.map { "\($0.number)" }.joined(separator: ", ")
        return
            "(WITH RECURSIVE tree (relid) AS (SELECT unnest(ARRAY[\(list)]::oid[]) UNION SELECT i.inhrelid FROM pg_inherits i "
            + "JOIN tree ON i.inhparent = tree.relid) "
            + "SELECT coalesce(sum(pg_stat_get_xact_tuples_\(change)(relid)), 0)::int8 FROM tree)"
    }
}

extension DeleteWork {
    /// What the keys do if nothing is against it.
    fileprivate var asDeclared: BatchDeleteRequest {
        var declared = request
        if declared.relationships == .deny { declared.relationships = .asDeclared }
        return declared
    }
}

extension Relationship {
    /// The source and the attributes that hold the reference, as messages name them.
    fileprivate var text: String { "\(source) (\(sourceAttributes.joined(separator: ", ")))" }
}
