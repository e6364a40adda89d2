import PriceStore

/// The picks that a rule keeps among the rows before its cutoff, by key.
///
/// They are valid for the state of the database in which they were found: later, a pick may be gone, and a late row may be the only one of
/// its bucket. They are bound as lists, because a dry run cannot create a temporary table. Batches use ``KeptTables`` if possible.
struct ThinnedRows {
    /// One list for each column of the key.
    var keys: [[String?]] = []
    var counts: [Survey.TierCount] = []
}

extension PostgresDatabase {
    /// The condition that a row is not a pick.
    func notPicked(_ thinning: Thinning, _ scope: RowScope) throws -> SQLFragment {
        if looksUpKeptRows { return try listed(.picks(thinning), scope).mayGo }
        let found = try thinnedRows(thinning, scope)
        guard !found.counts.isEmpty else { return .always }
        let lists = zip(scope.keyAttributes, found.keys).map { SQLFragment.list($1, scope.table.valueType($0)) }
        let keys = lists.indices.map { "k\($0)" }.joined(separator: ", ")
        // A subquery without outer references is hashed. A join might read it again for each row.
        return "(\(scope.key.joined(separator: ", "))) NOT IN (SELECT \(keys) FROM unnest("
            + .joined(lists, by: ", ") + ") AS picked (\(keys)))"
    }

    func thinnedRows(_ thinning: Thinning, _ scope: RowScope) throws -> ThinnedRows {
        try inThisState(.picks(thinning), scope) {
            try ThinningQuery(thinning, scope, self).map { try find($0) } ?? ThinnedRows()
        }
    }

    private func find(_ query: ThinningQuery) throws -> ThinnedRows {
        let list = query.keys.joined(separator: ", ")
        // A row kept by several tiers counts for the one with the largest unit.
        let rows = try self.rows(
            "SELECT \(list), max(tier) AS tier FROM (" + query.picks + ") AS picked WHERE expired GROUP BY \(list)")
        var result = ThinnedRows(keys: try query.keys.map { key in try rows.map { try $0.optionalText(key) } })
        let tiers = Dictionary(grouping: try rows.map { try $0.int("tier") }) { $0 }
        result.counts = tiers.sorted { $0.key < $1.key }.map {
            .init(unit: query.thinning.tiers[$0.key].unit, rowCount: $0.value.count)
        }
        return result
    }
}
