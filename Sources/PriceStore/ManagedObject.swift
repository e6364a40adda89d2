/// A row as a program holds it.
public final class ManagedObject {
    /// The entity's name.
    public let entity: String
    /// The attributes' values by name; what is not named takes the store's default.
    public let values: [String: StoreValue]

    init(entity: String, values: [String: StoreValue]) {
        self.entity = entity
        self.values = values
    }
}
