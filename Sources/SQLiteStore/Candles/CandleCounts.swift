import GRDB
package import PriceStore

extension SQLiteFile {
    /// Why a table of candles cannot be created, or cannot identify candles.
    package func candleObstacle(
        _ rollup: Rollup, of entity: Entity, into target: Entity?
    ) throws(StoreError) -> String? {
        if let target {
            guard Set(target.primaryKey.map(\.folded)) == Set(rollup.key.map(\.folded)) else {
                let key = rollup.key.list
                return "the primary key of \(target.name) must be \(key), so that each bucket has one candle"
            }
            return try run("looking at \(rollup.target)") { db in
                let groups = rollup.groupedBy.map { rollup.names[group: $0].folded }
                let other = try catalog.table(target.name, db)?.collationOfKey(groups)
                return other.map { name, collation in
                    "the column \(name) of \(target.name) has the collation \(collation), so groups whose names differ could be one key; "
                        + "it must be BINARY"
                }
            }
        }
        return try run("looking for \(rollup.target)") { db in
            guard try rollup.target.folded.hasPrefix("sqlite_") || isTaken(rollup.target, db) else { return nil }
            return "the store uses the name \(rollup.target) for something else; choose another one"
        }
    }

    /// For each request, the number of candles that its rows would make and of existing candles that they would change.
    package func candles(of requests: [SurveyRequest]) throws(StoreError) -> [CandleTally] {
        try run("counting candles") { db in
            try snapshot(db) {
                let removed = RemovedRows()
                return try CandleTally.counting(requests) { request, rollup, body in
                    try align(removed, to: deletes(before: request, rollup, db), db)
                    let fetch = BatchDeleteRequest(request).fetchRequest
                    let scope = try scope(of: fetch, db)
                    let isLeft = try isLeft(scope, after: removed, db)
                    let isMade = SQLFragment.all([try condition(fetch.predicate, scope, db), isLeft])
                    try CandleTable(rollup, of: scope, self, db, after: removed)
                        .forEachBatch(of: "\(scope.from())\(isMade.whereClause)", body)
                }
            }
        }
    }

    /// The earlier deletes that can remove the request's rows, or candles to which they would be added.
    private func deletes(
        before request: SurveyRequest, _ rollup: Rollup, _ db: Database
    ) throws -> [BatchDeleteRequest] {
        if try relationshipsAreInPlay(request, db) { return request.preceding }
        let names = [request.entity.folded, rollup.target.folded]
        return request.preceding.filter { names.contains($0.fetchRequest.entity.folded) }
    }
}

extension SQLiteFile {
    func isTaken(_ name: String, _ db: Database) throws -> Bool {
        let query = "SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE"
        return try Row.fetchOne(db, sql: query, arguments: [name]) != nil
    }

    /// The condition that none of the deletes removes a row.
    func isLeft(_ scope: RowScope, after removed: RemovedRows, _ db: Database) throws -> SQLFragment {
        guard !removed.steps.isEmpty else { return .always }
        return scope.isNotIn(try removedTable(scope.table, removed, db))
    }
}
