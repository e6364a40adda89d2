import Foundation
import SQLiteStore

/// The ticks of a program: it writes them as they come, reads the newest, and deletes the old ones every night.
struct TickStore: Sendable {
    private let store: StoreActor

    /// Opens a store.
    init(opening open: @escaping @Sendable () throws -> SQLiteWriter) async throws {
        store = try await StoreActor {
            let writer = try open()
            try writer.createEntity(for: Tick.self)
            try writer.createIndex(on: Tick.entity, attributes: ["time"])
            try writer.keepHistory()
            return writer
        }
    }

    /// Writes ticks. A tick of the same metal and instant replaces the old one.
    func add(_ ticks: [Tick]) async throws -> Int {
        try await store.perform { context in
            try context.executeAndMergeChanges(using: BatchInsertRequest(ticks, onConflict: .replace)).insertedCount
        }
    }

    /// The newest ticks of a metal, the newest first.
    func newest(_ metal: Metal, count: Int) async throws -> [Tick] {
        try await store.perform { context in
            try context.fetch(
                Tick.self, predicate: Tick.metal == metal && Tick.dollars != nil,
                sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: count)
        }
    }

    /// The number of ticks and the highest price of each metal since a date.
    func figures(since date: Date) async throws -> [Metal: (count: Int, highest: Double)] {
        try await store.perform { context in
            let rows = try context.figures(
                [.count, .max("dollars")], of: StoreFetchRequest(Tick.self, predicate: Tick.time >= date),
                groupedBy: ["metal"])
            var found: [Metal: (count: Int, highest: Double)] = [:]
            for row in rows {
                guard let metal = Metal(storeValue: row[0]), let count = Int(storeValue: row[1]) else { continue }
                found[metal] = (count, Double(storeValue: row[2]) ?? 0)
            }
            return found
        }
    }

    /// The last tick of each minute, by SQL.
    func minutes(of metal: Metal) async throws -> [Tick] {
        try await store.perform { context in
            try context.query(
                Tick.self,
                """
                SELECT metal, max(time), dollars, fee, feed FROM Tick WHERE metal = ?
                GROUP BY time / 60000 ORDER BY time
                """, [metal])
        }
    }

    /// Deletes ticks before a date, in short transactions. If the task is cancelled, it ends after a whole one.
    func deleteTicks(
        before date: Date, inBatchesOf size: Int = 1000, progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> Int {
        try await store.perform { context in
            if context.hasChanges { try context.save() }
            let old = StoreFetchRequest(Tick.self, predicate: Tick.time < date)
            let result = try context.execute(BatchDeleteRequest(fetchRequest: old), inBatchesOf: size) { soFar in
                progress(soFar.deletedCount)
            }
            return result.deletedCount
        }
    }

    /// The rows that changed since a place in the history, and the place after them.
    func changes(after place: HistoryToken?) async throws -> (changes: [HistoryChange], place: HistoryToken?) {
        try await store.perform { context in
            let history = try context.history(after: place)
            return (history.flatMap(\.changes), history.last?.token ?? place)
        }
    }

    /// What anybody changes from now on.
    func notifications() async throws -> AsyncStream<ObjectsDidChange> {
        try await store.changes(lookingEvery: .milliseconds(20))
    }
}
