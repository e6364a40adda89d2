import GRDB
import PriceStore

/// The way to rows that a statement must take.
enum RowPath {
    /// Any: SQLite chooses.
    case any
    /// The date index.
    case date
    /// The table itself, in the order of its key, whatever indexes there are.
    case table
}

/// The text of a delete and of the queries that find where a batch ends. Nothing here is executed.
struct DeleteStatement {
    let scope: RowScope
    /// The date range of the predicate with its column; nil: the predicate has none.
    let date: (sql: DateSQL, before: Instant?)?
    /// All of the predicate but the date range.
    let rest: SQLFragment
    /// What of it the values of a row decide, and not its key: about that an index may be wrong.
    let restOfValues: SQLFragment
    let access: DateAccess?

    /// The rows that the predicate names, in a stretch of the date column.
    func condition(_ stretch: DateSQL.Stretch = DateSQL.Stretch()) -> SQLFragment {
        .all([date.map { $0.sql.readable(before: $0.before, in: stretch) } ?? .always, rest])
    }

    /// What the values of the rows of the predicate say, wherever they are read.
    var values: SQLFragment {
        .all([date.map { $0.sql.readable(before: $0.before) } ?? .always, restOfValues])
    }

    /// All rows that the rest of the predicate names in a stretch of the date column, whatever their dates say.
    func wholeStretch(_ stretch: DateSQL.Stretch) -> SQLFragment {
        .all([date?.sql.inside(stretch) ?? .always, rest])
    }

    /// Deletes the rows of a condition.
    func delete(_ condition: SQLFragment, by path: RowPath) -> SQLFragment {
        SQLFragment("DELETE FROM \(target(path)) WHERE ")
            + .all([condition, scope.membership])
    }

    /// The keys of the rows of a condition, by the key's own names or by others.
    func keys(_ condition: SQLFragment, by path: RowPath, as names: [String]? = nil) -> SQLFragment {
        let list = names.map { zip(scope.key, $0).map { "\($0) AS \($1)" }.joined(separator: ", ") } ?? keyList
        return select(list, of: condition, by: path)
    }

    /// Values of the rows of a condition.
    func select(_ values: String, of condition: SQLFragment, by path: RowPath) -> SQLFragment {
        SQLFragment("SELECT \(values) FROM ") + rows(condition, by: path)
    }

    /// The rows of a condition, for a FROM clause.
    func rows(_ condition: SQLFragment, by path: RowPath) -> SQLFragment {
        let rows = path == .table ? scope.fromTable : scope.from(indexedBy: path == .date ? access?.index : nil)
        return SQLFragment("\(rows) WHERE ") + condition
    }

    /// The condition that a row's key is among those of a query. SQLite holds what the query yields in the order of the key,
    /// in a temporary b-tree that may spill to disk, and reads the rows in that order.
    func isAmong(_ keys: SQLFragment) -> SQLFragment {
        SQLFragment(scope.key.count == 1 ? "\(keyList) IN (" : "(\(keyList)) IN (") + keys + ")"
    }

    private func target(_ path: RowPath) -> String {
        path == .table ? scope.targetTable : scope.target(indexedBy: path == .date ? access?.index : nil)
    }

    /// The date and key of the row `offset` rows after the beginning of a stretch, oldest first; and
    /// whether a condition holds for it.
    func boundary(_ condition: SQLFragment, column: String, offset: Int, is holding: SQLFragment) -> SQLFragment {
        let direction = access?.isDescending == true ? " DESC" : ""
        let key = scope.key.map { $0 + direction }.joined(separator: ", ")
        return SQLFragment("SELECT \(column), \(keyList), ") + holding
            + SQLFragment(" FROM \(scope.from(indexedBy: access?.index)) WHERE ") + condition
            + SQLFragment(" ORDER BY \(column), \(key) LIMIT 1 OFFSET ?", [offset.databaseValue])
    }

    /// Rows of one date whose key comes before a key, in the index's own order.
    func keyBefore(_ key: [StoreValue]) -> SQLFragment { compareKey(access?.isDescending == true ? ">" : "<", key) }

    /// The keys of the first rows of a condition, in key order.
    func first(_ rowCount: Int, of condition: SQLFragment) -> SQLFragment {
        keys(condition, by: .table) + SQLFragment(" ORDER BY \(keyList) LIMIT ?", [rowCount.databaseValue])
    }

    /// The key of the last row of a window of `rowCount` rows after a key, and up to another.
    func windowEnd(after: [StoreValue]?, through: [StoreValue]?, rowCount: Int) -> SQLFragment {
        SQLFragment("SELECT \(keyList) FROM \(scope.fromTable) WHERE ") + window(after: after, through: through)
            + SQLFragment(" ORDER BY \(keyList) LIMIT 1 OFFSET ?", [(rowCount - 1).databaseValue])
    }

    /// Rows after a key, and up to another.
    func window(after: [StoreValue]?, through: [StoreValue]?) -> SQLFragment {
        .all([after.map { compareKey(">", $0) } ?? .always, through.map { compareKey("<=", $0) } ?? .always])
    }

    private var keyList: String { scope.key.joined(separator: ", ") }

    private func compareKey(_ sign: String, _ key: [StoreValue]) -> SQLFragment {
        let marks = key.map { _ in "?" }.joined(separator: ", ")
        let isTuple = key.count > 1
        return SQLFragment(
            "\(isTuple ? "(\(keyList))" : keyList) \(sign) \(isTuple ? "(\(marks))" : marks)", key.map(\.databaseValue))
    }
}
