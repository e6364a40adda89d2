import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Notifications, and what a merge costs.
struct ObservationTests {
    let store: ContextStore
    let writer: SQLiteWriter
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        try store.addItems(3)
        writer = try store.writer()
        context = StoreContext(writer)
    }

    @Test func anObserverIsNotifiedOfEachChangeUntilItIsCancelled() throws {
        let items = try context.all("item")
        var told: [ObjectsDidChange] = []
        let observation = context.observeChanges { told.append($0) }
        let (first, second) = (try #require(items[0].objectID), try #require(items[1].objectID))
        try items[0].setValue(.text("x"), for: "note")
        try context.delete(items[1])
        try context.save()
        try context.refresh(items[0], mergeChanges: true)
        let missing = ObjectID(entity: "item", key: [.integer(77)], storeIdentifier: first.storeIdentifier)
        try StoreContext.mergeChanges(
            fromRemoteContextSave: ChangeSet(updated: [first], deleted: [missing]), into: [context])
        context.reset()
        #expect(
            told == [
                ObjectsDidChange(.edit, updated: [first]), ObjectsDidChange(.edit, deleted: [second]),
                ObjectsDidChange(.save, updated: [first], deleted: [second]),
                ObjectsDidChange(.refresh, refreshed: [first]), ObjectsDidChange(.merge, updated: [first]),
                ObjectsDidChange(.reset),
            ])
        observation.cancel()
        context.insert(entity: "item")
        #expect(told.count == 6)
    }

    @Test func aReleasedObserverIsNotNotified() throws {
        var count = 0
        var observation: ChangeObservation? = context.observeChanges { _ in count += 1 }
        context.insert(entity: "item")
        #expect(observation != nil && count == 1)
        observation = nil
        context.insert(entity: "item")
        #expect(count == 1)
    }

    @Test func aStreamNotifiesAnotherTaskAndEndsWithTheContext() async throws {
        let store = try ContextStore()
        try store.addItems(2)
        var context: StoreContext? = try store.context()
        let stream = try #require(context?.changes())
        let task = Task { () -> [ObjectsDidChange] in
            var told: [ObjectsDidChange] = []
            for await change in stream { told.append(change) }
            return told
        }
        let held = try context?.all("item")
        let result = try context?.executeAndMergeChanges(
            using: BatchDeleteRequest(fetchRequest: FetchRequest(entity: "item")))
        #expect(held?.map(\.isDeleted) == [true, true])
        context = nil
        #expect(await task.value == [ObjectsDidChange(.merge, deleted: result?.objectIDs ?? [])])
    }

    @Test func mergingManyDeletedIDsTakesNoStatement() throws {
        try store.change("DELETE FROM item")
        try store.addItems(10_000)
        let held = try context.all("item")
        let identifier = try #require(held[0].objectID?.storeIdentifier)
        let ids = (0..<100_000).map {
            ObjectID(entity: "item", key: [.integer(Int64($0 + 5001))], storeIdentifier: identifier)
        }
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(deleted: ids), into: [context])
        #expect(held.filter(\.isDeleted).count == 5000)
        #expect(statements.isEmpty)
    }

    @Test func unusedObjectsAreReleased() throws {
        weak var item: ManagedObject?
        do {
            let items = try context.all("item")
            item = items[0]
            #expect(item != nil)
        }
        #expect(item == nil)
        do { try context.item(2).setValue(.text("kept for its change"), for: "note") }
        #expect(try context.item(2).text(for: "note") == "kept for its change")
    }
}
