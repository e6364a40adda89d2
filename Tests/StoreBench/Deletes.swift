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

    var request: FetchRequest {
        FetchRequest(entity: "YahooGoldPricePoint", predicate: .compare("updateTime", .less, .integer(before)))
    }

    func context() throws -> StoreContext { StoreContext(try SQLiteWriter(path: store)) }
}

/// Deletes by one batch delete request; prints how many.
struct DeleteBatch: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Deletes points by a batch delete request.")

    @OptionGroup var points: OldPoints

    func run() throws {
        let result = try points.context().execute(
            BatchDeleteRequest(fetchRequest: points.request, resultType: .count))
        print(result.deletedCount)
    }
}

/// Deletes object by object, in one save; prints how many. Only IDs are fetched: objects with their values would cost
/// more.
struct DeleteClassic: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Deletes points object by object, in one save.")

    @OptionGroup var points: OldPoints

    func run() throws {
        let context = try points.context()
        for id in try context.fetchObjectIDs(points.request) { try context.delete(context.object(with: id)) }
        print(try context.save().deleted.count)
    }
}
