public import PriceStore

/// A place for the objects that a program works with and for changes that are not in the store yet, and the door
/// through which batch requests go.
///
/// There is one object for each row: whoever asks a context for the row gets the same object, as long as somebody holds
/// it. A context keeps objects with unsaved changes; of others it only knows as long as the program holds them.
///
/// **Save before a batch request.** Fetches and batch requests work on the store alone: they do not see what a context
/// has not saved. An object that was marked done and not saved is not done for a request that deletes what is done: it
/// survives the request, and its row no longer fits what the program shows. So save first, then execute; the context
/// refuses a batch request on an entity of which it holds unsaved changes, unless told that it is meant.
///
/// ```swift
/// if context.hasChanges { try context.save() }
/// try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
/// ```
///
/// **Threads.** A context, its objects and its store belong to one thread, task or actor. None of them is `Sendable`,
/// so the compiler refuses to share them; `ObjectID`, ``ChangeSet``, ``ObjectsDidChange``, requests to fetch, update
/// and delete, all results and all errors are `Sendable`.
public final class StoreContext {
    let inserter: any StoreInserter
    /// What a save does with objects whose rows others have changed; by default it throws.
    public var mergePolicy = MergePolicy.error

    var registry = ObjectRegistry()
    var inserted = ChangedObjects()
    var updated = ChangedObjects()
    var deleted = ChangedObjects()
    var observers = ChangeObservers()
    private var shapes: [String: EntityShape] = [:]

    /// Makes a context over a store, or over a rehearsal of one.
    public init(_ inserter: any StoreInserter) {
        self.inserter = inserter
    }

    deinit { observers.finish() }

    /// Objects that were inserted and not saved yet, in order.
    public var insertedObjects: [ManagedObject] { inserted.objects }
    /// Objects of which attributes were set and not saved yet, in the order of their first change.
    public var updatedObjects: [ManagedObject] { updated.objects }
    /// Objects that are marked deleted and not saved yet, in order.
    public var deletedObjects: [ManagedObject] { deleted.objects }

    /// Whether something waits to be saved.
    public var hasChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }

    /// Adds a new object, which is in the store after the next save. Nothing is checked before.
    @discardableResult
    public func insert(entity: String, values: [String: StoreValue] = [:]) -> ManagedObject {
        let object = ManagedObject(entity: entity, values: values, in: self)
        inserted.append(object)
        tellEdit(of: object)
        return object
    }

    /// The objects of the rows that a request finds, in its order, with all their attributes in memory.
    ///
    /// The predicate, the order and the limit are evaluated in the store, on what is saved: an object whose unsaved
    /// changes would meet the predicate is not found, and one whose unsaved changes no longer meet it is. The objects
    /// keep their unsaved changes, and with them the values that a save compares the row with; all others get the values
    /// that were read just now. Objects that are marked deleted are left out, so that there may be fewer than the limit.
    ///
    /// One statement; all objects are held in memory.
    /// - Throws: `StoreError`.
    public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
        let shape = try shape(request.entity)
        var objects: [ManagedObject] = []
        for row in try inserter.fetchRows(request, attributes: shape.names) {
            guard let known = registry[row.objectID] else {
                let object = ManagedObject(row.objectID, snapshot: row.values, shape: shape, in: self)
                registry.add(object, row.objectID)
                objects.append(object)
                continue
            }
            guard known.state != .markedDeleted else { continue }
            if known.changedValues.isEmpty {
                known.snapshot = row.values
                known.shape = shape
            }
            objects.append(known)
        }
        return objects
    }

    /// The IDs of the rows that a request finds, in its order. No objects are made: with ``object(with:)`` and
    /// ``delete(_:)`` this is the way to delete many objects in a save.
    public func fetchObjectIDs(_ request: FetchRequest) throws -> [ObjectID] {
        try inserter.fetchObjectIDs(request)
    }

    /// The object of a row. The store is not asked: if there is no such row, the object says so when it is touched.
    public func object(with id: ObjectID) -> ManagedObject {
        if let known = registry[id] { return known }
        let id = canonical(id)
        if let known = registry[id] { return known }
        let object = ManagedObject(id, snapshot: nil, shape: nil, in: self)
        registry.add(object, id)
        return object
    }

    /// Marks an object deleted: the next save deletes its row. From here on the object cannot be read or changed. A new
    /// object is forgotten at once. Nothing happens if it is deleted already.
    ///
    /// - Throws: ``ManagedObjectError`` if the object belongs to another context or to none.
    public func delete(_ object: ManagedObject) throws {
        switch object.state {
        case .markedDeleted, .gone: return
        case .detached: throw object.error(.detached)
        case .inserted, .saved: break
        }
        guard object.context === self else {
            throw object.error(object.context == nil ? .detached : .otherContext)
        }
        if object.isInserted {
            inserted.remove(object)
            object.end(as: .gone)
        } else {
            if object.isUpdated { updated.remove(object) }
            object.state = .markedDeleted
            deleted.append(object)
        }
        tellEdit(of: object)
    }

    /// Forgets all objects and all changes that were not saved. Objects that the program still holds belong to no
    /// context any more and say so when touched.
    public func reset() {
        for object in registry.objects { object.end(as: .detached) }
        registry.removeAll()
        inserted.forEach { $0.end(as: .detached) }
        inserted.removeAll()
        updated.removeAll()
        deleted.removeAll()
        shapes.removeAll()
        tell(ObjectsDidChange(.reset))
    }

    /// The notifications of this context from now on, for a task that may run anywhere. They are kept until they are
    /// taken, and end with the context.
    public func changes() -> AsyncStream<ObjectsDidChange> { observers.addStream() }

    /// Has each change told on the context's own thread, right after it was made, until the observation is cancelled or
    /// let go.
    public func observeChanges(_ body: @escaping (ObjectsDidChange) -> Void) -> ChangeObservation {
        let observation = ChangeObservation(body)
        observers.add(observation)
        return observation
    }
}

/// A context stays on the thread of its store.
@available(*, unavailable) extension StoreContext: Sendable {}

extension StoreContext {
    /// The attributes of an entity and their places; asked of the store once.
    func shape(_ entity: String) throws(StoreError) -> EntityShape {
        if let known = shapes[entity] { return known }
        guard let found = try inserter.entity(named: entity) else {
            throw StoreError(.unknownName, store: inserter.name, message: "the store has no entity '\(entity)'")
        }
        let shape = shapes[found.name] ?? EntityShape(found)
        shapes[found.name] = shape
        shapes[entity] = shape
        return shape
    }

    /// An ID as the store itself would make it.
    func canonical(_ id: ObjectID) -> ObjectID {
        let entity = (try? shape(id.entity))?.entity.name ?? id.entity
        return ObjectID(entity: entity, key: id.key, storeIdentifier: id.storeIdentifier ?? inserter.storeIdentifier)
    }

    /// A saved object's values, read from the store if they are not in memory.
    func values(of object: ManagedObject) throws -> (EntityShape, [StoreValue]) {
        if let shape = object.shape, let snapshot = object.snapshot { return (shape, snapshot) }
        guard let id = object.objectID else { throw object.error(.detached) }
        let shape = try shape(object.entity)
        let request = FetchRequest(entity: object.entity, predicate: .objectIDs([id]))
        guard let row = try inserter.fetchRows(request, attributes: shape.names).first else {
            forget(object)
            throw object.error(.deleted)
        }
        object.shape = shape
        object.snapshot = row.values
        return (shape, row.values)
    }

    /// Notes that a saved object has got unsaved changes, or has none left.
    func didChangeUpdated(_ object: ManagedObject) {
        if object.isUpdated { updated.append(object) } else { updated.remove(object) }
    }

    /// Marks an object whose row is gone, and has nothing more to do with it.
    func forget(_ object: ManagedObject) {
        updated.remove(object)
        deleted.remove(object)
        object.end(as: .gone)
        if let id = object.objectID { registry.remove(id) }
    }

    /// The store as one that can be changed; throws for a rehearsal.
    func writer(_ refusal: String) throws(StoreError) -> any ObjectStore {
        guard let writer = inserter as? any ObjectStore else {
            throw StoreError(.unsupported, store: inserter.name, message: refusal)
        }
        return writer
    }

    /// Tells observers of an unsaved change.
    func tellEdit(of object: ManagedObject) {
        guard !observers.isEmpty else { return }
        let ids = [object.objectID].compactMap(\.self)
        tell(ObjectsDidChange(.edit, updated: object.isDeleted ? [] : ids, deleted: object.isDeleted ? ids : []))
    }

    /// Tells all observers.
    func tell(_ change: ObjectsDidChange) {
        guard !observers.isEmpty else { return }
        for observation in observers.send(change) where !observation.tell(change) { observers.remove(observation) }
    }
}
