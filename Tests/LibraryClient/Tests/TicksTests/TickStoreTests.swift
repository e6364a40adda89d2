import Foundation
import SQLiteStore
import Testing
@testable import Ticks

/// What an adopter tests: with stores in memory, and with a temporary file where two connections are needed.
struct TickStoreTests {
    private let noon = Date(timeIntervalSince1970: 1_735_732_800)

    private func ticks(_ count: Int, _ metal: Metal = .gold) -> [Tick] {
        (0..<count).map { Tick(metal, at: noon + Double($0) * 20, dollars: 2600 + Double($0), fee: Decimal($0) / 100) }
    }

    private func store() async throws -> TickStore { try await TickStore { try SQLiteWriter.inMemory() } }

    @Test func ticksComeBackAsTheyWere() async throws {
        let store = try await store()
        let tick = Tick(.gold, at: noon, dollars: 2600.5, fee: Decimal(1) / 3, feed: UUID())
        #expect(try await store.add([tick]) == 1)
        #expect(try await store.newest(.gold, count: 5) == [tick])
        #expect(try await store.newest(.silver, count: 5).isEmpty)
    }

    @Test func aCorrectedTickReplacesTheOldOne() async throws {
        let store = try await store()
        _ = try await store.add(ticks(3))
        #expect(try await store.add([Tick(.gold, at: noon, dollars: 1)]) == 1)
        #expect(try await store.newest(.gold, count: 9).map(\.dollars) == [2602, 2601, 1])
    }

    @Test func figuresAreThoseOfTheTicks() async throws {
        let store = try await store()
        _ = try await store.add(ticks(10) + ticks(2, .silver))
        let figures = try await store.figures(since: noon + 20)
        #expect(figures[.gold]?.count == 9 && figures[.gold]?.highest == 2609 && figures[.silver]?.count == 1)
        #expect(try await store.minutes(of: .gold).map(\.dollars) == [2602, 2605, 2608, 2609])
    }

    @Test func theNightDeletesOldTicks() async throws {
        let store = try await store()
        _ = try await store.add(ticks(2500))
        let start = try await store.changes(after: nil).place
        #expect(try await store.deleteTicks(before: noon + 20 * 2400) == 2400)
        #expect(try await store.newest(.gold, count: 1000).count == 100)
        let (changes, place) = try await store.changes(after: start)
        #expect(changes.filter { $0.kind == .delete }.count == 2400 && place != start)
    }

    @Test func aCancelledNightEndsAfterAWholeBatch() async throws {
        let store = try await store()
        _ = try await store.add(ticks(1000))
        let noon = noon
        let night = Task {
            try await store.deleteTicks(before: noon + 20 * 950, inBatchesOf: 100) { count in
                if count == 300 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await night.value }
        #expect(try await store.newest(.gold, count: 1000).count == 700)
    }

    @Test func objectsFollowABatchDelete() throws {
        let writer = try SQLiteWriter.inMemory()
        try writer.createEntity(for: Tick.self)
        let (here, there) = (StoreContext(writer), StoreContext(writer))
        try here.execute(BatchInsertRequest(ticks(2)))
        let inOrder = StoreFetchRequest(Tick.self, sortDescriptors: [StoreSortDescriptor("time")])
        let objects = try there.fetch(inOrder)
        try objects[1].setValue(1.5, for: "dollars")
        let cheap = BatchDeleteRequest(fetchRequest: StoreFetchRequest(Tick.self, predicate: Tick.dollars < 2601))
        #expect(throws: StoreError.self) { try there.executeAndMergeChanges(using: cheap) }
        try there.save()
        try here.executeAndMergeChanges(using: cheap, into: [there])
        #expect(objects.map(\.isDeleted) == [true, true])
        #expect(throws: ManagedObjectError.self) { try objects[0].value(for: "metal") }
    }

    @Test func anotherConnectionIsNoticed() async throws {
        let writer = try SQLiteWriter.temporary()
        let path = writer.name
        let store = try await TickStore { try SQLiteWriter(path: path) }
        let notifications = try await store.notifications()
        let context = StoreContext(writer)
        context.insert(entity: Tick.entity, values: ["metal": "gold", "time": 0, "dollars": 1, "fee": "0"])
        try context.save()
        for await change in notifications where change.cause == .others { break }
        #expect(try await store.newest(.gold, count: 1).first?.time == Date(timeIntervalSince1970: 0))
    }

    @Test func aRowThatIsNoTickIsAnErrorThatNamesIt() throws {
        let writer = try SQLiteWriter.inMemory()
        try writer.createEntity(for: Tick.self)
        let context = StoreContext(writer)
        context.insert(entity: Tick.entity, values: ["metal": "lead", "time": 0])
        try context.save()
        let error = #expect(throws: ManagedObjectError.self) { try context.fetch(Tick.self) }
        #expect(error?.attribute == "metal" && error?.objectID?.key == [1])
        context.insert(entity: Tick.entity, values: ["dollars": 1])
        #expect(throws: ObjectValidationError.self) { try context.save() }
    }
}
