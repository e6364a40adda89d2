import GRDB
import PriceStore

extension SQLiteTable {
    /// Rows that may refer to each other in a ring: SQLite itself cascades no deeper than 1000 rows.
    static let largestRing = 900

    /// Whether the rows of a key can lose their references before they are deleted: no constraint is against it, and no
    /// trigger could keep a row without them.
    func canLose(_ key: Relationship) -> Bool {
        entity.deleteTriggers.isEmpty && entity.updateTriggers.isEmpty && !hasChecks
            && key.sourceAttributes.allSatisfy { isNullable($0) }
            && !indexes.contains { $0.isUnique && ($0.isPartial || $0.columns.contains { $0.name == nil }) }
    }

    /// The relationships of the table to itself.
    var ownReferences: [Relationship] {
        entity.relationships.filter { $0.destination.folded == name.folded }
    }

    /// The condition that a reference of a row to its own table refers to no row. SQLite looks at all of them whichever
    /// column of the row changes; a deletion alone does not mind.
    func dangles(_ row: String) -> [String] {
        ownReferences.map { reference in
            let isSet = reference.sourceAttributes.map { "\(row).\($0.quotedIdentifier) IS NOT NULL" }
            let points = zip(reference.sourceAttributes, reference.destinationAttributes).map {
                "other.\($1.quotedIdentifier) = \(row).\($0.quotedIdentifier)"
            }
            return isSet.joined(separator: " AND ")
                + " AND NOT EXISTS (SELECT 1 FROM \(sql) AS other WHERE \(points.joined(separator: " AND ")))"
        }
    }
}

/// How deep the families of a delete are that was followed through its foreign keys.
extension SQLiteFileConnection {
    /// Longer chains of rows that are deleted with each other are not taken apart.
    private static let deepestChain = 2000

    /// Whether rows of the rule's own table go with each other in a long chain, or in a large ring.
    func isDeep(
        _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> Bool {
        guard
            let walk = try walk(
                request.fetchRequest.entity, request, removed, step: step, atLeast: Self.deepestChain,
                depth: Self.deepestChain + 1,
                where: { _ in true },
                db)
        else { return false }
        return walk.depth > Self.deepestChain || walk.notReached > Self.deepestChain
    }

    /// Why a ring of rows cannot be deleted: SQLite itself cascades from row to row, deeper than it can, and the references
    /// cannot be taken away first. Nil: there is none.
    func ringTooLarge(
        _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> String? {
        guard request.relationships != .nullify else { return nil }
        for name in try losing(removed, step: step, db) {
            let table = try scope(name, db).table
            let own = table.ownReferences.filter { $0.deleteRule == .cascade }
            guard !own.isEmpty,
                try !own.allSatisfy(table.canLose) || hasDangling(table, in: removedTable(table, removed, db), db),
                let walk = try walk(
                    table.name, request, removed, step: step, atLeast: SQLiteTable.largestRing,
                    // By two keys rows are reached in another order than that of a chain, which SQLite follows then.
                    depth: own.count > 1 ? SQLiteTable.largestRing + 1 : nil, where: { own.contains($0) }, db),
                max(walk.notReached, walk.depth) > SQLiteTable.largestRing
            else { continue }
            return
                "more than \(SQLiteTable.largestRing) rows of \(table.name) refer to each other in "
                + "\(own.count > 1 ? "a ring or a chain" : "a ring"), which SQLite cannot delete by a cascade; change one of "
                + "the references to break it"
        }
        return try circleTooLarge(request, removed, step: step, db)
    }

    /// Why rows cannot be deleted that a cascade leads to through another table: the rule names them as well, and so they
    /// are deleted in an order that has SQLite itself cascade from row to row. Nil: there are few.
    private func circleTooLarge(
        _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> String? {
        let table = try scope(request.fetchRequest.entity, db).table
        let most = SQLiteTable.largestRing / 3
        for key in table.entity.relationships
        where key.deleteRule == .cascade && key.destination.folded != table.name.folded {
            let isNamed = try childIsRemoved(key, removed, steps: "= \(step) AND own.wave = 0", db)
            let rows = try references(key, removed, "removed.step = ? AND \(isNamed)", [step], db)
            guard try count(SQLFragment("SELECT count(*) FROM (SELECT 1") + rows + " LIMIT \(most + 1))", db) > most
            else { continue }
            return
                "cascades lead from \(table.name) to \(key.destination) and back, through more than \(most) rows of "
                + "\(table.name) that would be deleted, which SQLite cannot delete by a cascade; declare one of the keys "
                + "without ON DELETE CASCADE"
        }
        return nil
    }

    /// Whether rows of a table of keys have several references to their own table, of which one refers to no row.
    func hasDangling(_ table: SQLiteTable, in keys: String, _ db: Database) throws -> Bool {
        guard table.ownReferences.count > 1 else { return false }
        let isRow = table.keySQL.enumerated().map { "child.\($0.element) = +mine.k\($0.offset)" }
        let query =
            "SELECT 1 FROM temp.\(keys) AS mine CROSS JOIN \(table.sql) AS child WHERE "
            + "\(isRow.joined(separator: " AND ")) AND (\(table.dangles("child").joined(separator: " OR "))) LIMIT 1"
        return try row(SQLFragment(query), db) != nil
    }

    /// Follows the cascades within a table, from the rows that are deleted with no other row; nil: so few rows refer
    /// to each other that it does not matter. Rows that refer to themselves are deleted with no other row.
    ///
    /// - Returns: how deep they go, and how many rows are not reached, because they are in a ring or depend on one.
    private func walk(
        _ entity: String, _ request: BatchDeleteRequest, _ removed: RemovedRows, step: Int, atLeast fewest: Int,
        depth bound: Int?, where isFollowed: (Relationship) -> Bool, _ db: Database
    ) throws -> (depth: Int, notReached: Int)? {
        let scope = try scope(entity, db)
        let keys = try incoming(scope.table.name, of: request, db).filter {
            $0.deleteRule == .cascade && $0.source.folded == scope.table.name.folded && isFollowed($0)
        }
        guard !keys.isEmpty else { return nil }
        let table = try removedTable(scope.table, removed, db)
        let columns = scope.key.indices.map { "k\($0)" }
        let list = columns.joined(separator: ", ")
        let children = scope.table.keySQL.map { "child.\($0)" }.joined(separator: ", ")
        func isItself(_ keys: String) -> String {
            zip(columns, scope.table.keySQL).map { "child.\($1) = +\(keys).\($0)" }.joined(separator: " AND ")
        }
        let links = try keys.map { key in
            SQLFragment("SELECT \(children)")
                + (try references(key, removed, "removed.step = ? AND NOT (\(isItself("removed")))", [step], db))
        }
        let linked = SQLFragment.joined(links, by: " UNION ", empty: SQLFragment(""))
        guard try count(SQLFragment("SELECT count(*) FROM (") + linked + ")", db) > fewest else { return nil }
        let roots =
            SQLFragment(
                "SELECT \(list), 0 FROM temp.\(table) WHERE step = ? EXCEPT SELECT *, 0 FROM (", [step.databaseValue])
            + linked + ")"
        // Without a bound the depth is left out: each row is reached once then, also in a ring.
        let (next, limit) = bound == nil ? ("0", Int.max) : ("depth + 1", bound ?? 0)
        // By a single key a row is reached from one other at most, and never a ring.
        let union = keys.count == 1 ? "UNION ALL" : "UNION"
        let steps = keys.map { key in
            let link = scope.link(key, from: "down", in: scope.source, to: scope, as: "child")
            return SQLFragment(
                " \(union) SELECT \(children), \(next) FROM down\(link.tables) CROSS JOIN \(scope.source) AS child "
                    + "WHERE \(link.condition) AND NOT (\(isItself("down"))) AND depth < ?", [limit.databaseValue])
        }
        let query =
            SQLFragment("WITH RECURSIVE down (\(list), depth) AS (SELECT * FROM (") + roots + ")"
            + steps.reduce(SQLFragment("")) { $0 + $1 } + ") SELECT max(depth), count(*) FROM down"
        // No row is reached, and the depth is NULL, where all are in rings.
        let found = try row(query, db) ?? []
        var (depth, reached) = (0, 0)
        if case .integer(let value)? = found.first { depth = Int(value) }
        if case .integer(let value)? = found.last { reached = Int(value) }
        let all = try count(
            SQLFragment("SELECT count(*) FROM temp.\(table) WHERE step = ?", [step.databaseValue]), db)
        return (depth, all - reached)
    }
}
