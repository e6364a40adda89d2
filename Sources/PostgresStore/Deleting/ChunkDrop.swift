import PriceStore

/// The drop of whole chunks of a hypertable.
extension PartitionDrop {
    /// Drops the oldest wholly expired chunks of a hypertable, in a batch of its own. It is nil if there are none, or if their rows must be
    /// deleted one by one.
    ///
    /// While the hypertable is locked, other sessions can read and write it. Nobody can create a chunk, a trigger or a policy until the
    /// transaction ends, and nobody else can use the chunks that are counted.
    func dropNextChunks(_ work: DeleteWork, _ range: DateRange) throws -> BatchDeleteResult? {
        let scope = RowScope(table)
        let (attribute, date) = try (scope.attribute(range.date.name), scope.date(range.date))
        guard let before = range.before, date.reading == .ordered, table.chunkColumn == attribute.name,
            let functions = try session.schema(ofExtension: "timescaledb")
        else { return nil }
        let began = ContinuousClock.now
        let dropped = try session.batch("dropping chunks of \(table.name)", waitsBriefly: true) {
            () -> (chunks: [Leaf], rowCount: Int, areAll: Bool)? in
            try session.execute("LOCK TABLE ONLY \(table.sql) IN SHARE UPDATE EXCLUSIVE MODE")
            let (chunks, areAll) = try nextChunks(date, before)
            guard let first = chunks.first?.bounds, let last = chunks.last?.bounds else { return nil }
            try session.execute("LOCK TABLE \(chunks.map(\.sql).joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            guard try session.guards(of: table)?.dropObstacle == nil else { return nil }
            try session.requireSchema(of: [table], since: "the plan was made: nothing is dropped")
            if let cutoff = work.materializedBefore {
                let (low, high) = (
                    SQLFragment.bound(first.lower, date.orderType), SQLFragment.bound(last.upper, date.orderType)
                )
                try Aggregates(session: session, table: table).requireMaterialized(
                    scope, date, "\(date.column) >= " + low + " AND \(date.column) < " + high, before: cutoff)
            }
            let rowCount = try session.countTogether(chunks, of: table)
            let droppedCount = try session.unlogged(true) {
                try session.count(
                    TimescaleSQL.dropChunks(
                        table, from: first.lower, to: last.upper, type: attribute.declaredType, schema: functions))
            }
            guard droppedCount == chunks.count else {
                throw StoreError(
                    .defect, store: session.name,
                    message:
                        "TimescaleDB would drop \(droppedCount.counted("chunk")) of \(table.name), but it has counted \(chunks.count): "
                        + "nothing is dropped")
            }
            try session.requireRest(of: table, by: work.mustLeave)
            return (chunks, rowCount, areAll)
        }
        guard let (chunks, rowCount, areAll) = dropped, let first = chunks.first else { return nil }
        // Signals are handled between batches, so a batch should take no more than about half a second.
        let elapsed = ContinuousClock.now - began
        if elapsed < .milliseconds(250), chunks.count >= session.chunkPortion {
            session.chunkPortion = min(2 * session.chunkPortion, 512)
        }
        return BatchDeleteResult(
            deletedCount: rowCount, continuation: areAll ? .behindPartitions : .behindPartition(first.oid))
    }

    /// The most bytes of chunks in a batch. A session that reads a range with these chunks waits while they are counted.
    private static let mostChunkBytes = 256 << 20

    /// The oldest expired chunks for one batch, and whether these are all. No other chunk lies between them.
    private func nextChunks(_ date: DateSQL, _ before: Instant) throws -> (chunks: [Leaf], areAll: Bool) {
        let chunks = try Chunks(of: table, date, session)
        let places = try chunks.expired(before: before)
        var found: [Leaf] = []
        var bytes = 0
        for (index, place) in places.enumerated() {
            let chunk = chunks.all[place]
            bytes += chunk.bytes
            if index > 0 {
                guard places[index - 1] == place - 1 else { break }
                let isEnough = found.count >= session.chunkPortion || bytes > Self.mostChunkBytes
                guard !isEnough || chunks.all[place - 1].bounds == chunk.bounds else { break }
            }
            found.append(chunk)
        }
        return (found, found.count == places.count)
    }
}
