public import PriceStore

/// A change of many rows that the store itself carries out in one transaction, without loading objects.
///
/// It does not see unsaved changes of a context. The only checks are the constraints of the store. All rows are changed or none.
///
/// ```swift
/// let update = BatchUpdateRequest(
///     entity: "item", predicate: Attribute("name") == "new", propertiesToUpdate: ["done": true])
/// ```
public struct BatchUpdateRequest: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// Whether rows of sub-entities are included; see `StoreFetchRequest.includesSubentities`.
    public var includesSubentities = true
    /// The rows to change.
    public var predicate: StorePredicate
    /// The attributes to set, and their values.
    public var propertiesToUpdate: [String: StoreValue]
    /// What the result contains.
    public var resultType: BatchResultType

    /// Makes a request that sets attributes of the rows that a predicate finds.
    public init(
        entity: String, predicate: StorePredicate = .all, propertiesToUpdate: [String: StoreValue],
        resultType: BatchResultType = .statusOnly
    ) {
        self.entity = entity
        self.predicate = predicate
        self.propertiesToUpdate = propertiesToUpdate
        self.resultType = resultType
    }
}

/// What a batch update did.
///
/// ```swift
/// let updatedCount = try context.execute(update).updatedCount
/// ```
public struct BatchUpdateResult: Hashable, Sendable {
    /// Rows that were found and set, even if no value changed; always counted.
    public var updatedCount: Int
    /// The IDs of these rows, if they were requested; otherwise empty. If an attribute of the key was set, these are the new IDs.
    public var objectIDs: [ObjectID]

    /// Makes a result; engines do.
    public init(updatedCount: Int, objectIDs: [ObjectID] = []) {
        self.updatedCount = updatedCount
        self.objectIDs = objectIDs
    }
}
