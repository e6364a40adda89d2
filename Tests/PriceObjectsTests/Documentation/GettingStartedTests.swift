import PriceObjects
import PriceStore
import SQLiteStore
import Testing

actor PriceKeeper {
    private let context: StoreContext

    init(path: String) throws {
        context = StoreContext(try SQLiteWriter(path: path))
    }

    func setDollars(_ dollars: Double, of id: ObjectID) throws -> ChangeSet {
        try context.object(with: id).setValue(.real(dollars), for: "dollars")
        return try context.save()
    }
}

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

    @Test func aStoreIsMadeAndAnObjectIsSaved() throws {
        let context = try context()
        let price = context.insert(entity: "Price", values: ["metal": "gold", "dollars": 2624.5])
        try price.setInstant(Instant(iso8601: "2025-01-01T12:00:00Z"), for: "time", encoding: .unixSeconds)
        if context.hasChanges { try context.save() }
        #expect(!context.hasChanges && price.objectID != nil)
        let reader = try SQLiteReader(path: path)
        let row = try reader.fetch(StoreFetchRequest(entity: "Price"), attributes: ["metal", "time", "dollars"])
        #expect(row == [["gold", .integer(1_735_732_800), .real(2624.5)]])
        #expect(throws: ValidationError.self) {
            context.insert(entity: "Price")
            try context.save()
        }
    }

    @Test func objectsAreFetchedChangedAndDeleted() throws {
        let context = try context()
        for day in 0..<12 as Range<Int64> {
            context.insert(
                entity: "Price",
                values: [
                    "metal": .text(day == 11 ? "silver" : "gold"), "time": .integer(1_735_689_600 + day * 86_400),
                    "dollars": .integer(2600 + day),
                ])
        }
        try context.save()
        let gold = StoreFetchRequest(
            entity: "Price", predicate: Attribute("metal") == "gold",
            sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 10)
        let lines = try context.fetch(gold).map { price in
            let time = try price.instant(for: "time", encoding: .unixSeconds)
            let dollars = try price.real(for: "dollars")
            return "\(time?.plain ?? "never"): \(dollars ?? 0)"
        }
        #expect(lines.count == 10)
        #expect(lines.first == "2025-01-11 00:00:00: 2610.0")
        let prices = try context.fetch(gold)
        try prices[0].setValue(2630, for: "dollars")
        try context.delete(prices[1])
        try context.save()
        let rows = try SQLiteReader(path: path).fetch(gold, attributes: ["dollars"])
        #expect(rows.count == 10)
        #expect(rows.prefix(2) == [[.real(2630)], [.real(2608)]])
    }

    @Test func anActorKeepsAContext() async throws {
        let context = try context()
        let object = context.insert(entity: "Price", values: ["metal": "gold", "time": 0])
        try context.save()
        let id = try #require(object.objectID)
        let changes = try await PriceKeeper(path: path).setDollars(2700, of: id)
        #expect(changes == ChangeSet(updated: [id]))
        try context.refresh(object, mergeChanges: true)
        #expect(try object.real(for: "dollars") == 2700)
    }
}
