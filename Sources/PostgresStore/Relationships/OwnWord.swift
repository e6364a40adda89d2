import PriceStore

/// A request's own word on relationships, `cascade` or `nullify`, whatever the schema declares.
extension PostgresConnection {
    /// Deletes the rows of a request and does to those that point at them what the request says, in one statement.
    ///
    /// The server judges its foreign keys at the end of a statement. By then the rows that would stand in the way are gone
    /// or point at nothing, so that what the keys declare has nothing left to do; what the schema says of rows further
    /// away still holds. Source: PostgreSQL manual, "Data-Modifying Statements in WITH": all parts see one state of the
    /// database. The transaction must be REPEATABLE READ, so that rows changed by others meanwhile undo it.
    func deleteByOwnWord(_ request: DeleteWork, _ reach: ReachOfDelete) throws -> BatchDeleteResult {
        guard request.technique == .whole, !reach.losing[0].isDistributed else {
            throw StoreError(
                .unsupported, store: name,
                message: "`relationships: \(request.relationships.rawValue)` is carried out in one statement",
                hint: "use the technique whole, and no distributed table")
        }
        var foresight = Foresight(self)
        try foresight.add(request.request)
        let foreseen = try counts(of: foresight, request.relationships, nil)
        let key = request.resultType == .objectIDs ? try requireKey(RowScope(reach.losing[0])) : []
        let result = try execute(ownWord(foresight, reach, key: key))
        let counts = result.rows.first?.prefix(2).map { $0.flatMap { Int($0) } ?? 0 } ?? [0, 0]
        guard counts[0] == foreseen.named else {
            throw StoreError(
                .constraint, store: name,
                message: "a trigger kept rows of \(reach.losing[0].name) while those that point at them were to go: "
                    + "nothing of this batch is deleted")
        }
        return BatchDeleteResult(
            deletedCount: counts[0], cascadedCount: counts[1], nullifiedCount: foreseen.nullified,
            objectIDs: key.isEmpty
                ? []
                : result.rows.map {
                    objectID(RowScope(reach.losing[0]), $0[2...], types: result.types[2...])
                })
    }

    /// The statement: its rows begin with the count of deleted rows and that of cascaded ones.
    private func ownWord(_ foresight: Foresight, _ reach: ReachOfDelete, key: [String]) throws -> SQLFragment {
        var statement = foresight.tables
        for (number, update) in try taking(foresight, reach).enumerated() {
            statement += ", changed_\(number) AS (\(update))"
        }
        for (number, table) in reach.losing.enumerated() {
            let row = RowScope(table)
            let place = "\(RowScope.alias).tableoid, \(RowScope.alias).ctid"
            let columns = number == 0 ? ["(\(place)) IN (SELECT t, c FROM named_0) AS retention_named"] + key : ["1"]
            statement +=
                ", lost_\(number) AS (DELETE FROM \(row.from) WHERE (\(place)) IN (SELECT t, c FROM gone_0) "
                + "RETURNING \(columns.joined(separator: ", ")))"
        }
        let named = "(SELECT count(*) FROM lost_0 WHERE retention_named)"
        let all = reach.losing.indices.map { "(SELECT count(*) FROM lost_\($0))" }.joined(separator: " + ")
        let counts = " SELECT \(named), \(all) - \(named)"
        guard !key.isEmpty else { return statement + counts }
        let columns = reach.losing[0].entity.primaryKey.map(\.quotedIdentifier).joined(separator: ", ")
        return statement + counts + ", \(columns) FROM lost_0 WHERE retention_named"
    }

    /// The statements that take the references from rows that stay and point at rows that go; one for each table.
    private func taking(_ foresight: Foresight, _ reach: ReachOfDelete) throws -> [String] {
        guard reach.word == .nullify else { return [] }
        let table = reach.losing[0]
        let keys = Dictionary(grouping: table.entity.incomingRelationships, by: \.source)
        return try keys.sorted { $0.key < $1.key }.map { source, keys in
            let row = RowScope(try requireTable(source))
            let place = "(\(RowScope.alias).tableoid, \(RowScope.alias).ctid)"
            let points = try keys.map {
                "\(place) IN (SELECT child.tableoid, child.ctid\(try foresight.references($0, in: [0])))"
            }
            var conditions: [String: [String]] = [:]
            for (key, condition) in zip(keys, points) {
                for attribute in key.sourceAttributes { conditions[attribute, default: []].append(condition) }
            }
            let sets = conditions.sorted { $0.key < $1.key }.map { attribute, conditions in
                "\(attribute.quotedIdentifier) = CASE WHEN \(conditions.joined(separator: " OR ")) THEN NULL "
                    + "ELSE \(row.column(attribute)) END"
            }
            let goes = foresight.isGone(RowScope.alias, in: [0]) ?? "FALSE"
            return "UPDATE \(row.from) SET \(sets.joined(separator: ", ")) "
                + "WHERE (\(points.joined(separator: " OR "))) AND NOT \(goes)"
        }
    }
}
