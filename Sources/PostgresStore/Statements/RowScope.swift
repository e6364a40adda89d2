import PriceStore

/// The rows that a statement works on, and the names of their columns in it.
///
/// The rows have an alias, so that their columns cannot conflict with others of the statement.
struct RowScope {
    static let alias = "retention_row"

    let table: PostgresTable
    /// The table, or what a rehearsal uses instead, in SQL.
    let source: String

    init(_ table: PostgresTable, source: String? = nil) {
        self.table = table
        self.source = source ?? table.localRows ?? table.sql
    }

    /// Whether the rows are the table's own.
    var isTable: Bool { source == table.sql }

    /// The rows for a FROM clause, or the table for a DELETE or an UPDATE.
    var from: String { "\(source) AS \(Self.alias)" }

    /// A column in SQL.
    ///
    /// The server compares no values of a domain over an enumerated type, so such a column has that type.
    func column(_ name: String) -> String {
        let column = "\(Self.alias).\(name.quotedIdentifier)"
        return table.enumTypes[name].map { "\(column)::\($0)" } ?? column
    }

    static func isIn(_ oids: [Int]) -> SQLFragment { "\(alias).tableoid = ANY (" + .list(oids, "oid") + ")" }

    /// The columns of the key in SQL; empty if the table has no primary key.
    var key: [String] { table.entity.primaryKey.map(column) }
    var keyAttributes: [Attribute] { table.entity.primaryKey.compactMap(table.entity.attribute(named:)) }

    /// A number of a row's group, for a lookup by index. NULL is a group, too.
    static func number(ofGroup columns: [String]) -> String {
        columns.isEmpty ? "0::int8" : "hash_record_extended(ROW(\(columns.joined(separator: ", "))), 0)"
    }

    /// The condition that a row with the key of a listed row exists and meets other conditions. The lookup is by key for each listed row: a
    /// plan for any values takes a range of dates for small, and would read the table.
    ///
    /// - Parameters:
    ///   - listed: the alias of the listed rows, whose keys are `k0`, `k1` and so on.
    ///   - needsPlaces: whether a condition uses the places of rows.
    func isThere(_ listed: String, needsPlaces: Bool, _ conditions: [SQLFragment]) -> SQLFragment {
        let isRow = key.enumerated().map { "\($1) = \(listed).k\($0)" }.joined(separator: " AND ")
        let places = needsPlaces ? "\(Self.alias).tableoid, \(Self.alias).ctid, " : ""
        return
            "EXISTS (SELECT 1 FROM (SELECT \(places)\(Self.alias).* FROM \(from) WHERE \(isRow) OFFSET 0) AS \(Self.alias)"
            + SQLFragment.all(conditions).whereClause + ")"
    }

    func attribute(_ name: String) throws(StoreError) -> Attribute {
        guard let attribute = table.entity.attribute(named: name) else {
            throw StoreError(.unknownName, store: table.store, message: "\(table.name) has no attribute '\(name)'")
        }
        return attribute
    }

    /// The date column of a rule. A `real` is compared as `float8`, because its text has fewer digits.
    func date(_ date: DateAttribute) throws(StoreError) -> DateSQL {
        let attribute = try attribute(date.name)
        let (column, type) = (column(attribute.name), table.type(attribute))
        return DateSQL(date: date, column: type == .real ? "(\(column)::float8)" : column, type: type)
    }
}
