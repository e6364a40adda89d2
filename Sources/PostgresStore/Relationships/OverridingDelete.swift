import PriceStore

/// A delete whose request overrides the declared delete rules with `cascade` or `nullify`.
extension DeleteTransaction {
    /// Deletes the rows of a request, and deletes or changes the rows that refer to them, in one statement.
    ///
    /// The server checks foreign keys at the end of a statement. By then the referring rows are deleted or have lost their reference, so
    /// the declared actions of these keys have no effect. The schema's rules for other rows still apply. All parts of the statement see one
    /// state of the database. The transaction must be REPEATABLE READ, so that it fails if others change these rows meanwhile. Source:
    /// PostgreSQL manual, "Data-Modifying Statements in WITH".
    func deleteOverriding(_ part: ArchivePart?) throws -> BatchDeleteResult {
        guard work.method == .whole, !table.isDistributed else {
            throw StoreError(
                .unsupported, store: session.name,
                message: "`relationships: \(work.relationships.rawValue)` is carried out in one statement",
                hint: "use the method whole, and no distributed table")
        }
        var removed = RemovedRows(session)
        try removed.add(work.request)
        let predicted = try removed.counts()
        let scope = RowScope(table)
        let own = try session.condition(work.fetchRequest.predicate, scope)
        if let cutoff = work.materializedBefore, scope.table.isHypertable,
            let range = work.fetchRequest.predicate.dateRange
        {
            try Aggregates(session: session, table: scope.table).requireMaterialized(
                scope, scope.date(range.date), own, before: cutoff)
        }
        if let part { try part.copyOthers(own, of: scope, from: scope.source, includingOwn: true) }
        let counts = try session.onlyRow(statement(removed))
        let deletedCount = try counts.int("retention_deleted")
        guard deletedCount == predicted.named else {
            throw StoreError(
                .constraint, store: session.name,
                message: "a trigger kept rows of \(table.name), but not the rows that refer to them: "
                    + "nothing of this batch is deleted")
        }
        return BatchDeleteResult(
            deletedCount: deletedCount, cascadedCount: try counts.int("retention_cascaded"),
            nullifiedCount: predicted.nullified)
    }

    /// The statement. It returns the number of deleted rows and of cascaded rows.
    private func statement(_ removed: RemovedRows) throws -> SQLFragment {
        var statement = removed.tables
        for (number, update) in try taking(removed).enumerated() {
            statement += ", changed_\(number) AS (\(update))"
        }
        for (number, table) in reach.losing.enumerated() {
            let row = RowScope(table)
            let place = "\(RowScope.alias).tableoid, \(RowScope.alias).ctid"
            let column = number == 0 ? "(\(place)) IN (SELECT t, c FROM named_0) AS retention_named" : "1"
            statement +=
                ", lost_\(number) AS (DELETE FROM \(row.from) WHERE (\(place)) IN (SELECT t, c FROM gone_0) "
                + "RETURNING \(column))"
        }
        let named = "(SELECT count(*) FROM lost_0 WHERE retention_named)"
        let all = reach.losing.indices.map { "(SELECT count(*) FROM lost_\($0))" }.joined(separator: " + ")
        return statement + " SELECT \(named) AS retention_deleted, \(all) - \(named) AS retention_cascaded"
    }

    /// The statements that clear references of remaining rows to deleted rows, one for each table.
    private func taking(_ removed: RemovedRows) throws -> [String] {
        guard reach.override == .nullify else { return [] }
        let keys = Dictionary(grouping: table.entity.incomingRelationships, by: \.source)
        return try keys.sorted { $0.key < $1.key }.map { source, keys in
            let row = RowScope(try session.requireTable(source))
            let place = "(\(RowScope.alias).tableoid, \(RowScope.alias).ctid)"
            let points = try keys.map {
                "\(place) IN (SELECT child.tableoid, child.ctid\(try removed.references($0, in: [0])))"
            }
            var conditions: [String: [String]] = [:]
            for (key, condition) in zip(keys, points) {
                for attribute in key.sourceAttributes { conditions[attribute, default: []].append(condition) }
            }
            let sets = conditions.sorted { $0.key < $1.key }.map { attribute, conditions in
                "\(attribute.quotedIdentifier) = CASE WHEN \(conditions.joined(separator: " OR ")) THEN NULL "
                    + "ELSE \(row.column(attribute)) END"
            }
            return "UPDATE \(row.from) SET \(sets.joined(separator: ", ")) "
                + "WHERE (\(points.joined(separator: " OR "))) AND NOT \(removed.isGone(RowScope.alias, in: [0]))"
        }
    }
}
