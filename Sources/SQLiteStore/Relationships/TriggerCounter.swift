import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that the store's triggers delete, with temporary triggers on the tables that they may delete from. These are created
/// once for all batches of a delete, and what the delete's own statements delete is subtracted.
///
/// Temporary triggers belong to this connection and are not part of the store's schema. Rows of virtual tables, which have no triggers, are
/// not counted.
final class TriggerCounter {
    /// The delete without what differs between batches.
    private let request: BatchDeleteRequest
    private let tables: [String]
    private var counts: [Int]

    /// The counter of a batch's delete, created by the first batch, or nil if the delete fires no trigger that deletes rows. Objects of a
    /// Core Data store are deleted by statements of this program, which cannot be told from a trigger's.
    static func of(_ work: DeleteWork, _ connection: SQLiteFileConnection, _ db: Database) throws -> TriggerCounter? {
        let whole = work.request.withoutPlace
        if work.continuation != nil, let known = connection.temporaries.counter, known.request == whole { return known }
        try remove(connection, db)
        guard let table = try connection.catalog.table(whole.fetchRequest.entity, db), table.managed == nil,
            let effects = try connection.triggerEffects(of: whole, writing: work.rollup?.target, db),
            !effects.deleted.isEmpty
        else { return nil }
        let tables = try connection.catalog.schema(db).ordinaryTables.filter { effects.deleted.contains($0.folded) }
        let counter = TriggerCounter(whole, tables: tables)
        // A rollback can restore triggers that were removed with an older counter. This function replaces the older one.
        try db.addFunctions(of: counter, [("retention_count_gone", 1, countGone)])
        for (index, name) in counter.tables.enumerated() {
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER retention_gone_\(index) AFTER DELETE ON main.\(name.quotedIdentifier)
                    BEGIN SELECT retention_count_gone(\(index)); END
                    """)
        }
        connection.temporaries.counter = counter
        return counter
    }

    private init(_ request: BatchDeleteRequest, tables: [String]) {
        (self.request, self.tables) = (request, tables)
        counts = tables.map { _ in 0 }
    }

    /// The rows that triggers deleted since the last call, by table.
    ///
    /// - Parameter own: the rows that the delete's own statements deleted, by table.
    func take(own: [String: Int]) -> [String: Int] {
        defer { forget() }
        let others = zip(tables, counts).map { ($0, $1 - (own[$0] ?? 0)) }
        return Dictionary(uniqueKeysWithValues: others.filter { $0.1 > 0 })
    }

    /// Forgets what was counted since the last batch.
    func forget() { counts = tables.map { _ in 0 } }

    /// Ends the counting of a delete and removes its triggers, including those that a rollback has restored.
    static func remove(_ connection: SQLiteFileConnection, _ db: Database) throws {
        connection.temporaries.counter = nil
        let names = try String.fetchAll(
            db.cachedStatement(
                sql:
                    "SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND name LIKE 'retention\\_gone\\_%' ESCAPE '\\'"
            ))
        for name in names { try db.execute(sql: "DROP TRIGGER temp.\(name.quotedIdentifier)") }
    }

    fileprivate func add(_ table: Int) {
        if counts.indices.contains(table) { counts[table] += 1 }
    }
}

private func countGone(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, TriggerCounter.self)?.add(Int(sqlite3_value_int64(values?[0])))
}
