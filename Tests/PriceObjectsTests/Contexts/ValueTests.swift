import Foundation
import SQLiteStore
import Testing

/// Values of the types that programs have, and conditions on them.
struct ValueTests {
    private let writer: SQLiteWriter
    private let context: StoreContext

    private enum Metal: String, StoreConvertible { case gold, silver }

    init() throws {
        writer = try SQLiteWriter.inMemory()
        try writer.createEntity(
            Entity(
                name: "Price",
                attributes: [
                    Attribute(name: "metal", affinity: .text), Attribute(name: "time", affinity: .integer),
                    Attribute(name: "dollars", affinity: .real), Attribute(name: "exact", affinity: .text),
                    Attribute("any"),
                ]))
        context = StoreContext(writer)
    }

    @Test func valuesComeBackAsTheyWere() throws {
        func check<Value: StoreConvertible & Equatable>(_ value: Value, _ kind: String) throws {
            let object = context.insert(entity: "Price", values: ["any": value.storeValue])
            try context.save()
            #expect(try object.value(for: "any", as: Value.self) == value)
            let stored = try context.query("SELECT typeof(any) FROM Price ORDER BY rowid DESC LIMIT 1")
            #expect(stored == [[.text(kind)]])
            #expect(try context.count(StoreFetchRequest(entity: "Price", predicate: Attribute("any") == value)) == 1)
        }
        try check(UUID(), "blob")
        try check(Data([1, 2, 3]), "blob")
        try check(Metal.silver, "text")
        try check(Decimal(17), "integer")
        try check(try #require(Decimal(string: "-0.12345678901234567890123")), "text")
        try check(Optional(3.5), "real")
        #expect(UUID(storeValue: "c0ffee00-0000-0000-0000-000000000001") != nil && UUID(storeValue: "c0ffee") == nil)
        #expect(Metal(storeValue: "lead") == nil && Metal?(storeValue: .null) == .some(nil))
    }

    @Test func aDecimalNumberIsNeverADouble() throws {
        let exact = try #require(Decimal(string: "2624.10"))
        let object = context.insert(entity: "Price", values: ["exact": exact.storeValue, "dollars": exact.storeValue])
        try context.save()
        #expect(try object.value(for: "exact", as: Decimal.self) == exact)
        let error = #expect(throws: ManagedObjectError.self) { try object.value(for: "dollars", as: Decimal.self) }
        #expect(error.map { "\($0)" } == "dollars of row 1 of Price holds real, not Decimal")
        let wrong: [StoreValue] = ["12 euros", "", "-", "1.2.3", "1e5", ".5", 1.5, .null]
        for value in wrong { #expect(Decimal(storeValue: value) == nil, "\(value)") }
        #expect(Decimal(storeValue: .text(String(repeating: "9", count: 39))) == nil)
        #expect(StoreValue(Decimal.nan) == .null)
        // Every number is read as it was written, also with all the digits it can hold.
        let third = Decimal(1) / 3
        for value in [
            third, -third, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
            Decimal(sign: .plus, exponent: 100, significand: 1),
        ] {
            #expect(Decimal(storeValue: value.storeValue) == value, "\(value.storeValue)")
        }
        #expect(Decimal(storeValue: .text("0" + third.description + "0")) == third)
        #expect(Decimal(storeValue: .text(third.description + "44")) == nil)
    }

    @Test func conditionsMayBeLongButNotDeep() throws {
        context.insert(entity: "Price", values: ["any": 5])
        try context.save()
        func count(_ predicate: StorePredicate) throws -> Int {
            try context.count(StoreFetchRequest(entity: "Price", predicate: predicate))
        }
        let fives = (0..<10_000).map { StorePredicate.compare("any", .equal, $0 == 9999 ? 5 : -1) }
        #expect(try count(.or(fives)) == 1 && count(.and(fives)) == 0)
        let deep = (0..<3000).reduce(StorePredicate.isNull("any")) { part, _ in .not(part) }
        let error = #expect(throws: StoreError.self) { try count(deep) }
        #expect(error?.message == "a condition is nested more than 100 times")
    }

    @Test func wrongQuestionsAreErrorsInTheWordsOfTheLibrary() throws {
        let several = #expect(throws: StoreError.self) { try context.query("SELECT 1; SELECT 2") }
        #expect(several?.message == "the query has several statements")
        let none = #expect(throws: StoreError.self) { try context.figures([], of: StoreFetchRequest(entity: "Price")) }
        #expect(none?.message == "no figure of Price is asked for")
        let many = StoreFetchRequest(entity: "Price", predicate: Attribute("any").isIn(0..<300_000))
        let tooMany = #expect(throws: StoreError.self) { try context.count(many) }
        #expect(tooMany?.hint == "the request has more values than SQLite takes in a statement; make several requests")
        let keyless = Entity(name: "Short", attributes: [Attribute("a")], primaryKey: ["b"])
        let lacking = #expect(throws: StoreError.self) { try writer.createEntity(keyless) }
        #expect(
            lacking?.message == "the description of Short lacks the attribute 'b' of its key or of a relationship")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func aConditionOnADateThatIsNoneIsAnError(_ seconds: Double) throws {
        let (time, none) = (Attribute("time", .unixSeconds), Date(timeIntervalSince1970: seconds))
        for condition in [time < none, time <= none, time > none, time >= none, !(time < none)] {
            let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "Price", predicate: condition))
            let error = #expect(throws: StoreError.self) { try context.execute(request) }
            #expect(error?.message == "Price.time is compared with a date that is not a number or out of range")
        }
    }

    @Test func datesHaveAFormat() throws {
        let noon = Date(timeIntervalSince1970: 1_735_732_800)
        let price = context.insert(entity: "Price")
        try price.setValue(noon, for: "time", .unixSeconds)
        try context.save()
        #expect(try price.value(for: "time", as: Date.self, .unixSeconds) == noon)
        #expect(try price.value(for: "time", as: Instant.self, .unixSeconds) == Instant(noon))
        #expect(kind { try price.value(for: "time", as: Date.self) } == .noDateFormat)
        #expect(kind { try price.setValue(noon, for: "time") } == .noDateFormat)
        let error = #expect(throws: ManagedObjectError.self) {
            try price.setValue("soon", for: "any")
            _ = try price.value(for: "any", as: Date.self, .unixSeconds)
        }
        #expect(error.map { "\($0)" } == "any of row 1 of Price holds text, not Date in the format unix_seconds")
        try price.setValue(Date?.none, for: "time", .unixSeconds)
        #expect(try price.value(for: "time", as: Date.self, .unixSeconds) == nil)
        let undeclared = StoreFetchRequest(entity: "Price", predicate: Attribute("time") < noon)
        let refusal = #expect(throws: StoreError.self) { try context.count(undeclared) }
        #expect(refusal?.hint == "give the format: Attribute(\"time\", .unixSeconds)")
    }

    @Test func conditionsFindRows() throws {
        let rows: [(StoreValue, StoreValue, StoreValue)] = [
            ("gold", 1_735_689_600, 2600), ("silver", 1_735_776_000, 29.5), ("Gold", 1_735_862_400, .null),
            (.null, "soon", 3000),
        ]
        try writer.execute(
            BatchInsertRequest(
                entity: "Price", objects: rows.map { ["metal": $0.0, "time": $0.1, "dollars": $0.2] }))
        let day = Date(timeIntervalSince1970: 1_735_776_000)
        let conditions: [(StorePredicate, Int)] = [
            (Attribute("dollars") < 3000, 2), (Attribute("dollars").between(2000, 3000), 2),
            (Attribute("metal").isIn(["gold", "silver"]), 2), (Attribute("metal").isIn([Metal.gold]), 1),
            (Attribute("metal").isIn([String]()), 0), (Attribute("metal").begins(with: "g"), 1),
            (Attribute("metal").contains("ol"), 2), (Attribute("dollars") == nil, 1),
            (Attribute("dollars") == .null, 1),
            (Attribute("dollars") != .null, 3), (Attribute("dollars").isNull, 1), (Attribute("dollars") != nil, 3),
            (Attribute("metal") == Metal.gold, 1), (Attribute("time", .unixSeconds) < Date(), 3),
            (Attribute("time", .unixSeconds) < day, 1), (Attribute("time", .unixSeconds) <= day, 2),
            (Attribute("time", .unixSeconds) > day, 1), (Attribute("time", .unixSeconds) >= day, 2),
        ]
        for (condition, count) in conditions {
            let found = try context.count(StoreFetchRequest(entity: "Price", predicate: condition))
            #expect(found == count, "\(condition)")
        }
    }

    @Test(
        arguments: [
            "DELETE FROM Price", "INSERT INTO Price DEFAULT VALUES", "PRAGMA foreign_keys = OFF", "BEGIN",
            "WITH n AS (SELECT 1) DELETE FROM Price", "ATTACH ':memory:' AS other", "SELECT 1; DELETE FROM Price",
            "/* SELECT */ UPDATE Price SET any = 1", "SELECT missing FROM Price", "",
        ])
    func aQueryOnlyReads(_ sql: String) throws {
        try writer.execute(BatchInsertRequest(entity: "Price", objects: [["any": 1]]))
        let error = #expect(throws: StoreError.self) { try context.query(sql) }
        #expect(error?.kind == .unsupported)
        #expect(try context.query(" -- all\n SELECT any FROM Price WHERE any = ?", [1]) == [[1]])
        #expect(try writer.query("SELECT foreign_keys FROM pragma_foreign_keys", []) == [[1]])
    }

    @Test func figuresHaveGroupsAndLimits() throws {
        let values: [(StoreValue, StoreValue)] = [("gold", 3.5), ("gold", 1.5), ("silver", .null), (.null, 2.0)]
        try writer.execute(
            BatchInsertRequest(entity: "Price", objects: values.map { ["metal": $0.0, "dollars": $0.1] }))
        let all = StoreFetchRequest(entity: "Price")
        #expect(
            try context.figures([.count, .min("dollars"), .sum("dollars")], of: all, groupedBy: ["metal"])
                == [[.null, 1, 2.0, 2.0], ["gold", 2, 1.5, 5.0], ["silver", 1, .null, .null]])
        #expect(try context.figures([.count], of: all) == [[4]])
        let newest = StoreFetchRequest(
            entity: "Price", sortDescriptors: [StoreSortDescriptor("dollars", ascending: false)], fetchLimit: 2)
        #expect(try context.figures([.count, .min("dollars")], of: newest) == [[2, 2.0]])
        let none = StoreFetchRequest(entity: "Price", predicate: Attribute("metal") == "lead")
        #expect(try context.figures([.max("dollars"), .count], of: none) == [[.null, 0]])
        #expect(throws: StoreError.self) { try context.figures([.max("missing")], of: all) }
    }
}
