import GRDB
package import PriceStore

extension SQLiteFile {
    /// The number of readable rows of an entity that stay after several deletes and their cascades.
    package func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        try run("counting the rows of \(entity) that stay") { db in
            let areRelated = try deletes.contains { delete in
                let table = try scope(delete.fetchRequest.entity, db).table
                return table.managed != nil || !table.entity.incomingRelationships.isEmpty
            }
            guard areRelated else {
                // Without relationships the predicates of the deletes decide.
                return try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
            }
            return try snapshot(db) {
                let removed = try removedRows(of: deletes, db)
                let scope = try scope(entity, db)
                let isSpared = SQLFragment.all([
                    try dateSQL(date, scope, db).readable(), try condition(filter, scope, db),
                    try isLeft(scope, after: removed, db),
                ])
                let rows: SQLFragment = "SELECT 1 FROM \(scope.from()) WHERE \(isSpared) LIMIT \(bound: limit ?? -1)"
                return try count("SELECT count(*) FROM (\(rows))", db)
            }
        }
    }
}
