import PriceStore

extension PostgresConnection {
    /// The column whose ranges a hypertable's chunks are; nil: their ranges are of a function of it.
    func chunkColumn(_ table: PostgresTable) throws -> String? {
        try rows(TimescaleSQL.primaryDimension(schema: table.schema, relation: table.relation)).first?[0]
    }

    /// Drops the oldest chunks of a hypertable that are wholly expired, as a batch of their own; nil: there are none, or
    /// their rows must go one by one.
    ///
    /// The lock on the hypertable lets others read and write. Nobody can make a chunk, a trigger or a policy until
    /// the transaction ends, and nobody else can use the chunks that are counted.
    func dropChunks(
        _ table: PostgresTable, _ range: DateRange, _ request: DeleteWork
    ) throws -> BatchDeleteResult? {
        let scope = RowScope(table)
        let attribute = try scope.attribute(range.date.name, store: name)
        let date = try scope.date(range.date, store: name)
        guard let before = range.before, let type = table.typeNames[attribute.name], date.reading == .ordered,
            try chunkColumn(table) == attribute.name
        else { return nil }
        return try batch("dropping chunks of \(table.name)") {
            try execute("LOCK TABLE ONLY \(table.sql) IN SHARE UPDATE EXCLUSIVE MODE")
            let chunks = try expiredChunks(table, date, before)
            guard let first = chunks.first, let last = chunks.last else { return nil }
            try execute("LOCK TABLE \(chunks.map(\.leaf.sql).joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            guard try guards(of: table)?.dropObstacle == nil else { return nil }
            let rowCount = try countTogether(chunks.map(\.leaf))
            let droppedCount = try count(
                TimescaleSQL.dropChunks(table, from: first.bounds.lower, to: last.bounds.upper, type: type))
            guard droppedCount == chunks.count else {
                throw StoreError(
                    .defect, store: name,
                    message:
                        "TimescaleDB drops \(droppedCount) chunks of \(table.name) where \(chunks.count) were counted: "
                        + "nothing is dropped")
            }
            return BatchDeleteResult(deletedCount: rowCount, continuation: .behindPartition(first.leaf.number))
        }
    }

    /// How much a batch takes: whoever reads a range with these chunks waits while they are counted.
    private static let mostChunks = (count: 16, bytes: 256 << 20)

    /// The oldest chunks that are proved to hold only rows before an instant whose dates are believed, as many as one batch
    /// takes. No other chunk is between them.
    private func expiredChunks(
        _ table: PostgresTable, _ date: DateSQL, _ before: Instant
    ) throws -> [(leaf: Leaf, bounds: PartitionBounds)] {
        let chunks = try rows(
            TimescaleSQL.chunks(schema: table.schema, relation: table.relation, type: date.type)
        ).map { row in
            let leaf = Leaf(
                number: row[0].flatMap { Int($0) } ?? 0,
                sql: "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)", name: row[2] ?? "",
                isForeign: row[5] != "t")
            let bounds = row[3].flatMap { lower in row[4].map { PartitionBounds(lower: lower, upper: $0) } }
            return (leaf: leaf, bounds: bounds, bytes: row[6].flatMap { Int($0) } ?? 0)
        }
        var found: [(leaf: Leaf, bounds: PartitionBounds)] = []
        var bytes = 0
        var skipped: PartitionBounds?
        for start in stride(from: 0, to: chunks.count, by: 64) {
            let portion = chunks[start..<min(start + 64, chunks.count)]
            let proofs = try areTrue(
                portion.map { $0.leaf.isForeign ? .never : $0.bounds.map { date.isWhollyBefore(before, $0) } ?? .never }
            )
            for (chunk, isExpired) in zip(portion, proofs) {
                // Chunks of one range, in a space, go together or not at all.
                guard isExpired, let bounds = chunk.bounds, bounds != skipped else {
                    skipped = chunk.bounds
                    found.removeAll { $0.bounds == skipped }
                    if found.isEmpty { continue }
                    return found
                }
                bytes += chunk.bytes
                let isFull = found.count >= Self.mostChunks.count || bytes > Self.mostChunks.bytes
                if isFull, let last = found.last, last.bounds != bounds { return found }
                found.append((chunk.leaf, bounds))
            }
        }
        return found
    }
}
