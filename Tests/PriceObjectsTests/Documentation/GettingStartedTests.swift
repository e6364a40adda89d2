import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The samples of the article GettingStarted.
struct GettingStartedTests {
    let store: ContextStore
    private let path: String

    init() throws {
        store = try ContextStore()
        path = store.path + ".new"
    }

    private func context() throws -> StoreContext {
        let writer = try SQLiteWriter(path: path, create: true)
        try writer.createEntity(
            Entity(
                name: "Price",
                attributes: [
                    Attribute(name: "metal", affinity: .text, isRequired: true),
                    Attribute(name: "time", affinity: .integer, isRequired: true),
                    Attribute(name: "dollars", affinity: .real),
                ]))
        let context = StoreContext(writer)
        return context
    }

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() async throws {
        let path = path
        let writer = try SQLiteWriter(path: path, create: true)
        try writer.createEntity(
            Entity(
                name: "Price",
                attributes: [
                    Attribute(name: "metal", affinity: .text, isRequired: true),
                    Attribute(name: "time", affinity: .integer, isRequired: true),
                    Attribute(name: "dollars", affinity: .real),
                ]))
        let context = StoreContext(writer)
        #expect(try context.count(StoreFetchRequest(entity: "Price")) == 0)
        let price = context.insert(entity: "Price", values: ["metal": "gold", "dollars": 2624.5])
        try price.setValue(Instant(iso8601: "2025-01-01T12:00:00Z"), for: "time", .unixSeconds)
        context.insert(entity: "Price", values: ["metal": "gold", "time": 1_735_819_200, "dollars": 2656.9])
        if context.hasChanges { try context.save() }
        #expect(price.objectID != nil && !context.hasChanges)
        let gold = StoreFetchRequest(
            entity: "Price", predicate: Attribute("metal") == "gold",
            sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 10)
        let lines = try context.fetch(gold).map { price in
            let time = try price.value(for: "time", as: Instant.self, .unixSeconds)
            let dollars = try price.value(for: "dollars", as: Double.self)
            return "\(time?.plain ?? "never"): \(dollars ?? 0)"
        }
        #expect(lines == ["2025-01-02 12:00:00: 2656.9", "2025-01-01 12:00:00: 2624.5"])
        let prices = try context.fetch(gold)
        try prices[0].setValue(2630, for: "dollars")
        try context.delete(prices[1])
        try context.save()
        #expect(try context.fetch(gold).map { try $0["dollars"] } == [2630.0])
        actor PriceKeeper {
            private let context: StoreContext

            init(path: String) throws {
                context = StoreContext(try SQLiteWriter(path: path))
            }

            func setDollars(_ dollars: Double, of id: ObjectID) throws -> ChangeSet {
                try context.object(with: id).setValue(dollars, for: "dollars")
                return try context.save()
            }
        }
        let store = try await StoreActor { try SQLiteWriter(path: path) }
        let count = try await store.perform { try $0.count(StoreFetchRequest(entity: "Price")) }
        #expect(count == 1)
        let id = try #require(prices[0].objectID)
        #expect(try await PriceKeeper(path: path).setDollars(2700, of: id) == ChangeSet(updated: [id]))
        let inMemory = try SQLiteWriter.inMemory()
        let (here, there) = (StoreContext(inMemory), StoreContext(inMemory))
        let temporary = try SQLiteWriter.temporary()
        let reader = try SQLiteReader(path: temporary.name)
        #expect(try reader.entityNames() == [] && !here.hasChanges && !there.hasChanges)
    }

    @Test func aStoreIsMadeAndAnObjectIsSaved() throws {
        let context = try context()
        let price = context.insert(entity: "Price", values: ["metal": "gold", "dollars": 2624.5])
        try price.setValue(Instant(iso8601: "2025-01-01T12:00:00Z"), for: "time", .unixSeconds)
        if context.hasChanges { try context.save() }
        #expect(!context.hasChanges && price.objectID != nil)
        let reader = try SQLiteReader(path: path)
        let row = try reader.fetch(StoreFetchRequest(entity: "Price"), attributes: ["metal", "time", "dollars"])
        #expect(row == [["gold", .integer(1_735_732_800), .real(2624.5)]])
        #expect(throws: ObjectValidationError.self) {
            context.insert(entity: "Price")
            try context.save()
        }
    }
}
