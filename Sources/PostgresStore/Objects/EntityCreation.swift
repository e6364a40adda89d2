public import PriceStore

/// Entities and indexes that a program creates.
extension PostgresWriter {
    /// Creates an entity, or adds the attributes that an existing one lacks.
    public func createEntity(_ entity: Entity) throws(StoreError) {
        try entity.checkIsCreatable(in: name)
        try run("creating the table \(entity.name)", isRepeatable: false) {
            try transaction(.normal) {
                if let existing = try table(entity.name) {
                    if let difference = entity.difference(from: existing.entity) {
                        throw StoreError(
                            .unsupported, store: name, message: "\(entity.name) already exists, with \(difference)")
                    }
                    for attribute in entity.attributes where existing.entity.attribute(named: attribute.name) == nil {
                        let isRequired = attribute.isRequired && attribute.hasDefault
                        let column = try definition(of: attribute, isRequired: isRequired)
                        try execute("ALTER TABLE \(existing.sql) ADD COLUMN \(column)")
                    }
                } else {
                    var parts = try entity.attributes.map { try definition(of: $0, isRequired: $0.isRequired) }
                    if !entity.primaryKey.isEmpty { parts.append("PRIMARY KEY \(entity.primaryKey.quotedList)") }
                    for key in entity.relationships {
                        let isSelf = key.destination == entity.name
                        guard let parent = isSelf ? entity.name.quotedIdentifier : try table(key.destination)?.sql
                        else {
                            throw StoreError(
                                .unknownName, store: name, message: "the store has no entity '\(key.destination)'")
                        }
                        parts.append(
                            "FOREIGN KEY \(key.sourceAttributes.quotedList) REFERENCES \(parent) "
                                + "\(key.destinationAttributes.quotedList) ON DELETE \(key.deleteRule.sqlAction)")
                    }
                    try execute("CREATE TABLE \(entity.name.quotedIdentifier) (\(parts.joined(separator: ", ")))")
                }
                catalog = PostgresCatalog()
                for key in entity.relationships where key.isIndexed {
                    try createIndex(on: entity.name, attributes: key.sourceAttributes, isUnique: false)
                }
            }
        }
    }

    /// Creates an index, unless there is one of these attributes.
    public func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError) {
        try run("creating an index of \(entity)", isRepeatable: false) {
            let scope = RowScope(try requireTable(entity))
            let columns = try attributes.map { try scope.attribute($0, store: name).name }
            let isThere = scope.table.indexes.contains {
                $0.columns == columns && $0.isOrdered && ($0.isUnique || !isUnique)
            }
            guard !isThere else { return }
            try execute("CREATE \(isUnique ? "UNIQUE " : "")INDEX ON \(scope.table.sql) \(columns.quotedList)")
            catalog = PostgresCatalog()
        }
    }

    /// Removes an entity and its rows.
    public func dropEntity(named name: String) throws(StoreError) {
        try run("removing the table \(name)", isRepeatable: false) {
            guard let table = try table(name) else { return }
            try execute("DROP TABLE \(table.sql)")
            catalog = PostgresCatalog()
        }
    }

    /// A column in a CREATE TABLE or ADD COLUMN.
    private func definition(of attribute: Attribute, isRequired: Bool) throws(StoreError) -> String {
        guard ["", "INTEGER", "REAL", "NUMERIC", "TEXT"].contains(attribute.declaredType.uppercased()) else {
            throw StoreError(
                .unsupported, store: name,
                message: "\(attribute.name) cannot be created with the type \(attribute.declaredType)",
                hint: "leave the type out: the affinity decides")
        }
        let type =
            switch attribute.affinity {
            case .integer: "bigint"
            case .real: "double precision"
            case .numeric: "numeric"
            case .text, .none: "text"
            }
        var text = "\(attribute.name.quotedIdentifier) \(type)" + (isRequired ? " NOT NULL" : "")
        if let value = attribute.defaultValue?.serverText { text += " DEFAULT \(value.quotedLiteral)::\(type)" }
        return text
    }
}
