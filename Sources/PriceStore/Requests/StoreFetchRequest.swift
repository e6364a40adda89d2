/// Which rows to fetch: an entity, a condition, an order and a number.
///
/// ```swift
/// let gold = StoreFetchRequest(
///     entity: "Price", predicate: Attribute("metal") == "gold",
///     sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 10)
/// ```
public struct StoreFetchRequest: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// The condition that rows must meet.
    public var predicate: StorePredicate
    /// The order, most significant first; ties are broken by key, ascending.
    public var sortDescriptors: [StoreSortDescriptor]
    /// The maximum number of rows; nil: all. 0 or less: none.
    public var fetchLimit: Int?
    /// How many rows are skipped, in the order of the sort descriptors. 0 or less: none.
    public var fetchOffset: Int
    /// Whether rows of sub-entities are included. Only Core Data stores have sub-entities.
    public var includesSubentities: Bool

    /// Makes a request for the rows of an entity.
    public init(
        entity: String, predicate: StorePredicate = .all, sortDescriptors: [StoreSortDescriptor] = [],
        fetchLimit: Int? = nil,
        fetchOffset: Int = 0, includesSubentities: Bool = true
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.fetchLimit = fetchLimit
        self.fetchOffset = fetchOffset
        self.includesSubentities = includesSubentities
    }
}

/// An attribute to sort by.
///
/// ```swift
/// let oldest = StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("time")], fetchLimit: 10)
/// ```
public struct StoreSortDescriptor: Hashable, Sendable {
    /// The attribute's name.
    public let attribute: String
    /// Whether the smallest value comes first.
    public let ascending: Bool

    /// Makes a sort descriptor.
    public init(_ attribute: String, ascending: Bool = true) {
        self.attribute = attribute
        self.ascending = ascending
    }
}

extension StoreReader {
    /// The IDs of the rows that a request finds, in its order. All are held in memory.
    public func fetchObjectIDs(_ request: StoreFetchRequest) throws(StoreError) -> [ObjectID] {
        try fetchRows(request, attributes: []).map(\.objectID)
    }
}
