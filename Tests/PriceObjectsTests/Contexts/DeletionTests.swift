import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Deletions that go through a context.
struct ContextDeletionTests {
    private let store: ContextStore
    private let context: StoreContext
    private let request = SurveyRequest(
        entity: "price", date: DateAttribute(name: "time", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1)),
        cutoff: Instant(unixSeconds: 1000))

    init() throws {
        store = try ContextStore()
        try store.change("CREATE INDEX by_time ON price (time)")
        context = try store.context()
        for time in [10, 20, 30, 2000] as [Int64] { insert(time) }
        try context.save()
    }

    private func insert(_ time: Int64) {
        context.insert(entity: "price", values: ["time": .integer(time), "metal": "XAU", "price": 1])
    }

    @Test func objectsOfDeletedRowsAreDeletedAndOthersStay() throws {
        let objects = try context.fetch(
            StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("time")]))
        let other = StoreContext(try store.writer())
        let held = try other.fetch(StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("time")]))
        let deletion = try context.deletion(of: request, mergingInto: [other])
        let part = try deletion.deleteNext(DeletionBounds(rows: 2))
        #expect(part.result.deletedCount == 2 && part.hasMore)
        #expect(objects.map(\.isDeleted) == [true, true, false, false])
        #expect(held.map(\.isDeleted) == [true, true, false, false])
        #expect(try deletion.remainingCount(besides: []) == 1)
        #expect(try deletion.deleteNext(DeletionBounds()).result.deletedCount == 1)
        #expect(try deletion.remainingCount(besides: []) == 0)
        #expect(objects.map(\.isDeleted) == [true, true, true, false])
    }

    @Test func unsavedChangesOfTheEntityHoldEachPartBack() throws {
        let deletion = try context.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 1)).result.deletedCount == 1)
        insert(5)
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 1)) }
        #expect(error?.kind == .unsupported && error?.hint == "save the context first")
        try context.save()
        // As many rows are deleted as were surveyed.
        #expect(try deletion.remainingCount(besides: []) == 3)
        #expect(try deletion.deleteNext(DeletionBounds()).result.deletedCount == 2)
    }

    @Test func aRehearsalDeletesNothing() throws {
        let rehearsal = StoreContext(try SQLiteReader(path: store.path))
        #expect(throws: StoreError.self) { try rehearsal.deletion(of: request) }
    }
}
