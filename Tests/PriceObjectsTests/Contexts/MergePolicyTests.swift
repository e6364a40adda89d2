import PriceObjects
import PriceStore
import Testing

/// Rows that others changed since they were read, under each merge policy.
struct MergePolicyTests {
    let store: ContextStore
    let context: StoreContext
    let items: [ManagedObject]

    init() throws {
        store = try ContextStore()
        try store.addItems(4)
        context = try store.context()
        items = try context.all("item")
    }

    /// Both change item 1, on attributes of their own and on the same; others delete item 2 and change item 3.
    private func collide() throws {
        try items[0].setValue("mine", for: "name")
        try items[0].setValue("mine", for: "note")
        try items[1].setValue("mine", for: "note")
        try context.delete(items[2])
        try items[3].setValue("mine", for: "note")
        try store.change(
            """
            UPDATE item SET name = 'theirs', done = 7 WHERE id = 1;
            DELETE FROM item WHERE id = 2;
            UPDATE item SET name = 'theirs' WHERE id = 3;
            """)
    }

    private func rows() throws -> [String] {
        try store.column("SELECT id || ' ' || name || ' ' || done || ' ' || ifnull(note, '-') FROM item ORDER BY id")
    }

    @Test func errorSavesNothingAndReportsAllConflicts() throws {
        try collide()
        let before = try rows()
        let error = try #require(throws: MergeConflictError.self) { try context.save() }
        #expect(error.conflicts.count == 3)
        let first = try #require(error.conflicts.first { $0.objectID == items[0].objectID })
        #expect(first.changedValues == ["name": "mine", "note": "mine"])
        #expect(first.readValues["name"] == "1")
        #expect(first.storeValues?["name"] == "theirs")
        #expect(error.conflicts.first { $0.objectID == items[1].objectID }?.storeValues == .some(nil))
        #expect(error.conflicts.first { $0.objectID == items[2].objectID }?.isDelete == true)
        #expect(!error.description.contains("theirs") && !error.description.contains("mine"))
        #expect(try rows() == before)
        #expect(context.updatedObjects.count == 3 && context.deletedObjects.count == 1)
    }

    @Test func storeWinsKeepsTheirsAttributeByAttribute() throws {
        context.mergePolicy = .storeWins
        try collide()
        try context.save()
        #expect(try rows() == ["1 theirs 7 mine", "3 theirs 0 -", "4 4 0 mine"])
        #expect(items.map(\.isDeleted) == [false, true, false, false])
        #expect(try items[0].value(for: "name", as: String.self) == "theirs")
        #expect(try items[2].value(for: "name", as: String.self) == "theirs")
        #expect(!context.hasChanges)
    }

    @Test func objectWinsSavesOursAttributeByAttribute() throws {
        context.mergePolicy = .objectWins
        try collide()
        try context.save()
        #expect(try rows() == ["1 mine 7 mine", "2 2 0 mine", "4 4 0 mine"])
        #expect(items.map(\.isDeleted) == [false, false, true, false])
        #expect(try items[0].value(for: "done", as: Int64.self) == 7)
        #expect(try items[1].value(for: "note", as: String.self) == "mine")
    }

    @Test func aRefreshAcceptsTheirChanges() throws {
        try collide()
        try context.refresh(items[0], mergeChanges: true)
        try context.refresh(items[1], mergeChanges: true)
        try context.refresh(items[2], mergeChanges: false)
        #expect(items.map(\.isDeleted) == [false, true, false, false])
        #expect(try items[0].value(for: "name", as: String.self) == "mine")
        #expect(try items[0].value(for: "done", as: Int64.self) == 7)
        #expect(try items[2].value(for: "name", as: String.self) == "theirs")
        try context.save()
        #expect(try rows() == ["1 mine 7 mine", "3 theirs 0 -", "4 4 0 mine"])
    }

    @Test func aFetchDoesNotHideAConflict() throws {
        try items[0].setValue("mine", for: "name")
        try context.delete(items[1])
        try store.change("UPDATE item SET name = 'theirs'")
        _ = try context.all("item")
        #expect(try items[0].value(for: "name", as: String.self) == "mine")
        let error = try #require(throws: MergeConflictError.self) { try context.save() }
        #expect(error.conflicts.map(\.objectID) == [items[0].objectID, items[1].objectID])
        try context.refresh(items[1], mergeChanges: false)
        #expect(throws: MergeConflictError.self) { try context.save() }
    }

    @Test(arguments: MergePolicy.allCases)
    func deletingWhatOthersDeletedIsNoConflict(policy: MergePolicy) throws {
        context.mergePolicy = policy
        try context.delete(items[0])
        try store.change("DELETE FROM item WHERE id = 1")
        #expect(try context.save().deleted == [items[0].objectID])
    }

    @Test func textsOfOtherBytesAreAConflictThoughSwiftTakesThemForEqual() throws {
        try store.change("UPDATE item SET note = 'caf\u{e9}' WHERE id = 1")
        let item = try #require(try context.all("item").first)
        try store.change("UPDATE item SET note = 'cafe\u{301}' WHERE id = 1")
        try item.setValue(true, for: "done")
        #expect(throws: MergeConflictError.self) { try context.save() }
    }
}
