import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The samples of the article KeepingContextsTrue.
struct KeepingContextsTrueTests {
    let store: ContextStore
    private let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)

    init() throws {
        store = try ContextStore()
        try store.addItems(4)
    }

    @Test func aSaveIsMergedIntoAnotherContext() throws {
        let (here, there) = (try store.context(), try store.context())
        let items = try there.all("item")
        try items[2].setValue("mine", for: "note")
        try here.item(1).setValue("renamed", for: "name")
        try here.item(3).setValue("theirs", for: "note")
        try here.delete(here.item(2))
        here.insert(entity: "item", values: ["name": "new"])
        let changes = try here.save()
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [there])
        #expect(items[0].isFault && !items[3].isDeleted)
        #expect(try items[0].text(for: "name") == "renamed")
        #expect(kind { try items[1]["name"] } == .deleted)
        #expect(try items[2].text(for: "note") == "mine")
        #expect(try changes.inserted.map { try there.object(with: $0).text(for: "name") } == ["new"])
        try there.save()
        #expect(try store.column("SELECT note FROM item WHERE id = 3") == ["mine"])
    }

    @Test func aBatchDeleteIsMergedByItsIDs() throws {
        try store.change("UPDATE item SET done = 1 WHERE id = 2")
        let (here, there) = (try store.context(), try store.context())
        let (mine, others) = (try here.all("item"), try there.all("item"))
        let request = BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs)
        let result = try here.execute(request)
        try StoreContext.mergeChanges(
            fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: [here, there])
        #expect(mine.map(\.isDeleted) == [false, true, false, false])
        #expect(others.map(\.isDeleted) == [false, true, false, false])
    }

    @Test func aBatchDeleteIsCarriedOutAndMergedInOneCall() throws {
        try store.change("UPDATE item SET done = 1 WHERE id = 2")
        let (here, there) = (try store.context(), try store.context())
        let (mine, others) = (try here.all("item"), try there.all("item"))
        try here.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems), into: [there])
        #expect(mine.map(\.isDeleted) == [false, true, false, false])
        #expect(others.map(\.isDeleted) == [false, true, false, false])
    }

    @Test func aChangeSetComesFromAnActor() async throws {
        try store.change("ALTER TABLE price ADD COLUMN dollars REAL; INSERT INTO price VALUES (1, 'gold', 1, 2600)")
        let context = try store.context()
        let price = try context.all("price")[0]
        let id = try #require(price.objectID)
        let keeper = try PriceKeeper(path: store.path)
        let changes = try await keeper.setDollars(2700, of: id)
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [context])
        #expect(try price.real(for: "dollars") == 2700)
    }

    @Test func anObserverIsNotifiedOfDeletes() throws {
        let context = try store.context()
        let items = try context.all("item")
        var shown = Set(items.compactMap(\.objectID))
        let observation = context.observeChanges { change in
            for id in change.deleted { shown.remove(id) }
        }
        let two = StoreFetchRequest(entity: "item", fetchLimit: 2)
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: two))
        #expect(shown == Set(items[2...].compactMap(\.objectID)))
        observation.cancel()
    }

    @Test func aStreamNotifiesATask() async throws {
        func count() throws -> Task<Int, Never> {
            let context = try store.context()
            let items = try context.all("item")
            let stream = context.changes()
            let counting = Task {
                var deletedCount = 0
                for await change in stream { deletedCount += change.deleted.count }
                return deletedCount
            }
            let two = StoreFetchRequest(entity: "item", fetchLimit: 2)
            try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: two))
            #expect(items.map(\.isDeleted) == [true, true, false, false])
            return counting
        }
        #expect(try await count().value == 2)
    }

    @Test func conflictsAreTakenAsKnownAndTheSaveIsTriedAgain() throws {
        let context = try store.context()
        let item = try context.all("item")[0]
        try item.setValue("mine", for: "note")
        try store.change("UPDATE item SET name = 'theirs', note = 'theirs' WHERE id = 1")
        #expect(throws: MergeConflictError.self) { try context.save() }
        do {
            try context.save()
        } catch let error as MergeConflictError {
            for conflict in error.conflicts {
                try context.refresh(context.object(with: conflict.objectID), mergeChanges: true)
            }
            try context.save()
        }
        #expect(try store.column("SELECT name || note FROM item WHERE id = 1") == ["theirsmine"])
    }

    @Test func aPolicySaysWhoWins() throws {
        let context = try store.context()
        let item = try context.all("item")[0]
        try item.setValue("mine", for: "note")
        try item.setValue(true, for: "done")
        try store.change("UPDATE item SET note = 'theirs' WHERE id = 1")
        context.mergePolicy = .storeWins
        try context.save()
        #expect(try store.column("SELECT note || done FROM item WHERE id = 1") == ["theirs1"])
    }
}
