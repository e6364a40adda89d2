package import PriceStore

/// The rows that holds keep: held rows, and rows whose delete would cascade to one.
struct Holds {
    let session: PostgresDatabase
    let all: [HeldRows]

    /// The condition that a row is not held, and that no held row is deleted with it.
    func areSpared(by rule: BatchDeleteRequest.RelationshipRule?, _ scope: RowScope) throws -> SQLFragment {
        var parts = try all.compactMap { hold in try held(hold, scope).map { "(" + $0 + ") IS FALSE" } }
        if let rule, let rows = try sparingRows(rule, scope) {
            parts.append("NOT ((\(RowScope.alias).tableoid, \(RowScope.alias).ctid) IN (" + rows + "))")
        }
        return .all(parts)
    }

    /// The condition that a row of a scope is held; nil if the hold concerns other rows.
    func held(_ hold: HeldRows, _ scope: RowScope) throws -> SQLFragment? {
        let table = try session.requireTable(hold.entity)
        guard let isRow = try session.isRow(of: table, among: scope.table) else { return nil }
        // A column that only a part has is unknown here, and unknown counts as held.
        let isKnown = hold.rows.allAttributeNames.allSatisfy { scope.table.entity.attribute(named: $0) != nil }
        return isKnown || isRow == .always ? .all([isRow, try session.condition(hold.rows, scope)]) : isRow
    }

    /// A query for the places of rows with which a held row would be deleted; nil if no relationship leads to a held entity.
    ///
    /// It starts from the held rows and follows all that leads to them, once for each statement. A row also stays if a held row would lose
    /// the reference by which it is held.
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
        let held = SQLFragment.joined(first, by: " UNION ")
        guard !keys.isEmpty else { return held }
        let next = try keys.map { key in
            "SELECT parent.tableoid AS t, parent.ctid AS c FROM \(try session.scope(key.source).source) AS child "
                + "JOIN \(try session.scope(key.destination).source) AS parent ON \(RemovedRows.refers(key)) "
                + "WHERE child.tableoid = found.t AND child.ctid = found.c"
        }
        return "WITH RECURSIVE sparing (t, c) AS ((" + held
            + ") UNION SELECT wave.t, wave.c FROM sparing AS found CROSS JOIN LATERAL ("
            + "\(next.joined(separator: " UNION ALL "))) AS wave) SELECT t, c FROM sparing"
    }

    // MARK: In a transaction

    /// Whether a delete must see one state of the database throughout, because a cascade could reach held rows that others add meanwhile.
    /// The server then refuses to delete rows that the transaction does not see, and the batch is repeated.
    func needOneState(_ reach: ReachOfDelete) throws -> Bool {
        guard !all.isEmpty else { return false }
        return try all.contains { hold in
            let table = try session.requireTable(hold.entity)
            return try reach.takes(table, byCascade: true)
                || !reach.cleared(hold.rows.allAttributeNames, of: table).isEmpty
        }
    }

    /// A hold whose rows triggers or rules of the store may delete or change; nil if none acts. Their effects are not followed.
    func obstacle(_ reach: ReachOfDelete) throws -> HoldObstacle? {
        guard let hold = all.first, let trigger = try reach.trigger() else { return nil }
        return HoldObstacle(
            hold: hold, reason: "the trigger or rule \(trigger) may delete or change rows of \(hold.entity)")
    }
}

extension PostgresDatabase {
    /// Whether a delete of rows of an entity can delete rows of an entity, which may be the same, or change attributes of them.
    package func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool {
        try run("following the foreign keys of \(entity)") {
            guard let own = try table(entity), let table = try table(other) else { return false }
            let reach = try ReachOfDelete(of: own, relationships.followed, self)
            // The rows that a key changes after a cleared reference are not followed.
            return try reach.takes(table) || !reach.cleared(attributes, of: table).isEmpty
                || reach.changeBehind() != nil
        }
    }

    /// A hold whose rows triggers may delete or change when rows of an entity are deleted.
    package func obstacle(
        to holds: [HeldRows], of delete: BatchDeleteRequest, writing _: String?
    ) throws(StoreError) -> HoldObstacle? {
        try run("looking at the triggers of \(delete.fetchRequest.entity)") {
            guard !holds.isEmpty, let own = try table(delete.fetchRequest.entity) else { return nil }
            return try Holds(session: self, all: holds).obstacle(
                ReachOfDelete(of: own, delete.relationships.followed, self))
        }
    }

    /// Whether triggers may change or delete rows of a table when rows of an entity are deleted. The effects of their functions are not
    /// followed.
    package func triggersMayTouch(
        _ table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool { true }

    /// Which of some attributes of an entity a delete of rows, of the same or another entity, can set to NULL or a default.
    package func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String] {
        try run("following the foreign keys of \(entity)") {
            guard let own = try table(entity), let table = try table(other) else { return [] }
            let reach = try ReachOfDelete(of: own, relationships.followed, self)
            return try reach.cleared(attributes, of: table).flatMap(\.sourceAttributes)
        }
    }
}
