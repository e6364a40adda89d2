/// The identity of a saved row: its store, its entity and its key.
///
/// Two connections to the same store give the same row the same ID. An ID does not say whether its row still exists.
///
/// ```swift
/// let ids = try context.fetchObjectIDs(oldGold)
/// try context.executeAndMergeChanges(using: BatchDeleteRequest(objectIDs: ids))
/// ```
public struct ObjectID: Sendable {
    /// The entity's name.
    public let entity: String
    /// The key: the rowid alone, or the values of the primary key of a table without a rowid.
    public let key: [StoreValue]
    /// The store of the row, as ``StoreReader/storeIdentifier`` identifies it; nil: the ID was made by hand and can be used with any store.
    public let storeIdentifier: String?

    /// Makes an object ID; engines do.
    public init(entity: String, key: [StoreValue], storeIdentifier: String? = nil) {
        self.entity = entity
        self.key = key
        self.storeIdentifier = storeIdentifier
    }
}

extension ObjectID: Hashable {
    /// Whether both identify the same row of the same store.
    public static func == (a: ObjectID, b: ObjectID) -> Bool {
        a.key == b.key && a.entity == b.entity && a.storeIdentifier == b.storeIdentifier
    }

    /// Hashes the key and the entity. The store is nearly always the same, and its path is long.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(entity)
    }
}

extension ObjectID: CustomStringConvertible {
    /// The entity and the key, such as `item 17`.
    public var description: String { "\(entity) \(key.map(\.description).joined(separator: ", "))" }
}
