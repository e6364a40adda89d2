public import PriceStore

/// What has just changed in the objects of a context.
///
/// It names objects by ID, so that it can be sent to any thread; on the context's own thread
/// ``StoreContext/object(with:)`` gives the objects.
public struct ObjectsDidChange: Hashable, Sendable {
    /// What the context did.
    public enum Cause: String, Hashable, Sendable {
        /// An object was inserted, changed or marked deleted and is not saved yet. A new object has no ID before it is
        /// saved: ``StoreContext/insertedObjects`` has it.
        case edit
        /// Changes were saved.
        case save
        /// Changes that were made elsewhere, or by a batch request, were taken over.
        case merge
        /// An object was read anew.
        case refresh
        /// The context forgot all its objects.
        case reset
    }

    /// What the context did.
    public var cause: Cause
    /// Rows that are new; those that a merge tells of need not be held by the context.
    public var inserted: [ObjectID]
    /// Objects with other values than before.
    public var updated: [ObjectID]
    /// Objects that are deleted; before a save, objects that are marked deleted.
    public var deleted: [ObjectID]
    /// Objects whose values are read anew when they are next asked for, because something else may have changed them.
    public var refreshed: [ObjectID]

    /// Makes a notification; contexts do.
    public init(
        _ cause: Cause, inserted: [ObjectID] = [], updated: [ObjectID] = [], deleted: [ObjectID] = [],
        refreshed: [ObjectID] = []
    ) {
        self.cause = cause
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        self.refreshed = refreshed
    }
}

/// An observer of a context; it observes until it is cancelled or let go.
public final class ChangeObservation {
    private var isCancelled = false
    private let body: (ObjectsDidChange) -> Void

    init(_ body: @escaping (ObjectsDidChange) -> Void) { self.body = body }

    /// Ends the observation. Nothing is told from here on.
    public func cancel() { isCancelled = true }

    /// Tells the observer; false: it is cancelled.
    func tell(_ change: ObjectsDidChange) -> Bool {
        guard !isCancelled else { return false }
        body(change)
        return true
    }
}

@available(*, unavailable) extension ChangeObservation: Sendable {}

/// All who want to know of a context's changes.
struct ChangeObservers {
    private struct Observer {
        weak var observation: ChangeObservation?
    }

    private var observers: [Observer] = []
    private var streams: [AsyncStream<ObjectsDidChange>.Continuation] = []

    var isEmpty: Bool { observers.isEmpty && streams.isEmpty }

    mutating func add(_ observation: ChangeObservation) { observers.append(Observer(observation: observation)) }

    mutating func addStream() -> AsyncStream<ObjectsDidChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: ObjectsDidChange.self)
        streams.append(continuation)
        return stream
    }

    /// Hands a notification to the streams, and gives the observers that are to be told.
    mutating func send(_ change: ObjectsDidChange) -> [ChangeObservation] {
        streams.removeAll { if case .terminated = $0.yield(change) { true } else { false } }
        observers.removeAll { $0.observation == nil }
        return observers.compactMap(\.observation)
    }

    /// Forgets an observer that was cancelled.
    mutating func remove(_ observation: ChangeObservation) {
        observers.removeAll { $0.observation === observation }
    }

    /// Ends the streams.
    func finish() {
        for stream in streams { stream.finish() }
    }
}
