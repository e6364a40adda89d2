import Dispatch
public import PriceStore

/// A store and its context for concurrent code. It works one task at a time, outside of Swift's thread pool, which blocking work would
/// starve.
///
/// ```swift
/// let prices = try await StoreActor { try SQLiteWriter(path: path) }
/// let count = try await prices.perform { try $0.count(StoreFetchRequest(entity: "item")) }
/// ```
///
/// If the task is cancelled, its statement ends and is rolled back, and ``perform(_:)`` throws `CancellationError`.
public actor StoreActor {
    private let executor: QueueExecutor
    /// Nil until the store is open.
    private var context: StoreContext?

    /// The queue of the store.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens a store, on its queue.
    ///
    /// - Parameter open: opens the store.
    /// - Throws: the errors of `open`; `CancellationError` if the task is cancelled.
    public init(opening open: @Sendable () throws -> any StoreInserter) async throws {
        executor = QueueExecutor()
        context = nil
        // From here on, the initializer runs on the queue.
        try Task.checkCancellation()
        do { context = StoreContext(try open()) } catch { throw Self.reported(error) }
    }

    /// Carries out work with the context. Objects stay inside; send IDs, values and change sets.
    ///
    /// Unsaved changes stay in the context for the next call, unless the work throws: the context is then reset.
    /// - Throws: the errors of `body`; `CancellationError` if the task is cancelled. Earlier commits stay.
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

    /// The error as tasks expect it: Swift has its own error for a cancelled task.
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
