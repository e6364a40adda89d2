import PriceStore

/// Where rows come from in a statement, and how their columns are named there.
///
/// The rows go by an alias, so that no column of a table can hide, or be hidden by, one of our own.
struct RowScope {
    /// The alias of the rows in every statement.
    static let alias = "retention_row"

    let table: SQLiteTable
    /// The table, or the view that a rehearsal puts in its place, in SQL.
    let source: String

    init(_ table: SQLiteTable, source: String? = nil) {
        self.table = table
        self.source = source ?? table.sql
    }

    /// Whether the rows are the table's own, so that its indexes can be named.
    var isTable: Bool { source == table.sql }

    /// The rows for a FROM clause or a DELETE, with the index that must be used, if any.
    func from(indexedBy index: String? = nil) -> String {
        let hint = isTable ? index.map { " INDEXED BY " + $0.quotedIdentifier } ?? "" : ""
        return "\(source) AS \(Self.alias)\(hint)"
    }

    /// A column in SQL.
    func column(_ attribute: Attribute) -> String { "\(Self.alias).\(attribute.name.quotedIdentifier)" }

    /// The key's columns in SQL.
    var key: [String] { table.keySQL.map { "\(Self.alias).\($0)" } }

    /// The attribute of that name.
    func attribute(_ name: String, store: String) throws(StoreError) -> Attribute {
        guard let attribute = table.entity.attribute(named: name) else {
            throw StoreError(.unknownName, store: store, message: "\(table.name) has no attribute '\(name)'")
        }
        return attribute
    }
}
