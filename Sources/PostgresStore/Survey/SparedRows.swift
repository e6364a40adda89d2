import PriceStore

extension PostgresConnection {
    /// Counts the rows that stay after several deletes, their cascades followed; nil: no foreign key points at a table of
    /// the deletes, and their predicates say it all.
    func countSpared(
        _ entity: String, date: DateAttribute, filter: Predicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws -> Int? {
        guard try reachByKeys(deletes.map(\.fetchRequest.entity)) else { return nil }
        return try snapshot {
            var foresight = Foresight(self)
            for delete in deletes { try foresight.add(delete) }
            let scope = try scope(entity)
            let gone = foresight.isGone(RowScope.alias, in: 0..<foresight.stepCount) ?? "FALSE"
            let spared = SQLFragment.all([
                try scope.date(date, store: name).readable(), try condition(filter, scope), SQLFragment("NOT \(gone)"),
            ])
            let result = try rows(
                foresight.tables + " SELECT count(*) FROM (SELECT 1 FROM \(scope.from)" + spared.whereClause
                    + SQLFragment(limit.map { " LIMIT \($0)" } ?? "") + ") AS spared")
            return result.first?[0].flatMap { Int($0) } ?? 0
        }
    }
}
