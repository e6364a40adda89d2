public import PriceStore

/// What a save does with an object whose row was changed or deleted by others since the object was read.
public enum MergePolicy: String, Hashable, Sendable, CaseIterable {
    /// Nothing is saved, and the save throws a ``MergeConflictError`` that tells all conflicts.
    case error
    /// What the store has is kept. Attribute by attribute: one that others changed keeps the store's value, one that
    /// only the object changed is saved. An object whose row is gone is deleted. An object that was marked deleted
    /// stays, with the store's values.
    case storeWins
    /// What the object has is saved. Attribute by attribute: one that the object changed gets its value, one that only
    /// others changed keeps the store's. An object whose row is gone is inserted again, with all its values; where the
    /// key is no attribute it then has another ID. An object that was marked deleted goes.
    case objectWins
}

/// An object that was changed or deleted while others changed or deleted its row.
public struct MergeConflict: Hashable, Sendable {
    /// The row.
    public let objectID: ObjectID
    /// Whether the object was marked deleted; else attributes of it were set.
    public let isDelete: Bool
    /// What the program set and did not save.
    public let changedValues: [String: StoreValue]
    /// What the row held when the object was read.
    public let readValues: [String: StoreValue]
    /// What the row holds now; nil: it is gone.
    public let storeValues: [String: StoreValue]?

    /// The attributes that others changed since, in order of name; empty if the row is gone.
    public var attributesChangedInStore: [String] {
        guard let storeValues else { return [] }
        return readValues.keys.filter { storeValues[$0] != readValues[$0] }.sorted()
    }
}

/// Changes that cannot be saved because others changed or deleted the same rows. Nothing was saved.
public struct MergeConflictError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The store, as messages name it.
    public let store: String
    /// All conflicts of the save.
    public let conflicts: [MergeConflict]

    /// How many objects of which entities are in conflict, and what to do; no values.
    public var description: String {
        var counts: [String: (changed: Int, gone: Int)] = [:]
        for conflict in conflicts {
            if conflict.storeValues == nil {
                counts[conflict.objectID.entity, default: (0, 0)].gone += 1
            } else {
                counts[conflict.objectID.entity, default: (0, 0)].changed += 1
            }
        }
        let parts = counts.sorted { $0.key < $1.key }.flatMap { entity, count in
            (count.changed > 0 ? ["\(count.changed) of \(entity) changed"] : [])
                + (count.gone > 0 ? ["\(count.gone) of \(entity) deleted"] : [])
        }
        return "\(store): nothing was saved, because others changed the same rows since they were read: "
            + "\(parts.joined(separator: ", ")); refresh the objects, or choose another merge policy"
    }
}
