import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that the store's triggers write, with temporary triggers on the tables that they may write. What the program writes there
/// itself is subtracted.
///
/// Temporary triggers belong to this connection and are not part of the store's schema. Rows of virtual tables, which have no triggers, and
/// rows that REPLACE deletes are not counted.
final class TriggerCounter {
    /// What was written since the owner last took the counts, by the number of the table. The owner restores it after a rollback.
    var written: [TriggeredRows]
    private let tables: [String]
    private let names: [String]

    private static let function = "retention_count_written"
    private static let events = ["INSERT", "UPDATE", "DELETE"]

    /// Creates the triggers. They replace those of another counter, also ones that a rollback has restored.
    init(
        on tables: [String], _ connection: SQLiteFile, _ db: Database
    ) throws {
        try db.dropTriggers("retention_count_")
        self.tables = tables
        written = tables.map { _ in TriggeredRows() }
        names = tables.flatMap { _ in Self.events.map { _ in connection.temporaryName("count") } }
        try db.addFunctions(of: self, [(Self.function, 2, countWritten)])
        for (place, name) in names.enumerated() {
            let (table, event) = (place / Self.events.count, place % Self.events.count)
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

    var counts: [String: TriggeredRows] {
        Dictionary(uniqueKeysWithValues: zip(tables, written).filter { !$0.1.isEmpty })
    }

    func forget() { written = tables.map { _ in TriggeredRows() } }

    fileprivate func add(_ table: Int, event: Int) {
        guard written.indices.contains(table) else { return }
        switch event {
        case 0: written[table].insertedCount += 1
        case 1: written[table].changedCount += 1
        default: written[table].deletedCount += 1
        }
    }
}

private func countWritten(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, TriggerCounter.self)?.add(
        Int(sqlite3_value_int64(values?[0])), event: Int(sqlite3_value_int64(values?[1])))
}

extension SQLiteFile {
    /// The counter of what triggers delete in a batch, made by the first batch of its delete, or nil if the delete fires no trigger that
    /// deletes rows. Objects of a Core Data store are deleted by statements of this program, which cannot be told from a trigger's.
    func counter(of work: DeleteWork, _ db: Database) throws -> TriggerCounter? {
        let whole = work.request.withoutPlace
        if work.continuation != nil, let known = temporaries.counter, known.request == whole { return known.triggers }
        try removeCounter(db)
        guard let table = try catalog.table(whole.fetchRequest.entity, db), table.managed == nil,
            let effects = try triggerEffects(of: whole, writing: work.rollup?.target, db), !effects.deleted.isEmpty
        else { return nil }
        let tables = try catalog.schema(db).ordinaryTables.filter { effects.deleted.contains($0.folded) }
        let counter = try TriggerCounter(on: tables, self, db)
        temporaries.counter = (whole, counter)
        return counter
    }

    func removeCounter(_ db: Database) throws {
        try temporaries.counter?.triggers.remove(db)
        temporaries.counter = nil
    }
}
