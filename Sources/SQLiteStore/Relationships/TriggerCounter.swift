import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that the store's own triggers delete, by temporary triggers on the tables that nothing else of the
/// delete reaches.
///
/// Rows of tables that a cascade reaches count as cascaded, whoever deletes them: SQLite does not tell the two apart.
/// Rows of virtual tables are not counted, since they have no triggers.
final class TriggerCounter {
    /// The delete that is counted, without its limit and place.
    let request: FetchRequest
    let rule: BatchDeleteRequest.RelationshipRule
    private let tables: [String]
    private let own: Int?
    private var counts: [Int]

    private init(_ request: FetchRequest, _ rule: BatchDeleteRequest.RelationshipRule, tables: [String], own: Int?) {
        self.request = request
        self.rule = rule
        self.tables = tables
        self.own = own
        counts = tables.map { _ in 0 }
    }

    /// Puts the temporary triggers in place; nil where the delete sets no trigger of the store off. The objects of a Core
    /// Data store are deleted by this program's own statements, which cannot be told from a trigger's.
    static func make(
        _ request: FetchRequest, _ rule: BatchDeleteRequest.RelationshipRule, _ connection: SQLiteConnection,
        _ db: Database
    ) throws -> TriggerCounter? {
        guard let table = try connection.catalog.table(request.entity, db), table.managed == nil else { return nil }
        let reach = try Reach(of: request.entity, rule, connection, db)
        var setOff = table.entity.deleteTriggers
        for name in reach.cascading { setOff += try connection.catalog.table(name, db)?.entity.deleteTriggers ?? [] }
        for name in reach.nullifying.keys {
            setOff += try connection.catalog.table(name, db)?.entity.updateTriggers.map(\.name) ?? []
        }
        guard !setOff.isEmpty else { return nil }
        // schema, name, type, ncol, wr, strict
        let tables = try Row.fetchAll(db, sql: "PRAGMA main.table_list").compactMap { row -> String? in
            let (schema, name, type): (String, String, String) = (row[0], row[1], row[2])
            let isCounted = schema == "main" && type == "table" && !name.lowercased().hasPrefix("sqlite_")
            return isCounted && !reach.cascading.contains(name) ? name : nil
        }
        let counter = TriggerCounter(request, rule, tables: tables, own: tables.firstIndex(of: table.tableName))
        try counter.addFunction(db)
        try remove(db)
        for (index, name) in tables.enumerated() {
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER retention_gone_\(index) AFTER DELETE ON main.\(name.quotedIdentifier)
                    BEGIN SELECT retention_count_gone(\(index)); END
                    """)
        }
        return counter
    }

    /// Removes the triggers of a counter, also of one that a rollback has brought back.
    static func remove(_ db: Database) throws {
        let names = try String.fetchAll(
            db,
            sql:
                "SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND name LIKE 'retention\\_gone\\_%' ESCAPE '\\'"
        )
        for name in names { try db.execute(sql: "DROP TRIGGER temp.\(name.quotedIdentifier)") }
    }

    /// What triggers have deleted since this was last asked, by table, without the rows that the delete named.
    func take(ownCount: Int) -> [String: Int] {
        defer { forget() }
        if let own { counts[own] -= ownCount }
        return Dictionary(uniqueKeysWithValues: zip(tables, counts).filter { $0.1 > 0 })
    }

    /// Forgets what was counted in a transaction that was undone.
    func forget() { counts = tables.map { _ in 0 } }

    private func addFunction(_ db: Database) throws {
        // The function keeps this object: a rollback can bring triggers back that were removed with an older counter.
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, "retention_count_gone", 1, SQLITE_UTF8, Unmanaged.passRetained(self).toOpaque(),
            countGone, nil, nil,
            { context in
                if let context { Unmanaged<TriggerCounter>.fromOpaque(context).release() }
            })
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    fileprivate func add(_ table: Int) {
        if counts.indices.contains(table) { counts[table] += 1 }
    }
}

private func countGone(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let counter = sqlite3_user_data(context) else { return }
    Unmanaged<TriggerCounter>.fromOpaque(counter).takeUnretainedValue().add(Int(sqlite3_value_int64(values?[0])))
}
