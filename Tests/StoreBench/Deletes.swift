import ArgumentParser
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore

/// The points that a delete takes, in a store of `goldprices`.
struct OldPoints: ParsableArguments {
    @Argument(help: "The store.")
    var store: String

    @Argument(help: "Points before this time go, in seconds since 1970.")
    var before: Int64

    var request: StoreFetchRequest {
        .init(entity: "YahooGoldPricePoint", predicate: Attribute("updateTime") < before)
    }

    func context() throws -> StoreContext { StoreContext(try SQLiteWriter(path: store)) }

    /// Opens the store without the library; commits are not synced, as the job's are not.
    func queue() throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: store)
        try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        return queue
    }
}

/// Deletes by one batch delete request.
struct DeleteBatch: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Deletes points by a batch delete request.")

    @OptionGroup var points: OldPoints

    func run() throws {
        try points.context().execute(BatchDeleteRequest(fetchRequest: points.request, resultType: .count))
    }
}

/// Deletes by one batch delete request that is merged into the context, which holds only points that stay.
struct DeleteMerged: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Deletes points and merges the deletes into a context.")

    @OptionGroup var points: OldPoints

    func run() throws {
        let context = try points.context()
        let held = try context.fetch(
            .init(entity: "YahooGoldPricePoint", predicate: Attribute("updateTime") >= points.before, fetchLimit: 100))
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: points.request))
        guard held.allSatisfy({ !$0.isDeleted }) else {
            throw ArgumentParser.ValidationError("a point that stays was deleted in memory")
        }
    }
}

/// Deletes object by object, in one save. Only IDs are fetched: objects with their values would cost more.
struct DeleteClassic: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Deletes points object by object, in one save.")

    @OptionGroup var points: OldPoints

    func run() throws {
        let context = try points.context()
        for id in try context.fetchObjectIDs(points.request) { try context.delete(context.object(with: id)) }
        try context.save()
    }
}

/// Selects keys and deletes their rows, each time in one transaction, until none is left. This is how Home Assistant's
/// recorder clears its tables, with as many bound values.
struct DeleteInChunks: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Selects keys and deletes their rows, chunk by chunk.")

    @OptionGroup var points: OldPoints

    func run() throws {
        let queue = try points.queue()
        while try queue.write({ db in try deleteChunk(db) }) {}
        try queue.close()
    }

    /// Whether there was something to delete.
    private func deleteChunk(_ db: Database) throws -> Bool {
        let keys = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM YahooGoldPricePoint WHERE updateTime < ? LIMIT 4000"),
            arguments: [points.before])
        guard !keys.isEmpty else { return false }
        let list = Array(repeating: "?", count: keys.count).joined(separator: ", ")
        try db.cachedStatement(sql: "DELETE FROM YahooGoldPricePoint WHERE id IN (\(list))")
            .execute(arguments: StatementArguments(keys))
        return true
    }
}

/// Loads every expired row as an object, then deletes one after the other, in one transaction. This is what a program does
/// that knows its rows as objects only.
struct DeleteOneByOne: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Loads rows as objects and deletes them one by one.")

    @OptionGroup var points: OldPoints

    /// A row in memory.
    private final class LoadedRow {
        let key: Int64
        let values: [DatabaseValue]

        init(_ row: Row) {
            key = row["id"]
            values = Array(row.databaseValues)
        }
    }

    func run() throws {
        let queue = try points.queue()
        try queue.write { db in
            var loaded: [LoadedRow] = []
            let cursor = try Row.fetchCursor(
                db, sql: "SELECT * FROM YahooGoldPricePoint WHERE updateTime < ?", arguments: [points.before])
            while let row = try cursor.next() { loaded.append(LoadedRow(row)) }
            let delete = try db.makeStatement(sql: "DELETE FROM YahooGoldPricePoint WHERE id = ?")
            for row in loaded { try delete.execute(arguments: [row.key]) }
        }
        try queue.close()
    }
}
