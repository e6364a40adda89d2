public import PriceStore

/// The rows that a save or a batch request inserted, updated and deleted.
///
/// It can be sent to any thread to update a context there, see ``StoreContext/mergeChanges(fromRemoteContextSave:into:)``. Rows that a
/// cascade deleted are missing, unless it was made from a history.
///
/// ```swift
/// let changes = try here.save()
/// try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [there])
/// ```
public struct ChangeSet: Hashable, Sendable {
    /// Rows that are new.
    public var inserted: [ObjectID]
    /// Rows with changed attributes.
    public var updated: [ObjectID]
    /// Rows that were deleted.
    public var deleted: [ObjectID]

    /// Makes a change set.
    public init(inserted: [ObjectID] = [], updated: [ObjectID] = [], deleted: [ObjectID] = []) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    /// Whether nothing changed.
    public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}
