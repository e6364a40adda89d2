import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

struct GoldPrice: Storable {
    static let entity = "GoldPrice"
    static let attributes = [
        Attribute(name: "time", affinity: .integer, isRequired: true, dateEncoding: .unixSeconds),
        Attribute(name: "dollars", affinity: .real),
    ]
    var time: Date
    var dollars: Double?

    init(_ row: inout StoredValues) throws {
        time = try row.next()
        dollars = try row.next()
    }

    func write(to row: inout StoredValues) {
        row.append(time)
        row.append(dollars)
    }
}

extension GoldPrice: Equatable {
    init(time: Int, dollars: Double?) {
        self.time = Date(timeIntervalSince1970: Double(time))
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
        try writer.createEntity(for: GoldPrice.self)
        context = StoreContext(writer)
    }

    @Test func rowsAreInsertedAndFetchedAsTheyWere() throws {
        let prices = [GoldPrice(time: 1, dollars: 2600), GoldPrice(time: 2, dollars: nil)]
        try context.execute(BatchInsertRequest(prices))
        #expect(try context.fetch(GoldPrice.self) == prices)
        #expect(try context.fetch(GoldPrice.self, predicate: Attribute("dollars") == nil) == [prices[1]])
        #expect(try context.fetch(GoldPrice.self, predicate: Attribute("dollars") != nil) == [prices[0]])
        let latest = try context.fetch(
            GoldPrice.self, sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 1)
        #expect(latest == [prices[1]])
    }

    @Test func aTypedRowHasAValueForEachAttribute() throws {
        struct Short: Storable {
            static let entity = "GoldPrice"
            static let attributes = GoldPrice.attributes + [Attribute("missing")]
            init() {}
            init(_ row: inout StoredValues) throws {}
            func write(to row: inout StoredValues) { row.append(1) }
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
        #expect("\(error)" == "time of row 1 of GoldPrice holds text, not Date")
    }

    @Test func aTypedRowReadsEachValue() throws {
        struct Short: Storable {
            static let entity = "GoldPrice"
            static let attributes = GoldPrice.attributes
            init(_ row: inout StoredValues) throws { _ = try row.next() as Int }
            func write(to row: inout StoredValues) {}
        }
        struct Long: Storable {
            static let entity = "GoldPrice"
            static let attributes = [Attribute("time")]
            init(_ row: inout StoredValues) throws { for _ in 1...2 { _ = try row.next() as Int } }
            func write(to row: inout StoredValues) { row.append(Date()) }
        }
        try context.execute(BatchInsertRequest([GoldPrice(time: 1, dollars: 2600)]))
        let wrongCount = { (error: any Error) in (error as? ManagedObjectError)?.kind == .wrongCount }
        #expect { try context.fetch(Short.self) } throws: { wrongCount($0) }
        #expect { try context.fetch(Long.self) } throws: { wrongCount($0) }
        #expect { try context.query(GoldPrice.self, "SELECT 1, 2, 3") } throws: { wrongCount($0) }
        #expect { try context.query(GoldPrice.self, "SELECT 1") } throws: { wrongCount($0) }
        #expect(try context.query(GoldPrice.self, "SELECT 1, 2") == [GoldPrice(time: 1, dollars: 2)])
    }

    @Test func aDateWithoutAFormatIsAnError() throws {
        struct Undated: Storable {
            static let entity = "GoldPrice"
            static let attributes = [Attribute("time")]
            init() {}
            init(_ row: inout StoredValues) throws { _ = try row.next() as Date }
            func write(to row: inout StoredValues) { row.append(Date()) }
        }
        try context.execute(BatchInsertRequest([GoldPrice(time: 1, dollars: nil)]))
        let noFormat = { (error: any Error) in (error as? ManagedObjectError)?.kind == .noDateFormat }
        #expect { try context.fetch(Undated.self) } throws: { noFormat($0) }
        #expect { try context.execute(BatchInsertRequest([Undated()])) } throws: { noFormat($0) }
    }

    /// Core Data's distant future stands for "no date" in the formats of Apple, and the year 20000 has more digits than ISO 8601.
    @Test(
        arguments: [.nan, .infinity, -.infinity, Date.distantFuture.timeIntervalSince1970, 568_971_820_800],
        [DateEncoding.unixSeconds, .appleSeconds, .iso8601, .yyyymmdd])
    func aDateIsReadBackOrRefused(seconds: Double, format: DateEncoding) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let row = context.insert(entity: "GoldPrice")
        let isReadable = seconds.isFinite && format.instant(of: format.value(of: Instant(date))) != nil
        #expect(isReadable || !seconds.isFinite || format != .unixSeconds)
        if isReadable {
            try row.setValue(date, for: "time", format)
            #expect(try row.value(for: "time", as: Date.self, format) == date)
        } else {
            let error = #expect(throws: ManagedObjectError.self) { try row.setValue(date, for: "time", format) }
            #expect(
                error.map { "\($0)" } == "GoldPrice.time cannot hold the date, because it would not be read back as one"
            )
        }
    }

    @Test func aTypedRowWithADateThatIsNoneIsRefused() throws {
        var price = GoldPrice(time: 1, dollars: 2600)
        price.time = Date(timeIntervalSince1970: .nan)
        let error = #expect(throws: ManagedObjectError.self) { try context.execute(BatchInsertRequest([price])) }
        #expect(error?.kind == .noDate && error?.attribute == "time")
        #expect(try context.fetch(GoldPrice.self).isEmpty)
    }
}
