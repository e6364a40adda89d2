import PriceStore

/// The newest rows of each group in a temporary table: the number `h` of the group and its columns, the row's `place` among them,
/// its date `value`, its key.
struct NewestRowsQuery {
    let keepLast: KeepLast
    let table: String
    private let scope: RowScope
    private let date: DateSQL
    private let groups: [String]
    private let among: SQLFragment

    init(_ keepLast: KeepLast, _ scope: RowScope, _ connection: PostgresConnection, table: String) throws {
        self.keepLast = keepLast
        self.table = table
        self.scope = scope
        date = try scope.date(keepLast.date, store: connection.name)
        groups = try keepLast.groupedBy.map { scope.column(try scope.attribute($0, store: connection.name).name) }
        among = try connection.condition(keepLast.among, scope)
    }

    private var names: [String] { groups.indices.map { "g\($0)" } }
    private var keys: [String] { scope.key.indices.map { "k\($0)" } }

    /// A number of the row's group.
    var group: String { RowScope.number(ofGroup: groups) }

    /// The statements that make the table. All groups are in it, also those whose newest rows do not expire: another session may
    /// delete these.
    var make: [SQLFragment] {
        let columns = zip(groups + scope.key, names + keys).map { "\($0) AS \($1)" }.joined(separator: ", ")
        let rows = SQLFragment.all([date.readable(), among]).whereClause
        var query: SQLFragment
        if groups.isEmpty {
            query = SQLFragment(
                "SELECT *, row_number() OVER (ORDER BY value DESC) AS place FROM (SELECT \(group) AS h, ")
            query += date.orderValue + " AS value, \(columns) FROM \(scope.from)" + rows
            query += " ORDER BY value DESC LIMIT \(keepLast.count)) AS newest"
        } else {
            query = "SELECT * FROM (SELECT \(group) AS h, " + date.orderValue + " AS value, \(columns), "
            query += "row_number() OVER (PARTITION BY \(groups.joined(separator: ", ")) ORDER BY " + date.orderValue
            query += " DESC) AS place FROM \(scope.from)" + rows + ") AS ranked WHERE place <= \(keepLast.count)"
        }
        return ["CREATE TEMP TABLE \(table) AS " + query]
            + ["CREATE INDEX ON \(table) (h, place)", "ANALYZE \(table)"].map { SQLFragment($0) }
    }

    /// The condition that a row is older than all that its group keeps, and that these are all there. Rows of a group that has no
    /// more than are kept, and of one that is new, do not meet it.
    ///
    /// It is no join, after which the rows would not be in the order of their dates.
    var isBeforeKept: SQLFragment {
        date.orderValue
            + " < (SELECT kept.value FROM \(table) AS kept WHERE kept.h = \(group) AND kept.place = \(keepLast.count)"
            + "\(sameGroup("kept")) AND kept.h NOT IN (SELECT listed.h FROM \(table) AS listed WHERE NOT " + isThere
            + "))"
    }

    /// A query for kept rows that are gone or have changed.
    ///
    /// - Parameter numbers: a list of numbers of groups.
    func changed(in numbers: String?) -> SQLFragment {
        "SELECT 1 FROM \(table) AS listed WHERE listed.h = ANY ("
            + .bound(numbers, "int8[]") + ") AND NOT " + isThere + " LIMIT 1"
    }

    /// The condition that the row of `listed` is there as it was found. In it the name of the rows is that of the kept row.
    private var isThere: SQLFragment {
        scope.isThere(
            "listed", needsPlaces: !keepLast.among.holds.isEmpty,
            zip(groups, names).map { SQLFragment("\($0) IS NOT DISTINCT FROM listed.\($1)") } + [
                date.orderValue + " IS NOT DISTINCT FROM listed.value", date.readable(), among,
            ])
    }

    private func sameGroup(_ alias: String) -> String {
        zip(groups, names).map { " AND \($0) IS NOT DISTINCT FROM \(alias).\($1)" }.joined()
    }
}
