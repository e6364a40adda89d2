import ArgumentParser
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
        .init(entity: TypedPoint.entity, predicate: Attribute("updateTime") < before)
    }

    func context() throws -> StoreContext { StoreContext(try SQLiteWriter(path: store)) }
}

/// Deletes by one batch delete request.
struct DeleteBatch: ParsableCommand {
    @OptionGroup var points: OldPoints

    func run() throws {
        try points.context().execute(BatchDeleteRequest(fetchRequest: points.request, resultType: .count))
    }
}

/// Deletes by one batch delete request that is merged into the context, which holds only points that stay.
struct DeleteMerged: ParsableCommand {
    @OptionGroup var points: OldPoints

    func run() throws {
        let context = try points.context()
        let held = try context.fetch(
            .init(entity: TypedPoint.entity, predicate: Attribute("updateTime") >= points.before, fetchLimit: 100))
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: points.request))
        guard held.allSatisfy({ !$0.isDeleted }) else {
            throw ArgumentParser.ValidationError("a point that stays was deleted in memory")
        }
    }
}

/// Deletes object by object, in one save. Only IDs are fetched: objects with their values would cost more.
struct DeleteClassic: ParsableCommand {
    @OptionGroup var points: OldPoints

    func run() throws {
        let context = try points.context()
        for id in try context.fetchObjectIDs(points.request) { try context.delete(context.object(with: id)) }
        try context.save()
    }
}
