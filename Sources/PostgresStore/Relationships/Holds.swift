package import PriceStore

/// The rows that must stay because of holds: held rows, and rows whose delete would cascade to one.
struct Holds {
    let session: PostgresConnection
    let all: [HeldRows]

    /// The condition that a row is not held, and that no held row is deleted with it.
    func areSpared(by rule: BatchDeleteRequest.RelationshipRule?, _ scope: RowScope) throws -> SQLFragment {
        var parts = try all.compactMap { hold in try held(hold, scope).map { "(" + $0 + ") IS FALSE" } }
        if let rule, let rows = try sparingRows(rule, scope) {
            parts.append("NOT ((\(RowScope.alias).tableoid, \(RowScope.alias).ctid) IN (" + rows + "))")
        }
        return .all(parts)
    }

    /// The condition that a row of a scope is held; nil: the hold is about other rows.
    func held(_ hold: HeldRows, _ scope: RowScope) throws -> SQLFragment? {
        let table = try session.requireTable(hold.entity)
        switch try session.kinship(of: table, to: scope.table) {
        case .none: return nil
        case .same, .ancestor: return try session.condition(hold.rows, scope)
        case .descendant(let oids):
            let isPart = RowScope.isIn(oids)
            // What only the part's own columns say is unknown here, and unknown is held.
            let isKnown = hold.rows.allAttributeNames.allSatisfy { scope.table.entity.attribute(named: $0) != nil }
            return isKnown ? .all([isPart, try session.condition(hold.rows, scope)]) : isPart
        }
    }

    /// A query for the places of rows with which a held row would be deleted; nil: no relationship leads to a held entity.
    ///
    /// It is found the other way round: from the held rows to all that lead to them. One statement asks it once. A row stays as
    /// well for a held one that would lose the reference by which it is held.
    private func sparingRows(
        _ rule: BatchDeleteRequest.RelationshipRule, _ scope: RowScope
    ) throws -> SQLFragment? {
        let reach = try ReachOfDelete(of: scope.table, rule, session)
        let keys = reach.cascading
        var first: [SQLFragment] = []
        for key in keys + reach.nullifying {
            let (parent, child) = (try session.scope(key.destination), try session.scope(key.source))
            for hold in all where keys.contains(key) || child.table.entity.uses(key, hold.rows.allAttributeNames) {
                guard let held = try held(hold, child) else { continue }
                first.append(
                    "SELECT parent.tableoid, parent.ctid FROM \(child.from) JOIN \(parent.source) AS parent ON "
                        + "\(RemovedRows.refers(key, from: RowScope.alias)) WHERE (" + held + ") IS NOT FALSE")
            }
        }
        guard !first.isEmpty else { return nil }
        let held = SQLFragment.joined(first, by: " UNION ", empty: .never)
        guard !keys.isEmpty else { return held }
        let next = try keys.map { key in
            "SELECT parent.tableoid AS t, parent.ctid AS c FROM \(try session.scope(key.source).source) AS child "
                + "JOIN \(try session.scope(key.destination).source) AS parent ON \(RemovedRows.refers(key)) "
                + "WHERE child.tableoid = found.t AND child.ctid = found.c"
        }
        return "WITH RECURSIVE sparing (t, c) AS ((" + held
            + ") UNION SELECT wave.t, wave.c FROM sparing AS found CROSS JOIN LATERAL ("
            + next.joined(separator: " UNION ALL ") + ") AS wave) SELECT t, c FROM sparing"
    }

    // MARK: In a transaction

    /// Whether a delete must see one state of the database throughout, because a cascade could reach held rows that others add
    /// meanwhile: the server then refuses to delete what the transaction does not see, and the batch is repeated.
    func needOneState(_ reach: ReachOfDelete) throws -> Bool {
        guard !all.isEmpty else { return false }
        if try reach.firesTriggers() { return true }
        return try all.contains { hold in
            let table = try session.requireTable(hold.entity)
            return try reach.takes(table, byCascade: true)
                || !reach.cleared(hold.rows.allAttributeNames, of: table).isEmpty
        }
    }

    /// What is known of the rows of a hold before and after a delete.
    struct Mark {
        /// How many there are.
        var count = 0
        /// A digest of their keys, in any order.
        var keys: String?
        /// What the transaction has done to rows of their table besides adding some.
        var changes: String?
    }

    /// Marks of the rows of each hold, where the store's own triggers and rules may delete some; empty: none acts.
    func marks(_ reach: ReachOfDelete) throws -> [Mark] {
        guard !all.isEmpty, try reach.firesTriggers() else { return [] }
        return try all.map { hold in
            let scope = RowScope(try session.requireTable(hold.entity))
            let key = scope.key.isEmpty ? "\(RowScope.alias)::text" : "ROW(\(scope.key.joined(separator: ", ")))::text"
            let row = try session.row(
                "SELECT count(*) AS rows, sum(hashtextextended(\(key), 0)) AS keys, \(session.changeCount("deleted", [scope.table])) || ' ' || "
                    + "\(session.changeCount("updated", [scope.table])) || ' ' || \(Self.files(scope.table)) AS changes FROM \(scope.from) WHERE ("
                    + (try session.condition(hold.rows, scope)) + ") IS NOT FALSE")
            return Mark(
                count: try row?.int("rows") ?? 0, keys: try row?.optionalText("keys"),
                changes: try row?.optionalText("changes"))
        }
    }

    /// Whether the server counts the rows of a table that it deletes and changes: not those on other servers or in
    /// compressed chunks, and none with `track_counts = off`.
    private func countsChanges(of table: PostgresTable) throws -> Bool {
        if table.isDistributed { return false }
        if try table.isHypertable && !session.rows(TimescaleSQL.compressedChunks(table)).isEmpty { return false }
        return try session.exists(SQLFragment("SELECT 1 WHERE current_setting('track_counts')::bool"))
    }

    /// The files of a table's rows, in SQL: it has others once it is truncated.
    private static func files(_ table: PostgresTable) -> String {
        "(\(PostgresConnection.tree("\(table.oid)::oid")) SELECT sum(c.relfilenode::int8) FROM pg_class c JOIN tree USING (oid))"
    }

    /// Throws if a hold does not have the rows that it had before: a trigger of the store has deleted or changed some, or put
    /// others in their place. Rows that a trigger adds do no harm. The caller undoes the batch.
    func requireRows(_ reach: ReachOfDelete, as before: [Mark]) throws {
        guard !before.isEmpty else { return }
        for (hold, (before, after)) in zip(all, zip(before, try marks(reach))) {
            func isChanged() throws -> Bool {
                try after.changes != before.changes || !countsChanges(of: session.requireTable(hold.entity))
            }
            guard try after.count < before.count || after.keys != before.keys && isChanged() else { continue }
            throw StoreError(
                .constraint, store: session.name,
                message:
                    "a trigger or rule of the store deletes or changes rows of \(hold.entity) that the hold \(hold.name) keeps: nothing of "
                    + "this batch is deleted")
        }
    }
}

extension PostgresDatabase {
    /// Whether a delete of rows of an entity can delete rows of another one, or the same rows, or change attributes of them.
    package func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool {
        try run("following the foreign keys of \(entity)") {
            guard let own = try table(entity), let table = try table(other) else { return false }
            let rule = relationships == .deny ? .asDeclared : relationships
            let reach = try ReachOfDelete(of: own, rule, self)
            // The rows that a key changes after a reference was cleared are not followed.
            return try reach.takes(table) || !reach.cleared(attributes, of: table).isEmpty
                || reach.changeBehind() != nil
        }
    }

    /// Whether triggers may delete rows of a table when rows of an entity are deleted. What their functions do is not followed.
    package func triggersMayDelete(
        from table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool { true }

    /// Those of some attributes of an entity that a delete of rows of another one, or the same, can set to NULL or a default.
    package func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String] {
        try run("following the foreign keys of \(entity)") {
            guard let own = try table(entity), let table = try table(other) else { return [] }
            let reach = try ReachOfDelete(of: own, relationships == .deny ? .asDeclared : relationships, self)
            return try reach.cleared(attributes, of: table).flatMap(\.sourceAttributes)
        }
    }
}
