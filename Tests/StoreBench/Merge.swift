import ArgumentParser
import PriceObjects
import PriceStore
import SQLiteStore

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
