import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// One transaction for all changes, with validation and delete rules.
struct SaveTests {
    let store: ContextStore
    let writer: SQLiteWriter
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        writer = try store.writer()
        context = StoreContext(writer)
    }

    @Test func aTransactionThatMayBeUndoneTakesNoSaveAndNoMerge() throws {
        let writer = try store.writer()
        let context = StoreContext(writer)
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"))
        let new = context.insert(entity: "item", values: ["name": "precious"])
        let works: [() throws -> Void] = [
            { try context.save() }, { try context.executeAndMergeChanges(using: all, allowingUnsavedChanges: true) },
            { try context.execute(all, inBatchesOf: 2) },
        ]
        for work in works {
            #expect { try writer.transaction(.normal, work) } throws: { "\($0)".contains("inside a transaction") }
        }
        #expect(try new.value(for: "name", as: String.self) == "precious")
        try context.save()
        #expect(try store.column("SELECT count(*) FROM item WHERE name = 'precious'") == ["1"])
    }

    @Test func insertsUpdatesAndDeletesAreSavedAndListedUntilThen() throws {
        try store.addItems(2)
        let new = context.insert(entity: "item", values: ["name": "new"])
        try new.setValue("later", for: "note")
        try context.item(1).setValue("changed", for: "note")
        try context.delete(context.item(2))
        #expect(context.hasChanges)
        #expect(context.insertedObjects.map(\.isInserted) == [true])
        #expect(context.updatedObjects.map(\.objectID?.key) == [[.integer(1)]])
        #expect(context.deletedObjects.map(\.objectID?.key) == [[.integer(2)]])
        #expect(try store.column("SELECT count(*) FROM item WHERE note IS NOT NULL") == ["0"])

        let changes = try context.save()

        #expect(!context.hasChanges && context.insertedObjects.isEmpty)
        #expect(try store.column("SELECT name || ifnull(note, '') FROM item") == ["1changed", "newlater"])
        #expect(changes.inserted == [new.objectID])
        #expect(context.object(with: changes.inserted[0]) === new)
        // What the store made of it.
        #expect(try new.value(for: "done", as: Int64.self) == 0)
        #expect(try new.value(for: "label", as: String.self) == "new!")
        #expect(try context.save().isEmpty)
    }

    @Test func aSaveOfNewObjectsNeedsSomeAndThrowsIfARowIsRefused() throws {
        #expect(try context.save(onConflict: .fail) == StoreContext.SaveResult())
        context.insert(entity: "debt", values: ["shop": 3])
        #expect { try context.save(onConflict: .fail) } throws: {
            "\($0)".contains("a new debt was refused: debt (shop)")
        }
        #expect(context.insertedObjects.count == 1)
    }

    @Test func changesThatAreUndoneLeaveTheOthersInTheirOrder() throws {
        try store.addItems(100)
        let items = try context.all("item")
        for item in items { try item.setValue("changed", for: "note") }
        for item in items.dropLast() { try item.setValue(.null, for: "note") }
        try items[0].setValue("again", for: "note")
        #expect(context.updatedObjects.map(ObjectIdentifier.init) == [items[99], items[0]].map(ObjectIdentifier.init))
        try items[99].setValue(.null, for: "note")
        #expect(context.updatedObjects.map(ObjectIdentifier.init) == [ObjectIdentifier(items[0])])
    }

    @Test func aSaveThatFailsLeavesTheStoreAndTheContextAsTheyWere() throws {
        try store.addItems(2)
        try context.item(1).setValue("changed", for: "note")
        let new = context.insert(entity: "item", values: ["name": "new"])
        context.insert(entity: "item", values: ["id": 2, "name": "its key is there"])
        #expect { try context.save() } throws: { ($0 as? StoreError)?.kind == .constraint }
        #expect(try store.column("SELECT count(*) FROM item WHERE note IS NOT NULL OR id > 2") == ["0"])
        #expect(context.insertedObjects.count == 2 && context.updatedObjects.count == 1)
        #expect(new.isInserted && new.objectID == nil)
    }

    @Test func validationNamesEntityAndAttributeBeforeTheStoreIsTouched() throws {
        try store.addItems(1)
        context.insert(entity: "item", values: ["id": .null, "note": "no name"])
        context.insert(entity: "item", values: ["nam": "x", "name": .null, "label": "x"])
        try context.item(1).setValue(.null, for: "name")
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        let error = try #require(throws: ObjectValidationError.self) { try context.save() }
        #expect(
            error.failures.map(\.description) == [
                "item.name must have a value", "item.label is computed by the store and cannot be set",
                "item has no attribute 'nam'", "item.name must have a value", "item.name must have a value",
            ])
        #expect(statements.isEmpty)
    }

    @Test func rowsThatReferToOthersAreInsertedAfterAndDeletedBeforeThem() throws {
        context.insert(entity: "debt", values: ["id": 5, "shop": 9])
        context.insert(entity: "shop", values: ["id": 9, "name": "s"])
        try context.save()
        for object in try context.all("shop") + context.all("debt") { try context.delete(object) }
        try context.save()
        #expect(try store.column("SELECT count(*) FROM shop") == ["0"])
    }

    @Test func rowsThatReferToEachOtherInOneEntityAreDeletedInAnyOrder() throws {
        try store.change("INSERT INTO account VALUES (1, NULL), (2, 1), (3, 2), (4, 3)")
        for account in try context.all("account") { try context.delete(account) }
        try context.save()
        #expect(try store.column("SELECT count(*) FROM account") == ["0"])
    }

    @Test func deletesFollowTheDeleteRulesAndHeldObjectsKnow() throws {
        try store.change(
            """
            INSERT INTO shop VALUES (1, 'a'), (2, 'b');
            INSERT INTO shelf VALUES (1, 1), (2, 2); INSERT INTO tool VALUES (1, 1, 't'), (2, 2, 't');
            """)
        let (shelves, tools) = (try context.all("shelf"), try context.all("tool"))
        try context.delete(context.all("shop")[0])
        try context.save()
        #expect(kind { try shelves[0].value(for: "shop") } == .deleted)
        #expect(shelves[0].isDeleted)
        #expect(try shelves[1].value(for: "shop", as: Int64.self) == 2)
        #expect(try tools[0].value(for: "shop").isNull)
    }

    @Test func whatACascadeWouldTakeMayBeDeletedInTheSameSave() throws {
        try store.change("INSERT INTO shop VALUES (1, 'a'); INSERT INTO tool VALUES (1, 1, 't'), (2, 1, 't')")
        try context.delete(context.all("shop")[0])
        try context.delete(context.all("tool")[0])
        try context.save()
        #expect(try store.column("SELECT count(*) FROM tool WHERE shop IS NULL") == ["1"])
    }

    @Test func aRelationshipThatForbidsTheDeleteIsNamed() throws {
        try store.change("INSERT INTO shop VALUES (1, 'a'), (2, 'b'); INSERT INTO debt VALUES (1, 2), (2, 2)")
        for shop in try context.all("shop") { try context.delete(shop) }
        let error = try #require(throws: ObjectValidationError.self) { try context.save() }
        #expect(error.failures.map(\.description) == ["2 rows of debt still refer to a deleted shop by shop"])
        #expect(try store.column("SELECT count(*) FROM shop") == ["2"])
        #expect(context.deletedObjects.count == 2)
    }

    @Test func savingNewObjectsOnlyForgetsThem() throws {
        let object = context.insert(entity: "item", values: ["id": 1, "name": "a"])
        context.insert(entity: "item", values: ["id": 1, "name": "b"])
        context.insert(entity: "item", values: ["id": 3])
        var reasons: [String] = []
        let result = try context.save(onConflict: .ignore) { reasons.append($1) }
        #expect(result.savedCount == 1 && result.ignoredCount == 1 && result.rejectedCount == 1)
        #expect(reasons == ["NOT NULL constraint failed: item.name"])
        #expect(!context.hasChanges)
        #expect(kind { try object.value(for: "name") } == .detached)
        try context.item(1).setValue(true, for: "done")
        #expect(throws: StoreError.self) { try context.save(onConflict: .fail) }
    }
}
