import GRDB
import GRDBSQLite

/// Rows that triggers of the store insert into tables of an archive while rows of other tables are restored: they can be kept out,
/// because their place is that of archived rows.
///
/// Temporary triggers do that. They belong to this connection alone.
final class TriggerInserts {
    /// The table whose rows are being inserted.
    var restoring = -1
    /// Whether triggers insert nothing into the other tables.
    var areKeptOut = false
    /// How many rows triggers have inserted into the other tables.
    var count = 0
    private var names: [String] = []

    private static let function = "retention_undo_insert"

    private init() {}

    /// Puts the triggers in place; nil: no trigger of the store can do that.
    static func watch(_ archive: AttachedArchive, _ connection: SQLiteFileConnection, _ db: Database) throws
        -> TriggerInserts?
    {
        let tables = archive.tables.filter { $0.kind == .rows }
        guard tables.count > 1, tables.contains(where: \.hasInsertTriggers) else { return nil }
        let inserts = TriggerInserts()
        try db.addFunctions(of: inserts, [(function, 2, insert)])
        for table in tables {
            for (event, isBefore) in [("BEFORE", 1), ("AFTER", 0)] {
                let name = connection.temporaryName("insert")
                inserts.names.append(name)
                try db.execute(
                    sql: """
                        CREATE TEMP TRIGGER \(name) \(event) INSERT ON \(table.target)
                        WHEN \(function)(\(table.number), \(isBefore)) BEGIN SELECT RAISE(IGNORE); END
                        """)
            }
        }
        return inserts
    }

    func remove(_ db: Database) throws {
        for name in names { try db.execute(sql: "DROP TRIGGER IF EXISTS temp.\(name)") }
    }

    /// Whether a row that is inserted into a table is kept out.
    fileprivate func takes(_ table: Int, isBefore: Bool) -> Bool {
        guard table != restoring else { return false }
        if !isBefore { count += 1 }
        return isBefore && areKeptOut
    }
}

private func insert(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    let isKeptOut = functionObject(context, TriggerInserts.self)?.takes(
        Int(sqlite3_value_int64(values?[0])), isBefore: sqlite3_value_int64(values?[1]) == 1)
    sqlite3_result_int64(context, isKeptOut == true ? 1 : 0)
}
