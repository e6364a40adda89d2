import PriceStore

/// A chunk of a hypertable.
struct Chunk {
    let leaf: Leaf
    /// Its range; nil: it has an open end.
    let bounds: PartitionBounds?
    let bytes: Int
    /// Whether the server changes nothing in it.
    let isFrozen: Bool
}

extension PostgresConnection {
    /// The column whose ranges a hypertable's chunks are; nil: their ranges are of a function of it.
    func chunkColumn(_ table: PostgresTable) throws -> String? {
        try rows(TimescaleSQL.primaryDimension(schema: table.schema, relation: table.relation)).first?[0]
    }

    /// The chunks of a hypertable, oldest first.
    func chunks(of table: PostgresTable, _ type: ColumnType) throws -> [Chunk] {
        if let known = catalog.chunks?[table.number] { return known }
        let chunks = try rows(TimescaleSQL.chunks(table, type: type)).map { row in
            Chunk(
                leaf: Leaf(
                    number: row[0].flatMap { Int($0) } ?? 0,
                    sql: "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)", name: row[2] ?? "",
                    isForeign: row[5] != "t"),
                bounds: row[3].flatMap { lower in row[4].map { PartitionBounds(lower: lower, upper: $0) } },
                bytes: row[6].flatMap { Int($0) } ?? 0, isFrozen: row[7] == "t")
        }
        catalog.chunks?[table.number] = chunks
        return chunks
    }

    /// The places of the chunks that are proved to hold only rows before an instant whose dates are believed. Chunks of one
    /// range, in a space, go together or not at all.
    func expired(_ chunks: [Chunk], _ date: DateSQL, _ before: Instant) throws -> [Int] {
        let areExpired = try areTrue(date.isWhollyBefore(before), of: chunks.map(\.bounds), date)
        let kept = Set(chunks.filter(\.leaf.isForeign).compactMap(\.bounds))
        return chunks.indices.filter { place in
            areExpired[place] && chunks[place].bounds.map(kept.contains) == false
        }
    }

    /// Drops the oldest chunks of a hypertable that are wholly expired, as a batch of their own; nil: there are none, or
    /// their rows must be deleted one by one.
    ///
    /// Under the lock on the hypertable other sessions can read and write. Nobody can create a chunk, a trigger or a policy until
    /// the transaction ends, and nobody else can use the chunks that are counted.
    func dropChunks(
        _ table: PostgresTable, _ range: DateRange, _ request: DeleteWork
    ) throws -> BatchDeleteResult? {
        let scope = RowScope(table)
        let attribute = try scope.attribute(range.date.name, store: name)
        let date = try scope.date(range.date, store: name)
        guard let before = range.before, let type = table.typeNames[attribute.name], date.reading == .ordered,
            try chunkColumn(table) == attribute.name, let functions = try schema(ofExtension: "timescaledb")
        else { return nil }
        let began = ContinuousClock.now
        let dropped = try batch("dropping chunks of \(table.name)", isExclusive: true) {
            () -> (leaves: [Leaf], rowCount: Int, areAll: Bool)? in
            try execute("LOCK TABLE ONLY \(table.sql) IN SHARE UPDATE EXCLUSIVE MODE")
            let (chunks, areAll) = try nextChunks(table, date, before)
            guard let first = chunks.first?.bounds, let last = chunks.last?.bounds else { return nil }
            let leaves = chunks.map(\.leaf)
            try execute("LOCK TABLE \(leaves.map(\.sql).joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            guard try guards(of: table)?.dropObstacle == nil else { return nil }
            if let memory = request.rollupMemory {
                let (low, high) = (
                    SQLFragment.bound(first.lower, date.orderType), SQLFragment.bound(last.upper, date.orderType)
                )
                try requireMaterialized(
                    scope, date, "\(date.column) >= " + low + " AND \(date.column) < " + high, knowing: memory)
            }
            let rowCount = try countTogether(leaves, of: table)
            let droppedCount = try count(
                TimescaleSQL.dropChunks(table, from: first.lower, to: last.upper, type: type, schema: functions))
            noteChanges(of: table.number)
            guard droppedCount == chunks.count else {
                throw StoreError(
                    .defect, store: name,
                    message:
                        "TimescaleDB would drop \(droppedCount.counted("chunk")) of \(table.name), but it has counted \(chunks.count): "
                        + "nothing is dropped")
            }
            try requireRest(of: table, request.mustLeave)
            return (leaves, rowCount, areAll)
        }
        guard let (leaves, rowCount, areAll) = dropped, let first = leaves.first else {
            return nil
        }
        noteBatch(on: [table], firesTriggers: false)
        // A signal is looked for between batches: one takes about half a second.
        let elapsed = ContinuousClock.now - began
        if elapsed < .milliseconds(250), leaves.count >= chunkPortion { chunkPortion = min(2 * chunkPortion, 512) }
        if elapsed > .milliseconds(500) { chunkPortion = max(4, chunkPortion / 2) }
        return BatchDeleteResult(
            deletedCount: rowCount, continuation: areAll ? .behindPartitions : .behindPartition(first.number))
    }

    /// The bytes of chunks that a batch takes: a session that reads a range with these chunks waits while they are counted.
    private static let mostChunkBytes = 256 << 20

    /// The oldest expired chunks, as many as one batch takes, and whether these are all. No other chunk is between them.
    private func nextChunks(
        _ table: PostgresTable, _ date: DateSQL, _ before: Instant
    ) throws -> (chunks: [Chunk], areAll: Bool) {
        let chunks = try chunks(of: table, date.type)
        let places = try expired(chunks, date, before)
        var found: [Chunk] = []
        var bytes = 0
        for (index, place) in places.enumerated() {
            let chunk = chunks[place]
            bytes += chunk.bytes
            if index > 0 {
                guard places[index - 1] == place - 1 else { break }
                let isEnough = found.count >= chunkPortion || bytes > Self.mostChunkBytes
                guard !isEnough || chunks[place - 1].bounds == chunk.bounds else { break }
            }
            found.append(chunk)
        }
        return (found, found.count == places.count)
    }
}
