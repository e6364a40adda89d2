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
        let noon = CivilDateTime(year: 2025, month: 1, day: 31, hour: 12)
        let instant = CalendarZone(identifier: "Europe/Berlin")?.instant(of: noon)
        #expect(instant == Instant(iso8601: "2025-01-31T11:00:00Z"))
        let lastDay = CivilDate(year: 2025, month: 2, day: CivilDate.daysInMonth(year: 2025, month: 2))
        let nextDay = CivilDate(dayNumber: lastDay.dayNumber + 1)
        #expect("\(nextDay)" == "2025-03-01")
        let units = CalendarUnit.allCases.map(\.rawValue)
        #expect(units == ["hour", "day", "week", "month", "quarter", "year"])
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
        let value = StoreValue(4.5)
        let dollars = Double(storeValue: value)
        #expect(dollars == 4.5)
        #expect(try context.count(StoreFetchRequest(entity: "price", predicate: Attribute("price") == dollars)) == 1)
    }

    // MARK: Conditions

    @Test func rowsAreFoundByDateKeyAndRule() throws {
        let date = DateAttribute(name: "time", encoding: .unixSeconds)
        let january = DateRange(date, from: Instant(iso8601: "2025-01-01"), before: Instant(iso8601: "2025-02-01"))
        let prices = StoreFetchRequest(entity: "price", predicate: .date(january))
        #expect(try context.count(prices) == 1)
        let newest = KeepLast(count: 1, groupedBy: ["metal"], among: .all, date: date)
        let others = StoreFetchRequest(entity: "price", predicate: .notKept(newest))
        #expect(try context.count(others) == 1)
        let gold = HeldRows(name: "audit", entity: "price", rows: Attribute("metal") == "gold")
        let free = StoreFetchRequest(entity: "price", predicate: .notHeld([gold], by: nil))
        #expect(try context.count(free) == 1)
        let cutoff = Instant(unixSeconds: 1_740_787_200)
        let monthly = Thinning(
            tiers: [Thinning.Tier(.month, since: .distantPast)], groupedBy: [], among: .all, date: date, before: cutoff)
        let old = StoreFetchRequest(
            entity: "price", predicate: .date(DateRange(date, before: cutoff)) && .notPicked(monthly))
        #expect(try context.count(old) == 0)
        try store.change("INSERT INTO price VALUES (1738368001, 'gold', 2)")
        #expect(try context.count(old) == 1)
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
        let rows: [[String: StoreValue]] = [["name": "a"], ["name": "b"]]
        let inserted = try writer.insert(entity: "item", rows: rows, onConflict: .fail)
        if let inserted { print("\(inserted.savedCount) saved, \(inserted.ignoredCount) ignored") }
        #expect(inserted == nil)
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
            print(try item.text(for: "name") ?? "")
        } catch let error as ManagedObjectError where error.kind == .deleted {
            print(error.description)
        }
        context.insert(entity: "item")
        do {
            try context.save()
        } catch let error as ValidationError {
            for failure in error.failures { print(failure.description) }
        }
        #expect(context.hasChanges)
    }
}
