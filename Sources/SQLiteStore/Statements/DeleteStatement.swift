import GRDB
import PriceStore

/// The text of a delete and of the queries that find where a batch ends. Nothing here is executed.
struct DeleteStatement {
    let scope: RowScope
    /// The date range of the predicate with its column; nil: the predicate has none.
    let date: (sql: DateSQL, before: Instant?)?
    /// All of the predicate but the date range.
    let rest: SQLFragment
    let access: DateAccess?

    /// The rows that the predicate names, in a stretch of the date column.
    func condition(_ stretch: DateSQL.Stretch = DateSQL.Stretch()) -> SQLFragment {
        .all([date.map { $0.sql.readable(before: $0.before, in: stretch) } ?? .always, rest])
    }

    /// Deletes the rows of a condition.
    func delete(_ condition: SQLFragment, byDate: Bool) -> SQLFragment {
        SQLFragment("DELETE FROM \(scope.target(indexedBy: byDate ? access?.index : nil)) WHERE ")
            + .all([condition, scope.membership])
    }

    /// The keys of the rows of a condition.
    func keys(_ condition: SQLFragment, byDate: Bool) -> SQLFragment {
        SQLFragment("SELECT \(keyList) FROM \(scope.from(indexedBy: byDate ? access?.index : nil)) WHERE ") + condition
    }

    /// The date and key of the row that stands `offset` rows behind the beginning of a stretch, oldest first.
    func boundary(_ condition: SQLFragment, column: String, offset: Int) -> SQLFragment {
        let direction = access?.isDescending == true ? " DESC" : ""
        let key = scope.key.map { $0 + direction }.joined(separator: ", ")
        return SQLFragment("SELECT \(column), \(keyList) FROM \(scope.from(indexedBy: access?.index)) WHERE ")
            + condition + SQLFragment(" ORDER BY \(column), \(key) LIMIT 1 OFFSET ?", [offset.databaseValue])
    }

    /// Rows of one date whose key comes before a key, in the index's own order.
    func keyBefore(_ key: [StoreValue]) -> SQLFragment { compareKey(access?.isDescending == true ? ">" : "<", key) }

    /// The key of the last row of a window of `rowCount` rows behind a key, and up to another.
    func windowEnd(after: [StoreValue]?, through: [StoreValue]?, rowCount: Int) -> SQLFragment {
        SQLFragment("SELECT \(keyList) FROM \(scope.from()) WHERE ") + window(after: after, through: through)
            + SQLFragment(" ORDER BY \(keyList) LIMIT 1 OFFSET ?", [(rowCount - 1).databaseValue])
    }

    /// Rows behind a key, and up to another.
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
