import GRDB
import PriceStore

/// The picks that a rule keeps of the rows before its cutoff, by their keys.
///
/// They are found before the first delete and hold for the run's own deletes. After a commit of another connection they
/// are found again, in the transaction at work: a pick may be gone, and a late row may be the only one of its bucket.
struct ThinnedRows {
    /// Whose rows are kept, as in ``KeptRows/Key``.
    struct Key: Hashable {
        var entity: String
        var subentities: [String]
        var thinning: Thinning
    }

    /// The temporary table of the keys `k0`, `k1` … and the number of the tier that keeps each; nil: none is kept.
    var table: String?
    /// How many rows each tier keeps.
    var counts: [Survey.TierCount] = []
    /// The version of the store in which they were found; nil: they must be found again.
    var version: Int?
}

extension SQLiteFileConnection {
    /// The condition that a row is not a pick.
    func notPicked(_ thinning: Thinning, _ scope: RowScope, _ db: Database) throws -> SQLFragment {
        guard let table = try thinnedRows(thinning, scope, db).table else { return .always }
        return SQLFragment(
            "NOT EXISTS (SELECT 1 FROM temp.\(table) AS picked WHERE \(scope.key.areKey(of: "picked")))")
    }

    /// The picks of a rule, found when they are first needed.
    func thinnedRows(_ thinning: Thinning, _ entity: RowScope, _ db: Database) throws -> ThinnedRows {
        let key = ThinnedRows.Key(
            entity: entity.table.name, subentities: entity.table.managed?.subentities ?? [], thinning: thinning)
        let version = try pragma("data_version", db)
        let known = temporaries.thinnedRows[key]
        if let known, known.version == version { return known }
        if let table = known?.table { try execute(SQLFragment("DROP TABLE temp.\(table)"), db) }
        var found = try ThinningQuery(thinning, RowScope(entity.table, source: entity.source), self, db)?.find(self, db)
        found = found ?? ThinnedRows()
        found?.version = version
        temporaries.thinnedRows[key] = found
        return found ?? ThinnedRows()
    }
}

/// The statements that find the picks of a rule.
private struct ThinningQuery {
    let thinning: Thinning
    let scope: RowScope
    let date: DateSQL
    let columns: [Attribute]
    let cells: ThinningCells
    /// The rows that may be picks.
    let rows: SQLFragment
    /// The part of it that is not about the date.
    let among: SQLFragment

    /// Nil: no row is before the cutoff.
    init?(_ thinning: Thinning, _ scope: RowScope, _ store: SQLiteFileConnection, _ db: Database) throws {
        self.thinning = thinning
        self.scope = scope
        date = try store.dateSQL(thinning.date, scope, db)
        columns = try thinning.groupedBy.map { try scope.attribute($0, store: store.name) }
        among = try store.condition(thinning.among, scope, db)
        let query =
            SQLFragment("SELECT \(date.orderValue) FROM \(scope.from())")
            + store.whereClause(.all([date.readable(before: thinning.cutoff), among]))
            + " ORDER BY \(date.orderValue) LIMIT 1"
        guard let value = try store.row(query, db)?.first, let oldest = date.start(of: value) else { return nil }
        cells = ThinningCells(thinning, oldest: oldest)
        guard let first = cells.starts.first, let end = cells.starts.last else { return nil }
        if let from = date.stored(max(first, thinning.date.earliest)), let below = date.stored(end) {
            // One bound on each side, so that SQLite does not walk an index to a wider one. A span may end after it has begun.
            let later = end.advanced(byMicroseconds: 2 * 86_400_000_000)
            rows = .all([date.readable(before: later, in: DateSQL.Stretch(from: from, below: below)), among])
        } else {
            rows = .all([date.readable(.greaterOrEqual, first), date.readable(.less, end), among])
        }
    }

    /// Makes the table of the kept keys.
    func find(_ store: SQLiteFileConnection, _ db: Database) throws -> ThinnedRows {
        let lookup = try makeCells(store, db)
        let ends = store.temporaryName("ends")
        let picks = store.temporaryName("picks")
        let kept = store.temporaryName("picked")
        func run(_ statement: SQLFragment) throws { try store.execute(statement, db) }
        let names = columns.indices.map { "g\($0)" }
        let groups = columns.map { scope.column($0) }

        // The last date of each group in each cell; then the rows of these dates, which are few.
        let value = "\(thinning.pick == .last ? "max" : "min")(\(date.orderValue)) AS value"
        let selected = zip(groups, names).map { "\($0) AS \($1)" } + [value]
        try run(
            SQLFragment("CREATE TEMP TABLE \(ends) AS SELECT \(selected.joined(separator: ", ")) FROM \(scope.from())")
                + store.whereClause(rows)
                + " GROUP BY \((groups + [lookup.cell(of: date.orderValue)]).joined(separator: ", "))")
        try run(SQLFragment("CREATE INDEX temp.\(ends)_values ON \(ends) (value)"))
        // With a range of dates beside it, SQLite would search for that instead of the one date.
        let same =
            ["\(date.orderValue) = \(ends).value"] + zip(groups, names).map { "\($0) IS \(ends).\($1)" }
        let keys = scope.key.indices.map { "k\($0)" }
        let direction = thinning.pick == .last ? "DESC" : "ASC"
        let order = scope.key.map { "\($0) \(direction)" }.joined(separator: ", ")
        var inner = SQLFragment("SELECT " + names.map { "\(ends).\($0), " }.joined())
        inner = inner + "\(ends).value, " + zip(scope.key, keys).map { "\($0) AS \($1), " }.joined()
        inner = inner + "(" + date.readable(before: thinning.cutoff) + ") IS TRUE AS expired, "
        for (number, tier) in thinning.tiers.enumerated() {
            inner = inner + "(" + date.readable(before: tier.since) + ") IS NOT TRUE AS young\(number), "
        }
        let source =
            isSoughtByDate
            ? "\(ends) CROSS JOIN \(scope.from())" : "\(scope.from()) CROSS JOIN \(ends)"
        inner =
            inner + "row_number() OVER (PARTITION BY \(ends).rowid ORDER BY \(order)) AS place FROM \(source)"
            + store.whereClause(.all([SQLFragment(same.joined(separator: " AND ")), among]))
        let young = thinning.tiers.indices.map { "young\($0)" }
        let all = names + ["value", "expired"] + keys + young
        try run(
            SQLFragment(
                "CREATE TEMP TABLE \(picks) AS SELECT \(all.joined(separator: ", ")), \(lookup.cell(of: "value")) AS cell FROM ("
            )
                + inner + ") WHERE place = 1")

        let isRowID = scope.key.count == 1 && !scope.table.isWithoutRowID
        try run(
            SQLFragment(
                isRowID
                    ? "CREATE TEMP TABLE \(kept) (k0 INTEGER PRIMARY KEY, tier)"
                    : "CREATE TEMP TABLE \(kept) (\(keys.joined(separator: ", ")), tier, "
                        + "PRIMARY KEY (\(keys.joined(separator: ", ")))) WITHOUT ROWID"))
        let collated = zip(columns, names).map { column, name in
            let collation = scope.table.collations[column.name.lowercased()] ?? "BINARY"
            return "\(name) COLLATE \(collation.quotedIdentifier)"
        }
        // A row that several tiers keep is written again by the one with the largest unit.
        for number in thinning.tiers.indices {
            let list = keys.joined(separator: ", ")
            let bucket = "\(lookup.table).t\(number)"
            let isLive =
                thinning.pick == .last
                ? "young\(number)" : "(bucket >= \(cells.firstLive[number]) OR young\(number))"
            try run(
                SQLFragment(
                    "INSERT OR REPLACE INTO temp.\(kept) SELECT \(list), \(number) FROM (SELECT \(list), expired, "
                        + "young\(number), \(bucket) AS bucket, row_number() OVER (PARTITION BY "
                        + (collated + [bucket]).joined(separator: ", ") + " ORDER BY value \(direction)) AS place "
                        + "FROM temp.\(picks) JOIN temp.\(lookup.table) ON \(lookup.table).n = cell "
                        + "WHERE \(bucket) IS NOT NULL) WHERE place = 1 AND expired AND \(isLive)"))
        }
        for table in [ends, picks, lookup.table] { try run(SQLFragment("DROP TABLE temp.\(table)")) }
        let counts = try store.rows(
            SQLFragment("SELECT tier, count(*) FROM temp.\(kept) GROUP BY tier ORDER BY tier"), db)
        guard !counts.isEmpty else {
            try run(SQLFragment("DROP TABLE temp.\(kept)"))
            return ThinnedRows()
        }
        return ThinnedRows(
            table: kept,
            counts: counts.compactMap { row in
                guard case .integer(let tier) = row[0], case .integer(let count) = row[1] else { return nil }
                return .init(unit: thinning.tiers[Int(tier)].unit, rowCount: Int(count))
            })
    }

    /// Whether an index, or the table itself, gives the rows of a group and a date.
    private var isSoughtByDate: Bool {
        guard date.function == nil, scope.isTable else { return false }
        let table = scope.table
        let name = date.date.name.lowercased()
        func finds(_ names: [String?]) -> Bool {
            let rest = names.drop { name in columns.contains { $0.name == name } }
            return rest.first?.map { $0.lowercased() == name } ?? false
        }
        return table.rowIDAlias?.lowercased() == name || table.isWithoutRowID && finds(table.entity.primaryKey)
            || table.indexes.contains { !$0.isPartial && finds($0.columns.map(\.name)) }
    }

    /// The temporary table of the cells.
    private struct Lookup {
        var table: String
        /// How the cell is found, of the values of the date: as microseconds or a plain number, or a number of each
        /// storage class.
        var hasTwoStarts: Bool

        /// The number of the cell that holds a value. The plus takes the affinity away, so that the start is looked up: it has
        /// none.
        func cell(of value: String) -> String {
            func seek(_ start: String) -> String {
                "(SELECT n FROM temp.\(table) WHERE \(start) <= +\(value) ORDER BY \(start) DESC, n DESC LIMIT 1)"
            }
            return hasTwoStarts
                ? "CASE typeof(\(value)) WHEN 'integer' THEN \(seek("whole")) ELSE \(seek("start")) END" : seek("start")
        }
    }

    /// Makes the table of the cells: the number, the start as it compares with stored values, the bucket of each tier.
    private func makeCells(_ store: SQLiteFileConnection, _ db: Database) throws -> Lookup {
        let bounds = cells.starts.map { start in
            date.function == nil
                ? date.date.encoding.lowerBound(start) : NumericBound(integer: start.microseconds, real: 0)
        }
        let single = cells.starts.map { start in
            date.function == nil ? date.stored(start) : .integer(start.microseconds)
        }
        let hasTwoStarts = single.contains(nil)
        let table = store.temporaryName("cells")
        let tiers = thinning.tiers.indices.map { ", t\($0)" }.joined()
        try store.execute(
            SQLFragment("CREATE TEMP TABLE \(table) (n INTEGER PRIMARY KEY, start, whole\(tiers))"), db)
        for first in stride(from: 0, to: bounds.count, by: Self.rowsOfStatement) {
            let part = first..<min(first + Self.rowsOfStatement, bounds.count)
            let values = part.map { number -> SQLFragment in
                let numbers = cells.buckets.map { buckets in
                    (number < buckets.count ? buckets[number] : nil).map { ", \($0)" } ?? ", NULL"
                }
                let start = hasTwoStarts ? .real(bounds[number].real) : single[number] ?? .null
                return SQLFragment(
                    "(\(number), ?, ?\(numbers.joined()))",
                    [start.databaseValue, StoreValue.integer(bounds[number].integer).databaseValue])
            }
            try store.execute(
                SQLFragment("INSERT INTO temp.\(table) VALUES ") + .joined(values, by: ", ", empty: .never), db)
        }
        // Cells that are shorter than the unit of the dates begin with the same number; the last of them holds it.
        for start in hasTwoStarts ? ["start", "whole"] : ["start"] {
            try store.execute(SQLFragment("CREATE INDEX temp.\(table)_\(start) ON \(table) (\(start))"), db)
        }
        return Lookup(table: table, hasTwoStarts: hasTwoStarts)
    }

    private static let rowsOfStatement = 200
}

extension DateSQL {
    /// The stored value that decides whether another one is at or after an instant; nil: it takes one of each storage class,
    /// or the format is parsed.
    fileprivate func stored(_ instant: Instant) -> StoreValue? {
        guard function == nil else { return nil }
        let bound = date.encoding.lowerBound(instant)
        return affinity == .real ? .real(bound.real) : bound.singleParameter
    }

    /// The first instant of a value of ``orderValue``.
    fileprivate func start(of value: StoreValue) -> Instant? {
        if function != nil, case .integer(let microseconds) = value { return Instant(microseconds: microseconds) }
        return date.encoding.read(value, zone: date.zone).start
    }
}
