public import PriceStore

/// The objects of a context that changed.
///
/// It identifies objects by ID, so it can be sent to any thread. On the context's own thread, ``StoreContext/object(with:)`` returns the
/// objects.
///
/// ```swift
/// for id in change.deleted { shown.remove(id) }
/// ```
public struct ObjectsDidChange: Hashable, Sendable {
    /// What the context did.
    public enum Cause: String, Hashable, Sendable {
        /// An object was inserted, changed or marked deleted, and is not saved yet. A new object has no ID before it is saved; it is in
        /// ``StoreContext/insertedObjects``.
        case edit
        /// Changes were saved.
        case save
        /// Changes of another context, another process or a batch request were merged.
        case merge
        /// An object was read again.
        case refresh
        /// The context released all its objects.
        case reset
        /// Other connections changed the store, perhaps rows that are in memory. Only ``StoreActor/changes(bufferingUpTo:lookingEvery:)``
        /// looks for that.
        case others
        /// The reader of a stream fell too far behind, and notifications were dropped. Everything may have changed.
        case missed
    }

    /// What the context did.
    public var cause: Cause
    /// New rows. After a merge the context may hold no objects of them.
    public var inserted: [ObjectID]
    /// Objects with other values than before.
    public var updated: [ObjectID]
    /// Deleted objects; before a save, objects that are marked deleted.
    public var deleted: [ObjectID]
    /// Objects whose values are read again when needed, because they may have changed.
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

/// An observer of a context. It observes until it is cancelled or released.
///
/// ```swift
/// let observation = context.observeChanges { change in
///     for id in change.deleted { shown.remove(id) }
/// }
/// ```
public final class ChangeObservation {
    private var isCancelled = false
    private let body: (ObjectsDidChange) -> Void

    init(_ body: @escaping (ObjectsDidChange) -> Void) { self.body = body }

    /// Ends the observation. The observer is not called again.
    public func cancel() { isCancelled = true }

    /// Notifies the observer; false: it is cancelled.
    func notify(_ change: ObjectsDidChange) -> Bool {
        guard !isCancelled else { return false }
        body(change)
        return true
    }
}

@available(*, unavailable) extension ChangeObservation: Sendable {}

/// The observers of a context.
struct ChangeObservers {
    private var observers: [Weak<ChangeObservation>] = []
    private var streams: [AsyncStream<ObjectsDidChange>.Continuation] = []

    var isEmpty: Bool { observers.isEmpty && streams.isEmpty }

    mutating func add(_ observation: ChangeObservation) { observers.append(Weak(object: observation)) }

    mutating func addStream(
        _ limit: Int, didEnd: @escaping @Sendable () -> Void = {}
    ) -> AsyncStream<ObjectsDidChange> {
        precondition(limit > 0, "a buffer has room for one notification at least")
        let (stream, continuation) = AsyncStream.makeStream(
            of: ObjectsDidChange.self, bufferingPolicy: .bufferingNewest(limit))
        continuation.onTermination = { _ in didEnd() }
        streams.append(continuation)
        return stream
    }

    /// Sends a notification to the streams, and returns the observers to call.
    mutating func send(_ change: ObjectsDidChange) -> [ChangeObservation] {
        for index in streams.indices.reversed() {
            switch streams[index].yield(change) {
            // A full buffer drops its oldest notification. The notice about that comes after all that may be dropped.
            case .dropped: streams[index].yield(ObjectsDidChange(.missed))
            case .terminated: streams.remove(at: index)
            default: break
            }
        }
        observers.removeAll { $0.object == nil }
        return observers.compactMap(\.object)
    }

    mutating func remove(_ observation: ChangeObservation) {
        observers.removeAll { $0.object === observation }
    }

    func finish() {
        for stream in streams { stream.finish() }
    }
}
