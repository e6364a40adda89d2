import GRDB
import PriceStore

/// The temporary triggers that write every change of a row by a connection into the history, including changes by foreign keys and the
/// store's triggers.
///
/// They belong to the connection and are not part of the store's schema. The history's own tables, virtual tables and tables whose columns
/// hide the rowid have none.
enum HistoryTriggers {
    /// Creates the triggers for all tables.
    ///
    /// - Parameter catalog: an empty catalog.
    static func create(_ catalog: SQLiteCatalog, _ db: Database) throws {
        var catalog = catalog
        let names = try catalog.schema(db).ordinaryTables
        try db.execute(sql: begin)
        for (index, name) in names.enumerated() where !HistoryTables.names.contains(name) {
            guard let table = try catalog.table(name, db), !table.keySQL.isEmpty else { continue }
            let entity = "'" + table.name.replacing("'", with: "''") + "'"
            let (old, new) = (key(of: table, in: "OLD"), key(of: table, in: "NEW"))
            let trigger = "CREATE TEMP TRIGGER retention_history_\(index)"
            try db.execute(
                sql: """
                    \(trigger)_insert AFTER INSERT ON \(table.sql)
                    BEGIN \(note("insert", entity, new)); END;
                    \(trigger)_delete AFTER DELETE ON \(table.sql)
                    BEGIN \(note("delete", entity, old)); END;
                    \(trigger)_update AFTER UPDATE ON \(table.sql) WHEN \(isSameRow(table))
                    BEGIN \(note("update", entity, new)); END;
                    \(trigger)_move AFTER UPDATE ON \(table.sql) WHEN NOT (\(isSameRow(table)))
                    BEGIN \(note("delete", entity, old)); \(note("insert", entity, new)); END;
                    """)
        }
    }

    static func remove(_ db: Database) throws { try db.dropTriggers("retention_history_") }

    /// Inserts the transaction before its first change, and again after a rollback to a savepoint. It is a separate trigger because an
    /// insert into a table with AUTOINCREMENT is slow even if it adds nothing.
    ///
    /// SQLite's clock counts milliseconds.
    private static let begin = """
        CREATE TEMP TRIGGER retention_history_begin BEFORE INSERT ON main.\(HistoryTables.changes)
        WHEN NOT EXISTS (SELECT 1 FROM \(HistoryTables.transactions) WHERE number = NEW.number)
        BEGIN
            INSERT INTO \(HistoryTables.transactions) (number, at, author)
            VALUES (
                NEW.number,
                coalesce(
                    retention_history_at(), strftime('%s', 'now') * 1000000 + substr(strftime('%f', 'now'), 4) * 1000),
                retention_history_author());
        END
        """

    // A trigger cannot name the schema of a table that it writes to. No temporary table has these names.
    private static func note(_ kind: String, _ entity: String, _ key: String) -> String {
        "INSERT INTO \(HistoryTables.changes) (number, place, entity, kind, key) "
            + "VALUES (retention_history_number(), retention_history_place(), \(entity), '\(kind)', \(key))"
    }

    private static func key(of table: SQLiteTable, in row: String) -> String {
        let columns = table.keySQL.map { "\(row).\($0)" }.list
        return table.isWithoutRowID ? "retention_history_key(\(columns))" : columns
    }

    /// The condition that an update keeps a row's key, byte by byte. A collation may treat different keys as equal.
    private static func isSameRow(_ table: SQLiteTable) -> String {
        table.keySQL.map {
            "OLD.\($0) COLLATE BINARY IS NEW.\($0) AND typeof(OLD.\($0)) = typeof(NEW.\($0))"
        }.joined(separator: " AND ")
    }
}
