package import PriceStore

extension PostgresDatabase {
    /// The number of readable rows of an entity that remain after several deletes and their cascades.
    package func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        try run("counting the rows of \(entity) that stay") {
            let own = try requireTable(entity).name
            // Deletes that cannot reach the entity need not be followed.
            let reaching = try deletes.map {
                ($0, try ReachOfDelete(of: requireTable($0.fetchRequest.entity), $0.relationships, self))
            }
            .filter { $1.losing.contains { $0.name == own } }
            let deletes = reaching.map(\.0)
            guard reaching.contains(where: { $1.losing[0].name != own }) else {
                // The predicates of the deletes are enough.
                return try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
            }
            return try snapshot {
                var removed = RemovedRows(self)
                for delete in deletes { try removed.add(delete) }
                let scope = try scope(entity)
                let spared = SQLFragment.all([
                    try scope.date(date).readable(), try condition(filter, scope),
                    "NOT \(removed.isGone(RowScope.alias, in: 0..<removed.stepCount))",
                ])
                return try count(
                    removed.tables + " SELECT count(*) FROM (SELECT 1 FROM \(scope.from)" + spared.whereClause
                        + SQLFragment(limit.map { " LIMIT \($0)" } ?? "") + ") AS spared")
            }
        }
    }
}
