import PriceStore

/// The newest rows of each group, in a temporary table: the group's number `h` and columns, the row's `place` in the group, its date
/// `value`, and its key.
struct NewestRowsQuery {
    let keepLast: KeepLast
    let table: String
    private let scope: RowScope
    private let date: DateSQL
    private let groups: [String]
    private let among: SQLFragment

    init(_ keepLast: KeepLast, _ scope: RowScope, _ connection: PostgresDatabase, table: String) throws {
        self.keepLast = keepLast
        self.table = table
        self.scope = scope
        date = try scope.date(keepLast.date)
        groups = try keepLast.groupedBy.map { scope.column(try scope.attribute($0).name) }
        among = try connection.condition(keepLast.among, scope)
    }

    private var names: [String] { groups.indices.map { "g\($0)" } }
    private var keys: [String] { scope.key.indices.map { "k\($0)" } }

    /// The number of the row's group.
    var group: String { RowScope.number(ofGroup: groups) }

    /// The statements that create the table. It contains all groups, also those whose newest rows do not expire, because another session
    /// may delete these rows.
    var make: [SQLFragment] {
        let columns = zip(groups + scope.key, names + keys).map { "\($0) AS \($1)" }.joined(separator: ", ")
        let rows = SQLFragment.all([date.readable(), among]).whereClause
        var query: SQLFragment
        if groups.isEmpty {
            query = "SELECT *, row_number() OVER (ORDER BY value DESC) AS place FROM (SELECT \(group) AS h, "
            query += date.orderValue + " AS value, \(columns) FROM \(scope.from)" + rows
            query += " ORDER BY value DESC LIMIT \(keepLast.count)) AS newest"
        } else {
            query = "SELECT * FROM (SELECT \(group) AS h, " + date.orderValue + " AS value, \(columns), "
            query += "row_number() OVER (PARTITION BY \(groups.joined(separator: ", ")) ORDER BY " + date.orderValue
            query += " DESC) AS place FROM \(scope.from)" + rows + ") AS ranked WHERE place <= \(keepLast.count)"
        }
        return ["CREATE TEMP TABLE \(table) AS " + query, "CREATE INDEX ON \(table) (h, place)", "ANALYZE \(table)"]
    }

    /// The condition that a row is older than all kept rows of its group, and that these all exist. Rows of a new group, and of a group
    /// with no more rows than are kept, do not meet it.
    ///
    /// It is not a join: after a join, the rows would not be in the order of their dates.
    var isBeforeKept: SQLFragment {
        date.orderValue
            + " < (SELECT kept.value FROM \(table) AS kept WHERE kept.h = \(group) AND kept.place = \(keepLast.count)"
            + "\(sameGroup("kept")) AND kept.h NOT IN (SELECT listed.h FROM \(table) AS listed WHERE NOT " + isThere
            + "))"
    }

    /// A query for kept rows that have gone or changed.
    func changed(in numbers: String?) -> SQLFragment {
        "SELECT 1 FROM \(table) AS listed WHERE listed.h = ANY ("
            + .bound(numbers, "int8[]") + ") AND NOT " + isThere + " LIMIT 1"
    }

    /// The condition that the row of `listed` exists as it was found. Inside it, the alias of the rows means the kept row.
    private var isThere: SQLFragment {
        scope.isThere(
            "listed", needsPlaces: !keepLast.among.holds.isEmpty,
            zip(groups, names).map { "\($0) IS NOT DISTINCT FROM listed.\($1)" } + [
                date.orderValue + " IS NOT DISTINCT FROM listed.value", date.readable(), among,
            ])
    }

    private func sameGroup(_ alias: String) -> String {
        zip(groups, names).map { " AND \($0) IS NOT DISTINCT FROM \(alias).\($1)" }.joined()
    }
}
