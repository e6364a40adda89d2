public import PriceStore

/// Entities that a program creates.
extension PostgresWriter {
    /// Creates an entity with plain attributes. Anything else must be created on the server.
    public func createEntity(_ entity: Entity) throws(StoreError) {
        try entity.checkIsCreatable(in: name)
        guard entity.relationships.isEmpty, !entity.attributes.contains(where: \.hasDefault) else {
            throw StoreError(
                .unsupported, store: name, message: "\(entity.name) cannot be created with relationships or defaults",
                hint: "create it in the server")
        }
        try run("creating the table \(entity.name)", isRepeatable: false) {
            var parts = try entity.attributes.map(definition)
            if !entity.primaryKey.isEmpty { parts.append("PRIMARY KEY \(entity.primaryKey.standardList)") }
            try execute("CREATE TABLE \(entity.name.quotedIdentifier) (\(parts.joined(separator: ", ")))")
            catalog = PostgresCatalog()
        }
    }

    /// Always throws: indexes are created on the server.
    public func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError) {
        throw StoreError(
            .unsupported, store: name, message: "no index of \(entity) is created", hint: "create it in the server")
    }

    /// Removes an entity and its rows.
    public func dropEntity(named name: String) throws(StoreError) {
        try run("removing the table \(name)", isRepeatable: false) {
            guard let table = try table(name) else { return }
            try execute("DROP TABLE \(table.sql)")
            catalog = PostgresCatalog()
        }
    }

    /// A column in a CREATE TABLE.
    private func definition(of attribute: Attribute) throws(StoreError) -> String {
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
        return "\(attribute.name.quotedIdentifier) \(type)" + (attribute.isRequired ? " NOT NULL" : "")
    }
}
