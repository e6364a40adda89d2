import GRDB
package import PriceStore

extension SQLiteFile {
    /// How many candles the rows of a request would make, and how many that are there they would change.
    package func candles(of request: SurveyRequest) throws(StoreError) -> CandleTally {
        guard let rollup = request.rollup else { return CandleTally() }
        return try run("making candles of \(request.entity)") { db in
            try snapshot(db) {
                let earlier = request.preceding.map(\.fetchRequest).filter { $0.entity == request.entity }
                let fetch = BatchDeleteRequest(request).fetchRequest.besides(earlier.map(\.predicate))
                let scope = try scope(of: fetch, db)
                let rows = SQLFragment(scope.from()) + whereClause(try condition(fetch.predicate, scope, db))
                return try CandleTable(rollup, of: scope, self, db).tally(of: rows)
            }
        }
    }
}
