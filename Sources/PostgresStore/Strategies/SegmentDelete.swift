import PriceStore

/// Rows of a compressed chunk that one statement deletes.
struct SegmentPart {
    var condition: SQLFragment
    /// The rows that the server decompresses for it, at most.
    var rowCount: Int
}

/// What a delete has to decompress.
struct SegmentParts {
    var parts: [SegmentPart] = []
    /// The most rows that the server decompresses for one statement; nil: any number.
    var limit: Int?

    /// The rows of the first part that is larger than the server allows; nil: there is none.
    var excess: Int? { limit.flatMap { limit in parts.lazy.map(\.rowCount).first { $0 > limit } } }
}

extension BatchDelete {
    /// Deletes rows of compressed chunks, by segments and dates: the server decompresses whole batches of rows, and so many
    /// in one statement at most. Returns where the next part begins; nil: there are no such rows.
    mutating func inSegments(_ date: DateSQL) throws -> BatchContinuation? {
        let table = scope.table.number
        if request.continuation == nil, let before = request.fetchRequest.predicate.dateRange?.before {
            connection.segments[table] = try connection.segmentParts(scope, date, before: before, besides: []).parts
        }
        let parts = connection.segments[table] ?? []
        guard request.rollup == nil || parts.isEmpty else {
            throw StoreError(
                .unsupported, store: connection.name, message: PostgresDatabase.isCompressed(scope.table),
                hint: PostgresDatabase.decompression)
        }
        var index = request.continuation.flatMap(\.segment) ?? 0
        guard request.continuation == nil || request.continuation?.segment != nil, index < parts.count else {
            return nil
        }
        let limit = request.fetchRequest.fetchLimit ?? .max
        repeat {
            let rows = SQLFragment.all([condition, parts[index].condition])
            guard try fits(rows) else { return nil }
            let wasRecompressed = try connection.wasRecompressed(scope.table, since: request.rollupMemory)
            try delete(rows)
            if !wasRecompressed { connection.noteChanges(of: table) }
            index += 1
        } while index < parts.count && parts[index].rowCount <= limit - deletedCount && !request.isRest
        return BatchContinuation(position: [.text("segment"), .integer(Int64(index))])
    }
}

extension BatchContinuation {
    /// The place among the parts of compressed chunks; nil: it is none of these.
    var segment: Int? {
        guard position.first == .text("segment"), case .integer(let index)? = position.last else { return nil }
        return Int(index)
    }
}

extension PostgresConnection {
    /// The largest number of rows that one statement decompresses, if the server allows more.
    private static let mostDecompressed = 100_000

    /// Whether compressed rows of a table were written after an aggregate was compared with it: they may have come late, and a
    /// delete that moves them would hide it.
    fileprivate func wasRecompressed(_ table: PostgresTable, since memory: RollupMemory?) throws -> Bool {
        let parts = try memory == nil ? [] : rows(TimescaleSQL.compressedChunks(table)).compactMap { $0[1] }
        guard let memory, !parts.isEmpty else { return false }
        let all = parts.map { "SELECT xmin FROM \($0)" }.joined(separator: " UNION ALL ")
        return try exists("SELECT 1 FROM (\(all)) AS part WHERE " + memory.isLate("part") + " LIMIT 1")
    }

    /// The parts of all compressed chunks that hold rows before an instant. A part has one segment's rows, or those of the
    /// chunk if they are few.
    ///
    /// Source: TimescaleDB documentation, "timescaledb.max_tuples_decompressed_per_dml_transaction", and on the tables of
    /// batches the columns `_ts_meta_count` and `_ts_meta_min_1`.
    ///
    /// - Parameter dropped: the numbers of chunks that are dropped.
    func segmentParts(_ scope: RowScope, _ date: DateSQL, before: Instant, besides dropped: Set<Int>) throws
        -> SegmentParts
    {
        let table = scope.table
        let chunks = try rows(TimescaleSQL.compressedChunks(table)).filter { row in
            row[0].flatMap { Int($0) }.map { !dropped.contains($0) } ?? false
        }
        guard !chunks.isEmpty else { return SegmentParts() }
        let setting = try rows(
            SQLFragment("SELECT current_setting('timescaledb.max_tuples_decompressed_per_dml_transaction', true)")
        ).first?[0].flatMap { Int($0) }
        let limit = setting.flatMap { $0 > 0 ? $0 : nil }
        var found = SegmentParts(limit: limit)
        var unordered = 0
        let name = try scope.attribute(date.date.name, store: self.name).name
        // Chunks of one range, in a space, are decompressed together: they are looked at together, as far as they are
        // compressed in the same way.
        let ways = Dictionary(grouping: chunks) { [$0[2] ?? "{}", $0[3] ?? "{}"] }
        for (way, chunks) in ways.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let segments = ServerArray.elements(way[0]).compactMap { $0 }
            // By another column nothing is known of the dates in a batch.
            let place = date.reading == .ordered ? ServerArray.elements(way[1]).firstIndex(of: name) : nil
            func column(_ end: String) -> String {
                place.map { "_ts_meta_\(end)_\($0 + 1)" } ?? "NULL::\(date.orderType)"
            }
            let isIn =
                place == nil
                ? SQLFragment.always
                : DateSQL(date: date.date, column: column("min"), type: date.type).bound(.less, .cutoff(before))
            let columns = segments.map(\.quotedIdentifier)
            let wanted = (["_ts_meta_count"] + (place == nil ? [] : [column("min"), column("max")]) + columns)
                .joined(separator: ", ")
            let batches =
                "(" + chunks.map { "SELECT \(wanted) FROM \($0[1] ?? "")" }.joined(separator: " UNION ALL ")
                + ") AS batches"
            let total = try rows(
                "SELECT sum(_ts_meta_count), min(\(column("min")))::text, max(\(column("max")))::text FROM \(batches)"
                    + isIn.whereClause
            ).first
            guard let total, let count = total[0].flatMap({ Int($0) }), count > 0 else { continue }
            let most = min(limit ?? .max, Self.mostDecompressed)
            var span = SQLFragment.always
            if let low = total[1], let high = total[2] {
                span =
                    "\(date.column) >= " + .bound(low, date.orderType) + " AND \(date.column) <= "
                    + .bound(high, date.orderType)
            }
            guard place != nil else {
                unordered += count
                continue
            }
            if count <= most {
                found.parts.append(SegmentPart(condition: span, rowCount: count))
                continue
            }
            let listed = try rows(
                "SELECT _ts_meta_count, \(column("min"))::text\(columns.map { ", \($0)::text" }.joined()) FROM \(batches)"
                    + isIn.whereClause + " ORDER BY \((columns + [column("min")]).joined(separator: ", "))")
            found.parts += try parts(of: listed, segments, most, span, date, scope)
        }
        // Of these chunks one statement decompresses all.
        if unordered > 0 { found.parts.append(SegmentPart(condition: .always, rowCount: unordered)) }
        return found
    }

    /// The parts of batches that are listed by segment and first date.
    private func parts(
        of batches: [[String?]], _ segments: [String], _ most: Int, _ span: SQLFragment, _ date: DateSQL,
        _ scope: RowScope
    ) throws -> [SegmentPart] {
        var parts: [SegmentPart] = []
        var start = 0
        while start < batches.count {
            let segment = batches[start].dropFirst(2)
            var (end, count) = (start, 0)
            while end < batches.count, batches[end].dropFirst(2) == segment {
                // Batches that begin at one date go together.
                var (next, more) = (end, 0)
                while next < batches.count, batches[next].dropFirst() == batches[end].dropFirst() {
                    more += batches[next][0].flatMap { Int($0) } ?? 0
                    next += 1
                }
                if end > start, count + more > most { break }
                (end, count) = (next, count + more)
            }
            var conditions = [span]
            for (name, value) in zip(segments, segment) {
                let attribute = try scope.attribute(name, store: self.name)
                let column = scope.column(attribute.name)
                conditions.append(
                    value == nil
                        ? SQLFragment("\(column) IS NULL")
                        : "\(column) = " + .bound(value, scope.table.typeNames[attribute.name]))
            }
            if end < batches.count, batches[end].dropFirst(2) == segment {
                conditions.append("\(date.column) < " + .bound(batches[end][1], date.orderType))
            }
            parts.append(SegmentPart(condition: .all(conditions), rowCount: count))
            start = end
        }
        return parts
    }
}
