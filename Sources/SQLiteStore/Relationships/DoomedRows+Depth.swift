import GRDB
import PriceStore

extension SQLiteTable {
    /// Rows that may refer to each other in a ring: SQLite itself cascades no deeper than 1000 rows.
    static let largestRing = 900

    /// Whether the rows of a key can lose their references before they go. A trigger could keep a row without them.
    func canLose(_ key: Relationship) -> Bool {
        entity.deleteTriggers.isEmpty && key.sourceAttributes.allSatisfy { isNullable($0) }
    }
}

/// How deep the families of a delete are that was followed through its foreign keys.
extension SQLiteConnection {
    /// Longer chains of rows that go with each other are not taken apart.
    private static let deepestChain = 2000

    /// Whether rows of the rule's own table go with each other in a long chain, or in a large ring.
    func isDeep(
        _ request: BatchDeleteRequest, _ doomed: DoomedRows, step: Int, _ db: Database
    ) throws -> Bool {
        guard
            let walk = try walk(
                request, doomed, step: step, atLeast: Self.deepestChain, depth: Self.deepestChain + 1,
                where: { _ in true },
                db)
        else { return false }
        return walk.depth > Self.deepestChain || walk.notReached > Self.deepestChain
    }

    /// Why a ring of rows cannot go: SQLite itself cascades from row to row, deeper than it can, and the references
    /// cannot be taken away first. Nil: there is none.
    func ringTooLarge(
        _ request: BatchDeleteRequest, _ doomed: DoomedRows, step: Int, _ db: Database
    ) throws -> String? {
        let table = try scope(request.fetchRequest.entity, db).table
        let fixed = table.entity.incomingRelationships.filter { $0.deleteRule == .cascade && !table.canLose($0) }
        guard request.relationships != .nullify,
            let walk = try walk(
                request, doomed, step: step, atLeast: SQLiteTable.largestRing, depth: nil,
                where: { fixed.contains($0.with(deleteRule: .cascade)) }, db),
            walk.notReached > SQLiteTable.largestRing
        else { return nil }
        return
            "more than \(SQLiteTable.largestRing) rows of \(table.name) refer to each other in a ring, which SQLite cannot "
            + "delete by a cascade; change one of the references, so that they are a ring no more"
    }

    /// Follows the cascades within the rule's own table, from the rows that go with no other one; nil: so few rows refer
    /// to each other that it does not matter. Rows that refer to themselves go with no other one.
    ///
    /// - Returns: how deep they go, and how many rows are not reached, since they are in a ring or hang on one.
    private func walk(
        _ request: BatchDeleteRequest, _ doomed: DoomedRows, step: Int, atLeast fewest: Int, depth bound: Int?,
        where isFollowed: (Relationship) -> Bool, _ db: Database
    ) throws -> (depth: Int, notReached: Int)? {
        let scope = try scope(request.fetchRequest.entity, db)
        let keys = try incoming(scope.table.name, of: request, db).filter {
            $0.deleteRule == .cascade && $0.source.lowercased() == scope.table.name.lowercased() && isFollowed($0)
        }
        guard !keys.isEmpty else { return nil }
        let table = try doomedTable(scope.table, doomed, db)
        let columns = scope.key.indices.map { "k\($0)" }
        let list = columns.joined(separator: ", ")
        let children = scope.table.keySQL.map { "child.\($0)" }.joined(separator: ", ")
        let isItself = scope.table.keySQL.map { "parent.\($0) = child.\($0)" }.joined(separator: " AND ")
        let links = try keys.map { key in
            SQLFragment("SELECT \(children)")
                + (try references(key, doomed, "doomed.step = ? AND NOT (\(isItself))", [step], db))
        }
        let linked = SQLFragment.joined(links, by: " UNION ", empty: SQLFragment(""))
        guard try count(SQLFragment("SELECT count(*) FROM (") + linked + ")", db) > fewest else { return nil }
        let roots =
            SQLFragment(
                "SELECT \(list), 0 FROM temp.\(table) WHERE step = ? EXCEPT SELECT *, 0 FROM (", [step.databaseValue])
            + linked + ")"
        // Without a bound the depth is left out: each row is reached once then, also in a ring.
        let (next, limit) = bound == nil ? ("0", Int.max) : ("depth + 1", bound ?? 0)
        let steps = keys.map { key in
            let isParent = zip(columns, scope.table.keySQL).map { "parent.\($1) = +down.\($0)" }
            let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
                "parent.\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
            }
            return SQLFragment(
                " UNION SELECT \(children), \(next) FROM down CROSS JOIN \(scope.source) AS parent CROSS JOIN "
                    + "\(scope.source) AS child WHERE \((isParent + refers).joined(separator: " AND ")) "
                    + "AND NOT (\(isItself)) AND depth < ?", [limit.databaseValue])
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
