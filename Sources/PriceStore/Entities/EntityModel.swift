/// What a Core Data model says about an entity besides its attributes.
///
/// ```swift
/// let model = try writer.entity(named: "item")?.model
/// ```
public struct EntityModel: Hashable, Sendable {
    /// The table that holds its rows.
    public let table: String
    /// The entity that it inherits from; nil: none.
    public let parent: String?
    /// Whether only its sub-entities have rows.
    public let isAbstract: Bool
    /// The names of the entities that inherit from it, at any depth, sorted.
    public let subentities: [String]
    /// Its relationships, declared or inherited, by name.
    public let relationships: [ModelRelationship]

    /// Makes a description; engines do.
    public init(
        table: String, parent: String? = nil, isAbstract: Bool = false, subentities: [String] = [],
        relationships: [ModelRelationship] = []
    ) {
        self.table = table
        self.parent = parent
        self.isAbstract = isAbstract
        self.subentities = subentities
        self.relationships = relationships
    }
}

extension Entity {
    /// The entity that stands for the history which Core Data itself keeps in a store. No list of entities has it.
    package static let persistentHistory = "persistent_history"
    /// Its only attribute: when a transaction was saved.
    package static let historyDate = "timestamp"
}

/// A relationship of a Core Data model, seen from the entity that declares it.
///
/// ```swift
/// for relationship in model?.relationships ?? [] {
///     print(relationship.name, relationship.destination, relationship.deleteRule)
/// }
/// ```
public struct ModelRelationship: Hashable, Sendable {
    /// What a delete of the declaring row does to the rows at the other end.
    public enum DeleteRule: String, Hashable, Sendable {
        /// Nothing happens to them.
        case noAction
        /// They lose their reference to the row.
        case nullify
        /// They are deleted too.
        case cascade
        /// The row may not be deleted.
        case deny
    }

    /// The relationship's name.
    public let name: String
    /// The entity at the other end.
    public let destination: String
    /// The inverse relationship of the destination; nil if there is none.
    public let inverse: String?
    /// What a delete of the declaring row does.
    public let deleteRule: DeleteRule
    /// Whether a row can have several other ends.
    public let isToMany: Bool
    /// Whether a row may lack the other end.
    public let isOptional: Bool
    /// Whether the other ends have an order.
    public let isOrdered: Bool

    /// Makes a description; engines do.
    public init(
        name: String, destination: String, inverse: String?, deleteRule: DeleteRule, isToMany: Bool, isOptional: Bool,
        isOrdered: Bool
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.isToMany = isToMany
        self.isOptional = isOptional
        self.isOrdered = isOrdered
    }
}
