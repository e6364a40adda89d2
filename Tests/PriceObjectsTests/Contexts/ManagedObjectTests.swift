import PriceObjects
import PriceStore
import Testing

/// One object for each row, and what it says when touched.
struct ManagedObjectTests {
    let store: ContextStore
    let context: StoreContext

    init() throws {
        store = try ContextStore()
        try store.addItems(3)
        context = try store.context()
    }

    @Test func thereIsOneObjectForEachID() throws {
        let items = try context.all("item")
        #expect(try context.all("item").map(ObjectIdentifier.init) == items.map(ObjectIdentifier.init))
        #expect(context.item(2) === items[1])
        #expect(context.object(with: ObjectID(entity: "ITEM", key: [.integer(2)])) === items[1])
    }

    @Test func keysThatSwiftTakesForEqualAreTwoObjects() throws {
        try store.change("INSERT INTO word VALUES ('caf\u{e9}', 'one'), ('cafe\u{301}', 'two')")
        let words = try context.all("word")
        #expect(Set(words.map(ObjectIdentifier.init)).count == 2)
        #expect(try Set(words.map { try $0.value(for: "meaning", as: String.self) }) == ["one", "two"])
    }

    @Test func aFetchKeepsUnsavedChangesAndReadsEverythingElseAgain() throws {
        let items = try context.all("item")
        try items[0].setValue("mine", for: "note")
        try store.change("UPDATE item SET name = 'theirs' WHERE id > 1")
        let found = try context.fetch(StoreFetchRequest(entity: "item", predicate: .isNull("note")))
        #expect(found.count == 3)
        #expect(try items[0].value(for: "note", as: String.self) == "mine")
        #expect(try items[1].value(for: "name", as: String.self) == "theirs")
        try context.delete(items[2])
        #expect(try context.all("item").count == 2)
    }

    @Test func anUndoneChangeIsNoChange() throws {
        let item = try context.all("item")[0]
        try item.setValue("x", for: "name")
        #expect(item.isUpdated && context.hasChanges)
        try item.setValue("1", for: "NAME")
        #expect(!item.isUpdated && !context.hasChanges && context.updatedObjects.isEmpty)
    }

    @Test func anObjectThatIsMarkedDeletedSaysSo() throws {
        let item = try context.all("item")[0]
        try context.delete(item)
        try context.delete(item)
        #expect(item.isDeleted && context.deletedObjects.count == 1)
        #expect(kind { try item["name"] } == .deleted)
        try context.save()
        #expect(item.isDeleted)
        #expect(kind { try item["name"] } == .deleted)
        try context.refresh(item, mergeChanges: false)
        #expect(item.isDeleted)
    }

    @Test func aNewObjectThatIsDeletedIsNeverSaved() throws {
        let new = context.insert(entity: "item")
        try context.delete(new)
        #expect(new.isDeleted && !context.hasChanges)
        #expect(kind { try new.setValue(.null, for: "name") } == .deleted)
    }

    @Test func anObjectWhoseRowVanishedSaysSoAfterARefreshAndWhenAFaultIsRead() throws {
        let (held, fault) = (try context.all("item")[0], context.item(99))
        try store.change("DELETE FROM item WHERE id = 1")
        #expect(!fault.isDeleted && fault.isFault)
        #expect(kind { try fault["name"] } == .deleted)
        #expect(fault.isDeleted)
        try context.refresh(held, mergeChanges: true)
        #expect(held.isDeleted)
        #expect(kind { try held["name"] } == .deleted)
    }

    @Test func aResetDetachesAllObjects() throws {
        let (item, new) = (try context.all("item")[0], context.insert(entity: "item"))
        try item.setValue("x", for: "note")
        context.reset()
        #expect(!context.hasChanges)
        #expect(kind { try item["name"] } == .detached)
        #expect(kind { try new["name"] } == .detached)
        #expect(kind { try context.delete(item) } == .detached)
        #expect(try context.item(1).value(for: "note").isNull)
    }

    @Test func objectsOfAReleasedContextAreDetached() throws {
        var other: StoreContext? = try store.context()
        let item = try #require(try other?.all("item").first)
        #expect(kind { try context.delete(item) } == .otherContext)
        #expect(kind { try context.refresh(item, mergeChanges: true) } == .otherContext)
        other = nil
        #expect(kind { try item["name"] } == .detached)
        #expect(kind { try context.delete(item) } == .detached)
        #expect(kind { try context.refresh(item, mergeChanges: true) } == .detached)
    }

    @Test func attributesThatCannotBeSetOrAreNotThereAreNamed() throws {
        let item = context.item(1)
        #expect(kind { try item.setValue(5, for: "id") } == .readOnlyAttribute)
        #expect(kind { try item.setValue("x", for: "label") } == .readOnlyAttribute)
        #expect(kind { try item["nam"] } == .unknownAttribute)
        #expect(kind { try item.value(for: "name", as: Int64.self) } == .wrongKind)
        #expect(kind { try item.value(for: "name", as: Instant.self, .unixSeconds) } == .wrongKind)
        #expect(!context.hasChanges)
    }

    @Test func aNewObjectHasTheValuesThatWereSetWhateverTheCaseOfTheirNames() throws {
        let new = context.insert(entity: "item", values: ["Name": "a"])
        #expect(try new["name"] == "a" && new["note"].isNull)
        try new.setValue("b", for: "NAME")
        #expect(new.changedValues == ["name": "b"])
        #expect(kind { try new["nam"] } == .unknownAttribute)
        #expect(kind { try new.setValue("x", for: "label") } == .readOnlyAttribute)
    }

    @Test func errorsAndObjectsSayWhatIsWrong() throws {
        func text(_ body: () throws -> Void) -> String {
            do { try body() } catch { return "\(error)" }
            return ""
        }
        let other = try store.context()
        let (item, theirs) = (context.item(1), other.item(2))
        #expect(text { _ = try item["nam"] } == "item has no attribute 'nam'")
        #expect(
            text { try item.setValue(5, for: "id") }
                == "item.id cannot be set: it is computed by the store or part of a saved object's primary key")
        #expect(text { try context.delete(theirs) } == "the object of item belongs to another context")
        other.reset()
        #expect(text { try context.delete(theirs) } == "the object of item no longer belongs to a context")
        #expect("\(theirs)" == "item 2 (of no context)")
    }

    @Test func valuesAreReadAndSetByKind() throws {
        try store.change("INSERT INTO price VALUES (1735689600, 'gold', 2600)")
        let price = try context.all("price")[0]
        #expect(try price.value(for: "price", as: Double.self) == 2600)
        #expect(try price.value(for: "metal", as: String.self) == "gold")
        #expect(kind { try price.value(for: "metal", as: [UInt8].self) } == .wrongKind)
        let later = try #require(Instant(iso8601: "2025-01-02T00:00:00Z"))
        try price.setValue(later, for: "time", .unixSeconds)
        #expect(try price.value(for: "time", as: Int64.self) == 1_735_776_000)
        try context.save()
        #expect(try price.value(for: "time", as: Instant.self, .unixSeconds) == later)
    }
}
