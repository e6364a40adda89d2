import GRDB
import PriceStore

/// The picks that a rule keeps before its cutoff, by key.
///
/// They are found before the first delete and stay valid while only rules delete rows. After any other change a pick may be gone, or a late
/// row may be the only one of its bucket. Searching for the picks again inside a batch would make writers wait, so a batch then deletes
/// rows of a bucket only if its pick still exists. The other rows may wait for the next run.
struct ThinnedRows {
    /// The query that found them, or nil if no row is before the cutoff.
    fileprivate var query: ThinningQuery?
    /// How many rows each tier keeps.
    var counts: [Survey.TierCount] = []
    /// The state of the store in which they were found.
    var mark: ChangeMark
}

extension SQLiteFile {
    func notPicked(_ thinning: Thinning, _ scope: RowScope, _ db: Database) throws -> SQLFragment {
        let found = try thinnedRows(thinning, scope, db)
        let isAsFound = try changeMark(db).hasOnlyDeleted(since: found.mark)
        guard let query = found.query else {
            // No bucket kept a row. Whatever rows were added since, a row in a bucket that is too old for every tier is not kept.
            guard !isAsFound else { return .always }
            guard let end = thinning.startOfLiveBuckets else { return .never }
            return "(\(try dateSQL(thinning.date, scope, db).readable(before: end))) IS TRUE"
        }
        return isAsFound ? query.isNotKept : .all([query.isNotKept, query.isBesidePicks])
    }

    /// The number of rows that a condition keeps as newest or as picks and that are gone or have changed.
    func lostCount(of predicate: StorePredicate, _ scope: RowScope, _ db: Database) throws -> Int {
        var count = 0
        for keepLast in predicate.keptRows {
            let kept = try keptRows(keepLast, entity: scope, db)
            count += try self.count("SELECT count(*) FROM (\(missingRows(of: kept, keepLast, scope, db)))", db)
        }
        for thinning in predicate.thinnings {
            if let query = try thinnedRows(thinning, scope, db).query { count += try self.count(query.lostCount, db) }
        }
        return count
    }

    /// The condition without the picks that were found in the current state, because their keys alone identify them.
    func withoutFoundPicks(_ predicate: StorePredicate, _ scope: RowScope, _ db: Database) throws -> StorePredicate {
        if case .and(let parts) = predicate { return .and(try parts.map { try withoutFoundPicks($0, scope, db) }) }
        guard case .notPicked(let thinning)? = predicate.spared else { return predicate }
        return try changeMark(db).hasOnlyDeleted(since: thinnedRows(thinning, scope, db).mark) ? .all : predicate
    }

    /// The picks of a rule. They are found when first needed and, outside batches, again after the store has changed.
    func thinnedRows(_ thinning: Thinning, _ entity: RowScope, _ db: Database) throws -> ThinnedRows {
        let key = KeptRows.Key(.notPicked(thinning), of: entity)
        if let known = temporaries.thinnedRows[key] {
            if try isInBatch(db) || changeMark(db) == known.mark { return known }
            if let query = known.query {
                for table in query.tables { try execute("DROP TABLE temp.\(table)", db) }
                query.function.remove(db)
            }
        }
        let found = try countingTemporaryRows(db) {
            var found = ThinnedRows(mark: try changeMark(db))
            found.query = try ThinningQuery(thinning, entity, self, db)
            found.counts = try found.query?.find(self, db) ?? []
            return found
        }
        temporaries.thinnedRows[key] = found
        return found
    }
}

/// The statements that find the picks of a rule, and the temporary tables that hold them.
private struct ThinningQuery {
    let thinning: Thinning
    let scope: RowScope
    let date: DateSQL
    let columns: [Attribute]
    let cells: ThinningCells
    /// The SQL functions that locate cells.
    let function: CellFunction
    /// The rows that may be picks.
    let rows: SQLFragment
    /// The part of `rows` that is not about the date.
    let among: SQLFragment
    /// The column of the price, if picks are chosen by it.
    let price: String?
    /// The table of the picks of buckets within the age of their tier: `tier`, `place` (the place among its ends), `bucket`, the group, `value`
    /// (the date), the price, the key.
    let picks: String
    /// The table of the picks before the cutoff: the keys `k0`, `k1` … and the tier for which each counts.
    let kept: String

    var tables: [String] { [picks, kept] }
    private var keys: [String] { scope.keyNames }
    private var names: [String] { columns.indices.map { "g\($0)" } }
    private var groups: [String] { columns.map { scope.column($0) } }

    var isNotKept: SQLFragment { scope.isNotIn(kept) }

    /// A query for the number of kept rows that are gone or have changed.
    var lostCount: SQLFragment {
        "SELECT count(*) FROM (SELECT DISTINCT \(keys.list) FROM temp.\(picks) AS picked WHERE picked.expired AND NOT \(isThere))"
    }

    /// The condition that a row of ``picks`` still is a row of its group.
    private var isThere: SQLFragment {
        ListedRows(scope: scope, date: date, among: among)
            .isThere(
                "picked",
                group: zip(groups, names).map { ($0, "picked.\($1)") } + (price.map { [($0, "picked.price")] } ?? []))
    }

    /// The condition that each bucket of a row still has its picks, on the right side of the row.
    var isBesidePicks: SQLFragment {
        let place = ([date.orderValue] + scope.key).list
        let pick = (["value"] + keys).map { "picked.\($0)" }.list
        let found = thinning.pick.ends.enumerated().map { number, end in
            var isBeside = "(\(place)) \(end.isLast ? "<" : ">") (\(pick))"
            if let direction = end.byPrice, let price {
                isBeside =
                    "(\(price) \(direction == "DESC" ? "<" : ">") picked.price OR \(price) = picked.price AND \(isBeside))"
            }
            return "picked.place = \(number) AND \(isBeside)"
        }
        return .all(
            thinning.tiers.indices.map { number in
                let bucket = function.bucket(number, function.cell(date.orderValue))
                let own = zip(names, groups).map { " AND picked.\($0) IS +\($1)" }.joined()
                // A bucket without a number is wholly in the past.
                let isBeforeLive =
                    thinning.pick == .last ? "" : " AND ifnull(\(bucket) < \(cells.firstLive[number]), TRUE)"
                let areThere = found.map { found -> SQLFragment in
                    """
                    EXISTS (SELECT 1 FROM temp.\(picks) AS picked WHERE picked.tier = \(number) \
                    AND picked.bucket = \(bucket)\(own) AND \(found) AND \(isThere))
                    """
                }
                return """
                    ((\(date.readable(before: thinning.tiers[number].since))) IS TRUE\(isBeforeLive) \
                    OR \(SQLFragment.all(areThere)))
                    """
            })
    }

    /// Fails if no row is before the cutoff.
    init?(_ thinning: Thinning, _ scope: RowScope, _ store: SQLiteFile, _ db: Database) throws {
        self.thinning = thinning
        self.scope = scope
        let date = try store.dateSQL(thinning.date, scope, db)
        self.date = date
        columns = try thinning.groupedBy.map { try scope.attribute($0, store: store.name) }
        among = try store.condition(thinning.among, scope, db)
        price = try thinning.pick.price.map { try scope.column($0, store: store.name) }
        let isOld = SQLFragment.all([date.readable(before: thinning.cutoff), among])
        let query: SQLFragment = """
            SELECT \(date.orderValue) FROM \(scope.from())\(isOld.whereClause) ORDER BY \(date.orderValue) LIMIT 1
            """
        guard let value = try store.row(query, db)?.first, let oldest = thinning.date.instant(value) else { return nil }
        cells = ThinningCells(thinning, oldest: oldest)
        guard let first = cells.starts.first, let end = cells.starts.last else { return nil }
        let bounds = cells.starts.map { start in
            date.function == nil
                ? date.date.encoding.lowerBound(start) : NumericBound(integer: start.microseconds, real: 0)
        }
        function = try CellFunction(bounds, cells.buckets, name: store.temporaryName("cell"), db)
        (picks, kept) = (store.temporaryName("picks"), store.temporaryName("kept"))
        if let from = date.stored(max(first, thinning.date.earliest)), let below = date.stored(end) {
            // There is one bound on each side, so that SQLite does not walk an index to a wider one. A span may end after the value that it
            // begins with.
            let later = end.advanced(byMicroseconds: 2 * 86_400_000_000)
            rows = .all([date.readable(before: later, in: DateSQL.Stretch(from: from, below: below)), among])
        } else {
            rows = .all([date.readable(.greaterOrEqual, first), date.readable(.less, end), among])
        }
    }

    /// Creates the tables and counts the rows that each tier keeps.
    func find(_ store: SQLiteFile, _ db: Database) throws -> [Survey.TierCount] {
        let (ends, rows) = (store.temporaryName("ends"), store.temporaryName("rows"))
        try findEnds(ends, store, db)
        try findRows(rows, at: ends, store, db)
        try choosePicks(among: rows, store, db)
        for table in [ends, rows] { try store.execute("DROP TABLE temp.\(table)", db) }
        return try Row.fetchAll(db, sql: "SELECT tier, count(*) FROM temp.\(kept) GROUP BY tier ORDER BY tier").map {
            .init(unit: thinning.tiers[$0[0]].unit, rowCount: $0[1])
        }
    }

    /// The columns of a group with the collations of the store's columns.
    private var collated: [String] {
        zip(columns, names).map { column, name in
            "\(name) COLLATE \(scope.table.collation(of: column.name).quotedIdentifier)"
        }
    }

    /// Lists the ends of each group in each cell: a date or, where picks are chosen by price, two dates and two prices.
    private func findEnds(_ ends: String, _ store: SQLiteFile, _ db: Database) throws {
        var found: SQLFragment
        let parts = store.temporaryName("parts")
        if try price == nil && CellEnds.canGather(groupCount: columns.count, db) {
            try store.execute("CREATE TEMP TABLE \(parts) (\((collated + ["value", "size"]).list))", db)
            try CellEnds.gather(function, thinning.pick, into: parts, groupCount: columns.count, db) { add in
                let values = ([date.orderValue] + groups).list
                try store.execute("SELECT \(add)(\(values)) FROM \(scope.from())\(rows.whereClause)", db)
            }
            found = "SELECT * FROM temp.\(parts)"
        } else {
            let selected =
                zip(groups, names).map { "\($0) AS \($1)" }
                + ["\(date.orderValue) AS value", "\(price ?? "NULL") AS price", "1 AS size"]
            found = "SELECT \(selected.list) FROM \(scope.from())\(rows.whereClause)"
        }
        let end =
            price == nil
            ? "\(thinning.pick == .last ? "max" : "min")(value) AS value"
            : "\(function.cell("value")) AS value, min(value) AS first, max(value) AS last, max(price) AS high, min(price) AS low"
        try store.execute(
            """
            CREATE TEMP TABLE \(ends) AS SELECT \((names + [end]).list), sum(size) AS size FROM (\(found)) \
            GROUP BY \((collated + [function.cell("value")]).list)
            """, db)
        try store.execute("DROP TABLE IF EXISTS temp.\(parts)", db)
    }

    /// Lists the rows at the ends, which are few. They are found by the one date of their cell, or by their cell with one of two dates or
    /// two prices.
    private func findRows(_ table: String, at ends: String, _ store: SQLiteFile, _ db: Database) throws {
        let isSought = try price == nil && isSoughtByDate(ends, store, db)
        if !isSought {
            let indexed = (["value"] + collated).list
            try store.execute("CREATE INDEX temp.\(ends)_values ON \(ends) (\(indexed))", db)
        }
        // With a range of dates in the condition, SQLite would search for the range instead of the one date. The plus removes an affinity
        // that the columns of the other table lack, so that its index is used.
        let plus = isSought ? "" : "+"
        let isEnd =
            price.map { price in
                [
                    "\(function.cell(date.orderValue)) = \(ends).value",
                    "(\(date.orderValue) IN (\(ends).first, \(ends).last) OR \(price) IN (\(ends).high, \(ends).low))",
                ]
            } ?? ["\(plus)\(date.orderValue) = \(ends).value"]
        let same = isEnd + zip(groups, names).map { "\(plus)\($0) IS \(ends).\($1)" }
        let places = thinning.pick.ends.indices.map { "place\($0)" }
        let ranks = zip(thinning.pick.ends, places).map { end, place in
            "row_number() OVER (PARTITION BY \(ends).rowid ORDER BY \(order(end, price, date.orderValue, scope.key))) AS \(place)"
        }
        let young = thinning.tiers.enumerated().map { number, tier -> SQLFragment in
            "(\(date.readable(before: tier.since))) IS NOT TRUE AS young\(number)"
        }
        let selected =
            names.map { SQLFragment("\(ends).\($0)") } + ["\(date.orderValue) AS value", "\(price ?? "NULL") AS price"]
            + zip(scope.key, keys).map { SQLFragment("\($0) AS \($1)") }
            + ["(\(date.readable(before: thinning.cutoff))) IS TRUE AS expired"] + young + ranks.map { SQLFragment($0) }
        let source = isSought ? "\(ends) CROSS JOIN \(scope.from())" : "\(scope.from()) CROSS JOIN \(ends)"
        let condition = SQLFragment.all([SQLFragment(same.joined(separator: " AND ")), isSought ? among : rows])
        let all = names + ["value", "price", "expired"] + keys + thinning.tiers.indices.map { "young\($0)" }
        try store.execute(
            """
            CREATE TEMP TABLE \(table) AS SELECT \(all.list), \(function.cell("value")) AS cell FROM \
            (SELECT \(SQLFragment.joined(selected, by: ", ", empty: "")) FROM \(source)\(condition.whereClause)) \
            WHERE \(places.map { "\($0) = 1" }.joined(separator: " OR "))
            """, db)
    }

    /// Chooses the picks of each tier among the rows at the ends of cells, and the keys of those before the cutoff.
    private func choosePicks(among rows: String, _ store: SQLiteFile, _ db: Database) throws {
        let list = keys.list
        let place = ["tier", "place", "bucket"]
        try store.execute(
            "CREATE TEMP TABLE \(picks) (\((place + collated).list), value, price, \(list), expired)", db)
        let values = (names + ["value", "price"] + keys + ["expired"]).list
        for number in thinning.tiers.indices {
            let bucket = function.bucket(number, "cell")
            let isLive =
                thinning.pick == .last
                ? "young\(number)" : "(bucket >= \(cells.firstLive[number]) OR young\(number))"
            let group = (collated + [bucket]).list
            for (end, kind) in thinning.pick.ends.enumerated() {
                try store.execute(
                    """
                    INSERT INTO temp.\(picks) SELECT \(number), \(end), bucket, \(values) FROM (SELECT *, \(bucket) AS bucket, \
                    row_number() OVER (PARTITION BY \(group) ORDER BY \(order(kind, "price", "value", keys))) AS place \
                    FROM temp.\(rows) WHERE \(bucket) IS NOT NULL) WHERE place = 1 AND \(isLive)
                    """, db)
            }
        }
        try store.execute("CREATE INDEX temp.\(picks)_buckets ON \(picks) (\((place + names).list))", db)
        let isRowID = scope.key.count == 1 && !scope.table.isWithoutRowID
        try store.execute(
            isRowID
                ? "CREATE TEMP TABLE \(kept) (k0 INTEGER PRIMARY KEY, tier)"
                : "CREATE TEMP TABLE \(kept) (\(list), tier, PRIMARY KEY (\(list))) WITHOUT ROWID", db)
        // A row that several tiers keep counts for the tier with the largest unit.
        try store.execute(
            "INSERT INTO temp.\(kept) SELECT \(list), max(tier) FROM temp.\(picks) WHERE expired GROUP BY \(list)", db)
    }

    /// The order in which one row of a bucket is the first.
    private func order(_ end: Thinning.End, _ price: String?, _ value: String, _ key: [String]) -> String {
        let byPrice = end.byPrice.flatMap { direction in price.map { "\($0) \(direction)" } }
        return ([byPrice].compactMap(\.self) + ([value] + key).map { "\($0) \(end.isLast ? "DESC" : "ASC")" })
            .list
    }

    /// Whether an index or the table itself finds the rows of a group and a date with less work than another pass over all rows.
    private func isSoughtByDate(_ ends: String, _ store: SQLiteFile, _ db: Database) throws -> Bool {
        guard date.function == nil else { return false }
        let table = scope.table
        let name = date.date.name.folded
        let indexes = [[table.rowIDAlias]] + table.indexes.filter { !$0.isPartial }.map { $0.columns.map(\.name) }
        let groupCounts = indexes.compactMap { index in
            index.firstIndex { column in !columns.contains { $0.name == column } }
                .flatMap { index[$0]?.folded == name ? $0 : nil }
        }
        guard let count = groupCounts.max() else { return false }
        if count == columns.count { return true }
        // Each end reads all rows of its date, which every group may have.
        let sizes = "SELECT count(*) AS ends, sum(size) AS size FROM temp.\(ends) GROUP BY value"
        return try store.row("SELECT sum(ends * ends) <= sum(size) FROM (\(sizes))", db)?.first == .integer(1)
    }
}

extension DateSQL {
    /// The stored value to compare with for "at or after an instant", or nil if each storage class needs its own or the format is parsed.
    fileprivate func stored(_ instant: Instant) -> StoreValue? {
        guard function == nil else { return nil }
        let bound = date.encoding.lowerBound(instant)
        return affinity == .real ? .real(bound.real) : bound.singleParameter
    }
}
