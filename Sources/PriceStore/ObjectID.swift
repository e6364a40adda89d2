/// The identity of a saved row: its entity and its key.
public struct ObjectID: Hashable, Sendable {
    /// The entity's name.
    public let entity: String
    /// The key: the rowid alone, or the values of the primary key of a table without one.
    public let key: [StoreValue]

    /// Makes an object ID; engines do.
    public init(entity: String, key: [StoreValue]) {
        self.entity = entity
        self.key = key
    }
}
