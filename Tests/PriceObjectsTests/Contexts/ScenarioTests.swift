import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Contexts and batch requests that are used together.
struct ScenarioTests {
    let store: ContextStore

    init() throws { store = try ContextStore() }

    private let doneItems = BatchDeleteRequest(
        fetchRequest: StoreFetchRequest(entity: "item", predicate: Attribute("done") == true),
        resultType: .count)

    @Test func aBatchDeleteWithUnsavedChangesOfItsEntityIsAnError() throws {
        try store.addItems(3)
        let context = try store.context()
        try context.item(1).setValue(true, for: "done")
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        try context.refresh(context.item(1), mergeChanges: false)
        try context.delete(context.item(2))
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        try context.refresh(context.item(2), mergeChanges: false)
        context.insert(entity: "ITEM", values: ["name": "x"])
        #expect { try context.execute(doneItems) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        context.reset()
        context.insert(entity: "shop", values: ["name": "another entity"])
        #expect(try context.execute(doneItems).deletedCount == 0)
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
                    for key in first..<(first + 5) { try own.item(key).setValue("seen", for: "note") }
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
            try held.filter { !$0.isDeleted }.map { try $0.value(for: "note", as: String.self) }
                == Array(repeating: "seen", count: 20))
    }
}
