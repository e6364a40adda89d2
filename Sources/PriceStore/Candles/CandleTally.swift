/// How many candles the rows of a deletion became, batch by batch.
package struct CandleTally: Hashable, Sendable {
    /// Candles that the store did not have.
    package private(set) var created = 0
    /// Candles that it had, to which rows were added. One to which several batches add counts once.
    package private(set) var changed = 0
    /// The latest candles: the next batch may add to them again.
    private var latest: Set<CandleBuilder.Key> = []

    /// Makes a tally of nothing.
    package init() {}

    /// Adds the candles of a batch, which follows those before it in time.
    ///
    /// - Parameter made: candles that the store would have by then.
    package mutating func add(_ batch: CandleBuilder, after made: Set<CandleBuilder.Key> = []) {
        guard let end = batch.changes.map(\.key.bucket.upperBound).max() else { return }
        for change in batch.changes where !latest.contains(change.key) {
            if change.before == nil, !made.contains(change.key) { created += 1 } else { changed += 1 }
        }
        latest = latest.filter { $0.bucket.upperBound == end }
        latest.formUnion(batch.changes.lazy.map(\.key).filter { $0.bucket.upperBound == end })
    }
}
