import GRDB

/// One thing in a schema. Where its pages are does not matter.
struct SchemaEntry: Hashable {
    var type: String
    var name: String
    var table: String
    var sql: String?
    /// Whether it has pages.
    private var hasPages: Bool

    /// SQLite's own table of the last rowids of tables with AUTOINCREMENT.
    static let sequences = "sqlite_sequence"

    /// Whether it is a table whose rows are in the file: no view, no virtual table.
    var isStoredTable: Bool { type == "table" && hasPages }
    /// Whether it is nothing but its text.
    var isText: Bool { !hasPages && type != "index" }

    /// Everything in the main schema of a connection, in its order.
    static func all(_ db: Database) throws -> [SchemaEntry] {
        try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_schema ORDER BY rowid")
            .map { row in
                SchemaEntry(
                    type: row["type"], name: row["name"], table: row["tbl_name"], sql: row["sql"],
                    hasPages: (row["rootpage"] as Int? ?? 0) > 0)
            }
    }

    /// The statement that made a table, letters of its name without case; empty: there is none.
    static func definition(of table: String, _ db: Database) throws -> String {
        try String.fetchOne(
            db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)",
            arguments: [table]) ?? ""
    }
}
