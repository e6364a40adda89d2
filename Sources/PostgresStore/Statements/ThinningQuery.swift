import PriceStore

/// The query that finds the picks of a rule.
struct ThinningQuery {
    let thinning: Thinning
    private let scope: RowScope
    private let date: DateSQL
    private let cells: ThinningCells
    private let key: [String]
    private let groups: [String]
    private let among: SQLFragment
    /// The column of the price, if picks are chosen by it.
    private let price: String?

    var keys: [String] { key.indices.map { "k\($0)" } }
    private var names: [String] { groups.indices.map { "g\($0)" } }

    /// Nil if no row is before the cutoff.
    init?(_ thinning: Thinning, _ scope: RowScope, _ connection: PostgresDatabase) throws {
        self.thinning = thinning
        self.scope = scope
        let date = try scope.date(thinning.date)
        self.date = date
        key = try connection.requireKey(scope)
        // No row is readable, so none is kept or deleted.
        guard date.reading != .never else { return nil }
        among = try connection.condition(thinning.among, scope)
        price = try thinning.pick.price.map { scope.column(try scope.attribute($0).name) }
        groups = try thinning.groupedBy.map { scope.column(try scope.attribute($0).name) }
        let edge = try connection.row(
            "SELECT \(date.instantSQL("found")) AS oldest FROM (SELECT " + date.orderValue
                + " AS found FROM \(scope.from)"
                + SQLFragment.all([date.readable(before: thinning.cutoff), among]).whereClause
                + " ORDER BY 1 LIMIT 1) AS edge")
        guard let oldest = try edge.flatMap({ date.instant(try $0.value("oldest")) }) else { return nil }
        cells = ThinningCells(thinning, oldest: date.earliestInstant(notAfter: oldest))
        guard !cells.starts.isEmpty else { return nil }
    }

    /// A query for the picks of each bucket within the age of its tier: `tier`, `place` (the place among its ends), `bucket`, the group with
    /// its hash `h`, `value` (the date), the price, the key, and whether it is `expired`.
    var picks: SQLFragment {
        var found = SQLFragment("SELECT ")
        for (column, name) in zip(key + groups, keys + names) { found += "\(column) AS \(name), " }
        found +=
            "\(price ?? "NULL") AS price, \(group) AS h, " + date.bucketValue + " AS value, "
            + date.place(among: cells.starts) + " AS cell, ("
        found += date.readable(before: thinning.cutoff) + ") IS TRUE AS expired"
        for (number, tier) in thinning.tiers.enumerated() {
            found += ", (" + date.readable(before: tier.since) + ") IS NOT TRUE AS young\(number)"
        }
        let range = [
            cells.starts.first.map { date.readable(.greaterOrEqual, $0) },
            cells.starts.last.map { date.readable(.less, $0) },
        ]
        found += " FROM \(scope.from)" + SQLFragment.all(range.compactMap { $0 } + [among]).whereClause
        let cell = (names + ["cell"]).joined(separator: ", ")
        let orders = thinning.pick.ends.map { end in
            (end.byPrice.map { ["price \($0)"] } ?? [])
                + (["value"] + keys).map { "\($0) \(end.isLast ? "DESC" : "ASC")" }
        }.map { $0.joined(separator: ", ") }
        let ends = orders.map { "(SELECT DISTINCT ON (\(cell)) * FROM found ORDER BY \(cell), \($0))" }
        var query = "WITH found AS (" + found + "), ends AS (\(ends.joined(separator: " UNION ALL "))) "
        let columns = (["bucket", "h", "value", "price", "expired"] + names + keys).joined(separator: ", ")
        for (number, buckets) in cells.buckets.enumerated() {
            let list = SQLFragment.list(buckets.map { $0.map { "\($0)" } }, "int4")
            let bucket = (names + ["bucket"]).joined(separator: ", ")
            let isLive =
                thinning.pick == .last
                ? "young\(number)" : "(bucket >= \(cells.firstLive[number]) OR young\(number))"
            for (place, order) in orders.enumerated() {
                if number + place > 0 { query += " UNION ALL " }
                query +=
                    "SELECT \(number) AS tier, \(place) AS place, \(columns) FROM (SELECT DISTINCT ON (\(bucket)) * "
                query += "FROM (SELECT *, (" + list + ")[cell] AS bucket FROM ends) AS tiered WHERE bucket IS NOT NULL "
                query += "ORDER BY \(bucket), \(order)) AS picks WHERE \(isLive)"
            }
        }
        return query
    }

    func isNotKept(_ kept: String) -> SQLFragment {
        let same = zip(key, keys).map { "\($0) = picked.\($1)" }.joined(separator: " AND ")
        return "NOT EXISTS (SELECT 1 FROM \(kept) AS picked WHERE \(same))"
    }

    /// The condition that each bucket of a row still has its picks, on the right side of the row.
    func isBesidePicks(_ picks: String) -> SQLFragment {
        let pick = (["value"] + keys).map { "picked.\($0)" }.joined(separator: ", ")
        let found = thinning.pick.ends.enumerated().map { place, end in
            let isBeside =
                "(" + date.bucketValue + ", \(key.joined(separator: ", "))) \(end.isLast ? "<" : ">") (\(pick))"
            guard let direction = end.byPrice, let price else { return "picked.place = \(place) AND " + isBeside }
            return "picked.place = \(place) AND (\(price) \(direction == "DESC" ? "<" : ">") picked.price OR "
                + "\(price) = picked.price AND " + isBeside + ")"
        }
        return .all(
            thinning.tiers.indices.map { number in
                let areThere = found.map { found in
                    "EXISTS (SELECT 1 FROM \(picks) AS picked WHERE picked.tier = \(number) AND picked.bucket = "
                        + bucket(number) + " AND picked.h = \(group)\(sameGroup) AND " + found + " AND " + isThere + ")"
                }
                return "(" + isPast(number) + " OR " + .all(areThere) + ")"
            })
    }

    /// The statements that create a table with the keys of the picks before the cutoff, and one with all picks.
    func lists(kept: String, picks: String) -> [SQLFragment] {
        let keys = keys.joined(separator: ", ")
        return [
            "CREATE TEMP TABLE \(picks) AS " + self.picks, "CREATE INDEX ON \(picks) (tier, bucket, h)",
            "CREATE TEMP TABLE \(kept) AS SELECT DISTINCT \(keys) FROM \(picks) WHERE expired",
            "CREATE UNIQUE INDEX ON \(kept) (\(keys))", "ANALYZE \(picks)", "ANALYZE \(kept)",
        ]
    }

    /// Queries for picks that have gone or changed, one for each tier.
    func changed(in touched: TouchedBuckets, _ picks: String) -> [SQLFragment] {
        thinning.tiers.indices.map { tier in
            "SELECT 1 FROM (SELECT DISTINCT * FROM unnest(" + .bound(touched[0], "int8[]") + ", "
                + .bound(touched[tier + 1], "int4[]")
                + ") AS pairs (h, bucket)) AS touched JOIN \(picks) AS picked ON picked.tier = \(tier) "
                + "AND picked.bucket = touched.bucket AND picked.h = touched.h WHERE NOT " + isThere + " LIMIT 1"
        }
    }

    /// The condition that the row of `picked` exists as it was found. Inside it, the alias of the rows means the pick.
    var isThere: SQLFragment {
        scope.isThere(
            "picked", needsPlaces: !thinning.among.holds.isEmpty,
            (zip(groups, names) + [(price ?? "NULL", "price")]).map { "\($0) IS NOT DISTINCT FROM picked.\($1)" }
                + [date.bucketValue + " IS NOT DISTINCT FROM picked.value", date.readable(), among])
    }

    /// For each tier, the bucket of a row whose pick is kept; NULL if the row has passed the tier's age.
    var livingBuckets: [SQLFragment] {
        thinning.tiers.indices.map { "CASE WHEN " + isPast($0) + " THEN NULL ELSE " + bucket($0) + " END" }
    }

    private func bucket(_ tier: Int) -> SQLFragment { date.place(among: cells.bounds[tier]) + " - 1" }

    private func isPast(_ tier: Int) -> SQLFragment {
        let isPast = "(" + date.readable(before: thinning.tiers[tier].since) + ") IS TRUE"
        // A bucket before the first one has passed as a whole.
        guard thinning.pick != .last, !cells.bounds[tier].isEmpty else { return isPast }
        return isPast + " AND " + bucket(tier) + " < \(cells.firstLive[tier])"
    }

    private var sameGroup: String {
        zip(groups, names).map { " AND \($0) IS NOT DISTINCT FROM picked.\($1)" }.joined()
    }

    /// The number of the row's group.
    var group: String { RowScope.number(ofGroup: groups) }
}

extension DateSQL {
    /// The date in the order of buckets and picks: the column, or the first instant in microseconds.
    fileprivate var bucketValue: SQLFragment {
        guard reading == .ordered, [.timestamp, .date].contains(type) else { return orderValue }
        // Local times that a zone skips are not in the order of their instants.
        return CivilSQL.utc(
            "(extract(epoch FROM \(column)::timestamp) * 1000000)::int8", in: date.zone,
            type == .date ? .first : .last, unit: 1_000_000)
    }

    /// The number of given instants that are not after a row's date.
    fileprivate func place(among starts: [Instant]) -> SQLFragment {
        func count(of value: SQLFragment, among starts: [String], _ type: String) -> SQLFragment {
            "width_bucket(" + value + "::\(type), " + .list(starts, type) + ")"
        }
        guard date.encoding.isNumeric else {
            return type == .timestamptz
                ? count(of: bucketValue, among: starts.map { $0.serverText + "+00" }, "timestamptz")
                : count(of: bucketValue, among: starts.map { "\($0.microseconds)" }, "int8")
        }
        let bounds = starts.map(date.encoding.lowerBound)
        let whole = count(of: SQLFragment(column), among: bounds.map { "\($0.integer)" }, "int8")
        switch type {
        case .integer: return whole
        case .real: return count(of: SQLFragment(column), among: bounds.map(\.real.serverText), "float8")
        default:
            let real = count(of: SQLFragment(doubleOfNumeric), among: bounds.map(\.real.serverText), "float8")
            return "CASE WHEN \(isWholeNumeric) THEN " + whole + " ELSE " + real + " END"
        }
    }

    /// An instant that is not after that of any row from `first` on, in the order of the column.
    fileprivate func earliestInstant(notAfter first: Instant) -> Instant {
        type == .timestamp || type == .date ? first.advanced(byMicroseconds: -2 * 86_400_000_000) : first
    }
}
