import Foundation
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

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() async throws {
        let writer = try SQLiteWriter.temporary()
        try writer.createEntity(
            Entity(
                name: "item",
                attributes: [
                    Attribute(name: "id", affinity: .integer), Attribute(name: "name", affinity: .text),
                    Attribute(name: "done", affinity: .integer, isRequired: true, defaultValue: false),
                ], primaryKey: ["id"]))
        let (here, there) = (StoreContext(writer), StoreContext(writer))
        for name in ["a", "b", "c"] { here.insert(entity: "item", values: ["name": StoreValue(name)]) }
        let changes = try here.save()
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [there])
        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        let request = BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs)
        let result = try here.execute(request)
        try StoreContext.mergeChanges(
            fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: [here, there])
        #expect(result.deletedCount == 0)
        try here.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems), into: [there])
        let store = try await StoreActor { [path = writer.name] in try SQLiteWriter(path: path) }
        let saved = try await store.perform { context in
            for item in try context.fetch(StoreFetchRequest(entity: "item", fetchLimit: 1)) {
                try item.setValue("renamed", for: "name")
            }
            return try context.save()
        }
        try StoreContext.mergeChanges(fromRemoteContextSave: saved, into: [here, there])
        #expect(saved.updated.count == 1)
        let waiting = Task {
            for await change in try await store.changes() where change.cause == .others { return true }
            return false
        }
        let items = try here.fetch(StoreFetchRequest(entity: "item"))
        var shown = Set(items.compactMap(\.objectID))
        let observation = here.observeChanges { change in
            for id in change.deleted { shown.remove(id) }
        }
        #expect(shown.count == 3)
        let stream = here.changes()
        let counting = Task {
            var deletedCount = 0
            for await change in stream { deletedCount += change.deleted.count }
            return deletedCount
        }
        try items[0].setValue("mine", for: "name")
        for item in try there.fetch(StoreFetchRequest(entity: "item")) { try item.setValue("theirs", for: "name") }
        try there.save()
        do {
            try here.save()
        } catch let error as MergeConflictError {
            for conflict in error.conflicts {
                try here.refresh(here.object(with: conflict.objectID), mergeChanges: true)
            }
            try here.save()
        }
        here.mergePolicy = .storeWins
        try here.save()
        #expect(try items.map { try $0["name"] } == ["mine", "b", "c"])
        try here.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: Array(shown.prefix(1))))
        #expect(shown.count == 2)
        observation.cancel()
        here.reset()
        counting.cancel()
        let changing = Task { [path = writer.name] in
            while true {
                _ = try SQLiteWriter(path: path).insertObject(entity: "item", values: [:])
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        #expect(try await waiting.value)
        changing.cancel()
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
        #expect(try items[0].value(for: "name", as: String.self) == "renamed")
        #expect(kind { try items[1]["name"] } == .deleted)
        #expect(try items[2].value(for: "note", as: String.self) == "mine")
        #expect(try changes.inserted.map { try there.object(with: $0).value(for: "name", as: String.self) } == ["new"])
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
