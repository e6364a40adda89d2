import GRDB
import PriceStore

/// The newest rows that a rule keeps, as thresholds: in each group, rows at or after its threshold stay.
///
/// They are read once, before the first delete, and hold for the whole run: rows that arrive later can only be newer.
enum KeptRows {
    /// Whose rows are kept: two entities may have attributes of the same names and rules of the same words.
    struct Key: Hashable {
        var entity: String
        /// Whether rows of sub-entities are among them.
        var subentities: [String]
        var keepLast: KeepLast
    }

    /// No row that matters is kept.
    case nothing
    /// Every row is kept: there are no more than the rule keeps.
    case everything
    /// All rows are one group with this threshold.
    case since(StoreValue)
    /// A temporary table with the columns `g0`, `g1` … of each group and its `threshold`.
    case groups(table: String)

    /// The condition that a row is not kept.
    func notKept(_ keepLast: KeepLast, _ date: DateSQL, _ scope: RowScope, store: String) throws -> SQLFragment {
        switch self {
        case .nothing: return .always
        case .everything: return .never
        case .since(let threshold): return SQLFragment("\(date.orderValue) < ?", [threshold.databaseValue])
        case .groups(let table):
            let matches = try keepLast.groupedBy.enumerated().map { index, name in
                "\(scope.column(try scope.attribute(name, store: store))) IS kept.g\(index)"
            }
            return SQLFragment(
                "NOT EXISTS (SELECT 1 FROM temp.\(table) AS kept WHERE \(matches.joined(separator: " AND ")) "
                    + "AND \(date.orderValue) >= kept.threshold)")
        }
    }
}

extension SQLiteFileConnection {
    /// The thresholds of a rule's kept rows, read when first needed.
    func keptRows(_ keepLast: KeepLast, entity: RowScope, _ db: Database) throws -> KeptRows {
        let key = KeptRows.Key(
            entity: entity.table.name, subentities: entity.table.managed?.subentities ?? [], keepLast: keepLast)
        if let known = temporaries.keptRows[key] { return known }
        let scope = RowScope(entity.table, source: entity.source)
        let date = try dateSQL(keepLast.date, scope, db)
        let rows = SQLFragment.all([date.readable(), try condition(keepLast.among, scope, db)])
        let kept =
            keepLast.groupedBy.isEmpty
            ? try single(keepLast, rows, date, scope, db) : try groups(keepLast, rows, date, scope, db)
        temporaries.keptRows[key] = kept
        return kept
    }

    private func single(
        _ keepLast: KeepLast, _ rows: SQLFragment, _ date: DateSQL, _ scope: RowScope, _ db: Database
    ) throws -> KeptRows {
        let query =
            SQLFragment("SELECT \(date.orderValue) FROM \(scope.from())") + whereClause(rows)
            + SQLFragment(
                " ORDER BY \(date.orderValue) DESC LIMIT 1 OFFSET ?", [(keepLast.count - 1).databaseValue])
        guard let threshold = try row(query, db)?.first else { return .everything }
        return .since(threshold)
    }

    private func groups(
        _ keepLast: KeepLast, _ rows: SQLFragment, _ date: DateSQL, _ scope: RowScope, _ db: Database
    ) throws -> KeptRows {
        let columns = try keepLast.groupedBy.map { scope.column(try scope.attribute($0, store: name)) }
        let names = columns.indices.map { "g\($0)" }
        let selected = zip(columns, names).map { "\($0) AS \($1)" }.joined(separator: ", ")
        let groups = names.joined(separator: ", ")
        // One row kept is a maximum; more are ranked. Either may spill to a temporary file.
        var query: SQLFragment
        if keepLast.count == 1 {
            query = SQLFragment("SELECT \(selected), max(\(date.orderValue)) AS threshold FROM \(scope.from())")
            query += whereClause(rows)
            query = query + " GROUP BY " + columns.joined(separator: ", ")
        } else {
            query = SQLFragment(
                "SELECT \(groups), min(value) AS threshold FROM (SELECT \(selected), \(date.orderValue) AS value, "
                    + "row_number() OVER (PARTITION BY \(columns.joined(separator: ", ")) "
                    + "ORDER BY \(date.orderValue) DESC) AS position FROM \(scope.from())")
            query += whereClause(rows)
            query += SQLFragment(") WHERE position <= ? GROUP BY \(groups)", [keepLast.count.databaseValue])
        }
        let table = temporaryName("kept")
        var create = SQLFragment("CREATE TEMP TABLE \(table) AS SELECT * FROM (") + query + ")"
        if let before = keepLast.relevantBefore {
            // Groups whose kept rows are all newer cannot matter; without any group left, nothing need be looked up.
            let threshold = DateSQL(date: keepLast.date, column: "threshold", affinity: date.affinity, function: nil)
            create = create + " WHERE " + threshold.isBefore(before, parsed: date.function != nil)
        }
        try execute(create, db)
        try execute(SQLFragment("CREATE INDEX temp.\(table)_groups ON \(table) (\(groups))"), db)
        return try row(SQLFragment("SELECT 1 FROM temp.\(table) LIMIT 1"), db) == nil ? .nothing : .groups(table: table)
    }
}

extension DateSQL {
    /// Whether a sort value is before an instant: microseconds for parsed formats, the format's own number else.
    func isBefore(_ instant: Instant, parsed: Bool) -> SQLFragment {
        parsed
            ? SQLFragment("\(column) < ?", [instant.microseconds.databaseValue])
            : compare(.less, date.encoding.cutoffBound(instant))
    }
}
