import PriceStore

/// Where a statement reads rows and how it names their columns.
///
/// The rows have an alias, so that columns of a table and columns of this program cannot hide each other.
struct RowScope {
    /// The alias of the rows in every statement.
    static let alias = "retention_row"

    let table: SQLiteTable

    init(_ table: SQLiteTable) { self.table = table }

    /// The same rows without those of sub-entities. A plain table has none.
    var withoutSubentities: RowScope {
        var table = table
        table.managed = table.managed?.withoutSubentities
        return RowScope(table)
    }

    /// The rows for a FROM clause, read from the table itself in its order.
    var fromTable: String { from(table.tableHint) }

    /// The rows for a FROM clause, with a hint for the index.
    func from(_ hint: String = "") -> String {
        guard let membership = table.managed?.membership("stored") else {
            return "\(table.sql) AS \(Self.alias)\(hint)"
        }
        // SQLite flattens the inner query, so indexes serve as for the table.
        return "(SELECT * FROM \(table.sql) AS stored\(hint) WHERE \(membership)) AS \(Self.alias)"
    }

    /// The table for a DELETE or UPDATE, with a hint for the index; see ``membership``.
    func target(_ hint: String = "") -> String { "\(table.sql) AS \(Self.alias)\(hint)" }

    /// The table for a DELETE or UPDATE that reads the table itself in its order.
    var targetTable: String { target(table.tableHint) }

    /// The condition of a DELETE or UPDATE that a row belongs to the entity.
    var membership: SQLFragment { table.managed?.membership(Self.alias).map { SQLFragment($0) } ?? .always }

    func column(_ attribute: Attribute) -> String { "\(Self.alias).\(table.columnSQL(attribute))" }

    func column(_ name: String, store: String) throws(StoreError) -> String {
        column(try attribute(name, store: store))
    }

    /// The SQL columns that identify rows: the key and, for a Core Data entity with sub-entities, the entity's number.
    var identity: [String] { key + (table.managed?.subentities.isEmpty == false ? ["\(Self.alias).Z_ENT"] : []) }

    var key: [String] { table.keySQL.map { "\(Self.alias).\($0)" } }

    /// The names of these columns in a table of keys.
    var keyNames: [String] { table.keySQL.indices.map { "k\($0)" } }

    /// The condition that a row's key is not in a temporary table of keys, or not where these, as `own`, meet a condition.
    func isNotIn(_ keys: String, _ condition: String = "1") -> SQLFragment {
        "NOT EXISTS (SELECT 1 FROM temp.\(keys) AS own WHERE \(key.areKey(of: "own")) AND \(condition))"
    }

    /// The rows after one key and up to another.
    func keys(after: [StoreValue]?, through: [StoreValue]?) -> SQLFragment {
        .all([after.map { compareKey(">", $0) } ?? .always, through.map { compareKey("<=", $0) } ?? .always])
    }

    func compareKey(_ sign: String, _ other: [StoreValue]) -> SQLFragment {
        SQLFragment("\(key.operand) \(sign) \(other.map { _ in "?" }.operand)", other)
    }

    /// The attributes of new values. Two names that differ only in case are refused.
    func attributes(_ names: some Sequence<String>, store: String) throws(StoreError) -> [Attribute] {
        var (found, known): ([Attribute], Set<String>) = ([], [])
        for name in names {
            let attribute = try attribute(name, store: store)
            guard known.insert(attribute.name).inserted else {
                throw StoreError(.unsupported, store: store, message: "\(table.name).\(attribute.name) is named twice")
            }
            found.append(attribute)
        }
        return found
    }

    func attribute(_ name: String, store: String) throws(StoreError) -> Attribute {
        guard let attribute = table.entity.attribute(named: name) else {
            throw StoreError(.unknownName, store: store, message: "\(table.name) has no attribute '\(name)'")
        }
        if let columns = table.managed?.ambiguous[name.lowercased()] {
            throw StoreError(
                .unsupported, store: store,
                message:
                    "\(table.name).\(name) can be any of the columns \(columns.list), and the model "
                    + "does not say which", hint: "name the column")
        }
        return attribute
    }
}

extension [String] {
    /// The condition that these columns of a row match the key in a table of keys, which has the columns `k0`, `k1` …. The plus removes the
    /// affinity, so that the key table, which has none, can be searched.
    func areKey(of keys: String) -> String {
        enumerated().map { "\(keys).k\($0.offset) = +\($0.element)" }.joined(separator: " AND ")
    }

    /// The same condition for a search of the rows by the keys of the table. Here the plus removes the affinity of the table's columns, so
    /// that rows are searched and not compared one by one.
    func areFound(by keys: String) -> String {
        enumerated().map { "\($0.element) = +\(keys).k\($0.offset)" }.joined(separator: " AND ")
    }

    /// The columns or values as one operand of a comparison.
    var operand: String { count == 1 ? self[0] : "(" + joined(separator: ", ") + ")" }
}
