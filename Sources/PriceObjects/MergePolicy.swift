public import PriceStore

/// What a save does with an object whose row another connection changed or deleted after the object was read.
///
/// ```swift
/// context.mergePolicy = .storeWins
/// try context.save()
/// ```
public enum MergePolicy: String, Hashable, Sendable, CaseIterable {
    /// Nothing is saved, and the save throws a ``MergeConflictError`` with all conflicts.
    case error
    /// The store wins, attribute by attribute. Attributes that others changed keep the store's value; attributes that only the object
    /// changed are saved. An object whose row is deleted is deleted. An object that was marked deleted stays, with the store's values.
    case storeWins
    /// The object wins, attribute by attribute. Attributes that the object changed are saved; attributes that only others changed keep the
    /// store's value. An object whose row is deleted is inserted again with all its values, under another ID if the key is not an
    /// attribute. An object that was marked deleted is deleted.
    case objectWins
}

/// An object that was changed or deleted while another connection changed or deleted its row.
///
/// ```swift
/// for conflict in error.conflicts {
///     try context.refresh(context.object(with: conflict.objectID), mergeChanges: true)
/// }
/// ```
public struct MergeConflict: Hashable, Sendable {
    /// The row.
    public let objectID: ObjectID
    /// Whether the object was marked deleted; false: attributes were set.
    public let isDelete: Bool
    /// The values that the program set and did not save.
    public let changedValues: [String: StoreValue]
    /// The values of the row when the object was read.
    public let readValues: [String: StoreValue]
    /// The values of the row now; nil: it is deleted.
    public let storeValues: [String: StoreValue]?
}

/// Changes that cannot be saved because others changed or deleted the same rows. Nothing was saved.
///
/// ```swift
/// do {
///     try context.save()
/// } catch let error as MergeConflictError {
///     for conflict in error.conflicts {
///         try context.refresh(context.object(with: conflict.objectID), mergeChanges: true)
///     }
///     try context.save()
/// }
/// ```
public struct MergeConflictError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The store, as messages name it.
    public let store: String
    /// All conflicts of the save.
    public let conflicts: [MergeConflict]

    /// How many objects of each entity have conflicts, and what to do; without values.
    public var description: String {
        let fates = Dictionary(grouping: conflicts) {
            "of \($0.objectID.entity) \($0.storeValues == nil ? "deleted" : "changed")"
        }
        let parts = fates.sorted { $0.key < $1.key }.map { "\($1.count) \($0)" }
        return "\(store): nothing was saved, because others changed the same rows since they were read: "
            + "\(parts.joined(separator: ", ")); refresh the objects, or choose another merge policy"
    }
}
