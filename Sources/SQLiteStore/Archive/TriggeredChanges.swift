import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that triggers of the store write during a restoration. Temporary triggers on all ordinary tables that are not restored
/// do the counting. They do not see rows of virtual tables, nor rows that REPLACE deletes.
final class TriggeredChanges {
    /// The number of writes, by table. The owner restores the counts after a rollback.
    var counts: [String: TriggeredRows] = [:]
    private let tables: [String]
    private let names: [String]

    private static let function = "retention_undo_written"
    private static let events = ["INSERT", "UPDATE", "DELETE"]

    /// Creates the triggers.
    init(besides restored: [String], _ connection: SQLiteFileConnection, _ db: Database) throws {
        // What a history records is not an effect of the store's triggers.
        let own = Set(HistoryTables.names + restored.map { $0.folded })
        tables = try connection.catalog.schema(db).ordinaryTables.filter { !own.contains($0.folded) }
        names = (tables.indices).flatMap { _ in Self.events.map { _ in connection.temporaryName("written") } }
        try db.addFunctions(of: self, [(Self.function, 2, countWritten)])
        for (index, name) in names.enumerated() {
            let (table, event) = (index / Self.events.count, index % Self.events.count)
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER \(name) AFTER \(Self.events[event]) ON main.\(tables[table].quotedIdentifier)
                    BEGIN SELECT \(Self.function)(\(table), \(event)); END
                    """)
        }
    }

    func remove(_ db: Database) throws {
        for name in names { try db.execute(sql: "DROP TRIGGER IF EXISTS temp.\(name)") }
    }

    fileprivate func add(_ table: Int, event: Int) {
        guard tables.indices.contains(table) else { return }
        counts[tables[table], default: TriggeredRows()].add(
            TriggeredRows(
                insertedCount: event == 0 ? 1 : 0, changedCount: event == 1 ? 1 : 0, deletedCount: event == 2 ? 1 : 0))
    }
}

private func countWritten(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, TriggeredChanges.self)?.add(
        Int(sqlite3_value_int64(values?[0])), event: Int(sqlite3_value_int64(values?[1])))
}
