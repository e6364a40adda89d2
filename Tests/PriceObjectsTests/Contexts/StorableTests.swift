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
        #expect(try context.fetch(GoldPrice.self, where: Attribute("dollars") == nil) == [prices[1]])
        #expect(try context.fetch(GoldPrice.self, where: Attribute("dollars") != nil) == [prices[0]])
        let latest = try context.fetch(GoldPrice.self, by: [StoreSortDescriptor("time", ascending: false)], limit: 1)
        #expect(latest == [prices[1]])
    }

    @Test func aTypedRowHasAValueForEachAttribute() throws {
        struct Short: Storable {
            static let entity = "GoldPrice"
            static let attributes = ["time", "dollars", "missing"]
            init() {}
            init(_ row: inout StoredValues) throws {}
            var row: [StoreValue] { [1] }
        }
        #expect { try context.execute(BatchInsertRequest([Short()])) } throws: {
            ($0 as? ManagedObjectError)?.kind == .wrongCount
        }
        #expect(try context.fetch(GoldPrice.self).isEmpty)
    }

    @Test func aRequestOfTypedRowsCanBeExecutedAgain() throws {
        try store.change("CREATE UNIQUE INDEX time ON GoldPrice (time)")
        try context.execute(BatchInsertRequest([GoldPrice(time: 2, dollars: nil)]))
        let request = BatchInsertRequest((1...3).map { GoldPrice(time: $0, dollars: 1) })
        #expect(throws: StoreError.self) { try context.execute(request) }
        try context.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "GoldPrice")))
        for _ in 1...2 {
            #expect(try context.execute(request).insertedCount == 3)
            try context.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "GoldPrice")))
        }
    }

    @Test func aValueOfAnotherTypeNamesItsAttribute() throws {
        try store.change("INSERT INTO GoldPrice (time, dollars) VALUES ('soon', 1)")
        let error = try #require(throws: ManagedObjectError.self) { try context.fetch(GoldPrice.self) }
        #expect("\(error)" == "GoldPrice.time holds a value of another type")
    }
}
