import GRDB
package import PriceStore

extension SQLiteFile {
    /// How many candles the rows of a request would make, and how many that are there they would change.
    package func candles(of request: SurveyRequest) throws(StoreError) -> CandleTally {
        guard let rollup = request.rollup else { return CandleTally() }
        return try run("making candles of \(request.entity)") { db in
            try snapshot(db) {
                let delete = BatchDeleteRequest(request)
                let scope = try scope(of: delete.fetchRequest, db)
                let rows =
                    SQLFragment(scope.from()) + whereClause(try condition(delete.fetchRequest.predicate, scope, db))
                var tally = CandleTally()
                tally.add(try CandleTable(rollup, of: scope, self, db).candles(of: rows))
                return tally
            }
        }
    }
}
