/// Makes candles of rows, and merges them with those that the store has.
///
/// The rows come in the order of their dates and, among rows of one date, of their keys. Each is added to its candle as
/// the store has it, one after the other, so that sums of doubles do not depend on where batches end. Rows of one date come
/// in one batch: then the close is that of the highest key, and a late row changes it only if it is later.
package struct CandleBuilder: Sendable {
    /// What tells candles of one table apart.
    package struct Key: Hashable, Sendable {
        /// The values of the group.
        package let group: [StoreValue]
        /// The bucket.
        package let bucket: Range<Instant>

        /// Makes a key.
        package init(group: [StoreValue], bucket: Range<Instant>) {
            self.group = group
            self.bucket = bucket
        }
    }

    /// A candle that rows were added to.
    package struct Change: Sendable {
        package let key: Key
        /// The candle as the store has it; nil: it has none.
        package let before: Candle?
        package fileprivate(set) var after: Candle
        /// Whether the close is that of a row, and not the store's.
        fileprivate var hasClosed: Bool
    }

    private let buckets: CandleBuckets
    /// The candles that rows were added to, in the order of their first rows.
    package private(set) var changes: [Change] = []
    /// What the rows themselves add up to.
    package private(set) var totals = CandleTotals()
    private var places: [Key: Int] = [:]
    /// The last change of each group.
    private var latest: [[StoreValue]: Int] = [:]
    private var bucket: Range<Instant>?

    /// Makes a builder without rows.
    package init(_ buckets: CandleBuckets) { self.buckets = buckets }

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - row: its candle.
    ///   - instant: its date.
    ///   - group: the values of its group.
    ///   - stored: the candle that the store has; asked once for each candle.
    package mutating func add(
        _ row: Candle, at instant: Instant, group: [StoreValue], stored: (Key) throws -> Candle?
    ) throws {
        totals.add(row)
        let bucket = bucket(at: instant)
        guard bucket.contains(row.openTime.instant), bucket.contains(row.closeTime.instant) else {
            throw CandleError.straddle(instant)
        }
        let group = group.map(\.groupValue)
        if let last = latest[group], changes[last].key.bucket == bucket { return try changes[last].add(row) }
        let key = Key(group: group, bucket: bucket)
        if let place = places[key] {
            latest[group] = place
            return try changes[place].add(row)
        }
        places[key] = changes.count
        latest[group] = changes.count
        changes.append(try Change(key, row, before: stored(key)))
    }

    private mutating func bucket(at instant: Instant) -> Range<Instant> {
        if let bucket, bucket.contains(instant) { return bucket }
        let found = buckets.bucket(at: instant)
        bucket = found
        return found
    }
}

extension CandleBuilder.Change {
    fileprivate init(_ key: CandleBuilder.Key, _ row: Candle, before: Candle?) throws(CandleError) {
        self.init(key: key, before: before, after: before ?? row, hasClosed: before == nil)
        if before != nil { try add(row) }
    }

    fileprivate mutating func add(_ row: Candle) throws(CandleError) {
        try after.merge(row, isLaterInTie: hasClosed)
        // Now it is a row's: that of another row before, or of this one.
        hasClosed = hasClosed || before.map { $0.closeTime < after.closeTime } ?? true
    }
}

extension StoreValue {
    /// The value that all values have that a store holds to be equal to it.
    package var groupValue: StoreValue {
        if case .real(let number) = self, let whole = Int64(exactly: number) { .integer(whole) } else { self }
    }
}
