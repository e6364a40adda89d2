import PriceStore

/// The objects of a context that are rows of the store, one for each ID.
///
/// References are weak, so an object without another owner is released. The context itself keeps objects with unsaved changes.
struct ObjectRegistry {
    private var entries: [ObjectID: Weak<ManagedObject>] = [:]
    /// The number of entries at which those of released objects are removed.
    private var limit = 1024

    subscript(id: ObjectID) -> ManagedObject? { entries[id]?.object }

    var objects: [ManagedObject] { entries.values.compactMap(\.object) }

    /// Adds an object. Entries of released objects are removed from time to time.
    mutating func add(_ object: ManagedObject, _ id: ObjectID) {
        if entries.count >= limit {
            entries = entries.filter { $0.value.object != nil }
            limit = max(1024, entries.count * 2)
        }
        entries[id] = Weak(object: object)
    }

    mutating func remove(_ id: ObjectID) { entries[id] = nil }

    mutating func removeAll() { self = ObjectRegistry() }
}

/// A reference that does not keep an object in memory.
struct Weak<Object: AnyObject> {
    weak var object: Object?
}

/// Objects with unsaved changes of one kind, in the order of their first change. An object is in at most one list.
struct ChangedObjects {
    private var slots: [ManagedObject?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var objects: [ManagedObject] { slots.compactMap(\.self) }

    mutating func append(_ object: ManagedObject) {
        if slots.count > 2 * count + 64 {
            slots = objects
            for (place, object) in objects.enumerated() { object.place = place }
        }
        object.place = slots.count
        slots.append(object)
        count += 1
    }

    mutating func remove(_ object: ManagedObject) {
        guard slots.indices.contains(object.place), slots[object.place] === object else { return }
        slots[object.place] = nil
        count -= 1
        if count == 0 { removeAll() }
    }

    mutating func removeAll() {
        slots.removeAll(keepingCapacity: true)
        count = 0
    }

    /// Calls `body` with each object in order, without copying the list.
    func forEach(_ body: (ManagedObject) throws -> Void) rethrows {
        for case let object? in slots { try body(object) }
    }
}
