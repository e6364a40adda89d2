import GRDB

/// An entry of the schema, without the place of its pages.
struct SchemaEntry: Hashable {
    var type: String
    var name: String
    var table: String
    /// The statement that created it; empty: SQLite made the index for a constraint.
    var sql: String
    private var hasPages: Bool

    /// SQLite's own table of the last rowids of tables with AUTOINCREMENT.
    static let sequences = "sqlite_sequence"

    /// Whether it is a table with rows in the file, not a view or virtual table.
    var isStoredTable: Bool { type == "table" && hasPages }
    /// Whether it consists only of its text.
    var isText: Bool { !hasPages && type != "index" }

    /// All entries of a connection's main schema, in its order.
    static func all(_ db: Database) throws -> [SchemaEntry] {
        try Row.fetchAll(
            db,
            sql:
                """
                SELECT type, name, tbl_name, coalesce(sql, '') AS sql, coalesce(rootpage, 0) > 0 AS has_pages
                FROM main.sqlite_schema ORDER BY rowid
                """
        )
        .map { row in
            SchemaEntry(
                type: row["type"], name: row["name"], table: row["tbl_name"], sql: row["sql"],
                hasPages: row["has_pages"])
        }
    }
}
