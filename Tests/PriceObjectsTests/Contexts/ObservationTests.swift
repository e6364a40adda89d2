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
        try items[0].setValue("x", for: "note")
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

    @Test func rowsThatAProgramNamesAreMergedWithoutAnIdentifierOfTheStore() throws {
        let item = try context.all("item")[0]
        let changes = ChangeSet(updated: [ObjectID(entity: "ITEM", key: [1])])
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [context])
        #expect(item.isFault)
    }

    @Test func aMergeThatFailsInOneContextIsDoneInTheOthers() throws {
        try store.change("CREATE TABLE gone (id INTEGER PRIMARY KEY, note TEXT); INSERT INTO gone VALUES (1, 'a')")
        let (one, other) = (try store.context(), try store.context())
        let (changed, held) = (try one.all("gone")[0], try other.all("item")[0])
        try changed.setValue("b", for: "note")
        try store.change("DROP TABLE gone")
        let changes = ChangeSet(updated: [changed, held].compactMap(\.objectID))
        #expect(throws: StoreError.self) {
            try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [one, other])
        }
        #expect(changed.isUpdated && held.isFault)
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
            using: BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"), resultType: .objectIDs))
        #expect(held?.map(\.isDeleted) == [true, true])
        context = nil
        #expect(await task.value == [ObjectsDidChange(.merge, deleted: result?.objectIDs ?? [])])
    }

    @Test func aReaderThatIsTooFarBehindIsToldThatItMissedSomething() async throws {
        let stream = context.changes(bufferingUpTo: 3)
        for note in 1...9 { try context.item(1).setValue("\(note)", for: "note") }
        var iterator = stream.makeAsyncIterator()
        var causes: [ObjectsDidChange.Cause?] = []
        for _ in 1...3 { causes.append(await iterator.next()?.cause) }
        #expect(causes.last == .missed)
        try context.item(2).setValue("later", for: "note")
        #expect(await iterator.next()?.cause == .edit)
    }

    @Test(arguments: [(1, 1), (2, 1), (2, 2), (10, 9)])
    func aReaderThatKeepsUpMissesNothing(_ limit: Int, _ burst: Int) async throws {
        var iterator = context.changes(bufferingUpTo: limit).makeAsyncIterator()
        for _ in 1...4 {
            for _ in 1...burst { context.insert(entity: "item") }
            for _ in 1...burst { #expect(await iterator.next()?.cause == .edit) }
        }
    }

    @Test func mergingADeleteOfManyRowsNeedsNoneOfTheirIDs() throws {
        let held = try context.all("item")
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        let request = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: "item", predicate: Attribute("id") > 1))
        let result = try context.executeAndMergeChanges(using: request)
        #expect(result.deletedCount == 2 && result.objectIDs.isEmpty)
        #expect(held.map(\.isDeleted) == [false, true, true])
        // One statement deletes, and one asks for the three objects in memory.
        #expect(statements.count { $0.hasPrefix("DELETE") } == 1)
        #expect(!statements.contains { $0.contains("RETURNING") || $0.contains("CREATE TEMP TABLE") })
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
        do { try context.item(2).setValue("kept for its change", for: "note") }
        #expect(try context.item(2).value(for: "note", as: String.self) == "kept for its change")
    }
}
