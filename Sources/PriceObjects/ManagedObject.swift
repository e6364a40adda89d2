public import PriceStore

/// A row in memory: new and not saved yet, or read from the store, with unsaved changes.
///
/// An object belongs to the context that created it and, like the context, to one thread. The compiler refuses to send either to another
/// one. Send the ``objectID`` instead, and call ``StoreContext/object(with:)`` of a context there.
///
/// Reading an attribute reads the row from the store if the object is a fault, see ``isFault``. Every access throws once the object is
/// deleted or its context has released it, so stale values are never returned.
///
/// ```swift
/// let prices = try context.fetch(gold)
/// try prices[0].setValue(2630, for: "dollars")
/// try context.delete(prices[1])
/// try context.save()
/// ```
public final class ManagedObject {
    /// The state of an object.
    enum State {
        /// The object is new and not in the store.
        case inserted
        /// The object is a row of the store.
        case saved
        /// The object is a row of the store that the next save deletes.
        case markedDeleted
        /// The row was deleted, here or elsewhere.
        case deleted
        /// The context has released the object.
        case detached
    }

    /// The entity's name.
    public let entity: String
    /// The ID of the row; nil: the object was not saved yet.
    public internal(set) var objectID: ObjectID?
    /// The values that the program set and did not save. For a new object these are all its values; missing attributes use the defaults of
    /// the store.
    public internal(set) var changedValues: [String: StoreValue]

    weak var context: StoreContext?
    var state: State
    /// The row when it was last read; nil: it was not read yet.
    var read: ReadRow?
    /// The object's index in its context's list of changed objects.
    var place = 0

    init(entity: String, values: [String: StoreValue], in context: StoreContext) {
        self.entity = entity
        self.context = context
        changedValues = values
        state = .inserted
    }

    /// Makes the object of a row of the store, whose values are not read yet.
    init(_ id: ObjectID, in context: StoreContext) {
        entity = id.entity
        objectID = id
        self.context = context
        changedValues = [:]
        state = .saved
    }

    /// Whether the object is new and not saved yet.
    public var isInserted: Bool { state == .inserted }

    /// Whether attributes of the row were set and not saved yet.
    public var isUpdated: Bool { state == .saved && !changedValues.isEmpty }

    /// Whether the object is marked deleted, or its row is known to be deleted: after a save, a merge, a refresh or an attempt to read it.
    /// This is final, except that ``StoreContext/refresh(_:mergeChanges:)`` can remove the mark before a save.
    public var isDeleted: Bool { state == .markedDeleted || state == .deleted }

    /// Whether the object has unsaved changes.
    public var hasChanges: Bool { isInserted || isUpdated || state == .markedDeleted }

    /// Whether the row's values are not in memory. They are then read from the store when needed. Objects are faults after
    /// ``StoreContext/object(with:)``, after a save, and after a merge that names them.
    public var isFault: Bool { state == .saved && read == nil }

    /// The value of an attribute: the value that the program set, otherwise the value in the store. In a new object it is NULL if no value
    /// was set.
    ///
    /// - Throws: ``ManagedObjectError`` if the object is deleted or detached, or the entity has no such attribute; `StoreError` if the row
    ///   must be read and cannot be.
    public func value(for attribute: String) throws -> StoreValue {
        let context = try liveContext()
        if isInserted {
            let name = try self.attribute(attribute, context.shape(entity)).name
            return changedValues[name] ?? changedValues.first { $0.key.folded == name.folded }?.value
                ?? .null
        }
        if !changedValues.isEmpty, let value = changedValues[attribute] { return value }
        let read = try context.values(of: self)
        let place = try place(of: attribute, read.shape)
        return changedValues[read.shape.names[place]] ?? read.values[place]
    }

    /// The value of an attribute, as ``value(for:)`` returns it.
    public subscript(attribute: String) -> StoreValue {
        get throws { try value(for: attribute) }
    }

    /// Sets an attribute. The next save writes it to the store. Setting the value that was read undoes the change.
    ///
    /// - Throws: ``ManagedObjectError`` if the object is deleted or detached, or if the entity has no such attribute or it cannot be set;
    ///   `StoreError` if the row must be read and cannot be. Nothing is then set.
    public func setValue(_ value: StoreValue, for attribute: String) throws {
        let context = try liveContext()
        if isInserted {
            let found = try self.attribute(attribute, context.shape(entity))
            guard !found.isGenerated else { throw error(.readOnlyAttribute, found.name) }
            if let other = changedValues.keys.first(where: { $0.folded == found.name.folded }) {
                changedValues[other] = nil
            }
            changedValues[found.name] = value
        } else {
            let read = try context.values(of: self)
            let place = try place(of: attribute, read.shape)
            let entity = read.shape.entity
            let found = entity.attributes[place]
            guard !found.isGenerated, !entity.primaryKey.contains(found.name) else {
                throw error(.readOnlyAttribute, found.name)
            }
            let wasUpdated = isUpdated
            changedValues[found.name] = value == read.values[place] ? nil : value
            if wasUpdated, !isUpdated { context.updated.remove(self) }
            if isUpdated, !wasUpdated { context.updated.append(self) }
        }
        context.notifyEdit(of: self)
    }

    /// The context of the object; throws if the object is deleted or detached.
    func liveContext() throws -> StoreContext {
        guard !isDeleted else { throw error(.deleted) }
        guard state != .detached, let context else { throw error(.detached) }
        return context
    }

    func attribute(_ name: String, _ shape: EntityShape) throws -> Attribute {
        shape.entity.attributes[try place(of: name, shape)]
    }

    private func place(of attribute: String, _ shape: EntityShape) throws -> Int {
        guard let place = shape.place(of: attribute) else { throw error(.unknownAttribute, attribute) }
        return place
    }

    func error(
        _ kind: ManagedObjectError.Kind, _ attribute: String? = nil, _ mismatch: String? = nil
    ) -> ManagedObjectError {
        ManagedObjectError(kind: kind, entity: entity, attribute: attribute, objectID: objectID, mismatch: mismatch)
    }

    func end(as state: State) {
        self.state = state
        read = nil
        changedValues = [:]
    }
}

extension ManagedObject: CustomStringConvertible {
    /// The row and the state of the object, such as `item 17 (changed: name, note)`; without values.
    public var description: String {
        let row = objectID?.description ?? entity
        return switch state {
        case .inserted: "\(row) (new)"
        case .markedDeleted, .deleted: "\(row) (deleted)"
        case .detached: "\(row) (of no context)"
        case .saved where isUpdated: "\(row) (changed: \(changedValues.keys.sorted().joined(separator: ", ")))"
        case .saved: row
        }
    }
}

/// An object stays on the thread of its context.
@available(*, unavailable) extension ManagedObject: Sendable {}
