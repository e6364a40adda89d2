/// Counts the candles that the rows of a deletion became, batch by batch.
package struct CandleTally: Hashable, Sendable {
    /// Candles that the store did not have.
    package private(set) var created = 0
    /// Candles that the store had and to which rows were added. A candle counts once, even if several batches add to it.
    package private(set) var changed = 0
    /// The latest candles, to which the next batch may add.
    private var latest: Set<CandleBuilder.Key> = []

    package init() {}

    /// Adds the candles of a batch. Batches come in the order of time.
    ///
    /// - Parameter made: the candles that the store would have by then.
    package mutating func add(_ batch: CandleBuilder, after made: Set<CandleBuilder.Key> = []) {
        guard let end = batch.changes.map(\.key.bucket.upperBound).max() else { return }
        for change in batch.changes where !latest.contains(change.key) {
            if change.before == nil, !made.contains(change.key) { created += 1 } else { changed += 1 }
        }
        latest = latest.filter { $0.bucket.upperBound == end }
        latest.formUnion(batch.changes.lazy.map(\.key).filter { $0.bucket.upperBound == end })
    }
}

extension CandleTally {
    /// For each request, the candles that its rows would make or change; empty where rows become none.
    ///
    /// - Parameter forEachBatch: passes the rows that the requests before one leave to a closure, in the order of their dates, as
    ///   candles of some rows at a time.
    package static func counting(
        _ requests: [SurveyRequest],
        forEachBatch: (_ request: SurveyRequest, Rollup, _ body: (CandleBuilder) throws -> Void) throws -> Void
    ) throws -> [CandleTally] {
        var made: [String: Set<CandleBuilder.Key>] = [:]
        return try requests.enumerated().map { index, request in
            guard let rollup = request.deleting.rollup else { return CandleTally() }
            let target = rollup.target.folded
            let isShared = requests[(index + 1)...].contains { $0.deleting.rollup?.target.folded == target }
            var (tally, keys) = (CandleTally(), Set<CandleBuilder.Key>())
            try forEachBatch(request, rollup) { batch in
                tally.add(batch, after: made[target, default: []])
                if isShared { keys.formUnion(batch.changes.lazy.map(\.key)) }
            }
            made[target, default: []].formUnion(keys)
            return tally
        }
    }
}
