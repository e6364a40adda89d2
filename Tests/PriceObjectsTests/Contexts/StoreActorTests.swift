import Foundation
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Work on a store from concurrent code.
struct StoreActorTests {
    let store: ContextStore
    private let path: String

    init() throws {
        store = try ContextStore()
        path = store.path
        try store.addItems(3)
    }

    private func open() async throws -> StoreActor {
        let path = path
        return try await StoreActor { try SQLiteWriter(path: path) }
    }

    @Test func workIsDoneWithTheContext() async throws {
        let path = path
        let prices = try await StoreActor { try SQLiteWriter(path: path) }
        let count = try await prices.perform { try $0.count(StoreFetchRequest(entity: "item")) }
        #expect(count == 3)
    }

    @Test func blockingWorkTakesNoThreadOfThePool() async throws {
        // All pieces of work wait for each other. The pool has a thread for each core, which would not be enough.
        let (path, arrivals) = (path, DispatchGroup())
        let stores = ProcessInfo.processInfo.activeProcessorCount + 4
        let met = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<stores { arrivals.enter() }
            for _ in 0..<stores {
                group.addTask {
                    try await StoreActor { try SQLiteWriter(path: path) }.perform { _ in
                        arrivals.leave()
                        return arrivals.wait(timeout: .now() + 30) == .success
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(met == Array(repeating: true, count: stores))
    }

    @Test func aStoreThatCannotBeOpenedIsAnError() async throws {
        let path = path + ".missing"
        await #expect(throws: StoreError.self) { try await StoreActor { try SQLiteWriter(path: path) } }
    }

    @Test func aPieceOfWorkThatThrowsLeavesNoUnsavedChanges() async throws {
        let items = try await open()
        await #expect(throws: StoreError.self) {
            try await items.perform { context in
                try context.item(1).setValue("changed", for: "name")
                _ = try context.count(StoreFetchRequest(entity: "missing"))
            }
        }
        #expect(try await items.perform { !$0.hasChanges })
    }

    /// Cancels a task once it has begun, and says what it threw.
    private func cancel(_ work: @escaping @Sendable (StoreContext) throws -> Void) async throws -> (any Error)? {
        let items = try await open()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await items.perform { context in
                begin.yield()
                try work(context)
            }
        }
        for await _ in begun { break }
        task.cancel()
        let result = await task.result
        // The store is not locked, and nobody has left a transaction open.
        try await items.perform { context in
            context.insert(entity: "item", values: ["id": 99, "name": "after"])
            try context.save()
        }
        guard case .failure(let error) = result else { return nil }
        return error
    }

    @Test func cancellingInterruptsAStatementAndNothingOfItIsLeft() async throws {
        try store.change(
            """
            CREATE TABLE slow (id INTEGER PRIMARY KEY);
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 3000) INSERT INTO slow SELECT n FROM n;
            CREATE TRIGGER wait AFTER DELETE ON slow BEGIN
                SELECT count(*) FROM slow a, slow b WHERE a.id < b.id;
            END
            """)
        let error = try await cancel { context in
            try context.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "slow")))
        }
        #expect(error is CancellationError)
        #expect(try store.column("SELECT count(*) FROM slow") == ["3000"])
        #expect(try store.column("SELECT name FROM item WHERE id = 99") == ["after"])
    }

    /// How often a thread has waited for something: each of SQLite's steps of the wait for a lock is one more.
    private func pauses(of thread: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: /\nvoluntary_ctxt_switches:\t(\d+)/).flatMap { Int($0.1) })
    }

    @Test func cancellingEndsTheWaitForALock() async throws {
        let path = path
        // Only the cancelling ends this wait, however busy the machine is.
        let items = try await StoreActor { try SQLiteWriter(path: path, busyTimeout: .seconds(3600)) }
        let hasty = try await StoreActor { try SQLiteWriter(path: path, busyTimeout: .milliseconds(100)) }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"))
        // Who is not cancelled waits to the end.
        let error = await #expect(throws: StoreError.self) { try await hasty.perform { _ = try $0.execute(all) } }
        #expect(error?.kind == .busy)
        let (begun, begin) = AsyncStream<String>.makeStream()
        let task = Task {
            try await items.perform { context in
                begin.yield(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))
                _ = try context.execute(all)
            }
        }
        for await thread in begun {
            let before = try pauses(of: thread)
            while try pauses(of: thread) < before + 5 { try await Task.sleep(for: .milliseconds(1)) }
            break
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(try await items.perform { try $0.count(StoreFetchRequest(entity: "item")) } == 3)
    }

    @Test func whatIsCancelledBeforeItsCommitIsUndone() async throws {
        let path = path
        let task = Task {
            let writer = try SQLiteWriter(path: path)
            try writer.transaction(.normal) {
                try writer.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item")))
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        let error = await #expect(throws: StoreError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(try store.column("SELECT count(*) FROM item") == ["3"])
    }

    @Test func openingInACancelledTaskMakesNoFile() async throws {
        let path = path + ".new"
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await StoreActor { try SQLiteWriter(path: path, create: true) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!FileManager.default.fileExists(atPath: path))
        let opening = Task {
            _ = try await StoreActor {
                withUnsafeCurrentTask { $0?.cancel() }
                return try SQLiteWriter(path: path, create: true)
            }
        }
        await #expect(throws: CancellationError.self) { try await opening.value }
    }

    @Test func cancellingEndsAnInsertBetweenTwoRows() async throws {
        let error = try await cancel { context in
            try context.execute(
                BatchInsertRequest(entity: "item") { row in
                    row["name"] = "endless"
                    return .insert
                })
        }
        #expect(error is CancellationError)
        #expect(try store.column("SELECT count(*) FROM item WHERE name = 'endless'") == ["0"])
    }

    @Test func aDeleteInBatchesReportsItsProgressAndKeepsWholeBatchesWhenCancelled() async throws {
        try store.change("DELETE FROM item")
        try store.addItems(25)
        let context = try store.context()
        let held = try context.all("item")
        var counts: [Int] = []
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"))
        let total = try context.execute(all, inBatchesOf: 10) { counts.append($0.deletedCount) }
        #expect(counts == [10, 20, 25] && total.deletedCount == 25 && total.objectIDs.isEmpty)
        let areDeleted = held.map(\.isDeleted)
        #expect(!areDeleted.contains(false))
        for request in [
            StoreFetchRequest(entity: "item", fetchLimit: 1), StoreFetchRequest(entity: "item", fetchOffset: 1),
            StoreFetchRequest(entity: "item", sortDescriptors: [StoreSortDescriptor("name")]),
        ] {
            #expect { try context.execute(BatchDeleteRequest(fetchRequest: request), inBatchesOf: 10) } throws: {
                ($0 as? StoreError)?.kind == .unsupported
            }
        }
        try store.change("DELETE FROM item")
        try store.addItems(25)
        let items = try await open()
        let task = Task {
            try await items.perform { context in
                try context.execute(
                    BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item")), inBatchesOf: 10
                ) {
                    _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try store.column("SELECT count(*) FROM item") == ["15"])
    }

    /// The causes and the updated rows of the notifications up to the first of a cause.
    private func notifications(
        _ stream: AsyncStream<ObjectsDidChange>, upTo last: ObjectsDidChange.Cause
    ) async -> [ObjectsDidChange] {
        var found: [ObjectsDidChange] = []
        for await change in stream {
            found.append(change)
            if change.cause == last { break }
        }
        return found
    }

    @Test func changesOfOthersAreNoticed() async throws {
        let items = try await open()
        let stream = try await items.changes(lookingEvery: .milliseconds(10))
        try await items.perform { context in
            try context.item(1).setValue("mine", for: "name")
            try context.save()
            try context.item(2).setValue("unsaved", for: "name")
        }
        try store.change("UPDATE item SET name = 'theirs' WHERE id = 3")
        let causes = await notifications(stream, upTo: .others).map(\.cause)
        #expect(causes == [.edit, .save, .edit, .others])
        #expect(try await items.perform { $0.hasChanges })
    }
}
