/// The contents of a Core Data store: entities, and how they inherit from and refer to each other.
///
/// Names are letters, digits and underscores. No two entities of one hierarchy declare a property of the same name; a
/// to-many relationship has an inverse, and none is both ordered and its own inverse, because it is not known how Core
/// Data stores the others.
struct ModelDescription: Hashable, Sendable {
    var entities: [Entity]

    /// An entity with the properties that it declares itself.
    struct Entity: Hashable, Sendable {
        var name: String
        /// The parent entity; nil: it has its own table.
        var parent: String?
        /// Whether only its sub-entities have rows.
        var isAbstract = false
        var attributes: [Attribute] = []
        var relationships: [Relationship] = []
        var indexes: [Index] = []
    }

    /// A value of an entity.
    struct Attribute: Hashable, Sendable {
        var name: String
        var kind: Kind
        var isOptional = true
        /// Whether large values may be in files beside the store.
        var isExternal = false
        /// Whether a history keeps the values of deleted rows.
        var isPreserved = false
    }

    /// What an attribute holds, with the numbers of Core Data. Source: `NSAttributeType` of Apple's headers.
    enum Kind: Int, Sendable {
        case integer16 = 100
        case integer32 = 200
        case integer64 = 300
        case decimal = 400
        case double = 500
        case float = 600
        case string = 700
        case boolean = 800
        case date = 900
        case binary = 1000
        case uuid = 1100
        case uri = 1200
        case transformable = 1800
    }

    /// What an entity's rows refer to.
    struct Relationship: Hashable, Sendable {
        var name: String
        var destination: String
        /// The relationship of the destination that leads back. It may be this one itself.
        var inverse: String?
        var rule: DeleteRule
        var isOptional = true
        var isToMany = false
        /// Whether the other ends of a to-many have an order.
        var isOrdered = false
    }

    /// What a delete does to the rows at the other end. Source: `NSDeleteRule` of Apple's headers.
    enum DeleteRule: Int, CaseIterable, Sendable {
        case noAction = 0
        case nullify = 1
        case cascade = 2
        case deny = 3
    }

    /// A fetch index over attributes of an entity, all ascending.
    struct Index: Hashable, Sendable {
        var name: String
        var attributes: [String]
    }

    /// The entity of that name; nil if there is none.
    func entity(_ name: String) -> Entity? { entities.first { $0.name == name } }

    /// The entity and those that it inherits from, the root first; empty: there is no such entity.
    func lineage(_ name: String) -> [Entity] {
        guard let entity = entity(name) else { return [] }
        return (entity.parent.map(lineage) ?? []) + [entity]
    }

    /// The entity itself and all that inherit from it, parents before children and siblings by name.
    func family(_ name: String) -> [Entity] {
        guard let entity = entity(name) else { return [] }
        return [entity] + sorted(entities.filter { $0.parent == name }).flatMap { family($0.name) }
    }

    /// The entities that have a table, by name.
    var roots: [Entity] { sorted(entities.filter { $0.parent == nil }) }

    /// A relationship that the entity declares or inherits, and the entity that declares it.
    func relationship(_ name: String, of entity: String) -> (owner: String, relationship: Relationship)? {
        for owner in lineage(entity) {
            if let found = owner.relationships.first(where: { $0.name == name }) { return (owner.name, found) }
        }
        return nil
    }

    /// Core Data puts names in order without regard to case: `NetworkAttachment` comes before `NWActivityFragment`.
    private func sorted(_ entities: [Entity]) -> [Entity] {
        entities.sorted { ($0.name.lowercased(), $0.name) < ($1.name.lowercased(), $1.name) }
    }
}
