import PriceStore

/// The picks that a rule keeps of the rows before its cutoff, by their keys.
///
/// They are found before the first delete and hold for the run's own deletes. If somebody else may have written since, they
/// are found again in the state of the database that is at work: a pick may be gone, and a late row may be the only one of
/// its bucket. They are bound as lists, because a dry run can make no temporary table.
struct ThinnedRows {
    /// Whose rows are kept, as in ``KeptRows/Key``.
    struct Key: Hashable {
        var table: Int
        var thinning: Thinning
    }

    /// A list for each column of the key.
    var keys: [[String?]] = []
    /// How many rows each tier keeps.
    var counts: [Survey.TierCount] = []
    /// The state of the database in which they were found, as the server names it.
    var state: String?
}

extension PostgresConnection {
    /// The condition that a row is not a pick.
    func notPicked(_ thinning: Thinning, _ scope: RowScope) throws -> SQLFragment {
        let found = try thinnedRows(thinning, scope)
        guard !found.counts.isEmpty else { return .always }
        let names = scope.table.entity.primaryKey
        let lists = zip(names, found.keys).map { name, values in
            SQLFragment.bound(ServerArray.text(values), "\(scope.table.typeNames[name] ?? "text")[]")
        }
        let keys = names.indices.map { "k\($0)" }.joined(separator: ", ")
        // A sub-query that refers to nothing outside is hashed. As a join it may be read again for each row.
        return "(\(scope.key.joined(separator: ", "))) NOT IN (SELECT \(keys) FROM unnest("
            + .joined(lists, by: ", ", empty: .never) + ") AS picked (\(keys)))"
    }

    /// The picks of a rule, found when they are first needed.
    func thinnedRows(_ thinning: Thinning, _ scope: RowScope) throws -> ThinnedRows {
        let key = ThinnedRows.Key(table: scope.table.number, thinning: thinning)
        let state = try rows(SQLFragment("SELECT pg_current_snapshot()")).first?[0]
        if let known = thinnedRows[key], try known.state == state || isAsKnown() { return known }
        var found = try findPicks(thinning, scope)
        found.state = state
        thinnedRows[key] = found
        return found
    }

    private func findPicks(_ thinning: Thinning, _ scope: RowScope) throws -> ThinnedRows {
        let date = try scope.date(thinning.date, store: name)
        let key = try requireKey(scope)
        // No row can be read, so that none is kept or deleted.
        guard date.reading != .never else { return ThinnedRows() }
        let among = try condition(thinning.among, scope)
        let edge = try execute(
            "SELECT \(date.instantSQL("found")) FROM (SELECT " + date.orderValue + " AS found FROM \(scope.from)"
                + SQLFragment.all([date.readable(before: thinning.cutoff), among]).whereClause
                + " ORDER BY 1 LIMIT 1) AS edge")
        guard let oldest = edge.rows.first.flatMap({ date.instant($0[0], type: edge.types[0]) }) else {
            return ThinnedRows()
        }
        let cells = ThinningCells(thinning, oldest: date.earliestInstant(notAfter: oldest))
        guard let first = cells.starts.first, let end = cells.starts.last else { return ThinnedRows() }
        let groups = try thinning.groupedBy.map { scope.column(try scope.attribute($0, store: name).name) }
        let (keys, names) = (key.indices.map { "k\($0)" }, groups.indices.map { "g\($0)" })
        let direction = thinning.pick == .last ? "DESC" : "ASC"

        var found = SQLFragment("SELECT ")
        for (column, name) in zip(key + groups, keys + names) { found += "\(column) AS \(name), " }
        found += date.bucketValue + " AS value, " + date.cell(cells) + " AS cell, ("
        found += date.readable(before: thinning.cutoff) + ") IS TRUE AS expired"
        for (number, tier) in thinning.tiers.enumerated() {
            found += ", (" + date.readable(before: tier.since) + ") IS NOT TRUE AS young\(number)"
        }
        found +=
            " FROM \(scope.from)"
            + SQLFragment.all([date.readable(.greaterOrEqual, first), date.readable(.less, end), among]).whereClause
        let cell = (names + ["cell"]).joined(separator: ", ")
        let order = keys.map { "\($0) \(direction)" }.joined(separator: ", ")
        var query =
            "WITH found AS (" + found + "), ends AS (SELECT DISTINCT ON (\(cell)) * FROM found ORDER BY \(cell), "
            + "value \(direction), \(order)), picked AS ("
        for (number, buckets) in cells.buckets.enumerated() {
            let list = SQLFragment.bound(ServerArray.text(buckets.map { $0.map { "\($0)" } }), "int4[]")
            let bucket = (names + ["bucket"]).joined(separator: ", ")
            let isLive =
                thinning.pick == .last
                ? "young\(number)" : "(bucket >= \(cells.firstLive[number]) OR young\(number))"
            if number > 0 { query += " UNION ALL " }
            query += "SELECT \(keys.joined(separator: ", ")), \(number) AS tier FROM (SELECT DISTINCT ON (\(bucket)) * "
            query += "FROM (SELECT *, (" + list + ")[cell] AS bucket FROM ends) AS tiered WHERE bucket IS NOT NULL "
            query += "ORDER BY \(bucket), value \(direction)) AS picks WHERE expired AND \(isLive)"
        }
        let list = keys.joined(separator: ", ")
        // A row that several tiers keep counts for the one with the largest unit.
        let rows = try self.rows(query + ") SELECT \(list), max(tier) FROM picked GROUP BY \(list)")
        var result = ThinnedRows(keys: key.indices.map { place in rows.map { $0[place] } })
        let tiers = Dictionary(grouping: rows.compactMap { $0.last?.flatMap { Int($0) } }) { $0 }
        result.counts = tiers.sorted { $0.key < $1.key }.map {
            .init(unit: thinning.tiers[$0.key].unit, rowCount: $0.value.count)
        }
        return result
    }
}

extension DateSQL {
    /// The date as buckets and picks are in order of it: the column, or the first instant in microseconds.
    fileprivate var bucketValue: SQLFragment {
        guard reading == .ordered, [.timestamp, .date].contains(type) else { return orderValue }
        // Local times that a zone skips are not in the order of their instants.
        let local = "(extract(epoch FROM \(column)::timestamp) * 1000000)::int8"
        guard !date.zone.isUTC else { return SQLFragment(local) }
        let pieces = date.zone.offsetPieces(
            from: Instant(unixSeconds: -5_364_662_400), to: Instant(unixSeconds: 7_258_118_400))
        let starts = ServerArray.text(pieces.dropFirst().map { "\($0.localStart * 1_000_000)" })
        let offsets = ServerArray.text(pieces.map { "\($0.offset * 1_000_000)" })
        return "(\(local) - (" + .bound(offsets, "int8[]") + ")[width_bucket(\(local), " + .bound(starts, "int8[]")
            + ") + 1])"
    }

    /// The number of the cell that holds a row, from 1 on.
    fileprivate func cell(_ cells: ThinningCells) -> SQLFragment {
        func place(of value: SQLFragment, among starts: [String], _ type: String) -> SQLFragment {
            "width_bucket(" + value + "::\(type), " + .bound(ServerArray.text(starts), "\(type)[]") + ")"
        }
        guard date.encoding.isNumeric else {
            return type == .timestamptz
                ? place(of: bucketValue, among: cells.starts.map { $0.serverText + "+00" }, "timestamptz")
                : place(of: bucketValue, among: cells.starts.map { "\($0.microseconds)" }, "int8")
        }
        let bounds = cells.starts.map(date.encoding.lowerBound)
        let whole = place(of: SQLFragment(column), among: bounds.map { "\($0.integer)" }, "int8")
        switch type {
        case .integer: return whole
        case .real: return place(of: SQLFragment(column), among: bounds.map(\.real.serverText), "float8")
        default:
            let real = place(of: SQLFragment(doubleOfNumeric), among: bounds.map(\.real.serverText), "float8")
            return "CASE WHEN \(isWholeNumeric) THEN " + whole + " ELSE " + real + " END"
        }
    }

    /// An instant that is not after any row's, of the first one in the order of the column.
    fileprivate func earliestInstant(notAfter first: Instant) -> Instant {
        type == .timestamp || type == .date ? first.advanced(byMicroseconds: -2 * 86_400_000_000) : first
    }
}
