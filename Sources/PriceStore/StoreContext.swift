/// A place for changes that are not in the store yet, and the door through which batch requests go.
///
/// A batch request works on the store alone and does not see what a context has not saved; therefore
/// save first, then execute. A context belongs to one thread.
public final class StoreContext {
    /// What a save did with the inserted objects.
    public struct SaveResult: Hashable, Sendable {
        /// Objects that are in the store now.
        public var savedCount = 0
        /// Objects whose key was there already and that were left out, as asked.
        public var ignoredCount = 0
        /// Objects that the store refused.
        public var rejectedCount = 0

        /// Makes an empty result.
        public init() {}
    }

    private let inserter: any StoreInserter
    /// Objects that were inserted and not saved yet, in order.
    public private(set) var insertedObjects: [ManagedObject] = []

    /// Makes a context over a store, or over a rehearsal of one.
    public init(_ inserter: any StoreInserter) {
        self.inserter = inserter
    }

    /// Whether something waits to be saved.
    public var hasChanges: Bool { !insertedObjects.isEmpty }

    /// Adds a new object, which is in the store after the next save.
    @discardableResult
    public func insert(entity: String, values: [String: StoreValue]) -> ManagedObject {
        let object = ManagedObject(entity: entity, values: values)
        insertedObjects.append(object)
        return object
    }

    /// Saves all inserted objects in one transaction.
    ///
    /// - Parameters:
    ///   - onConflict: what to do with an object whose primary or unique key is there already.
    ///   - rejecting: called with each object that the store refuses, and why; the others are saved. Nil: the first
    ///     refusal is thrown and nothing is saved.
    /// - Returns: how many objects were saved, ignored and rejected.
    /// - Throws: ``StoreError``; the context then still holds all its objects and the store is as it was.
    @discardableResult
    public func save(
        onConflict: ConflictPolicy = .fail, rejecting: ((ManagedObject, String) -> Void)? = nil
    ) throws -> SaveResult {
        var result = SaveResult()
        guard hasChanges else { return result }
        try inserter.transaction(.normal) {
            for object in insertedObjects {
                switch try inserter.insert(entity: object.entity, values: object.values, onConflict: onConflict) {
                case .saved: result.savedCount += 1
                case .ignored: result.ignoredCount += 1
                case .rejected(let reason):
                    guard let rejecting else {
                        throw StoreError(
                            .constraint, store: inserter.name,
                            message: "a new \(object.entity) was refused: \(reason)")
                    }
                    result.rejectedCount += 1
                    rejecting(object, reason)
                }
            }
        }
        reset()
        return result
    }

    /// Forgets all changes that were not saved.
    public func reset() {
        insertedObjects.removeAll(keepingCapacity: true)
    }

    /// Carries out a batch delete in the store.
    ///
    /// - Throws: ``StoreError``: of kind `unsupported` if objects of the entity wait to be saved, because the request
    ///   would not see them, or if the store is only a rehearsal; else what the store reports. Nothing of the request
    ///   is left behind then.
    public func execute(_ request: BatchDeleteRequest) throws -> BatchDeleteResult {
        guard let writer = inserter as? any StoreWriter else {
            throw StoreError(.unsupported, store: inserter.name, message: "a rehearsal deletes nothing")
        }
        let entity = request.fetchRequest.entity
        guard !insertedObjects.contains(where: { $0.entity == entity }) else {
            throw StoreError(
                .unsupported, store: writer.name,
                message: "the context holds unsaved \(entity) objects, which a batch delete would not see",
                hint: "save the context first")
        }
        return try writer.execute(request)
    }
}
