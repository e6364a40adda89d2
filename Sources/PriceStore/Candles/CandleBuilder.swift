/// Makes candles from rows, and merges them with those that the store has.
///
/// Rows come in the order of their dates; rows of one date come in the order of their keys. Each row in turn is added to the stored candle,
/// so sums of doubles do not depend on where batches end. Rows of one date are in one batch: the close is that of the highest key, and a
/// late row changes it only if it is later.
package struct CandleBuilder: Sendable {
    /// What identifies a candle of a table.
    package struct Key: Hashable, Sendable {
        package let group: [StoreValue]
        package let bucket: Range<Instant>
    }

    /// The candle of a row, its date and its group.
    package typealias Row = (candle: Candle, instant: Instant, group: [StoreValue])

    /// A candle that rows were added to.
    package struct Change: Sendable {
        package let key: Key
        /// The candle as the store has it; nil: it has none.
        package let before: Candle?
        package fileprivate(set) var after: Candle
        /// Whether the close is that of a row, not the stored one.
        fileprivate var hasClosed: Bool
    }

    private let buckets: CandleBuckets
    /// The candles to which rows were added, in the order of their first rows.
    package private(set) var changes: [Change] = []
    package private(set) var totals = CandleTotals()
    private var places: [Key: Int] = [:]
    /// The last change of each group.
    private var latest: [[StoreValue]: Int] = [:]
    private var bucket: Range<Instant>?

    package init(_ buckets: CandleBuckets) { self.buckets = buckets }

    /// Adds the candle of a row.
    ///
    /// - Parameter stored: returns the candle that the store has; called once for each candle.
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

    /// Adds rows.
    ///
    /// - Parameter stored: returns the candles that the store has for some keys; called once, with the keys of all rows.
    package mutating func add(_ rows: [Row], stored: ([Key]) throws -> [Key: Candle]) throws {
        var keys: Set<Key> = []
        for row in rows {
            keys.insert(Key(group: row.group.map(\.groupValue), bucket: bucket(at: row.instant)))
        }
        let found = try keys.isEmpty ? [:] : stored(Array(keys))
        for row in rows { try add(row.candle, at: row.instant, group: row.group) { found[$0] } }
    }

    /// Throws unless the candles that the store wrote are what the rows add up to.
    ///
    /// - Parameter written: the candles of all ``changes`` as the store has them now, in the same order.
    package func check(written: [Candle?], deletedCount: Int) throws(CandleError) {
        guard totals.rowCount == deletedCount else {
            throw .miscount(rolledUp: totals.rowCount, deleted: deletedCount)
        }
        guard written.count == changes.count else { throw .notAsWritten }
        var (before, after) = (CandleTotals(), CandleTotals())
        for (change, written) in zip(changes, written) {
            guard let written, written == change.after else { throw .notAsWritten }
            after.add(written)
            if let former = change.before { before.add(former) }
        }
        try CandleTotals.check(rows: totals, before: before, after: after)
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
        // The close is now that of a row: an earlier one or this one.
        hasClosed = hasClosed || before.map { $0.closeTime < after.closeTime } ?? true
    }
}

extension StoreValue {
    /// One value for all values that a store considers equal: a whole double is an integer.
    package var groupValue: StoreValue {
        if case .real(let number) = self, let whole = Int64(exactly: number) { .integer(whole) } else { self }
    }
}
