import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The worked examples of batch requests.
struct ScenarioTests {
    let store: ContextStore

    init() throws { store = try ContextStore() }

    private let doneItems = BatchDeleteRequest(
        fetchRequest: FetchRequest(entity: "item", predicate: .compare("done", .equal, .integer(1))),
        resultType: .count)

    @Test func itemsMarkedDoneButNotSavedAreNotDeleted() throws {
        try store.addItems(10)
        try store.change("UPDATE item SET done = 1 WHERE id <= 2")
        let context = try store.context()
        for item in try context.all("item").suffix(3) { try item.setValue(.integer(1), for: "done") }

        let result = try context.execute(doneItems, allowingUnsavedChanges: true)

        #expect(result.deletedCount == 2)
        #expect(try store.column("SELECT count(*) FROM item") == ["8"])
    }

    @Test func itemsMarkedDoneAndSavedAreDeleted() throws {
        try store.addItems(10)
        try store.change("UPDATE item SET done = 1 WHERE id <= 2")
        let context = try store.context()
        for item in try context.all("item").suffix(3) { try item.setValue(.integer(1), for: "done") }

        if context.hasChanges { try context.save() }
        let result = try context.execute(doneItems)

        #expect(result.deletedCount == 5)
        #expect(try store.column("SELECT count(*) FROM item") == ["5"])
    }

    @Test func aBatchDeleteWithUnsavedChangesOfItsEntityIsAnError() throws {
        try store.addItems(3)
        let context = try store.context()
        try context.item(1).setValue(.integer(1), for: "done")
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        try context.refresh(context.item(1), mergeChanges: false)
        try context.delete(context.item(2))
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        try context.refresh(context.item(2), mergeChanges: false)
        context.insert(entity: "ITEM", values: ["name": .text("x")])
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        context.reset()
        context.insert(entity: "shop", values: ["name": .text("another entity")])
        #expect(try context.execute(doneItems).deletedCount == 0)
    }

    /// A price a day from 1 January 2025, gold and silver by turns.
    private func addPrices(_ count: Int) throws {
        try store.change(
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < \(count - 1))
            INSERT INTO price SELECT 1735689600 + n * 86400, iif(n % 2, 'silver', 'gold'), 2600.0 + n FROM n;
            """)
    }

    @Test func goldPricesOlderThanAMonthGoAndTheRestIsFetched() throws {
        try addPrices(60)
        let time = DateAttribute(name: "time", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
        // A month before 1 March 2025.
        let cutoff = try #require(Instant(iso8601: "2025-02-01"))
        let context = try store.context()
        let gold = Predicate.compare("metal", .equal, .text("gold"))
        let old = FetchRequest(entity: "price", predicate: gold && .date(DateRange(time, before: cutoff)))
        let held = try context.fetch(FetchRequest(entity: "price", predicate: gold))

        let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: old))

        #expect(result.deletedCount == 16)
        let rest = try context.fetch(FetchRequest(entity: "price", predicate: gold))
        #expect(rest.count == 14)
        for price in rest {
            let instant = try #require(try price.instant(for: "time", encoding: .unixSeconds))
            #expect(instant >= cutoff)
        }
        #expect(held.filter(\.isDeleted).count == 16)
        #expect(held.filter { !$0.isDeleted }.map(\.objectID) == rest.map(\.objectID))
        #expect(try store.column("SELECT count(*) FROM price WHERE metal = 'silver'") == ["30"])
    }

    @Test func aContextHoldsDeletedObjectsUntilTheDeletesAreMerged() throws {
        try store.addItems(3)
        try store.change("UPDATE item SET done = 1 WHERE id = 2")
        let context = try store.context()
        let items = try context.all("item")
        var request = doneItems
        request.resultType = .objectIDs

        let result = try context.execute(request)
        // The context has not been updated.
        #expect(!items[1].isDeleted)
        #expect(try items[1].text(for: "name") == "2")

        try StoreContext.mergeChanges(
            fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: [context])
        #expect(items.map(\.isDeleted) == [false, true, false])
        #expect(kind { try items[1].value(for: "name") } == .deleted)
        #expect(kind { try items[1]["name"] } == .deleted)
        #expect(kind { try items[1].setValue(.text("x"), for: "name") } == .deleted)
        #expect(try items[2].text(for: "name") == "3")
        #expect(!context.hasChanges)
    }

    @Test func aLimitOfTenDeletesTheTenOldest() throws {
        try addPrices(30)
        let context = try store.context()
        let held = try context.fetch(FetchRequest(entity: "price", sortDescriptors: [SortDescriptor("time")]))
        let oldest = FetchRequest(entity: "price", sortDescriptors: [SortDescriptor("time")], fetchLimit: 10)

        let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: oldest))

        #expect(result.deletedCount == 10)
        #expect(held.map(\.isDeleted) == Array(repeating: true, count: 10) + Array(repeating: false, count: 20))
        #expect(try store.column("SELECT (min(time) - 1735689600) / 86400 FROM price") == ["10"])
    }

    @Test func twoContextsAreKeptTrueByMerges() throws {
        try store.addItems(4)
        let (one, other) = (try store.context(), try store.context())
        let held = try other.all("item")
        try one.item(1).setValue(.text("renamed"), for: "name")
        try one.delete(one.item(2))
        one.insert(entity: "item", values: ["name": .text("new")])
        try held[2].setValue(.text("mine"), for: "note")

        let changes = try one.save()
        #expect(changes.inserted.count == 1)
        #expect(try held[0].text(for: "name") == "1")
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [one, other])

        #expect(held.map(\.isDeleted) == [false, true, false, false])
        #expect(try held[0].text(for: "name") == "renamed")
        #expect(try held[2].text(for: "note") == "mine")
        #expect(try other.object(with: changes.inserted[0]).text(for: "name") == "new")
        try other.save()
        #expect(try store.column("SELECT note FROM item WHERE id = 3") == ["mine"])
    }

    @Test func contextsOnManyThreadsAreUpdatedByChangeSets() async throws {
        try store.addItems(40)
        let path = store.path
        let context = try store.context()
        let held = try context.all("item")
        let changes = try await withThrowingTaskGroup(of: ChangeSet.self) { group in
            for first in stride(from: Int64(1), to: 40, by: 10) {
                group.addTask {
                    let own = StoreContext(try SQLiteWriter(path: path))
                    for key in first..<(first + 5) { try own.item(key).setValue(.text("seen"), for: "note") }
                    for key in (first + 5)..<(first + 10) { try own.delete(own.item(key)) }
                    return try own.save()
                }
            }
            return try await group.reduce(into: [ChangeSet]()) { $0.append($1) }
        }
        #expect(held.allSatisfy { !$0.isDeleted })

        for change in changes { try StoreContext.mergeChanges(fromRemoteContextSave: change, into: [context]) }

        #expect(Set(held.filter(\.isDeleted).compactMap(\.objectID)) == Set(changes.flatMap(\.deleted)))
        #expect(held.filter(\.isDeleted).count == 20)
        #expect(
            try held.filter { !$0.isDeleted }.map { try $0.text(for: "note") } == Array(repeating: "seen", count: 20))
    }

    @Test func aBatchDeleteCanBeMergedIntoSeveralContexts() throws {
        try store.addItems(4)
        let (one, other) = (try store.context(), try store.context())
        let held = try other.all("item")
        let request = FetchRequest(entity: "item", predicate: .compare("id", .greater, .integer(2)))
        try one.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: request), into: [other])
        #expect(held.map(\.isDeleted) == [false, false, true, true])
    }

    @Test func classicDeleteFetchesIDsMarksAndSaves() throws {
        try store.addItems(1200)
        try store.change("UPDATE item SET done = 1 WHERE id % 3 = 0")
        let context = try store.context()
        for id in try context.fetchObjectIDs(doneItems.fetchRequest) { try context.delete(context.object(with: id)) }
        #expect(context.deletedObjects.count == 400)
        let changes = try context.save()
        #expect(changes.deleted.count == 400)
        #expect(try store.column("SELECT count(*) FROM item WHERE id % 3 = 0") == ["0"])
        #expect(try store.column("SELECT count(*) FROM item") == ["800"])
    }
}
