public import PriceStore

/// Which rows a save or a batch request has added, changed and deleted.
///
/// It can be sent to any thread: a context elsewhere is brought up to date with it, see
/// ``StoreContext/mergeChanges(fromRemoteContextSave:into:)``. Rows that went because a relationship cascaded are not
/// named, but for a change set that was made of a history.
public struct ChangeSet: Hashable, Sendable {
    /// Rows that are new.
    public var inserted: [ObjectID]
    /// Rows of which attributes were set.
    public var updated: [ObjectID]
    /// Rows that are gone.
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
