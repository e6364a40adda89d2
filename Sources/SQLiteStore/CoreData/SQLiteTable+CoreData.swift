import GRDB
import PriceStore

extension SQLiteTable {
    /// Converts a table of a Core Data store to one of its entities, whose attributes have the names of the model.
    mutating func become(_ entity: CoreDataEntity, _ schema: CoreDataSchema) {
        let columns: [String: Attribute] = self.entity.attributes.reduce(into: [:]) { $0[$1.name] = $1 }
        var names: [String: String] = [:]
        var attributes: [Attribute] = []
        func add(_ name: String, _ column: String, isRequired: Bool, isDate: Bool, isGenerated: Bool) {
            if let stored = columns[column] {
                names[column] = names[column] ?? name
                attributes.append(
                    Attribute(
                        name: name, affinity: stored.affinity, declaredType: stored.declaredType,
                        isRequired: isRequired, isGenerated: isGenerated, column: column,
                        dateEncoding: isDate ? .appleSeconds : nil))
            }
        }
        if let managed = entity.managed {
            for attribute in managed.attributes.values.sorted(by: { $0.name < $1.name }) {
                guard let column = entity.columns[attribute.name.lowercased()] else { continue }
                add(
                    attribute.name, column, isRequired: !attribute.isOptional && !attribute.isDerived,
                    isDate: attribute.isDate, isGenerated: attribute.isDerived)
            }
            for link in managed.relationships.values.sorted(by: { $0.name < $1.name }) where !link.isToMany {
                if let column = entity.columns[link.name.lowercased()] {
                    add(link.name, column, isRequired: !link.isOptional, isDate: false, isGenerated: false)
                }
            }
        } else {
            // Only the column names are known. Attribute names ignore case, so `updateTime` finds `UPDATETIME`.
            for (name, column) in entity.columns.sorted(by: { $0.key < $1.key }) {
                let isDate = columns[column]?.declaredType.uppercased() == "TIMESTAMP"
                add(name.uppercased(), column, isRequired: false, isDate: isDate, isGenerated: false)
            }
        }
        // An ambiguous column is available under its column name.
        var named = entity.columns
        for column in Set(entity.ambiguous.values.joined()).sorted() {
            let isDate = columns[column]?.declaredType.uppercased() == "TIMESTAMP"
            add(column, column, isRequired: false, isDate: isDate, isGenerated: true)
            named[column.folded] = column
            names[column] = column
        }
        managed = entity
        managed?.columns = named
        for index in indexes.indices {
            for place in indexes[index].columns.indices {
                indexes[index].columns[place].name = indexes[index].columns[place].name.map { names[$0] ?? $0 }
            }
        }
        let byColumn = collations
        collations = [:]
        for (column, name) in names { collations[name.folded] = byColumn[column.folded] }
        for (name, column) in named { collations[name] = byColumn[column.folded] }
        defaults = [:]
        rowIDAlias = nil
        rowID = "Z_PK"
        self.entity = Entity(
            name: entity.name, attributes: attributes,
            model: EntityModel(
                table: entity.table, parent: entity.parent, isAbstract: entity.managed?.isAbstract ?? false,
                subentities: entity.subentities,
                relationships: (entity.managed?.relationships.values.sorted { $0.name < $1.name } ?? [])
                    .filter { !$0.isTransient }.map(ModelRelationship.init)),
            deleteTriggers: self.entity.deleteTriggers, updateTriggers: self.entity.updateTriggers,
            refusingTriggers: self.entity.refusingTriggers)
    }
}

extension ModelRelationship {
    fileprivate init(_ managed: ManagedRelationship) {
        self.init(
            name: managed.name, destination: managed.destination, inverse: managed.inverse,
            deleteRule: managed.deleteRule, isToMany: managed.isToMany, isOptional: managed.isOptional,
            isOrdered: managed.isOrdered)
    }
}
