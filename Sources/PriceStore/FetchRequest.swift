/// Which rows are meant: an entity, a condition, an order and a number.
public struct FetchRequest: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// The condition that rows must meet.
    public var predicate: Predicate
    /// The order, most significant first; ties are broken by key, ascending.
    public var sortDescriptors: [SortDescriptor]
    /// At most this many rows; nil: all.
    public var fetchLimit: Int?

    /// Makes a request for the rows of an entity.
    public init(
        entity: String, predicate: Predicate = .all, sortDescriptors: [SortDescriptor] = [], fetchLimit: Int? = nil
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.fetchLimit = fetchLimit
    }
}

/// An attribute to sort by.
public struct SortDescriptor: Hashable, Sendable {
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
