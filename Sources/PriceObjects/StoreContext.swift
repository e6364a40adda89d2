public import PriceStore

/// Holds the objects of a program and their unsaved changes, and executes batch requests.
///
/// There is one object for each row: all requests for the row return the same object while it is in memory. A context keeps objects with
/// unsaved changes and holds weak references to others.
///
/// **Save before a batch request.** Fetches and batch requests work on the store only and do not see unsaved changes. If an object was
/// marked done but not saved, a request that deletes done rows does not delete its row, and the store differs from what the program shows.
/// The context refuses a batch request on an entity of which it has unsaved changes, unless the caller allows it.
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
    /// Whether new objects may be saved to a store that is open for reading only, which predicts the result.
    let isRehearsal: Bool
    /// What a save does with objects whose rows others have changed; the default throws.
    public var mergePolicy = MergePolicy.error

    var registry = ObjectRegistry()
    var inserted = ChangedObjects()
    var updated = ChangedObjects()
    var deleted = ChangedObjects()
    var observers = ChangeObservers()
    private var shapes: [String: EntityShape] = [:]
    /// The version of the store when others were looked for last.
    var dataVersion: Int?

    /// Makes a context over a store. If the store is open for reading only, the context saves and executes nothing.
    public init(_ inserter: any StoreInserter) {
        self.inserter = inserter
        isRehearsal = false
    }

    /// Makes a context over a store, or over a rehearsal of one, for the dry run of a job.
    package init(rehearsing inserter: any StoreInserter) {
        self.inserter = inserter
        isRehearsal = true
    }

    deinit { observers.finish() }

    /// Objects that were inserted and not saved yet, in order.
    public var insertedObjects: [ManagedObject] { inserted.objects }
    /// Objects with unsaved changes, in the order of their first change.
    public var updatedObjects: [ManagedObject] { updated.objects }
    /// Objects that are marked deleted and not saved yet, in order.
    public var deletedObjects: [ManagedObject] { deleted.objects }

    /// Whether there are unsaved changes.
    public var hasChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }

    /// Adds a new object, which the next save inserts. It is not checked before.
    @discardableResult
    public func insert(entity: String, values: [String: StoreValue] = [:]) -> ManagedObject {
        let object = ManagedObject(entity: entity, values: values, in: self)
        inserted.append(object)
        notifyEdit(of: object)
        return object
    }

    /// The objects of the rows that a request finds, in its order, with all their attributes in memory.
    ///
    /// The predicate, the order and the limit are evaluated in the store, on saved values. Unsaved changes do not affect which objects are
    /// found. Objects with unsaved changes keep them, and the values with which a save compares the row. All others get the values that
    /// were just read. Objects that are marked deleted are left out, so there may be fewer than the limit.
    ///
    /// It executes one statement, and one for each 500 objects of a sub-entity. It holds all objects in memory.
    /// - Throws: `StoreError`.
    public func fetch(_ request: StoreFetchRequest) throws -> [ManagedObject] {
        let shape = try shape(request.entity)
        var objects: [ManagedObject] = []
        // Objects of sub-entities may have more attributes than the entity of the request.
        var ofSubentities: [ManagedObject] = []
        for row in try inserter.fetchRows(request, attributes: shape.names) {
            let known = registry[row.objectID]
            guard known?.state != .markedDeleted else { continue }
            let object = known ?? ManagedObject(row.objectID, in: self)
            if known == nil { registry.add(object, row.objectID) }
            objects.append(object)
            guard object.changedValues.isEmpty else { continue }
            if object.entity == shape.entity.name {
                object.read = ReadRow(id: row.objectID, shape: shape, values: row.values)
            } else {
                ofSubentities.append(object)
            }
        }
        if try !readAgain(ofSubentities).isEmpty { objects.removeAll(where: \.isDeleted) }
        return objects
    }

    /// The IDs of the rows that a request finds, in its order. No objects are created. Use it with ``object(with:)`` and ``delete(_:)`` to
    /// delete many objects in a save.
    public func fetchObjectIDs(_ request: StoreFetchRequest) throws -> [ObjectID] {
        try inserter.fetchObjectIDs(request)
    }

    /// How many rows a request finds in the store, without unsaved changes.
    public func count(_ request: StoreFetchRequest) throws -> Int { try inserter.count(request) }

    /// Figures of the rows that a request finds in the store, such as a count and a greatest value; see `StoreReader`.
    public func figures(
        _ figures: [RowFigure], of request: StoreFetchRequest, groupedBy groups: [String] = []
    ) throws(StoreError) -> [[StoreValue]] {
        guard !(figures.isEmpty && groups.isEmpty) else {
            throw StoreError(.unsupported, store: inserter.name, message: "no figure of \(request.entity) is asked for")
        }
        return try inserter.figures(figures, of: request, groupedBy: groups)
    }

    /// The object of a row. The store is not read; if there is no such row, accessing the object throws.
    public func object(with id: ObjectID) -> ManagedObject {
        if let known = registry[id] { return known }
        let id = canonical(id)
        if let known = registry[id] { return known }
        let object = ManagedObject(id, in: self)
        registry.add(object, id)
        return object
    }

    /// Marks an object deleted, so that the next save deletes its row. From now on the object cannot be read or changed. A new object is
    /// discarded at once. Nothing happens if the object is already deleted.
    ///
    /// - Throws: ``ManagedObjectError`` if the object belongs to another context or to none.
    public func delete(_ object: ManagedObject) throws {
        if object.isDeleted { return }
        try requireOwn(object)
        if object.isInserted {
            inserted.remove(object)
            object.end(as: .deleted)
        } else {
            if object.isUpdated { updated.remove(object) }
            object.state = .markedDeleted
            deleted.append(object)
        }
        notifyEdit(of: object)
    }

    func requireOwn(_ object: ManagedObject) throws(ManagedObjectError) {
        guard object.state != .detached, let context = object.context else { throw object.error(.detached) }
        guard context === self else { throw object.error(.otherContext) }
    }

    /// Releases all objects and discards all unsaved changes. Objects that the program still holds belong to no context, and every access
    /// to them throws.
    public func reset() {
        for object in registry.objects { object.end(as: .detached) }
        registry.removeAll()
        inserted.forEach { $0.end(as: .detached) }
        inserted.removeAll()
        updated.removeAll()
        deleted.removeAll()
        shapes.removeAll()
        notify(ObjectsDidChange(.reset))
    }

    /// The notifications of this context from now on, for a task on any thread. They are buffered until they are read, and end with the
    /// context.
    ///
    /// - Parameter limit: how many notifications are buffered, at least 1. If the reader falls farther behind, the oldest are dropped, and
    ///   the last one has the cause ``ObjectsDidChange/Cause/missed``.
    public func changes(bufferingUpTo limit: Int = 1000) -> AsyncStream<ObjectsDidChange> {
        observers.addStream(limit)
    }

    /// Calls the body after each change, immediately and on the context's own thread, until the observation is cancelled or released.
    public func observeChanges(_ body: @escaping (ObjectsDidChange) -> Void) -> ChangeObservation {
        let observation = ChangeObservation(body)
        observers.add(observation)
        return observation
    }
}

/// A context stays on the thread of its store.
@available(*, unavailable) extension StoreContext: Sendable {}

extension StoreContext {
    /// The attributes of an entity and their positions. They are read from the store once.
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

    /// The ID as the store itself would make it.
    func canonical(_ id: ObjectID) -> ObjectID {
        let entity = (try? shape(id.entity))?.entity.name ?? id.entity
        return ObjectID(entity: entity, key: id.key, storeIdentifier: id.storeIdentifier ?? inserter.storeIdentifier)
    }

    /// A saved object's values, read from the store if they are not in memory.
    func values(of object: ManagedObject) throws -> ReadRow {
        if let read = object.read { return read }
        guard let id = object.objectID else { throw object.error(.detached) }
        let shape = try shape(object.entity)
        let request = StoreFetchRequest(entity: object.entity, predicate: .objectIDs([id]))
        guard let row = try inserter.fetchRows(request, attributes: shape.names).first else {
            forget(object)
            throw object.error(.deleted)
        }
        let read = ReadRow(id: id, shape: shape, values: row.values)
        object.read = read
        return read
    }

    /// Marks an object whose row is deleted, and releases it.
    func forget(_ object: ManagedObject) {
        updated.remove(object)
        deleted.remove(object)
        object.end(as: .deleted)
        if let id = object.objectID { registry.remove(id) }
    }

    /// The store itself, for creating entities and indexes, and for transactions.
    ///
    /// - Throws: `StoreError` of kind `unsupported` if the store is open for reading only.
    public func writer() throws(StoreError) -> any ObjectStore {
        guard let writer = inserter as? any ObjectStore else { throw readOnly }
        return writer
    }

    /// The store, for a change that the context records at once. Throws inside a transaction, which may be rolled back later.
    func committingWriter() throws(StoreError) -> any ObjectStore {
        let writer = try writer()
        guard !writer.isInTransaction else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "a context is not saved or merged inside a transaction of the store, which may be undone",
                hint: "save before it; inside it, use execute(_:), which leaves the objects as they are")
        }
        return writer
    }

    var readOnly: StoreError {
        StoreError(
            .unsupported, store: inserter.name, message: "the store is open for reading only",
            hint: "open it for writing")
    }

    func notifyEdit(of object: ManagedObject) {
        guard !observers.isEmpty else { return }
        let ids = [object.objectID].compactMap(\.self)
        notify(ObjectsDidChange(.edit, updated: object.isDeleted ? [] : ids, deleted: object.isDeleted ? ids : []))
    }

    func notify(_ change: ObjectsDidChange) {
        guard !observers.isEmpty else { return }
        for observation in observers.send(change) where !observation.notify(change) { observers.remove(observation) }
    }
}
