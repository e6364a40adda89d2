import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Batch requests through a context whose objects are to stay true.
struct ExecuteTests {
    let store: ContextStore
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        try store.addItems(4)
        context = try store.context()
    }

    @Test func aBatchUpdateIsMergedAndUnsavedChangesAreKept() throws {
        let items = try context.all("item")
        try items[0].setValue("mine", for: "note")
        let request = BatchUpdateRequest(
            entity: "item", predicate: Attribute("id") <= 2,
            propertiesToUpdate: ["name": "theirs", "note": "theirs"])
        #expect(throws: StoreError.self) { try context.execute(request) }
        let result = try context.executeAndMergeChanges(using: request, allowingUnsavedChanges: true)
        #expect(result.objectIDs == [items[0].objectID, items[1].objectID])
        #expect(try items.map { try $0.value(for: "name", as: String.self) } == ["theirs", "theirs", "3", "4"])
        #expect(try items[0].value(for: "note", as: String.self) == "mine")
        // The merge has made their change known.
        try context.save()
        #expect(try store.column("SELECT note FROM item WHERE id = 1") == ["mine"])
    }

    @Test func unsavedChangesHoldADeleteInBatchesBackEvenIfNoSavedRowMatches() throws {
        let done = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: "item", predicate: Attribute("done") == true))
        try context.all("item")[0].setValue(true, for: "done")
        #expect { try context.execute(done, inBatchesOf: 100) } throws: { "\($0)".contains("unsaved item objects") }
        try context.save()
        #expect(try context.execute(done, inBatchesOf: 100).deletedCount == 1)
    }

    @Test func aDeleteInBatchesIsMergedIntoOtherContexts() throws {
        let other = try store.context()
        let held = try context.all("item") + other.all("item")
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"))
        #expect(try context.execute(all, inBatchesOf: 3, mergingInto: [context, other]).deletedCount == 4)
        #expect(held.count == 8 && held.allSatisfy(\.isDeleted))
    }

    @Test func aBatchUpdateOfKeysLeavesNoObjectWithAFormerKey() throws {
        let items = try context.all("item")
        try context.executeAndMergeChanges(
            using: BatchUpdateRequest(
                entity: "item", predicate: Attribute("id") == 4,
                propertiesToUpdate: ["ID": 40]))
        #expect(kind { try items[3]["name"] } == .deleted)
        #expect(try context.item(40).value(for: "name", as: String.self) == "4")
    }

    @Test func aBatchInsertThatOverwritesIsMerged() throws {
        let items = try context.all("item")
        let rows: [[String: StoreValue]] = [
            ["id": 1, "name": "over"], ["id": 9, "name": "new"],
        ]
        var told: [ObjectsDidChange] = []
        let observation = context.observeChanges { told.append($0) }
        let request = BatchInsertRequest(entity: "item", objects: rows, onConflict: .replace)
        let result = try context.executeAndMergeChanges(using: request)
        #expect(result.insertedCount == 2)
        #expect(try items[0].value(for: "name", as: String.self) == "over")
        #expect(told.map(\.inserted) == [result.objectIDs])
        observation.cancel()
        try items[1].setValue(true, for: "done")
        #expect(throws: StoreError.self) { try context.execute(request) }
        #expect(throws: StoreError.self) {
            // Not for the context's sake: the key is there.
            try context.execute(BatchInsertRequest(entity: "item", objects: [rows[0]]))
        }
    }

    @Test func objectsThatABatchDeleteReachesThroughRelationshipsAreReadAnew() throws {
        try store.change(
            """
            INSERT INTO shop VALUES (1, 'a'); INSERT INTO shelf VALUES (1, 1); INSERT INTO tool VALUES (1, 1, 't');
            INSERT INTO debt VALUES (1, 1);
            """)
        let (shelf, tool, debt) = (
            try context.all("shelf")[0], try context.all("tool")[0], try context.all("debt")[0]
        )
        try context.executeAndMergeChanges(
            using: BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop"), relationships: .cascade))
        for object in [shelf, tool, debt] { #expect(kind { try object["id"] } == .deleted) }
    }

    @Test func idsOfTwoEntitiesAreAnErrorThatNamesThem() throws {
        try store.change("INSERT INTO shop VALUES (1, 'a')")
        let ids = try context.all("item").compactMap(\.objectID) + context.all("shop").compactMap(\.objectID)
        let error = try #require(throws: StoreError.self) {
            try context.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: ids))
        }
        #expect(error.message.contains("item, shop"))
        #expect(try context.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: [])).deletedCount == 0)
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
    }

    @Test func anAttributeThatIsNamedTwiceIsAnError() throws {
        let twice: [String: StoreValue] = ["note": "a", "NOTE": "b", "name": "c"]
        let row = ObjectID(entity: "item", key: [1])
        let writer = try store.writer()
        let changes: [() throws -> Void] = [
            { try writer.execute(BatchUpdateRequest(entity: "item", propertiesToUpdate: twice)) },
            { try writer.execute(BatchInsertRequest(entity: "item", objects: [twice])) },
            { _ = try writer.insertObject(entity: "item", values: twice) },
            { _ = try writer.insert(entity: "item", values: twice, onConflict: .fail) },
            { _ = try writer.updateObject(row, set: twice, ifStill: [:]) },
        ]
        for change in changes {
            #expect { try change() } throws: { "\($0)".contains("item.note is named twice") }
        }
        #expect(try store.column("SELECT note FROM item") == ["NULL", "NULL", "NULL", "NULL"])
    }

    @Test func anOrderThatTheStoreDoesNotKnowIsAnError() throws {
        let request = StoreFetchRequest(entity: "item", sortDescriptors: [StoreSortDescriptor("missing")])
        #expect { try context.count(request) } throws: { ($0 as? StoreError)?.kind == .unknownName }
        #expect { try context.execute(BatchDeleteRequest(fetchRequest: request)) } throws: {
            ($0 as? StoreError)?.kind == .unknownName
        }
    }

    @Test func rowsAreCountedAndObjectsDescribeThemselves() throws {
        #expect(try context.count(StoreFetchRequest(entity: "item", predicate: Attribute("id") > 1)) == 3)
        #expect(try [0, -1].map { try context.count(StoreFetchRequest(entity: "item", fetchLimit: $0)) } == [0, 0])
        #expect(try context.count(StoreFetchRequest(entity: "item", fetchOffset: -1)) == 4)
        let item = try context.all("item")[0]
        #expect("\(item)" == "item 1")
        try item.setValue("secret", for: "note")
        #expect("\(item)" == "item 1 (changed: note)")
        try context.delete(item)
        #expect("\(item)" == "item 1 (deleted)")
        #expect("\(context.insert(entity: "item"))" == "item (new)")
    }

    @Test func aDateWithoutADeclaredFormatIsAnErrorThatSaysWhatToWrite() throws {
        let error = try #require(throws: StoreError.self) {
            try context.fetch(
                StoreFetchRequest(entity: "price", predicate: Attribute("time") < Instant(unixSeconds: 5)))
        }
        #expect(error.kind == .unsupported && error.hint?.contains(".unixSeconds") == true)
        try store.change("INSERT INTO price VALUES (0, 'gold', 1), (4, 'gold', 1), (5, 'gold', 1), ('x', 'gold', 1)")
        let old = StoreFetchRequest(
            entity: "price", predicate: Attribute("time", .unixSeconds) < Instant(unixSeconds: 5))
        #expect(try context.count(old) == 1)
    }

    @Test func errorsOfAHandlerKeepTheirType() throws {
        struct BadLine: Error {}
        #expect(throws: BadLine.self) {
            try context.execute(BatchInsertRequest(entity: "item") { _ in throw BadLine() })
        }
        let cancelled = BatchInsertRequest(entity: "item") { _ in throw CancellationError() }
        #expect(throws: CancellationError.self) { try context.executeAndMergeChanges(using: cancelled) }
        #expect { try store.writer().execute(cancelled) } throws: { ($0 as? StoreError)?.kind == .cancelled }
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
    }

    @Test func aContextOverAReaderSavesNothing() throws {
        let context = StoreContext(try store.reader())
        context.insert(entity: "item", values: ["name": "x"])
        for save in [{ _ = try context.save() }, { _ = try context.save(onConflict: .fail) }] {
            #expect { try save() } throws: {
                ($0 as? StoreError)?.kind == .unsupported && "\($0)".contains("open for reading only")
            }
        }
        #expect(context.insertedObjects.count == 1)
    }

    @Test func aRehearsalTakesNewObjectsOnly() throws {
        let reader = try store.reader()
        let rehearsal = StoreContext(rehearsing: reader)
        rehearsal.insert(entity: "item", values: ["name": "x"])
        #expect { try rehearsal.save() } throws: { ($0 as? StoreError)?.kind == .unsupported }
        #expect { try rehearsal.save(onConflict: .fail) } throws: { "\($0)".contains("takes no rows") }
        #expect(try reader.rehearse { try rehearsal.save(onConflict: .fail) }.savedCount == 1)
        #expect(throws: StoreError.self) {
            try rehearsal.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item")))
        }
        #expect(try store.column("SELECT count(*) FROM item") == ["4"])
    }
}
