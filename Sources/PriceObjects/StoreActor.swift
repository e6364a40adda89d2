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

    /// The notifications of the context from now on, and one with the cause ``ObjectsDidChange/Cause/others`` after changes by other
    /// connections and processes. What they changed is in the history, if the store keeps one.
    ///
    /// - Parameters:
    ///   - limit: how many notifications are buffered, as in ``StoreContext/changes(bufferingUpTo:)``.
    ///   - interval: how often the store is asked whether others have changed it.
    /// - Throws: `StoreError` if the store cannot be read.
    public func changes(
        bufferingUpTo limit: Int = 1000, lookingEvery interval: Duration = .milliseconds(500)
    ) throws -> AsyncStream<ObjectsDidChange> {
        try noticeOthers()
        let watch = Task.detached { [weak self] in
            while (try? await Task.sleep(for: interval)) != nil, let store = self {
                // A store that is busy is asked again.
                try? await store.noticeOthers()
            }
        }
        return try perform { $0.observers.addStream(limit) { watch.cancel() } }
    }

    /// Unsaved changes stay in the context, also if the store cannot be read.
    private func noticeOthers() throws { try context?.noticeOthers() }

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
