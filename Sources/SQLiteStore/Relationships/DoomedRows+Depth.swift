import GRDB
import PriceStore

/// How deep the families of a delete are that was followed through its foreign keys.
extension SQLiteConnection {
    /// Longer chains of rows that go with each other are not taken apart.
    private static let deepestChain = 2000

    /// Whether rows of the rule's own table go with each other in a long chain, or in a large ring.
    func isDeep(
        _ request: BatchDeleteRequest, _ doomed: DoomedRows, step: Int, _ db: Database
    ) throws -> Bool {
        let scope = try scope(request.fetchRequest.entity, db)
        let keys = try incoming(scope.table.name, of: request, db).filter {
            $0.deleteRule == .cascade && $0.source.lowercased() == scope.table.name.lowercased()
        }
        guard !keys.isEmpty else { return false }
        let table = try doomedTable(scope.table, doomed, db)
        let columns = scope.key.indices.map { "k\($0)" }
        let list = columns.joined(separator: ", ")
        let links = try keys.map { key in
            let children = scope.table.keySQL.map { "child.\($0)" }.joined(separator: ", ")
            return SQLFragment("SELECT \(children)") + (try references(key, doomed, "doomed.step = ?", [step], db))
        }
        let count = try count(
            SQLFragment("SELECT count(*) FROM (") + SQLFragment.joined(links, by: " UNION ", empty: SQLFragment(""))
                + ")", db)
        guard count > Self.deepestChain else { return false }
        // From the rows that go with no other one, down to the depth that matters.
        let roots =
            SQLFragment(
                "SELECT \(list), 0 FROM temp.\(table) WHERE step = ? EXCEPT SELECT *, 0 FROM (", [step.databaseValue])
            + SQLFragment.joined(links, by: " UNION ", empty: SQLFragment("")) + ")"
        let steps = keys.map { key in
            let isParent = zip(columns, scope.table.keySQL).map { "parent.\($1) = +down.\($0)" }
            let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
                "parent.\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
            }
            let children = scope.table.keySQL.map { "child.\($0)" }.joined(separator: ", ")
            return SQLFragment(
                " UNION SELECT \(children), depth + 1 FROM down CROSS JOIN \(scope.source) AS parent "
                    + "CROSS JOIN \(scope.source) AS child WHERE \((isParent + refers).joined(separator: " AND ")) "
                    + "AND depth < ?", [(Self.deepestChain + 1).databaseValue])
        }
        let walk =
            SQLFragment("WITH RECURSIVE down (\(list), depth) AS (SELECT * FROM (") + roots + ")"
            + steps.reduce(SQLFragment("")) { $0 + $1 } + ") SELECT max(depth), count(*) FROM down"
        let found = try row(walk, db) ?? []
        guard case .integer(let depth)? = found.first, case .integer(let reached)? = found.last else { return true }
        let all = try self.count(
            SQLFragment("SELECT count(*) FROM temp.\(table) WHERE step = ?", [step.databaseValue]), db)
        return depth > Self.deepestChain || all - Int(reached) > Self.deepestChain
    }
}
