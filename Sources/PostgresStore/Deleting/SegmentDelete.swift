import PriceStore

/// Rows of a compressed chunk that one statement deletes.
struct SegmentPart {
    var condition: SQLFragment
    /// The most rows that the server decompresses for it.
    var rowCount: Int
}

/// The parts of a delete that must be decompressed.
struct SegmentParts {
    var parts: [SegmentPart] = []
    /// The most rows that the server decompresses for one statement; nil for any number.
    var limit: Int?

    /// The rows of the first part that exceeds the server's limit; nil if there is none.
    var excess: Int? { limit.flatMap { limit in parts.lazy.map(\.rowCount).first { $0 > limit } } }
}

extension BatchDelete {
    /// Deletes rows of compressed chunks by segments and dates. The server decompresses whole batches of rows, up to a limit for each
    /// statement. Returns where the next part begins; nil if there are no such rows.
    mutating func inSegments(_ date: DateSQL) throws -> BatchContinuation? {
        let table = scope.table.oid
        let chunks = CompressedChunks(session: connection, scope: scope, date: date)
        if request.continuation == nil, let before = request.fetchRequest.predicate.dateRange?.before {
            connection.segments[table] = try chunks.parts(before: before).parts
        }
        guard var index = request.continuation.map(\.segment) ?? 0, let parts = connection.segments[table],
            index < parts.count
        else { return nil }
        guard request.rollup == nil else {
            throw StoreError(
                .unsupported, store: connection.name, message: TimescaleSQL.isCompressed(scope.table),
                hint: TimescaleSQL.decompression)
        }
        let limit = request.fetchRequest.fetchLimit ?? .max
        let allowed = min(request.allowedRows ?? .max, request.plannedRows ?? .max)
        repeat {
            let rows = SQLFragment.all([condition, parts[index].condition])
            let matchingCount = try countRows(rows)
            guard matchingCount <= allowed - deletedCount else {
                isOver = true
                return nil
            }
            try requireSame(matchingCount, delete(rows))
            index += 1
        } while index < parts.count && parts[index].rowCount <= limit - deletedCount
        return BatchContinuation(position: [.text("segment"), .integer(Int64(index))])
    }
}

extension BatchContinuation {
    /// The index among the parts of compressed chunks; nil for any other continuation.
    var segment: Int? {
        guard position.first == .text("segment"), case .integer(let index)? = position.last else { return nil }
        return Int(index)
    }
}

/// The compressed chunks of a hypertable.
struct CompressedChunks {
    let session: PostgresDatabase
    let scope: RowScope
    let date: DateSQL

    /// The most rows that one statement decompresses if the server allows more.
    private static let mostDecompressed = 100_000

    /// The parts of all compressed chunks with rows before an instant. A part has the rows of one segment, or those of the chunk if they
    /// are few.
    ///
    /// Source: TimescaleDB documentation, "timescaledb.max_tuples_decompressed_per_dml_transaction"; in the tables of batches, the columns
    /// `_ts_meta_count` and `_ts_meta_min_1`.
    func parts(before: Instant, besides dropped: Set<Int> = []) throws -> SegmentParts {
        let chunks = try session.rows(TimescaleSQL.compressedChunks(scope.table)).filter {
            try !dropped.contains($0.int("relid"))
        }
        guard !chunks.isEmpty else { return SegmentParts() }
        let setting = "current_setting('timescaledb.max_tuples_decompressed_per_dml_transaction', true)"
        let limit = try session.numbers("SELECT \(setting)").first { $0 > 0 }
        var found = SegmentParts(limit: limit)
        var unordered = 0
        let name = try scope.attribute(date.date.name).name
        // Chunks of the same range, in a space dimension, are decompressed together. So those that are compressed in the same way are read
        // together.
        let ways = try Dictionary(grouping: chunks) {
            try [$0.names("segmentby"), $0.names("orderby")]
        }
        for (way, chunks) in ways.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            let segments = way[0]
            let columns = segments.map(\.quotedIdentifier)
            func batches(_ wanted: [String]) throws -> String {
                let each = try chunks.map {
                    "SELECT \((["_ts_meta_count"] + wanted).joined(separator: ", ")) FROM \(try $0.text("batches"))"
                }
                return "(" + each.joined(separator: " UNION ALL ") + ") AS batches"
            }
            // If another column orders the rows, the dates in a batch are unknown.
            guard date.reading == .ordered, let place = way[1].firstIndex(of: name) else {
                unordered += try session.count("SELECT sum(_ts_meta_count) FROM \(batches([]))")
                continue
            }
            let (low, high) = ("_ts_meta_min_\(place + 1)", "_ts_meta_max_\(place + 1)")
            let source = try batches([low, high] + columns)
            let isIn = DateSQL(date: date.date, column: low, type: date.type).bound(.less, .cutoff(before)).whereClause
            let total = try session.onlyRow(
                "SELECT coalesce(sum(_ts_meta_count), 0) AS rows, min(\(low))::text AS low, max(\(high))::text AS high "
                    + "FROM \(source)" + isIn)
            let count = try total.int("rows")
            guard count > 0 else { continue }
            let most = min(limit ?? .max, Self.mostDecompressed)
            let span =
                "\(date.column) >= " + .bound(try total.text("low"), date.orderType) + " AND \(date.column) <= "
                + .bound(try total.text("high"), date.orderType)
            if count <= most {
                found.parts.append(SegmentPart(condition: span, rowCount: count))
                continue
            }
            let listed = try session.rows(
                "SELECT _ts_meta_count AS rows, \(low)::text AS low\(columns.map { ", \($0)::text" }.joined()) FROM \(source)"
                    + isIn + " ORDER BY \((columns + [low]).joined(separator: ", "))")
            found.parts += try parts(of: listed, segments, most, span)
        }
        // One statement decompresses all of these chunks.
        if unordered > 0 { found.parts.append(SegmentPart(condition: .always, rowCount: unordered)) }
        return found
    }

    /// The parts of batches that are listed by segment and first date.
    private func parts(
        of batches: [ServerRow], _ segments: [String], _ most: Int, _ span: SQLFragment
    ) throws -> [SegmentPart] {
        var parts: [SegmentPart] = []
        var start = 0
        while start < batches.count {
            // The columns of the segment follow the count and the date.
            let segment = batches[start].texts.dropFirst(2)
            var (end, count) = (start, 0)
            while end < batches.count, batches[end].texts.dropFirst(2) == segment {
                // Batches that begin at the same date belong together.
                var (next, more) = (end, 0)
                while next < batches.count, batches[next].texts.dropFirst() == batches[end].texts.dropFirst() {
                    more += try batches[next].int("rows")
                    next += 1
                }
                if end > start, count + more > most { break }
                (end, count) = (next, count + more)
            }
            var conditions = [span]
            for (name, value) in zip(segments, segment) {
                let attribute = try scope.attribute(name)
                let column = scope.column(attribute.name)
                conditions.append(
                    value == nil
                        ? "\(column) IS NULL"
                        : "\(column) = " + .bound(value, attribute.declaredType))
            }
            if end < batches.count, batches[end].texts.dropFirst(2) == segment {
                conditions.append("\(date.column) < " + .bound(try batches[end].optionalText("low"), date.orderType))
            }
            parts.append(SegmentPart(condition: .all(conditions), rowCount: count))
            start = end
        }
        return parts
    }
}
