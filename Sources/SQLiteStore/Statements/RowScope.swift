import PriceStore

/// Where a statement reads rows, and how their columns are named there.
///
/// The rows have an alias, so that no column of a table can hide, or be hidden by, one of our own.
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

    /// The same without the rows of sub-entities; a plain table has none.
    var withoutSubentities: RowScope {
        var table = table
        table.managed = table.managed?.withoutSubentities
        return RowScope(table, source: source)
    }

    /// Whether the rows are the table's own, so that its indexes can be named.
    var isTable: Bool { source == table.sql }

    /// The rows for a FROM clause, with the index that must be used, if any.
    func from(indexedBy index: String? = nil) -> String { from(hint: hint(index)) }

    /// The rows for a FROM clause, read in the table itself and in its order.
    var fromTable: String { from(hint: tableHint) }

    private func from(hint: String) -> String {
        guard let membership = table.managed?.membership("stored") else { return "\(source) AS \(Self.alias)\(hint)" }
        // SQLite takes the inner query apart, so that indexes serve as if the table stood here.
        return "(SELECT * FROM \(source) AS stored\(hint) WHERE \(membership)) AS \(Self.alias)"
    }

    /// The table for a DELETE or an UPDATE, with the index that must be used, if any; see ``membership``.
    func target(indexedBy index: String? = nil) -> String { "\(source) AS \(Self.alias)\(hint(index))" }

    /// The table for a DELETE or an UPDATE that reads it itself and goes through it in its own order.
    var targetTable: String { target() + tableHint }

    /// The condition of a DELETE or an UPDATE that a row is of the entity.
    var membership: SQLFragment { table.managed?.membership(Self.alias).map { SQLFragment($0) } ?? .always }

    /// Keeps SQLite from every index but the table itself. Without a rowid the table is an index, and `NOT INDEXED` would
    /// not keep SQLite from the others.
    private var tableHint: String { isTable ? table.tableHint : "" }

    private func hint(_ index: String?) -> String {
        isTable ? index.map { " INDEXED BY " + $0.quotedIdentifier } ?? "" : ""
    }

    /// A column in SQL.
    func column(_ attribute: Attribute) -> String { "\(Self.alias).\(table.columnSQL(attribute))" }

    /// What identifies rows, in SQL: the key, and the entity's number where a Core Data entity has sub-entities.
    var identity: [String] { key + (table.managed?.subentities.isEmpty == false ? ["\(Self.alias).Z_ENT"] : []) }

    /// The key's columns in SQL.
    var key: [String] { table.keySQL.map { "\(Self.alias).\($0)" } }

    /// The attributes of new values, which names of different case may not name twice.
    func attributes(_ names: some Sequence<String>, store: String) throws(StoreError) -> [Attribute] {
        var found: [Attribute] = []
        for name in names {
            let attribute = try attribute(name, store: store)
            guard !found.contains(where: { $0.name == attribute.name }) else {
                throw StoreError(.unsupported, store: store, message: "\(table.name).\(attribute.name) is named twice")
            }
            found.append(attribute)
        }
        return found
    }

    /// The attribute of that name.
    func attribute(_ name: String, store: String) throws(StoreError) -> Attribute {
        guard let attribute = table.entity.attribute(named: name) else {
            throw StoreError(.unknownName, store: store, message: "\(table.name) has no attribute '\(name)'")
        }
        if let columns = table.managed?.ambiguous[name.lowercased()] {
            throw StoreError(
                .unsupported, store: store,
                message:
                    "\(table.name).\(name) can be any of the columns \(columns.joined(separator: ", ")), and the model "
                    + "does not say which", hint: "name the column")
        }
        return attribute
    }
}

extension [String] {
    /// The condition that these columns of a row are the key in a table of keys, which has the columns `k0`, `k1` …. The
    /// plus takes the affinity away, so that the key is looked up: a table of keys has none.
    func areKey(of keys: String) -> String {
        enumerated().map { "\(keys).k\($0.offset) = +\($0.element)" }.joined(separator: " AND ")
    }
}
