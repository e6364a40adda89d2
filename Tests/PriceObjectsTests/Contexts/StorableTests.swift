import PriceObjects
import PriceStore
import SQLiteStore
import Testing

struct GoldPrice: Storable {
    static let entity = "GoldPrice"
    static let attributes = ["time", "dollars"]
    var time: Int
    var dollars: Double?

    init(_ row: inout StoredValues) throws {
        time = try row.next()
        dollars = try row.next()
    }

    var row: [StoreValue] { [time.storeValue, dollars.storeValue] }
}

extension GoldPrice: Equatable {
    init(time: Int, dollars: Double?) {
        self.time = time
        self.dollars = dollars
    }
}

/// Typed rows.
struct StorableTests {
    private let store: ContextStore
    private let context: StoreContext

    init() throws {
        store = try ContextStore()
        let writer = try store.writer()
        try writer.createEntity(
            Entity(
                name: "GoldPrice",
                attributes: [Attribute(name: "dollars", affinity: .none), Attribute(name: "time", affinity: .none)]))
        context = StoreContext(writer)
    }

    @Test func rowsAreInsertedAndFetchedAsTheyWere() throws {
        let prices = [GoldPrice(time: 1, dollars: 2600), GoldPrice(time: 2, dollars: nil)]
        try context.execute(BatchInsertRequest(prices))
        #expect(try context.fetch(GoldPrice.self) == prices)
        #expect(try context.fetch(GoldPrice.self, where: Attribute("dollars") == nil as Double?) == [prices[1]])
        let latest = try context.fetch(GoldPrice.self, by: [StoreSortDescriptor("time", ascending: false)], limit: 1)
        #expect(latest == [prices[1]])
    }

    @Test func aValueOfAnotherTypeNamesItsAttribute() throws {
        try store.change("INSERT INTO GoldPrice (time, dollars) VALUES ('soon', 1)")
        let error = try #require(throws: ManagedObjectError.self) { try context.fetch(GoldPrice.self) }
        #expect("\(error)" == "GoldPrice.time holds a value of another kind")
    }
}
