import PriceStore

/// The first and the last date of the rows that a survey found, and the number of the rows.
struct DateEnds: Hashable {
    /// As the server writes them.
    let low: String
    let high: String
    let rowCount: Int
}

/// The rows of a deletion, divided by date into counted slices. They serve tables where finding the n-th row by date would read all rows:
/// those without an index on the date, and those spread over several servers.
struct DateSlices {
    /// The rows from one date up to the next slice.
    struct Slice {
        /// The first date in the server's text format; nil for no lower end.
        var start: String?
        var rowCount: Int
        /// Whether all rows have the same date, so that the slice cannot be divided.
        var isOneDate = false
    }

    var slices: [Slice]
    let rowCount: Int
    /// The time that the count of the slices took. A batch without an index reads as many rows.
    let scan: Duration
    /// The rows per second of the last batch; nil before the first one.
    var rowsPerSecond: Double?

    /// The most rows of the next batch.
    ///
    /// If each batch reads all rows, many short batches would take time proportional to the square of the rows. So a batch grows to a sixth
    /// of all rows, but to no more than ten seconds or four reads, whichever is longer.
    func limit(_ wanted: Int, isIndexed: Bool) -> Int {
        guard !isIndexed else { return wanted }
        guard let rowsPerSecond else { return max(wanted, rowCount / 32) }
        let bound = max(.seconds(10), scan * 4)
        return max(wanted, min(rowCount / 6, Int(min(rowsPerSecond * (bound / .seconds(1)), 1e15))))
    }
}

extension BatchDelete {
    /// Deletes the rows of the oldest slices, up to the limit and at least one slice. On a distributed table the statement goes to all
    /// shards, which their workers process in parallel.
    mutating func inSlices(_ date: DateSQL, isIndexed: Bool) throws -> BatchContinuation? {
        let table = scope.table.oid
        var index = 0
        var all: DateSlices
        if let known = connection.slices[table], case .integer(let next)? = request.continuation?.position.last {
            (all, index) = (known, Int(next))
        } else {
            // Nothing is locked yet, so several processes may count.
            try connection.execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
            all = try slices(
                of: condition, date, knowing: request.ends, atOnce: request.fetchRequest.fetchLimit ?? .max)
            try connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        }
        guard index < all.slices.count else { return nil }
        let wanted = request.fetchRequest.fetchLimit ?? all.rowCount
        let limit = min(all.limit(wanted, isIndexed: isIndexed), request.allowedRows ?? .max)
        while all.slices[index].rowCount > 2 * limit, !all.slices[index].isOneDate {
            let part = try slices(
                of: .all([condition, Self.span(all, index, index + 1, date)]), date, from: all.slices[index].start)
            guard part.slices.count > 1 else { break }
            all.slices.replaceSubrange(index...index, with: part.slices)
        }
        var (end, count) = (index, 0)
        repeat {
            count += all.slices[end].rowCount
            end += 1
        } while end < all.slices.count && count + all.slices[end].rowCount <= limit
        let rows = SQLFragment.all([condition, Self.span(all, index, end, date)])
        var matchingCount: Int?
        if scope.table.isDistributed {
            matchingCount = try connection.changedSlices.contains(table) ? countRows(rows) : count
        }
        guard try fits(rows, counted: matchingCount) else { return nil }
        // A plan for any dates would read all partitions.
        try connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        if scope.table.isDistributed {
            for setting in [CitusSQL.sessionsPerWorker] + CitusSQL.briefWait { try connection.execute(setting) }
        }
        let began = ContinuousClock.now
        let deletedCount = try delete(rows)
        let elapsed = ContinuousClock.now - began
        if let matchingCount {
            // The rows have changed since the slices were counted. From the next attempt on, each batch counts its own rows.
            if matchingCount != deletedCount { connection.changedSlices.insert(table) }
            try requireSame(matchingCount, deletedCount)
        }
        if elapsed > .zero { all.rowsPerSecond = Double(deletedCount) / (elapsed / .seconds(1)) }
        connection.slices[table] = all
        return end < all.slices.count
            ? BatchContinuation(position: [.text("slice"), .integer(Int64(end))]) : nil
    }

    /// The condition that a date is in one of some slices.
    private static func span(_ all: DateSlices, _ first: Int, _ end: Int, _ date: DateSQL) -> SQLFragment {
        let upper = end < all.slices.count ? all.slices[end].start : nil
        return .all([
            all.slices[first].start.map { "\(date.column) >= " + .bound($0, date.orderType) } ?? .always,
            upper.map { "\(date.column) < " + .bound($0, date.orderType) } ?? .always,
        ])
    }

    /// Whether rows that cannot be divided are as few as may still be deleted.
    func fits(_ rows: SQLFragment, counted count: Int? = nil) throws -> Bool {
        guard let limit = request.allowedRows else { return true }
        return try count ?? countRows(rows) <= limit
    }

    func countRows(_ rows: SQLFragment) throws -> Int {
        try connection.count("SELECT count(*) FROM \(scope.from)" + rows.whereClause)
    }

    private func ends(of condition: SQLFragment, _ date: DateSQL) throws -> DateEnds? {
        let row = try connection.onlyRow(
            "SELECT min(\(date.column))::text AS low, max(\(date.column))::text AS high, count(*) AS rows FROM \(scope.from)"
                + condition.whereClause)
        guard let low = try row.optionalText("low") else { return nil }
        return DateEnds(low: low, high: try row.text("high"), rowCount: try row.int("rows"))
    }

    /// Counts the rows of a condition in slices of equal length, or in a single slice if they have the same date or are few.
    private func slices(
        of condition: SQLFragment, _ date: DateSQL, knowing known: DateEnds? = nil, atOnce limit: Int = 0,
        from start: String? = nil
    ) throws -> DateSlices {
        let began = ContinuousClock.now
        guard let ends = try known ?? ends(of: condition, date), ends.rowCount > 0 else {
            return DateSlices(slices: [], rowCount: 0, scan: ContinuousClock.now - began)
        }
        let (low, high) = (ends.low, ends.high)
        guard low != high, ends.rowCount > limit else {
            let slice = DateSlices.Slice(start: start, rowCount: ends.rowCount, isOneDate: low == high)
            return DateSlices(slices: [slice], rowCount: ends.rowCount, scan: ContinuousClock.now - began)
        }
        let counting = ContinuousClock.now
        let type = date.orderType
        let edges = try connection.texts(
            "SELECT edge::text FROM (SELECT DISTINCT \(date.edge) AS edge FROM (SELECT "
                + .bound(low, type) + " AS low, " + .bound(high, type) + " AS high) AS ends, "
                + "generate_series(1, 256) AS i) AS edges WHERE edge > " + .bound(low, type)
                + " ORDER BY edges.edge")
        let starts = [start] + edges
        var slices = try connection.rows(
            "SELECT width_bucket(\(date.column), " + .list(edges, type)
                + ") AS slice, count(*) AS rows FROM \(scope.from)" + condition.whereClause + " GROUP BY 1 ORDER BY 1"
        ).map { DateSlices.Slice(start: starts[try $0.int("slice")], rowCount: try $0.int("rows")) }
        // Rows may have arrived before the first date. Others may have deleted all.
        if !slices.isEmpty { slices[0].start = start }
        return DateSlices(slices: slices, rowCount: ends.rowCount, scan: ContinuousClock.now - counting)
    }
}

extension DateSQL {
    /// The `i`-th of 256 places between `low` and `high`.
    fileprivate var edge: String {
        switch type {
        case .integer: "(low::numeric + trunc((high::numeric - low) * i / 256))::int8"
        case .date: "low + ((high - low)::int8 * i / 256)::int"
        case .numeric: "low + (high - low) * i / 256"
        default: "low + (high - low) * (i / 256.0::float8)"
        }
    }
}
