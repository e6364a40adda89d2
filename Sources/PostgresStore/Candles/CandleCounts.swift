package import PriceStore

extension PostgresDatabase {
    /// The number of candles that the rows of requests would make, and of existing ones that they would change.
    package func candles(of requests: [SurveyRequest]) throws(StoreError) -> [CandleTally] {
        try run("counting candles") {
            try snapshot { try CandleTally.counting(requests, forEachBatch: forEachBatch(of:_:_:)) }
        }
    }

    /// Makes candles of the rows that the deletes before a request leave, in date order.
    private func forEachBatch(
        of request: SurveyRequest, _ rollup: Rollup, _ body: (CandleBuilder) throws -> Void
    ) throws {
        let scope = try scope(request.entity)
        let left = try RowsLeft(request, self)
        let rows = try CandleRows(rollup, of: scope)
        let table = try table(rollup.target) == nil ? nil : CandleTable(rollup, self, left)
        try table?.checkTimes()
        let condition = SQLFragment.all([try condition(request.expired, scope), try left.condition(scope)])
        let query = rows.query { left.tables + "SELECT " + $0 + " FROM \(scope.from)" + condition.whereClause }
        try forEachPortion(of: query) { found in
            var batch = CandleBuilder(rollup.buckets)
            try refusingCandles { try batch.add(rows.rows(found)) { try table?.stored($0) ?? [:] } }
            try body(batch)
        }
    }
}

/// The rows and candles that the deletes before a request leave.
struct RowsLeft {
    private let request: SurveyRequest
    private let connection: PostgresDatabase
    private var removed: RemovedRows?

    init(_ request: SurveyRequest, _ connection: PostgresDatabase) throws {
        (self.request, self.connection) = (request, connection)
        guard try connection.relationshipsAreInPlay(request) else { return }
        var removed = RemovedRows(connection)
        for earlier in request.preceding where try !connection.requireTable(earlier.fetchRequest.entity).isHypertable {
            try removed.add(earlier)
        }
        if removed.stepCount > 0 { self.removed = removed }
    }

    /// The beginning of a query that uses ``condition(_:)``.
    var tables: SQLFragment { removed.map { $0.tables + " " } ?? "" }

    func condition(_ scope: RowScope) throws -> SQLFragment {
        let isLeft = removed.map { SQLFragment("NOT \($0.isGone(RowScope.alias, in: 0..<$0.stepCount))") } ?? .always
        return .all([try request.notPreceding(scope, connection), isLeft])
    }
}
