/// The tables, columns and indexes in which Core Data stores the rows of a model.
///
/// Source: the schemas of stores that Apple's framework wrote. Two things do not occur in those stores and come from
/// publications about others: which side names a join table, and the column `REFLEXIVE` of a relationship that is its
/// own inverse.
struct CoreDataLayout: Sendable {
    /// The number of each entity, in `Z_ENT`.
    let numbers: [String: Int]
    /// The tables of root entities.
    let tables: [Table]
    /// The tables of many-to-many relationships.
    let joins: [Join]
    /// Where a stored to-one relationship is, by the entity that declares it.
    let references: [Property: Reference]

    /// A property, named by the entity that declares it.
    struct Property: Hashable, Sendable {
        var entity: String
        var name: String
    }

    /// A table of a root entity and all that inherit from it.
    struct Table: Sendable {
        var name: String
        var root: String
        /// The columns after `Z_PK`, `Z_ENT` and `Z_OPT`.
        var columns: [Column]
        var indexes: [String]
    }

    /// A column and its declared type.
    struct Column: Hashable, Sendable {
        var name: String
        var type: String
    }

    /// The columns of a to-one relationship.
    struct Reference: Hashable, Sendable {
        var table: String
        /// Holds the key of the row at the other end.
        var key: String
        /// Holds the entity number of that row; nil: it can be of one entity only.
        var entity: String?
        /// Holds the place among the rows that refer to the same row; nil: they have no order.
        var order: String?

        var columns: [String] { [key, entity, order].compactMap(\.self) }
    }

    /// The table of a many-to-many relationship: a row for each pair.
    struct Join: Hashable, Sendable {
        var table: String
        /// The relationship that names the table, and the column with the keys of its entity.
        var source: Property
        var sourceColumn: String
        /// The inverse, and the column with the keys of the other entity.
        var destination: Property
        var destinationColumn: String
        /// Places of the destination among a source's, and of the source among a destination's.
        var orderColumns: [String]
    }

    init(_ model: ModelDescription) {
        var numbers: [String: Int] = [:]
        for root in model.roots { for entity in model.family(root.name) { numbers[entity.name] = numbers.count + 1 } }
        self.numbers = numbers

        var references: [Property: Reference] = [:]
        var joins: [Join] = []
        for root in model.roots {
            for entity in model.family(root.name) {
                for relationship in entity.relationships {
                    let property = Property(entity: entity.name, name: relationship.name)
                    if !relationship.isToMany {
                        references[property] = Self.reference(
                            relationship, table: Self.table(root.name), model: model, numbers: numbers)
                    } else if let join = Self.join(relationship, of: entity.name, model: model, numbers: numbers) {
                        joins.append(join)
                    }
                }
            }
        }
        self.references = references
        self.joins = joins
        tables = model.roots.map { Self.table(of: $0, model: model, references: references) }
    }

    /// The name of a root entity's table.
    static func table(_ root: String) -> String { "Z" + root.uppercased() }

    /// The name of an attribute's column.
    static func column(_ attribute: String) -> String { "Z" + attribute.uppercased() }

    private static func reference(
        _ relationship: ModelDescription.Relationship, table: String, model: ModelDescription, numbers: [String: Int]
    ) -> Reference {
        let name = relationship.name.uppercased()
        let hasSubentities = model.family(relationship.destination).count > 1
        let inverse = relationship.inverse.flatMap { model.relationship($0, of: relationship.destination) }
        return Reference(
            table: table, key: "Z" + name,
            entity: hasSubentities ? "Z\(numbers[relationship.destination] ?? 0)_\(name)" : nil,
            order: inverse?.relationship.isOrdered == true && inverse?.relationship.isToMany == true
                ? "Z_FOK_\(name)" : nil)
    }

    /// The join table of a many-to-many relationship, from the side that names it; nil from the other side.
    private static func join(
        _ relationship: ModelDescription.Relationship, of entity: String, model: ModelDescription,
        numbers: [String: Int]
    ) -> Join? {
        guard let inverseName = relationship.inverse,
            let (owner, inverse) = model.relationship(inverseName, of: relationship.destination), inverse.isToMany
        else { return nil }
        let source = Property(entity: entity, name: relationship.name)
        let destination = Property(entity: owner, name: inverseName)
        // The table has the name that is later in the alphabet.
        guard (inverseName.lowercased(), owner) <= (relationship.name.lowercased(), entity) else { return nil }
        let (number, other) = (numbers[entity] ?? 0, numbers[owner] ?? 0)
        let name = relationship.name.uppercased()
        if source == destination {
            return Join(
                table: "Z_\(number)\(name)", source: source, sourceColumn: "Z_\(number)\(name)",
                destination: destination, destinationColumn: "REFLEXIVE", orderColumns: [])
        }
        let back = inverseName.uppercased()
        return Join(
            table: "Z_\(number)\(name)", source: source, sourceColumn: "Z_\(number)\(back)", destination: destination,
            destinationColumn: "Z_\(other)\(name)",
            orderColumns: (relationship.isOrdered ? ["Z_FOK_\(other)\(name)"] : [])
                + (inverse.isOrdered ? ["Z_FOK_\(number)\(back)"] : []))
    }

    private static func table(
        of root: ModelDescription.Entity, model: ModelDescription, references: [Property: Reference]
    ) -> Table {
        let name = table(root.name)
        let family = model.family(root.name)
        var groups = Array(repeating: [Column](), count: 6)
        var indexes: [String] = []
        for entity in family {
            for attribute in entity.attributes.sorted(by: { $0.name < $1.name }) {
                groups[attribute.kind.group].append(Column(name: column(attribute.name), type: attribute.kind.type))
            }
            for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
                guard let reference = references[Property(entity: entity.name, name: relationship.name)] else {
                    continue
                }
                groups[0] += reference.columns.map { Column(name: $0, type: "INTEGER") }
                indexes.append("CREATE INDEX \(name)_\(reference.key)_INDEX ON \(name) (\(reference.key))")
            }
            for index in entity.indexes {
                let columns = index.attributes.map { "\(column($0)) COLLATE BINARY ASC" }
                indexes.append(
                    "CREATE INDEX Z_\(entity.name)_\(index.name) ON \(name) (\(columns.joined(separator: ", ")))")
            }
        }
        if family.count > 1 { indexes.append("CREATE INDEX \(name)_Z_ENT_INDEX ON \(name) (Z_ENT)") }
        return Table(name: name, root: root.name, columns: groups.flatMap(\.self), indexes: indexes)
    }
}

extension CoreDataLayout.Table {
    /// The statement that creates the table, as Core Data writes it: names are not quoted.
    var sql: String {
        let columns = self.columns.map { ", \($0.name) \($0.type)" }.joined()
        return "CREATE TABLE \(name) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER\(columns) )"
    }
}

extension CoreDataLayout.Join {
    /// The statements that make the table and its index.
    var sql: [String] {
        let columns = ([sourceColumn, destinationColumn] + orderColumns).map { "\($0) INTEGER" }
        return [
            "CREATE TABLE \(table) ( \(columns.joined(separator: ", ")), "
                + "PRIMARY KEY (\(sourceColumn), \(destinationColumn)) )",
            "CREATE INDEX \(table)_\(destinationColumn)_INDEX ON \(table) (\(destinationColumn), \(sourceColumn))",
        ]
    }
}

extension ModelDescription.Kind {
    /// The declared type of a column.
    var type: String {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: "INTEGER"
        case .decimal: "DECIMAL"
        case .double, .float: "FLOAT"
        case .string, .uri: "VARCHAR"
        case .date: "TIMESTAMP"
        case .binary, .uuid, .transformable: "BLOB"
        }
    }

    /// Columns come in groups: integers and references, dates and floats, decimals, texts, UUIDs, bytes.
    fileprivate var group: Int {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: 0
        case .date, .double, .float: 1
        case .decimal: 2
        case .string, .uri: 3
        case .uuid: 4
        case .binary, .transformable: 5
        }
    }
}
