import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The samples of the article BatchDelete.
struct BatchDeleteArticleTests {
    let store: ContextStore
    let context: StoreContext
    private let now = Instant(iso8601: "2025-03-03")

    init() throws {
        store = try ContextStore()
        context = try store.context()
    }

    /// A price a day from 1 January 2025, gold and silver by turns.
    private func addPrices(_ count: Int) throws {
        try store.change(
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < \(count - 1))
            INSERT INTO price SELECT 1735689600 + n * 86400, iif(n % 2, 'silver', 'gold'), 2600.0 + n FROM n;
            """)
    }

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() throws {
        let writer = try SQLiteWriter.inMemory()
        let (id, name) = (Attribute(name: "id", affinity: .integer), Attribute(name: "name", affinity: .text))
        let done = Attribute(name: "done", affinity: .integer, isRequired: true, defaultValue: false)
        try writer.createEntity(Entity(name: "item", attributes: [id, name, done], primaryKey: ["id"]))
        try writer.createEntity(
            Entity(
                name: "price",
                attributes: [Attribute(name: "time", affinity: .integer), Attribute(name: "metal", affinity: .text)]))
        try writer.createEntity(Entity(name: "shop", attributes: [id, name], primaryKey: ["id"]))
        try writer.createEntity(
            Entity(
                name: "shelf", attributes: [Attribute(name: "shop", affinity: .integer)],
                relationships: [Relationship(from: "shelf", "shop", to: "shop", "id")]))
        try writer.execute(
            BatchInsertRequest(
                entity: "price",
                objects: (0..<40).map { day in
                    ["time": StoreValue(1_735_689_600 + day * 86_400), "metal": day % 2 == 0 ? "gold" : "silver"]
                }))
        try writer.execute(BatchInsertRequest(entity: "shop", objects: [["id": 1, "name": "closed"]]))
        try writer.execute(BatchInsertRequest(entity: "shelf", objects: [["shop": 1]]))
        let context = StoreContext(writer)
        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        if context.hasChanges { try context.save() }
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
        let result = try context.execute(
            BatchDeleteRequest(fetchRequest: doneItems, resultType: .count), allowingUnsavedChanges: true)
        #expect(result.deletedCount == 0)
        let now = Date()
        let isOld = Attribute("time", .unixSeconds) < now - 30 * 86_400
        let oldGold = StoreFetchRequest(entity: "price", predicate: Attribute("metal") == "gold" && isOld)
        let deleted = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: oldGold))
        let rest = try context.fetch(StoreFetchRequest(entity: "price"))
        #expect(deleted.deletedCount == 20 && rest.count == 20)
        let oldest = StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("time")], fetchLimit: 10)
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: oldest))
        #expect(try context.count(StoreFetchRequest(entity: "price")) == 10)
        let old = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "price", predicate: isOld))
        try context.execute(old, inBatchesOf: 5000) { soFar in
            print("\(soFar.deletedCount) deleted")
        }
        #expect(try context.count(StoreFetchRequest(entity: "price")) == 0)
        let ids = try context.fetchObjectIDs(oldGold)
        try context.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: ids))
        let closed = StoreFetchRequest(entity: "shop", predicate: Attribute("name") == "closed")
        let outcome = try context.execute(
            BatchDeleteRequest(fetchRequest: closed, resultType: .count, relationships: .cascade))
        #expect(outcome.deletedCount == 1 && outcome.cascadedCount == 1)
    }

    @Test func doneItemsAreSavedAndDeleted() throws {
        try store.addItems(5)
        try store.change("UPDATE item SET done = 1 WHERE id = 1")
        let items = try context.all("item")
        try items[4].setValue(true, for: "done")
        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        if context.hasChanges { try context.save() }
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
        #expect(items.map(\.isDeleted) == [true, false, false, false, true])
        #expect(try store.column("SELECT id FROM item") == ["2", "3", "4"])
        #expect(try context.fetch(doneItems).isEmpty)
    }

    @Test func withoutASaveTheRequestDoesNotSeeWhatWasMarked() throws {
        try store.addItems(5)
        try store.change("UPDATE item SET done = 1 WHERE id <= 2")
        let items = try context.all("item")
        // One was marked, one was taken back; neither is saved.
        try items[4].setValue(true, for: "done")
        try items[1].setValue(false, for: "done")
        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        #expect(throws: StoreError.self) { try context.execute(BatchDeleteRequest(fetchRequest: doneItems)) }
        let result = try context.execute(
            BatchDeleteRequest(fetchRequest: doneItems, resultType: .count), allowingUnsavedChanges: true)
        #expect(result.deletedCount == 2)
        #expect(try store.column("SELECT id FROM item") == ["3", "4", "5"])
    }

    @Test func oldGoldIsDeletedInOneRequestAndTheRestInSlices() throws {
        try addPrices(62)
        let now = try #require(now)
        let isOld = Attribute("time", .unixSeconds) < now - .seconds(30 * 86_400)
        let oldGold = StoreFetchRequest(entity: "price", predicate: Attribute("metal") == "gold" && isOld)
        let deleted = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: oldGold))
        let rest = try context.fetch(StoreFetchRequest(entity: "price"))
        // 30 days before 3 March is 1 February; 1 January is the first of 16 days of gold before it.
        #expect(deleted.deletedCount == 16)
        #expect(rest.count == 46)
        let old = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "price", predicate: isOld))
        try context.execute(old, inBatchesOf: 5000) { soFar in
            print("\(soFar.deletedCount) deleted")
        }
        #expect(try store.column("SELECT count(*) FROM price") == ["31"])
        #expect(try store.column("SELECT min(time) FROM price") == ["1738368000"])
    }

    @Test func theTenOldestGo() throws {
        try addPrices(40)
        let oldest = StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("time")], fetchLimit: 10)
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: oldest))
        #expect(try store.column("SELECT (min(time) - 1735689600) / 86400 FROM price") == ["10"])
        let held = try context.all("price")
        let next = try context.execute(BatchDeleteRequest(fetchRequest: oldest, resultType: .objectIDs))
        #expect(next.objectIDs.map(\.key) == (11...20).map { [StoreValue($0)] })
        // Nobody has told the objects.
        #expect(held.allSatisfy { !$0.isDeleted })
        for type in [BatchResultType.statusOnly, .count] {
            #expect(try context.execute(BatchDeleteRequest(fetchRequest: oldest, resultType: type)).objectIDs.isEmpty)
        }
        #expect(try store.column("SELECT count(*) FROM price") == ["0"])
    }

    @Test func rowsGoByTheirIDs() throws {
        try addPrices(20)
        try store.addItems(1)
        let oldGold = StoreFetchRequest(entity: "price", predicate: Attribute("metal") == "gold")
        let held = try context.fetch(oldGold)
        let ids = try context.fetchObjectIDs(oldGold)
        try context.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: ids))
        #expect(held.count == 10 && held.allSatisfy(\.isDeleted))
        #expect(try store.column("SELECT DISTINCT metal FROM price") == ["silver"])
        // Gone already.
        #expect(try context.execute(BatchDeleteRequest(objectIDs: ids, resultType: .count)).deletedCount == 0)
        let others = try context.fetchObjectIDs(StoreFetchRequest(entity: "item"))
        #expect {
            try context.execute(BatchDeleteRequest(objectIDs: others + ids))
        } throws: { "\($0)".contains("item, price") }
    }

    @Test func aRequestCanAskForAnotherDeleteRule() throws {
        try store.change(
            """
            INSERT INTO shop VALUES (1, 'open'), (2, 'closed');
            INSERT INTO debt VALUES (1, 1), (2, 2); INSERT INTO shelf VALUES (1, 2);
            """)
        var declared = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop"))
        #expect(throws: StoreError.self) { try context.execute(declared) }
        declared.relationships = .deny
        let error = #expect(throws: StoreError.self) { try context.execute(declared) }
        #expect(
            error?.message.contains("1 row of shelf (shop), 2 rows of debt (shop), and deny does not allow") == true)
        #expect(try store.column("SELECT count(*) FROM shop") == ["2"])
        let closed = StoreFetchRequest(entity: "shop", predicate: Attribute("name") == "closed")
        let outcome = try context.execute(
            BatchDeleteRequest(fetchRequest: closed, resultType: .count, relationships: .cascade))
        #expect(outcome.deletedCount == 1 && outcome.cascadedCount == 2)
        #expect(try store.column("SELECT shop FROM debt") == ["1"])
    }

    @Test func theREADMEsSampleDeletesWhatIsOld() throws {
        try addPrices(40)
        let cutoff = try #require(Instant(iso8601: "2025-02-01"))
        context.insert(
            entity: "price",
            values: ["time": 1_735_689_600, "metal": "copper", "price": 4])
        let old = StoreFetchRequest(entity: "price", predicate: Attribute("time", .unixSeconds) < cutoff)
        if context.hasChanges { try context.save() }
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: old))
        #expect(try store.column("SELECT count(*) FROM price") == ["9"])
        #expect(try store.column("SELECT count(*) FROM price WHERE metal = 'copper'") == ["0"])
    }
}
