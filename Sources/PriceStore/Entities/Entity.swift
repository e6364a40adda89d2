/// A named kind of row: a table or, in a Core Data store, an entity of the model.
///
/// ```swift
/// try writer.createEntity(
///     Entity(
///         name: "GoldPrice",
///         attributes: [
///             Attribute(name: "time", affinity: .real, isRequired: true),
///             Attribute(name: "dollars", affinity: .real),
///         ]))
/// ```
public struct Entity: Hashable, Sendable {
    /// The kind of database object that an entity is.
    public enum Kind: String, Hashable, Sendable {
        /// An ordinary table.
        case table
        /// A view, which has no rows of its own.
        case view
        /// A virtual table, whose rows a module provides.
        case virtual
    }

    /// The name, as the store spells it.
    public let name: String
    /// The kind of object. Rows can be deleted only from a ``Kind/table``.
    public let kind: Kind
    /// Its attributes, in the store's order.
    public let attributes: [Attribute]
    /// The names of the attributes of the primary key, in key order; empty if none is declared.
    public let primaryKey: [String]
    /// The relationships from other entities, or from this one, that refer to this entity.
    public package(set) var incomingRelationships: [Relationship]
    /// The relationships from this entity to others.
    public package(set) var relationships: [Relationship]
    /// What a Core Data model says about the entity; nil in any other store.
    public let model: EntityModel?
    /// The names of the store's triggers that run when a row is deleted.
    public let deleteTriggers: [String]
    /// The store's triggers that run when a row is changed.
    public let updateTriggers: [UpdateTrigger]
    /// The names of the triggers that may refuse a delete or a change of a row, because they call `RAISE`.
    public let refusingTriggers: Set<String>
    /// The other entities that have its rows too: the tables of which it is a partition, or from which it inherits, the whole last.
    package var containers: [String] = []
    /// The names of the attributes of which each has a unique index over all rows.
    package var uniqueAttributes: [String] = []
    /// The database schema with which the name begins; nil: the name is the table's alone.
    public let schema: String?

    /// Makes a description of an entity.
    public init(
        name: String, kind: Kind = .table, attributes: [Attribute], primaryKey: [String] = [],
        relationships: [Relationship] = [], incomingRelationships: [Relationship] = [], model: EntityModel? = nil,
        deleteTriggers: [String] = [], updateTriggers: [UpdateTrigger] = [], refusingTriggers: Set<String> = [],
        schema: String? = nil
    ) {
        self.name = name
        self.kind = kind
        self.attributes = attributes
        self.primaryKey = primaryKey
        self.relationships = relationships
        self.incomingRelationships = incomingRelationships
        self.model = model
        self.deleteTriggers = deleteTriggers
        self.updateTriggers = updateTriggers
        self.refusingTriggers = refusingTriggers
        self.schema = schema
    }

    /// The attribute of that name, or nil. Names compare as in the store: ASCII letters match regardless of case.
    public func attribute(named name: String) -> Attribute? {
        attributes.first { $0.name == name } ?? attributes.first { $0.name.folded == name.folded }
    }

    /// The attribute that a column holds, by the name of the column; nil: there is none.
    public func attribute(column: String) -> Attribute? {
        // A column that could hold several attributes has its own name and is last.
        attributes.last { ($0.column ?? $0.name).folded == column.folded }
    }
}

/// A trigger of the store that runs when a row is changed.
///
/// ```swift
/// for trigger in try writer.entity(named: "item")?.updateTriggers ?? [] {
///     print(trigger.name, trigger.attributes)
/// }
/// ```
public struct UpdateTrigger: Hashable, Sendable {
    /// The trigger's name.
    public let name: String
    /// The names, in lower case, of the attributes whose change fires the trigger; empty: any.
    public let attributes: [String]

    /// Makes a description of a trigger.
    public init(name: String, attributes: [String] = []) {
        self.name = name
        self.attributes = attributes
    }
}

/// A named value that every row of an entity has: a column.
///
/// ```swift
/// let gold = StoreFetchRequest(
///     entity: "Price", predicate: Attribute("metal") == "gold",
///     sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 10)
/// ```
public struct Attribute: Hashable, Sendable {
    /// The values that a column prefers to store, after SQLite's column affinities.
    public enum Affinity: String, Hashable, Sendable {
        /// Whole numbers.
        case integer
        /// Doubles; integers come back as doubles.
        case real
        /// Numbers of either kind; a whole double is stored as an integer.
        case numeric
        /// Text; numbers are stored as their text.
        case text
        /// Values are stored unchanged.
        case none
    }

    /// How exactly a column holds a number that is not an integer of 64 bits.
    package enum Precision: Hashable, Sendable {
        /// As the nearest double.
        case double
        /// As the nearest number of single precision.
        case single
        /// With all its digits.
        case decimal
    }

    /// The name, as the store spells it.
    public let name: String
    /// What the column prefers to store.
    public let affinity: Affinity
    /// The name of the type as the store declares it; empty if none is declared.
    public let declaredType: String
    /// Whether a row must have a value here.
    public let isRequired: Bool
    /// Whether the store computes the value from other columns. Such a value cannot be written.
    public let isGenerated: Bool
    /// Whether the store has a default value for a new row without this attribute.
    public let hasDefault: Bool
    /// The default value of an attribute that is to be created; nil for an attribute read from a store, which may compute it.
    public let defaultValue: StoreValue?
    /// The column that holds the attribute, if it has another name, as in a Core Data store; otherwise nil.
    public let column: String?
    /// The date format, if the store declares it, as a Core Data model does, or the program that names the attribute.
    public package(set) var dateEncoding: DateEncoding?
    /// How exactly the column holds numbers.
    package var precision = Precision.double
    /// The values of an enumerated type, in its order; empty for any other type.
    package var labels: [String] = []

    /// Makes a description of an attribute.
    public init(
        name: String, affinity: Affinity, declaredType: String = "", isRequired: Bool = false,
        isGenerated: Bool = false, hasDefault: Bool = false, defaultValue: StoreValue? = nil, column: String? = nil,
        dateEncoding: DateEncoding? = nil
    ) {
        self.name = name
        self.affinity = affinity
        self.declaredType = declaredType
        self.isRequired = isRequired
        self.isGenerated = isGenerated
        self.hasDefault = hasDefault || defaultValue != nil
        self.defaultValue = defaultValue
        self.column = column
        self.dateEncoding = dateEncoding
    }
}

extension Attribute {
    /// Names an attribute in a condition, with the format of its dates: `Attribute("price") < 10`, `Attribute("time", .unixSeconds) < now`.
    public init(_ name: String, _ dateEncoding: DateEncoding? = nil) {
        self.init(name: name, affinity: .none, dateEncoding: dateEncoding)
    }
}

/// A reference from the rows of one entity (the source) to a row of another (the destination): a foreign key.
///
/// ```swift
/// let toShop = Relationship(from: "sign", "shop", to: "shop", "id", deleteRule: .cascade)
/// try writer.createEntity(
///     Entity(name: "sign", attributes: [Attribute(name: "shop", affinity: .integer)], relationships: [toShop]))
/// ```
public struct Relationship: Hashable, Sendable {
    /// What happens to the source rows when their destination row is deleted.
    public enum DeleteRule: String, Hashable, Sendable {
        /// They are deleted too.
        case cascade
        /// Their reference becomes NULL.
        case nullify
        /// Their reference becomes the column's default value, which is not NULL. Such rows prevent the delete.
        case setDefault
        /// The delete fails at once.
        case restrict
        /// The delete fails at the end of the statement if source rows still refer to the deleted row.
        case noAction
    }

    /// The entity whose rows hold the reference.
    public let source: String
    /// The attributes that hold the reference, in key order.
    public let sourceAttributes: [String]
    /// The entity to which it refers.
    public let destination: String
    /// The attributes to which it refers, in key order.
    public let destinationAttributes: [String]
    /// What a delete of the destination does.
    public let deleteRule: DeleteRule
    /// Whether an index begins with the source attributes, so that its rows are found without a scan.
    public let isIndexed: Bool

    /// Makes a description of a relationship.
    public init(
        source: String, sourceAttributes: [String], destination: String, destinationAttributes: [String],
        deleteRule: DeleteRule, isIndexed: Bool
    ) {
        self.source = source
        self.sourceAttributes = sourceAttributes
        self.destination = destination
        self.destinationAttributes = destinationAttributes
        self.deleteRule = deleteRule
        self.isIndexed = isIndexed
    }
}

extension Relationship {
    /// Makes a reference by one attribute for an entity that is to be created. The store creates an index for it, so a delete of a
    /// destination row finds the rows that refer to it without a scan.
    public init(
        from source: String, _ attribute: String, to destination: String, _ destinationAttribute: String,
        deleteRule: DeleteRule = .noAction
    ) {
        self.init(
            source: source, sourceAttributes: [attribute], destination: destination,
            destinationAttributes: [destinationAttribute], deleteRule: deleteRule, isIndexed: true)
    }

    /// The source and the attributes that hold the reference, as messages name them.
    package var text: String { "\(source) (\(sourceAttributes.joined(separator: ", ")))" }

    /// Why a delete is refused whose cascades lead back to a table on their way by this key.
    package var leadsBack: String {
        "cascades lead from \(destination) back to \(text), so the delete of one row may delete any number of rows of its own table; "
            + "with relationships: nullify these rows stay and lose their reference"
    }

    /// The relationship to another entity that has the same rows, or with another delete rule.
    package func with(destination: String? = nil, deleteRule: DeleteRule? = nil) -> Relationship {
        Relationship(
            source: source, sourceAttributes: sourceAttributes, destination: destination ?? self.destination,
            destinationAttributes: destinationAttributes, deleteRule: deleteRule ?? self.deleteRule,
            isIndexed: isIndexed)
    }
}
