import PriceStore

/// The model of a Core Data store: its entities with their attributes and relationships.
///
/// It is read from the archive that Apple's framework stores in the store, or from a compiled `.mom` file.
struct ManagedObjectModel: Hashable, Sendable {
    /// The entities, by name.
    var entities: [String: ManagedEntity]
}

/// An entity of a model.
struct ManagedEntity: Hashable, Sendable {
    var name: String
    /// Its name in earlier versions of the model, if different. The `Z_NAME` of a migrated store may still be this one.
    var formerName: String?
    /// The parent entity, or nil if the entity is the root of its own table.
    var superentity: String?
    /// Whether only its sub-entities have rows.
    var isAbstract: Bool
    /// The attributes that it declares itself or inherits, by name.
    var attributes: [String: ManagedAttribute]
    /// The relationships that it declares itself or inherits, by name.
    var relationships: [String: ManagedRelationship]
}

/// An attribute of an entity.
struct ManagedAttribute: Hashable, Sendable {
    var name: String
    /// What it holds, as a number. Source: `NSAttributeType` of Apple's headers.
    var kind: Int64
    var isDate: Bool { kind == 900 }
    /// Whether a row may lack a value.
    var isOptional: Bool
    /// Whether it has no column.
    var isTransient: Bool
    /// Whether the store computes it from other values, by triggers.
    var isDerived: Bool
    /// Whether a large value may be stored in a file beside the store.
    var isExternal: Bool
    /// Whether the history preserves its value when the row is deleted.
    var isPreservedOnDelete: Bool
}

/// A relationship of an entity, as seen from the rows that declare it.
struct ManagedRelationship: Hashable, Sendable {
    var name: String
    /// The entity at the other end.
    var destination: String
    /// The inverse relationship of the destination; nil if there is none.
    var inverse: String?
    var deleteRule: ModelRelationship.DeleteRule
    /// Whether a row may lack the other end.
    var isOptional: Bool
    /// The largest number of other ends; 0 or less means no limit.
    var maxCount: Int
    /// Whether the model calls it ordered, which is possible even with a single other end.
    var hasOrder: Bool
    /// Whether it is not stored.
    var isTransient: Bool

    var isToMany: Bool { maxCount != 1 }
    /// Whether the other ends have an order, which is stored with them.
    var isOrdered: Bool { hasOrder && isToMany }
}
