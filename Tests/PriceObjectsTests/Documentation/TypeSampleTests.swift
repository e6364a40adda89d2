import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The samples in the doc comments of public types that no other test has.
struct TypeSampleTests {
    let store: ContextStore
    let writer: SQLiteWriter
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        try store.addItems(3)
        try store.change(
            "INSERT INTO price VALUES (1735689600, 'gold', 1), (1738368000, 'gold', 2), (1740787200, 'silver', 3)")
        writer = try store.writer()
        context = StoreContext(writer)
    }

    @Test func aHandlerMakesRowsUntilItSaysStop() throws {
        try store.change("CREATE TABLE GoldPrice (time INTEGER NOT NULL)")
        var day = 60
        let request = BatchInsertRequest(entity: "GoldPrice") { row in
            guard day < 1060 else { return .stop }
            row["time"] = StoreValue(1_735_689_600 + day * 86_400)
            day += 1
            return .insert
        }
        #expect(try context.execute(request).insertedCount == 1000)
        #expect(try store.column("SELECT count(*) FROM GoldPrice") == ["1000"])
    }

    // MARK: Dates and values

    @Test func localTimesBecomeInstants() {
        let berlin = CalendarZone(identifier: "Europe/Berlin") ?? .utc
        let midnight = DateEncoding.yyyymmdd.instant(of: 20_250_131, zone: berlin)
        #expect(midnight == Instant(iso8601: "2025-01-30T23:00:00Z"))
    }

    @Test func instantsAreWrittenAndRead() {
        let midnight = Instant(unixSeconds: 1_738_281_600)
        let text = (midnight + .seconds(90)).rfc3339
        #expect(text == "2025-01-31T00:01:30Z")
        let stored = DateEncoding.unixMilliseconds.value(of: midnight)
        let read = DateEncoding.unixMilliseconds.instant(of: stored)
        #expect(read == midnight)
    }

    @Test func valuesHaveSwiftTypes() throws {
        let price: [String: StoreValue] = ["time": 1_735_689_600, "metal": "copper", "price": 4.5]
        context.insert(entity: "price", values: price)
        try context.save()
        #expect(try context.count(StoreFetchRequest(entity: "price", predicate: Attribute("price") == 4.5)) == 1)
        enum Metal: String, StoreConvertible { case gold, silver }
        let value = StoreValue(Metal.gold)
        let metal = Metal(storeValue: value)
        #expect(metal == .gold)
        let isOld = Attribute("time", .unixSeconds) < Date() - 30 * 86_400
        #expect(try context.count(StoreFetchRequest(entity: "price", predicate: isOld)) == 4)
    }

    @Test func rowsAreCountedAndQueried() throws {
        let all = StoreFetchRequest(entity: "price")
        for row in try context.figures([.count, .max("price")], of: all, groupedBy: ["metal"]) {
            print(row[0], row[1], row[2])
        }
        #expect(
            try context.figures([.count, .max("price")], of: all, groupedBy: ["metal"])
                == [["gold", 2, 2.0], ["silver", 1, 3.0]])
        #expect(try context.figures([.min("price"), .count, .sum("price")], of: all) == [[1.0, 3, 6.0]])
        let cutoff = 1_740_787_200
        let rows = try context.query("SELECT metal, max(price) FROM price WHERE time < ? GROUP BY metal", [cutoff])
        #expect(rows == [["gold", 2.0]])
    }

    // MARK: Conditions

    @Test func rowsAreFoundByDateKeyAndRule() throws {
        let date = DateAttribute(name: "time", encoding: .unixSeconds)
        let january = DateRange(date, from: Instant(iso8601: "2025-01-01"), before: Instant(iso8601: "2025-02-01"))
        let prices = StoreFetchRequest(entity: "price", predicate: .date(january))
        #expect(try context.count(prices) == 1)
        let firstKeys = KeyRange(after: nil, through: [2])
        let firstItems = StoreFetchRequest(entity: "item", predicate: .key(firstKeys))
        #expect(try context.count(firstItems) == 2)
    }

    // MARK: The store itself

    @Test func anEntityIsCreatedAndDescribed() throws {
        let toShop = Relationship(from: "sign", "shop", to: "shop", "id", deleteRule: .cascade)
        try writer.createEntity(
            Entity(name: "sign", attributes: [Attribute(name: "shop", affinity: .integer)], relationships: [toShop]))
        #expect(try writer.entity(named: "sign")?.relationships.first?.deleteRule == .cascade)
        let model = try writer.entity(named: "item")?.model
        for relationship in model?.relationships ?? [] {
            print(relationship.name, relationship.destination, relationship.deleteRule)
        }
        for trigger in try writer.entity(named: "item")?.updateTriggers ?? [] {
            print(trigger.name, trigger.attributes)
        }
        #expect(model == nil)
    }

    @Test func rowsAreInsertedAndFetched() throws {
        let outcome = try writer.insert(entity: "item", values: ["id": 1, "name": "again"], onConflict: .ignore)
        switch outcome {
        case .saved, .ignored: break
        case .rejected(let reason): print(reason)
        }
        #expect(outcome == .ignored)
        try writer.transaction(.full) {
            _ = try writer.insert(entity: "item", values: ["name": "c"], onConflict: .fail)
        }
        for row in try writer.fetchRows(StoreFetchRequest(entity: "item"), attributes: ["name"]) {
            print(row.objectID, row.values)
        }
        let id = try writer.insertObject(entity: "item", values: ["name": "new"])
        let isChanged = try writer.updateObject(id, set: ["note": "old"], ifStill: ["name": "new"])
        #expect(isChanged)
    }

    @Test func spaceIsReclaimed() throws {
        let result = try writer.reclaim(ReclaimRequest(mode: .auto))
        let freed = result.sizeBytesBefore - result.sizeBytesAfter
        #expect(freed >= 0)
    }

    @Test func aHistoryIsKeptAndRead() throws {
        try writer.keepHistory()
        let token = try writer.currentHistoryToken()
        try context.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item")))
        for transaction in try context.history(after: token) {
            for change in transaction.changes where change.kind == .delete { print(change.objectID) }
        }
        #expect(try context.history(after: token).flatMap(\.changes).count == 3)
    }

    // MARK: Batches

    @Test func batchRequestsReturnResults() throws {
        let insert = BatchInsertRequest(
            entity: "item", objects: [["id": 1, "name": "new"], ["name": "other"]], onConflict: .replace)
        let insertedCount = try context.execute(insert).insertedCount
        #expect(insertedCount == 2)
        let update = BatchUpdateRequest(
            entity: "item", predicate: Attribute("name") == "new", propertiesToUpdate: ["done": true])
        let updatedCount = try context.execute(update).updatedCount
        #expect(updatedCount == 1)
        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        let result = try context.execute(BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs))
        for id in result.objectIDs { print(id) }
        #expect(result.objectIDs.count == 1)
    }

    // MARK: Errors

    @Test func errorsHaveKinds() throws {
        do {
            _ = try context.fetch(StoreFetchRequest(entity: "trade"))
        } catch let error as StoreError where error.kind == .unknownName {
            print(error.message)
        }
        let item = context.item(1)
        try context.delete(item)
        do {
            print(try item.value(for: "name"))
        } catch let error as ManagedObjectError where error.kind == .deleted {
            print(error.description)
        }
        context.insert(entity: "item")
        do {
            try context.save()
        } catch let error as ObjectValidationError {
            for failure in error.failures { print(failure.description) }
        }
        #expect(context.hasChanges)
    }
}
