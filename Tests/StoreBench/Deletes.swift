import ArgumentParser
import PriceObjects
import PriceStore
import SQLiteStore

/// Deletes points in one of several ways.
struct Delete: ParsableCommand {
    enum Way: String, ExpressibleByArgument {
        /// By one batch delete request.
        case batch
        /// By one that is merged into the context, which holds only points that stay.
        case merged
        /// Object by object, in one save. Only IDs are fetched: objects with their values would cost more.
        case classic
    }

    @Argument(help: "The way: batch, merged or classic.")
    var way: Way

    @Argument(help: "The store, made with `goldprices`.")
    var store: String

    @Argument(help: "Points before this time go, in seconds since 1970.")
    var before: Int64

    func run() throws {
        let context = StoreContext(try SQLiteWriter(path: store))
        let time = Attribute("updateTime")
        let points = StoreFetchRequest(entity: TypedPoint.entity, predicate: time < before)
        switch way {
        case .batch: try context.execute(BatchDeleteRequest(fetchRequest: points, resultType: .count))
        case .merged:
            let held = try context.fetch(
                .init(entity: TypedPoint.entity, predicate: time >= before, fetchLimit: 100))
            try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: points))
            guard held.allSatisfy({ !$0.isDeleted }) else {
                throw ArgumentParser.ValidationError("a point that stays was deleted in memory")
            }
        case .classic:
            for id in try context.fetchObjectIDs(points) { try context.delete(context.object(with: id)) }
            try context.save()
        }
    }
}

/// Merges deleted IDs into a context that holds some of the objects; prints the milliseconds of the median round.
struct Merge: ParsableCommand {
    @Argument(help: "The store; its first points are held.")
    var store: String

    @Option(help: "How many IDs are merged.")
    var ids: Int

    @Option(help: "How many of their objects the context holds.")
    var held: Int

    func run() throws {
        let writer = try SQLiteWriter(path: store)
        let all = StoreFetchRequest(entity: TypedPoint.entity, fetchLimit: ids)
        let deleted = try writer.fetchObjectIDs(all)
        var first = all
        first.fetchLimit = held
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<9 {
            let context = StoreContext(writer)
            let objects = try context.fetch(first)
            let changes = ChangeSet(deleted: deleted)
            times.append(
                try clock.measure { try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [context]) })
            guard deleted.count == ids, objects.count == held, objects.allSatisfy(\.isDeleted) else {
                throw ArgumentParser.ValidationError(
                    "the store has too few points, or the merge did not delete the objects")
            }
        }
        print(times.sorted()[times.count / 2] / .milliseconds(1))
    }
}
