import Dispatch
public import PriceStore

/// A store and its context for concurrent code: their work is done one piece after the other, outside of Swift's thread
/// pool, which blocking work would starve.
///
/// ```swift
/// let prices = try await StoreActor { try SQLiteWriter(path: path) }
/// let count = try await prices.perform { try $0.count(StoreFetchRequest(entity: "item")) }
/// ```
///
/// A task that is cancelled ends its statement: what it was doing is rolled back, and ``perform(_:)`` throws
/// `CancellationError`. A statement on a server runs to its end first.
public actor StoreActor {
    private let executor: QueueExecutor
    /// Nil until the store is open.
    private var context: StoreContext?

    /// The queue of the store.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens a store, on its queue.
    ///
    /// - Parameter open: opens the store.
    /// - Throws: what `open` throws; `CancellationError` if the task is cancelled.
    public init(opening open: @Sendable () throws -> any StoreInserter) async throws {
        executor = QueueExecutor()
        context = nil
        // From here on the initializer runs on the queue.
        try Task.checkCancellation()
        do { context = StoreContext(try open()) } catch { throw Self.reported(error) }
    }

    /// Does a piece of work with the context. Objects stay inside; send IDs, values and change sets.
    ///
    /// Changes that are not saved stay in the context for the next piece of work, unless this one throws: then the context
    /// is reset.
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled. What was committed before stays.
    public func perform<Value: Sendable>(_ body: @Sendable (StoreContext) throws -> Value) throws -> Value {
        try Task.checkCancellation()
        guard let context else { preconditionFailure("the store was opened by the initializer") }
        do {
            return try body(context)
        } catch {
            context.reset()
            throw Self.reported(error)
        }
    }

    /// An error as tasks expect it: Swift has its own for one that is cancelled.
    private static func reported(_ error: any Error) -> any Error {
        (error as? StoreError)?.kind == .cancelled ? CancellationError() : error
    }
}

/// Runs the jobs of an actor on a queue of its own.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "retention.store")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
