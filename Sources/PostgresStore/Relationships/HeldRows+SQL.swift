package import PriceStore

/// The rows that must stay because of holds: held rows, and rows whose delete would cascade to one.
extension PostgresConnection {
    /// The condition that a row is not held, and that no held row is deleted with it.
    func notHeld(
        _ holds: [HeldRows], by rule: BatchDeleteRequest.RelationshipRule?, _ scope: RowScope
    ) throws -> SQLFragment {
        var parts = try holds.compactMap { hold in try held(hold, scope).map { "(" + $0 + ") IS FALSE" } }
        if let rule, let rows = try sparingRows(holds, rule, scope) {
            parts.append("NOT ((\(RowScope.alias).tableoid, \(RowScope.alias).ctid) IN (" + rows + "))")
        }
        return .all(parts)
    }

    /// The condition that a row of a scope is held; nil: the hold is about other rows.
    func held(_ hold: HeldRows, _ scope: RowScope) throws -> SQLFragment? {
        let table = try requireTable(hold.entity)
        switch try kinship(of: table, to: scope.table) {
        case .none: return nil
        case .same, .ancestor: return try condition(hold.rows, scope)
        case .descendant(let numbers):
            let isPart = Self.isIn(numbers)
            // What only the part's own columns say is unknown here, and unknown is held.
            let isKnown = hold.rows.allAttributeNames.allSatisfy { scope.table.entity.attribute(named: $0) != nil }
            return isKnown ? .all([isPart, try condition(hold.rows, scope)]) : isPart
        }
    }

    /// The condition that a row is in one of some tables.
    static func isIn(_ tables: [Int]) -> SQLFragment {
        "\(RowScope.alias).tableoid = ANY (" + .tables(tables) + ")"
    }

    /// How the rows of a table are those of another one.
    enum Kinship {
        case none
        case same
        /// It has all rows of the other one.
        case ancestor
        /// The other one has all of its rows: the numbers of the tables that hold them.
        case descendant([Int])
    }

    /// Partitions, children and chunks are tables of their own, which a hold or a rule may name.
    func kinship(of table: PostgresTable, to other: PostgresTable) throws -> Kinship {
        if table.number == other.number { return .same }
        if try descendants(of: table).contains(other.number) { return .ancestor }
        guard try descendants(of: other).contains(table.number) else { return .none }
        return .descendant([table.number] + (try descendants(of: table)))
    }

    func descendants(of table: PostgresTable) throws -> [Int] {
        guard !table.isSingle else { return [] }
        return try rows(
            "WITH RECURSIVE tree (oid) AS (SELECT inhrelid FROM pg_inherits WHERE inhparent = "
                + .bound("\(table.number)", "oid")
                + " UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid) SELECT oid::int8 FROM tree"
        ).compactMap { $0[0].flatMap { Int($0) } }
    }

    /// A query for the places of rows with which a held row would be deleted; nil: no relationship leads to a held entity.
    ///
    /// It is found the other way round: from the held rows to all that lead to them. One statement asks it once. A row stays as
    /// well for a held one that would lose the reference by which it is held.
    private func sparingRows(
        _ holds: [HeldRows], _ rule: BatchDeleteRequest.RelationshipRule, _ scope: RowScope
    ) throws -> SQLFragment? {
        let reach = try reach(of: scope.table, rule)
        let keys = reach.cascading
        var first: [SQLFragment] = []
        for key in keys + reach.nullifying {
            let (parent, child) = (try self.scope(key.destination), try self.scope(key.source))
            for hold in holds where keys.contains(key) || child.table.entity.uses(key, hold.rows.allAttributeNames) {
                guard let held = try held(hold, child) else { continue }
                first.append(
                    "SELECT parent.tableoid, parent.ctid FROM \(child.from) JOIN \(parent.source) AS parent ON "
                        + "\(Self.refers(key, RowScope.alias)) WHERE (" + held + ") IS NOT FALSE")
            }
        }
        guard !first.isEmpty else { return nil }
        let held = SQLFragment.joined(first, by: " UNION ", empty: .never)
        guard !keys.isEmpty else { return held }
        let next = try keys.map { key in
            "SELECT parent.tableoid AS t, parent.ctid AS c FROM \(try self.scope(key.source).source) AS child "
                + "JOIN \(try self.scope(key.destination).source) AS parent ON \(Self.refers(key, "child")) "
                + "WHERE child.tableoid = found.t AND child.ctid = found.c"
        }
        return "WITH RECURSIVE sparing (t, c) AS ((" + held
            + ") UNION SELECT wave.t, wave.c FROM sparing AS found CROSS JOIN LATERAL ("
            + next.joined(separator: " UNION ALL ") + ") AS wave) SELECT t, c FROM sparing"
    }

    private static func refers(_ key: Relationship, _ child: String) -> String {
        zip(key.sourceAttributes, key.destinationAttributes).map {
            "\(child).\($0.quotedIdentifier) = parent.\($1.quotedIdentifier)"
        }.joined(separator: " AND ")
    }

    // MARK: In a transaction

    /// Whether a delete must see one state of the database throughout, because a cascade could reach held rows that others add
    /// meanwhile: the server then refuses to delete what the transaction does not see, and the batch is repeated.
    func needsOneState(_ request: DeleteWork, _ reach: ReachOfDelete) throws -> Bool {
        let holds = request.fetchRequest.predicate.holds
        guard !holds.isEmpty else { return false }
        if try firesTriggers(reach) { return true }
        return try holds.contains { try reaches($0, reach) || changes($0, $0.rows.allAttributeNames, reach) }
    }

    /// Whether a delete can change attributes of rows of a hold's entity.
    private func changes(_ hold: HeldRows, _ attributes: [String], _ reach: ReachOfDelete) throws -> Bool {
        try changes(requireTable(hold.entity), attributes, reach)
    }

    private func changes(_ table: PostgresTable, _ attributes: [String], _ reach: ReachOfDelete) throws -> Bool {
        try !cleared(table, attributes, reach).isEmpty
    }

    /// The keys with some attributes of a table that a delete can clear.
    fileprivate func cleared(_ table: PostgresTable, _ attributes: [String], _ reach: ReachOfDelete) throws
        -> [Relationship]
    {
        try reach.nullifying.filter { key in
            guard let child = try self.table(key.source), child.entity.uses(key, attributes) else { return false }
            if case .none = try kinship(of: table, to: child) { return false }
            return true
        }
    }

    /// Whether cascades of a delete can take rows of a hold's entity.
    private func reaches(_ hold: HeldRows, _ reach: ReachOfDelete) throws -> Bool {
        let table = try requireTable(hold.entity)
        return try reach.losing.dropFirst(reach.leadsBack ? 0 : 1).contains {
            if case .none = try kinship(of: table, to: $0) { false } else { true }
        }
    }

    /// Whether triggers or rules of the store act when rows are deleted or references cleared.
    func firesTriggers(_ reach: ReachOfDelete) throws -> Bool {
        if reach.losing.contains(where: { !$0.entity.deleteTriggers.isEmpty }) { return true }
        return try reach.nullifying.contains { key in
            try table(key.source)?.entity.updateTriggers.contains {
                $0.attributes.isEmpty
                    || !Set(key.sourceAttributes.map { $0.lowercased() }).isDisjoint(with: $0.attributes)
            } == true
        }
    }

    /// What is known of the rows of a hold before and after a delete.
    struct HeldMark {
        /// How many there are.
        var count = 0
        /// A digest of their keys, in any order.
        var keys: String?
        /// What the transaction has done to rows of their table besides adding some.
        var changes: String?
    }

    /// Marks of the rows of each hold, where the store's own triggers and rules may delete some; empty: none acts.
    func heldMarks(_ request: DeleteWork, _ reach: ReachOfDelete) throws -> [HeldMark] {
        let holds = request.fetchRequest.predicate.holds
        guard !holds.isEmpty, try firesTriggers(reach) else { return [] }
        return try holds.map { hold in
            let scope = RowScope(try requireTable(hold.entity))
            let key = scope.key.isEmpty ? "\(RowScope.alias)::text" : "ROW(\(scope.key.joined(separator: ", ")))::text"
            let row = try rows(
                "SELECT count(*), sum(hashtextextended(\(key), 0)), \(changeCount("deleted", [scope.table])) || ' ' || "
                    + "\(changeCount("updated", [scope.table])) || ' ' || \(Self.files(scope.table)) FROM \(scope.from) WHERE ("
                    + (try condition(hold.rows, scope)) + ") IS NOT FALSE"
            ).first
            return HeldMark(count: row?[0].flatMap { Int($0) } ?? 0, keys: row?[1], changes: row?[2])
        }
    }

    /// Whether the server counts the rows of a table that it deletes and changes: not those on other servers or in
    /// compressed chunks, and none with `track_counts = off`.
    private func countsChanges(of table: PostgresTable) throws -> Bool {
        if table.isDistributed { return false }
        if try table.isHypertable && !rows(TimescaleSQL.compressedChunks(table)).isEmpty { return false }
        return try exists(SQLFragment("SELECT 1 WHERE current_setting('track_counts')::bool"))
    }

    /// The files of a table's rows, in SQL: it has others once it is truncated.
    private static func files(_ table: PostgresTable) -> String {
        "(WITH RECURSIVE tree (oid) AS (SELECT \(table.number)::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree "
            + "ON i.inhparent = tree.oid) SELECT sum(c.relfilenode::int8) FROM pg_class c JOIN tree ON tree.oid = c.oid)"
    }

    /// Throws if a hold does not have the rows that it had before: a trigger of the store has deleted or changed some, or put
    /// others in their place. Rows that a trigger adds do no harm. The caller undoes the batch.
    func checkHeld(_ request: DeleteWork, _ reach: ReachOfDelete, _ before: [HeldMark]) throws {
        guard !before.isEmpty else { return }
        for (hold, (before, after)) in zip(
            request.fetchRequest.predicate.holds, zip(before, try heldMarks(request, reach)))
        {
            func isChanged() throws -> Bool {
                try after.changes != before.changes || !countsChanges(of: requireTable(hold.entity))
            }
            guard try after.count < before.count || after.keys != before.keys && isChanged() else { continue }
            throw StoreError(
                .constraint, store: name,
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
            let reach = try reach(of: own, rule)
            let isReached = try reach.losing.contains {
                if case .none = try kinship(of: table, to: $0) { false } else { true }
            }
            // The rows that a key changes after a reference was cleared are not followed.
            return try isReached || !cleared(table, attributes, reach).isEmpty || changeBehind(reach) != nil
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
            let reach = try reach(of: own, relationships == .deny ? .asDeclared : relationships)
            return try cleared(table, attributes, reach).flatMap(\.sourceAttributes)
        }
    }
}
