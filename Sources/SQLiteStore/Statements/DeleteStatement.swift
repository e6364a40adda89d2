import GRDB
import PriceStore

/// The access path that a statement must use.
enum RowPath {
    /// SQLite chooses.
    case any
    /// The date index.
    case date
    /// The table itself in key order, whatever indexes there are.
    case table
}

/// The SQL text of a delete and of the queries that find the end of a batch. Nothing is executed here.
struct DeleteStatement {
    let scope: RowScope
    /// The date range of the predicate with its column, or nil if the predicate has none.
    let date: (sql: DateSQL, before: Instant?)?
    /// The predicate without the date range.
    let rest: SQLFragment
    /// The part of `rest` that depends on a row's values, not on its key. An index may be wrong about it.
    let restOfValues: SQLFragment
    let access: DateAccess?

    /// The rows that match the predicate in a range of the date column.
    func condition(_ stretch: DateSQL.Stretch = DateSQL.Stretch()) -> SQLFragment {
        .all([date.map { $0.sql.readable(before: $0.before, in: stretch) } ?? .always, rest])
    }

    /// The part of the predicate that depends on the values of a row.
    var values: SQLFragment {
        .all([date.map { $0.sql.readable(before: $0.before) } ?? .always, restOfValues])
    }

    /// All rows that match the rest of the predicate in a range of the date column, readable or not.
    func wholeStretch(_ stretch: DateSQL.Stretch) -> SQLFragment {
        .all([date?.sql.inside(stretch), rest].compactMap(\.self))
    }

    func delete(_ condition: SQLFragment, by path: RowPath) -> SQLFragment {
        "DELETE FROM \(scope.target(hint(path))) WHERE \(SQLFragment.all([condition, scope.membership]))"
    }

    /// The keys of the rows that match a condition, under the key's names or others.
    func keys(_ condition: SQLFragment, by path: RowPath, as names: [String]? = nil) -> SQLFragment {
        let list = names.map { zip(scope.key, $0).map { "\($0) AS \($1)" }.list } ?? scope.key.list
        return select("\(list)", of: condition, by: path)
    }

    func select(_ values: SQLFragment, of condition: SQLFragment, by path: RowPath) -> SQLFragment {
        "SELECT \(values) FROM \(rows(condition, by: path))"
    }

    /// The rows that match a condition, for a FROM clause.
    func rows(_ condition: SQLFragment, by path: RowPath) -> SQLFragment {
        "\(scope.from(hint(path))) WHERE \(condition)"
    }

    private func hint(_ path: RowPath) -> String {
        switch path {
        case .any: ""
        case .date: access?.hint ?? ""
        case .table: scope.table.tableHint
        }
    }

    /// The condition that a row's key is in the result of a query. SQLite sorts that result by key in a temporary b-tree that may spill to
    /// disk, and reads the rows in that order.
    func isAmong(_ keys: SQLFragment) -> SQLFragment { "\(scope.key.operand) IN (\(keys))" }

    /// The date and key of the row at `offset` in a range, oldest first, and whether a condition holds for it.
    func boundary(_ condition: SQLFragment, column: String, offset: Int, is holding: SQLFragment) -> SQLFragment {
        let direction = access?.isDescending == true ? " DESC" : ""
        let key = scope.key.map { $0 + direction }.list
        return """
            \(select("\(column), \(scope.key.list), \(holding)", of: condition, by: .date)) \
            ORDER BY \(column), \(key) LIMIT 1 OFFSET \(bound: offset)
            """
    }

    /// The rows of one date whose key precedes a key in the index's order.
    func keyBefore(_ key: [StoreValue]) -> SQLFragment {
        scope.compareKey(access?.isDescending == true ? ">" : "<", key)
    }

    /// The keys of the first rows that match a condition, in key order.
    func first(_ rowCount: Int, of condition: SQLFragment) -> SQLFragment {
        "\(keys(condition, by: .table)) ORDER BY \(scope.key.list) LIMIT \(bound: rowCount)"
    }

    /// The key of the last of `rowCount` rows after one key and up to another.
    func windowEnd(after: [StoreValue]?, through: [StoreValue]?, rowCount: Int) -> SQLFragment {
        """
        SELECT \(scope.key.list) FROM \(scope.fromTable) WHERE \(scope.keys(after: after, through: through)) \
        ORDER BY \(scope.key.list) LIMIT 1 OFFSET \(bound: rowCount - 1)
        """
    }
}
