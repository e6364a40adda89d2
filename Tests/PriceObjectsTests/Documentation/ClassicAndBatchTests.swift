import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The article ClassicAndBatch: its samples, and each row of its table.
struct ClassicAndBatchTests {
    let store: ContextStore
    let writer: SQLiteWriter
    let context: StoreContext
    private let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
    private let allItems = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"), resultType: .count)

    init() throws {
        store = try ContextStore()
        try store.addItems(4)
        try store.change("UPDATE item SET done = 1 WHERE id < 3")
        writer = try store.writer()
        context = StoreContext(writer)
    }

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() throws {
        let context = StoreContext(try SQLiteWriter.inMemory())
        let done = Attribute(name: "done", affinity: .integer, isRequired: true, defaultValue: false)
        let (id, name) = (Attribute(name: "id", affinity: .integer), Attribute(name: "name", affinity: .text))
        try context.writer().createEntity(Entity(name: "item", attributes: [id, name, done], primaryKey: ["id"]))
        context.insert(entity: "item", values: ["done": true])
        try context.save()

        let doneItems = StoreFetchRequest(entity: "item", predicate: Attribute("done") == true)
        for item in try context.fetch(doneItems) { try context.delete(item) }
        let changes = try context.save()
        #expect(changes.deleted.count == 1)
        if context.hasChanges { try context.save() }
        let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
        #expect(result.deletedCount == 0)
        var number = 0
        let insert = BatchInsertRequest(entity: "item") { row in
            guard number < 1000 else { return .stop }
            number += 1
            row["id"] = StoreValue(number)
            row["name"] = "item \(number)"
            return .insert
        }
        let insertedCount = try context.execute(insert).insertedCount
        #expect(insertedCount == 1000)
        let renamed = BatchInsertRequest(
            entity: "item", objects: [["id": 1, "name": "first"], ["id": 1001, "name": "last"]], onConflict: .replace)
        try context.executeAndMergeChanges(using: renamed)
        #expect(try context.item(1)["name"] == "first" && context.item(1001)["name"] == "last")
        let update = BatchUpdateRequest(
            entity: "item", predicate: Attribute("id") > 900, propertiesToUpdate: ["done": true])
        let updatedCount = try context.executeAndMergeChanges(using: update).updatedCount
        #expect(updatedCount == 101)
    }

    @Test func bothWaysDeleteTheSameRows() throws {
        do {
            for item in try context.fetch(doneItems) { try context.delete(item) }
            let changes = try context.save()
            #expect(changes.deleted.count == 2)
        }
        try store.change("INSERT INTO item (name, done) VALUES ('x', 1)")
        do {
            if context.hasChanges { try context.save() }
            let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
            #expect(result.deletedCount == 1)
        }
        #expect(try store.column("SELECT id FROM item") == ["3", "4"])
    }

    @Test func validationIsRunOnlyBySaves() throws {
        context.insert(entity: "item", values: ["nam": "a"])
        context.insert(entity: "item", values: ["name": "a", "label": "computed"])
        let error = try #require(throws: ObjectValidationError.self) { try context.save() }
        #expect(error.failures.count == 3)
        context.reset()
        // The batch comes as far as the row that is wrong, and then the store itself refuses it.
        var made = 0
        let request = BatchInsertRequest(entity: "item") { row in
            made += 1
            if made == 1 { row["name"] = "right" }
            return made < 3 ? .insert : .stop
        }
        #expect { try context.execute(request) } throws: { ($0 as? StoreError)?.kind == .constraint }
        #expect(made == 2)
        #expect(throws: StoreError.self) {
            try context.execute(BatchInsertRequest(entity: "item", objects: [["nam": "a"]]))
        }
        #expect(throws: StoreError.self) {
            try context.execute(BatchInsertRequest(entity: "item", objects: [["name": "a", "label": "a"]]))
        }
        let noName = BatchUpdateRequest(entity: "item", propertiesToUpdate: ["name": .null])
        #expect { try context.execute(noName) } throws: { ($0 as? StoreError)?.kind == .constraint }
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
    }

    @Test func constraintsOfTheStoreHoldForBoth() throws {
        let taken: [String: StoreValue] = ["id": 1, "name": "again"]
        #expect {
            try context.execute(BatchInsertRequest(entity: "item", objects: [taken]))
        } throws: { ($0 as? StoreError)?.kind == .constraint }
        context.insert(entity: "item", values: taken)
        #expect { try context.save() } throws: { ($0 as? StoreError)?.kind == .constraint }
    }

    @Test func deleteRulesHoldForBoth() throws {
        try store.change(
            """
            INSERT INTO shop VALUES (1, 'a'), (2, 'b'), (3, 'c');
            INSERT INTO shelf VALUES (1, 1), (2, 2), (3, 3); INSERT INTO tool VALUES (1, 1, 't'), (2, 2, 't');
            INSERT INTO debt VALUES (1, 3);
            """)
        try context.delete(context.all("shop")[0])
        try context.save()
        #expect(try store.column("SELECT count(*) FROM shelf") == ["2"])
        func request(_ key: Int64) -> BatchDeleteRequest {
            let shop = StoreFetchRequest(entity: "shop", predicate: Attribute("id") == key)
            return BatchDeleteRequest(fetchRequest: shop, resultType: .count)
        }
        let result = try context.execute(request(2))
        #expect(result.deletedCount == 1 && result.cascadedCount == 1 && result.nullifiedCount == 1)
        #expect(try store.column("SELECT count(*) FROM tool WHERE shop IS NULL") == ["2"])
        // One that forbids.
        #expect { try context.execute(request(3)) } throws: { ($0 as? StoreError)?.kind == .constraint }
        try context.delete(context.all("shop")[0])
        let error = try #require(throws: ObjectValidationError.self) { try context.save() }
        #expect("\(error)".contains("1 row of debt"))
        #expect(try store.column("SELECT id FROM shop") == ["3"])
    }

    @Test func triggersFireForBoth() throws {
        try store.change(
            """
            CREATE TABLE audit (id INTEGER);
            CREATE TRIGGER watch AFTER DELETE ON item BEGIN INSERT INTO audit VALUES (OLD.id); END
            """)
        try context.delete(context.item(4))
        try context.save()
        #expect(try store.column("SELECT id FROM audit") == ["4"])
        try context.execute(allItems)
        #expect(try store.column("SELECT count(*) FROM audit") == ["4"])
    }

    @Test func onlySavesCompareRowsWithWhatWasRead() throws {
        let items = try context.all("item")
        try items[0].setValue("mine", for: "note")
        try store.change("UPDATE item SET note = 'theirs'")
        #expect(throws: MergeConflictError.self) { try context.save() }
        try context.refresh(items[0], mergeChanges: false)
        try store.change("UPDATE item SET note = 'theirs again'")
        #expect(try context.execute(allItems).deletedCount == 4)
    }

    @Test func unsavedChangesAreSavedByTheOneAndNotSeenByTheOther() throws {
        try context.item(3).setValue(true, for: "done")
        let request = BatchDeleteRequest(fetchRequest: doneItems, resultType: .count)
        #expect(throws: StoreError.self) { try context.execute(request) }
        #expect(try context.execute(request, allowingUnsavedChanges: true).deletedCount == 2)
        try context.save()
        #expect(try context.execute(request).deletedCount == 1)
    }

    @Test func eachIsOneTransaction() throws {
        try store.change(
            "CREATE TRIGGER keep BEFORE DELETE ON item WHEN OLD.id = 4 BEGIN SELECT RAISE(ABORT, 'stays'); END")
        #expect(throws: StoreError.self) { try context.execute(allItems) }
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
        for item in try context.all("item") { try context.delete(item) }
        #expect(throws: StoreError.self) { try context.save() }
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
    }

    @Test func objectsAndObserversLearnOfSavesAtOnceAndOfBatchesByAMerge() throws {
        try store.change("INSERT INTO shop VALUES (1, 'a'), (2, 'b'); INSERT INTO shelf VALUES (1, 1), (2, 2)")
        let (shops, shelves) = (try context.all("shop"), try context.all("shelf"))
        var told: [ObjectsDidChange.Cause] = []
        let observation = context.observeChanges { told.append($0.cause) }
        try context.delete(shops[0])
        try context.save()
        #expect(shops[0].isDeleted && kind { try shelves[0]["id"] } == .deleted)
        #expect(told == [.edit, .save])
        #expect(try shelves[1].value(for: "shop", as: Int64.self) == 2)
        let rest = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop"), resultType: .objectIDs)
        let result = try context.execute(rest)
        #expect(!shops[1].isDeleted && !shelves[1].isFault && told.count == 2)
        try StoreContext.mergeChanges(
            fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: [context])
        #expect(shops[1].isDeleted && kind { try shelves[1]["id"] } == .deleted)
        #expect(told == [.edit, .save, .merge])
        observation.cancel()
    }

    @Test func keysAreSetOnlyByBatchUpdates() throws {
        #expect(kind { try context.item(1).setValue(10, for: "id") } == .readOnlyAttribute)
        let request = BatchUpdateRequest(
            entity: "item", predicate: Attribute("id") == 1, propertiesToUpdate: ["id": 10])
        #expect(try context.execute(request).updatedCount == 1)
        #expect(try store.column("SELECT name FROM item WHERE id = 10") == ["1"])
    }

    @Test func whatIsNotNamedTakesTheDefaultInBoth() throws {
        context.insert(entity: "item", values: ["name": "object"])
        try context.save()
        try context.execute(BatchInsertRequest(entity: "item", objects: [["name": "row"]]))
        #expect(try store.column("SELECT done FROM item WHERE id > 4") == ["0", "0"])
    }
}
