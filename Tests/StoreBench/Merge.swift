import ArgumentParser
import PriceObjects
import PriceStore
import SQLiteStore

/// Merges deleted IDs into a context that holds some of the objects; prints the milliseconds of the median round.
struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Merges deleted IDs into a context.")

    @Argument(help: "The store; its first points are held.")
    var store: String

    @Option(help: "How many IDs are merged.")
    var ids = 100_000

    @Option(help: "How many of their objects the context holds.")
    var held = 10_000

    @Option(help: "How often.")
    var rounds = 9

    func run() throws {
        let writer = try SQLiteWriter(path: store)
        let all = StoreFetchRequest(entity: "YahooGoldPricePoint", fetchLimit: ids)
        let deleted = try writer.fetchObjectIDs(all)
        var first = all
        first.fetchLimit = held
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<rounds {
            let context = StoreContext(writer)
            let objects = try context.fetch(first)
            times.append(
                try clock.measure {
                    try StoreContext.mergeChanges(
                        fromRemoteContextSave: ChangeSet(deleted: deleted), into: [context])
                })
            guard deleted.count == ids, objects.count == held, objects.allSatisfy(\.isDeleted) else {
                throw ArgumentParser.ValidationError(
                    "the store has too few points, or the merge did not delete the objects")
            }
        }
        let median = times.sorted()[rounds / 2]
        print(median / .milliseconds(1))
    }
}
