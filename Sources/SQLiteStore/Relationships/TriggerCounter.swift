import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that the store's own triggers delete, by temporary triggers on the tables that nothing else of the
/// delete reaches.
///
/// Rows of tables that a cascade reaches count as cascaded, however they are deleted: SQLite does not distinguish the two.
/// Rows of virtual tables are not counted, since they have no triggers.
final class TriggerCounter {
    private let tables: [String]
    private let own: Int?
    private var counts: [Int]

    private init(tables: [String], own: Int?) {
        self.tables = tables
        self.own = own
        counts = tables.map { _ in 0 }
    }

    /// Creates the temporary triggers; nil if the delete fires no trigger of the store. The objects of a Core
    /// Data store are deleted by this program's own statements, which cannot be distinguished from a trigger's.
    static func make(
        _ request: StoreFetchRequest, _ rule: BatchDeleteRequest.RelationshipRule, _ connection: SQLiteFileConnection,
        _ db: Database
    ) throws -> TriggerCounter? {
        guard let table = try connection.catalog.table(request.entity, db), table.managed == nil else { return nil }
        let reach = try Reach(of: request.entity, rule, connection, db)
        guard try reach.setsOffTriggers(of: table, connection, db) else { return nil }
        let tables = try connection.ordinaryTables(db).filter { !reach.cascading.contains($0) }
        let counter = TriggerCounter(tables: tables, own: tables.firstIndex(of: table.tableName))
        // A rollback can bring triggers back that were removed with an older counter: this function takes its place.
        try db.addFunctions(of: counter, [("retention_count_gone", 1, countGone)])
        for (index, name) in tables.enumerated() {
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER retention_gone_\(index) AFTER DELETE ON main.\(name.quotedIdentifier)
                    BEGIN SELECT retention_count_gone(\(index)); END
                    """)
        }
        return counter
    }

    /// What triggers have deleted since this was last asked, by table, without the rows that the delete named.
    func take(ownCount: Int) -> [String: Int] {
        defer { counts = tables.map { _ in 0 } }
        if let own { counts[own] -= ownCount }
        return Dictionary(uniqueKeysWithValues: zip(tables, counts).filter { $0.1 > 0 })
    }

    fileprivate func add(_ table: Int) {
        if counts.indices.contains(table) { counts[table] += 1 }
    }
}

extension Reach {
    /// Whether deletes of a table's rows fire a trigger of the store.
    func setsOffTriggers(of table: SQLiteTable, _ connection: SQLiteFileConnection, _ db: Database) throws -> Bool {
        if !table.entity.deleteTriggers.isEmpty { return true }
        for name in cascading where try connection.catalog.table(name, db)?.entity.deleteTriggers.isEmpty == false {
            return true
        }
        for name in clearing.keys where try connection.catalog.table(name, db)?.entity.updateTriggers.isEmpty == false {
            return true
        }
        return false
    }
}

extension SQLiteFileConnection {
    /// The names of the store's ordinary tables.
    func ordinaryTables(_ db: Database) throws -> [String] {
        // schema, name, type, ncol, wr, strict
        try Row.fetchAll(db, sql: "PRAGMA main.table_list").compactMap { row -> String? in
            let (schema, name, type): (String, String, String) = (row[0], row[1], row[2])
            return schema == "main" && type == "table" && !name.folded.hasPrefix("sqlite_") ? name : nil
        }
    }
}

private func countGone(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, TriggerCounter.self)?.add(Int(sqlite3_value_int64(values?[0])))
}
