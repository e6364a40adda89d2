import Foundation
import PriceObjects
import PriceStore
import Testing

/// The sample of the article AgainstCoreData, and what its tables say that no other test shows.
struct AgainstCoreDataTests {
    let store: ContextStore
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        context = try store.context()
    }

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() throws {
        try store.change("INSERT INTO price VALUES (1, 'gold', 1), (2000000000, 'gold', 2)")
        let viewContext = try store.context()
        let shown = try viewContext.all("price")

        let oldPrices = StoreFetchRequest(
            entity: "price", predicate: Attribute("time", .unixSeconds) < Date() - 30 * 86_400)
        let request = BatchDeleteRequest(fetchRequest: oldPrices)
        try context.executeAndMergeChanges(using: request, into: [viewContext])
        #expect(shown.map(\.isDeleted) == [true, false])
    }

    @Test func oldPricesGoAndBothContextsKnow() throws {
        try store.change("INSERT INTO price VALUES (1, 'gold', 1), (2, 'gold', 2)")
        let viewContext = try store.context()
        let (mine, shown) = (try context.all("price"), try viewContext.all("price"))
        let oldPrices = StoreFetchRequest(entity: "price", predicate: Attribute("time") < 2)
        let request = BatchDeleteRequest(fetchRequest: oldPrices)
        try context.executeAndMergeChanges(using: request, into: [viewContext])
        #expect(mine.map(\.isDeleted) == [true, false])
        #expect(shown.map(\.isDeleted) == [true, false])
    }

    @Test func aFetchDoesNotSeeUnsavedChanges() throws {
        try store.addItems(2)
        let done = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        try context.item(1).setValue(true, for: "done")
        #expect(try context.fetch(done).isEmpty)
        try context.save()
        #expect(try context.fetch(done).count == 1)
    }

    @Test func aRelationshipThatForbidsHindersOnlyWhereRowsAreInTheWay() throws {
        try store.change("INSERT INTO shop VALUES (1, 'a'), (2, 'b'); INSERT INTO debt VALUES (1, 2)")
        func delete(_ key: Int64) throws -> Int {
            let shop = StoreFetchRequest(entity: "shop", predicate: Attribute("id") == key)
            return try context.execute(BatchDeleteRequest(fetchRequest: shop, resultType: .count)).deletedCount
        }
        #expect(try delete(1) == 1)
        #expect { try delete(2) } throws: { ($0 as? StoreError)?.kind == .constraint }
    }
}
