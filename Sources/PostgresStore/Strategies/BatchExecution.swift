public import PriceStore

extension PostgresWriter {
    /// Executes a batch delete in one transaction. A deadlock, a serialization failure, a lock timeout and a lost
    /// connection are tried again.
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(request))
    }

    /// Executes a batch of a deletion, or all of it, in one transaction.
    func execute(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        // No ID names no row, whatever the entity.
        if case .objectIDs([]) = request.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        if request.technique == .partitions, let result = try dropNextPartitions(request) { return result }
        let what = "deleting rows of \(request.fetchRequest.entity)"
        let (table, reach): (PostgresTable, ReachOfDelete)
        do {
            table = try requireTable(request.fetchRequest.entity)
            reach = try self.reach(of: table, request.relationships)
            if table.isPartitioned, request.continuation == nil, transactionDepth == 0 { try attachAgain(of: table) }
            changedTables.formUnion(reach.losing.map(\.sql))
        } catch {
            throw StoreError(error, store: name, doing: what)
        }
        if reach.overridesRules {
            return try batch(what, isolation: "REPEATABLE READ") {
                let held = try heldCounts(request, reach)
                let result = try deleteOverridingRules(request, reach)
                try checkHeld(request, held, heldCounts(request, reach))
                return result
            }
        }
        // The server counts changed rows twice if foreign keys overlap. Then they are counted first, in the same snapshot.
        let isPredicted = reach.isEntangled && request.technique == .whole
        let isOneState: Bool
        do { isOneState = try isPredicted || request.requiresMaterialized || needsOneState(request, reach) } catch {
            throw StoreError(error, store: name, doing: what)
        }
        let before = known
        let result = try batch(
            what, isolation: isOneState ? "REPEATABLE READ" : "READ COMMITTED",
            usesOnePlan: BatchDelete.usesOnePlan(request, table)
        ) {
            let predicted = isPredicted ? try foreseenCounts(request) : nil
            let before = try reach.keys.isEmpty || isPredicted ? nil : changeCounts(reach)
            let held = try heldCounts(request, reach)
            var batch = try BatchDelete(request, self)
            if request.relationships == .deny { try refusePointing(request) }
            let continuation = try batch.run()
            try checkHeld(request, held, heldCounts(request, reach))
            var result = BatchDeleteResult(
                deletedCount: batch.deletedCount, objectIDs: batch.objectIDs, continuation: continuation)
            if let predicted {
                result.cascadedCount = predicted.cascaded
                result.nullifiedCount = predicted.nullified
            } else if let before {
                let after = try changeCounts(reach)
                result.cascadedCount = after.deleted - before.deleted
                result.nullifiedCount = after.updated - before.updated
            }
            return result
        }
        if let before {
            known?.note(result.deletedCount, deletedFrom: table, request, before)
        }
        return result
    }

    private func foreseenCounts(_ request: DeleteWork) throws -> RemovedCounts {
        var removed = RemovedRows(self)
        try removed.add(request.request)
        return try counts(of: removed, request.relationships, nil)
    }

    /// Throws if remaining rows refer to rows that would be deleted.
    private func refusePointing(_ request: DeleteWork) throws {
        let obstacles = try foreseenCounts(request).obstacles
        guard !obstacles.isEmpty else { return }
        let list = obstacles.map {
            "\($0.rowCount) rows of \($0.relationship.source) (\($0.relationship.sourceAttributes.joined(separator: ", ")))"
        }
        throw StoreError(
            .constraint, store: name,
            message:
                "rows of \(request.fetchRequest.entity) that would be deleted are referenced by \(list.joined(separator: ", "))",
            hint: "delete those first")
    }

    /// Rows that this session has deleted and updated in the tables behind the foreign keys, as the server counts them.
    private func changeCounts(_ reach: ReachOfDelete) throws -> (deleted: Int, updated: Int) {
        func sum(_ function: String, _ tables: [PostgresTable]) -> String {
            guard !tables.isEmpty else { return "0" }
            let list = tables.map { "\($0.number)" }.joined(separator: ", ")
            return
                "(SELECT coalesce(sum(\(function)(relid)), 0) FROM (SELECT t.oid AS relid FROM unnest(ARRAY[\(list)]::oid[]) "
                + "AS t (oid) UNION SELECT p.relid FROM unnest(ARRAY[\(list)]::oid[]) AS t (oid) "
                + "CROSS JOIN LATERAL pg_partition_tree(t.oid) AS p) AS tables)"
        }
        let updated = try Set(reach.nullifying.map(\.source)).sorted().map { try requireTable($0) }
        let row = try rows(
            SQLFragment(
                "SELECT \(sum("pg_stat_get_xact_tuples_deleted", Array(reach.losing.dropFirst()))), "
                    + sum("pg_stat_get_xact_tuples_updated", updated))
        ).first
        return (row?[0].flatMap { Int($0) } ?? 0, row?[1].flatMap { Int($0) } ?? 0)
    }
}
