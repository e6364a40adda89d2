import GRDB
public import PriceStore

/// Creating and dropping entities and indexes.
extension SQLiteWriter {
    /// Creates an entity, or adds missing attributes to an existing one.
    public func createEntity(_ entity: Entity) throws(StoreError) {
        try entity.checkIsCreatable(in: name)
        try change("creating the table \(entity.name)") { db in
            if let existing = try catalog.table(entity.name, db) {
                try requireNoModel(existing)
                let other = try entity.attributes.first { try hasOtherDefault($0, in: existing, db) }
                if let difference = entity.difference(from: existing.entity)
                    ?? other.map({ "another default of \($0.name)" })
                {
                    throw failure(
                        .unsupported, "\(existing.name) already exists, with \(difference)",
                        hint:
                            "describe it as it is, or copy its rows into a new table, because SQLite cannot change it: "
                            + (try creation(of: entity, db)))
                }
                let missing = entity.attributes.filter { existing.entity.attribute(named: $0.name) == nil }
                for attribute in missing {
                    let addition = "ALTER TABLE \(existing.sql) ADD COLUMN \(try definition(of: attribute, db))"
                    guard !attribute.isRequired || attribute.hasDefault else {
                        throw failure(
                            .unsupported,
                            "\(existing.name) already exists, and its rows would have no \(attribute.name)",
                            hint: "give it a default value, or execute: \(addition) DEFAULT <the value of these rows>")
                    }
                    try db.execute(sql: addition)
                }
                if !missing.isEmpty { try didChangeSchema(db) }
            } else {
                try db.execute(sql: creation(of: entity, db))
                // This fails if a relationship refers to attributes that are missing or not unique.
                try db.execute(sql: "PRAGMA main.foreign_key_check(\(entity.name.quotedIdentifier))")
                try didChangeSchema(db)
            }
            for key in entity.relationships where key.isIndexed {
                try createIndex(on: entity.name, attributes: key.sourceAttributes, isUnique: false)
            }
        }
    }

    /// Creates an index unless one with these attributes exists.
    public func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError) {
        try change("creating an index of \(entity)") { db in
            let scope = try tableScope(entity, db)
            try requireNoModel(scope.table)
            guard !attributes.isEmpty else {
                throw failure(.unsupported, "an index of \(scope.table.name) has no attributes")
            }
            let columns = try attributes.map { try scope.attribute($0, store: name).name }
            let isThere = scope.table.indexes.contains {
                $0.columns.map(\.name) == columns && !$0.isPartial && ($0.isUnique || !isUnique)
            }
            guard !isThere, isUnique || columns != [scope.table.rowIDAlias] else { return }
            var index = "\(isUnique ? "ux" : "ix")_\(scope.table.name)_\(columns.joined(separator: "_"))"
            while try isTaken(index, db) { index += "_" }
            try db.execute(
                sql: "CREATE \(isUnique ? "UNIQUE " : "")INDEX main.\(index.quotedIdentifier) "
                    + "ON \(scope.table.name.quotedIdentifier) \(columns.quotedList)")
            try didChangeSchema(db)
        }
    }

    /// Drops an entity with its rows.
    public func dropEntity(named name: String) throws(StoreError) {
        try change("removing the table \(name)") { db in
            guard let table = try catalog.table(name, db) else { return }
            try requireNoModel(table)
            try db.execute(sql: "DROP TABLE \(table.sql)")
            try didChangeSchema(db)
        }
    }

    /// Throws if the entity belongs to a Core Data model, whose related entities share one table.
    private func requireNoModel(_ table: SQLiteTable) throws(StoreError) {
        guard table.managed != nil else { return }
        throw failure(
            .unsupported, "\(table.name) is not changed: the schema of a Core Data store belongs to its model")
    }

    /// Empties the catalog and creates history triggers for new tables.
    private func didChangeSchema(_ db: Database) throws {
        catalog = catalog.emptied
        if historyRecorder.number != nil { try recordTransaction(db) }
    }

    private func hasOtherDefault(_ attribute: Attribute, in table: SQLiteTable, _ db: Database) throws -> Bool {
        guard let stored = table.entity.attribute(named: attribute.name), stored.hasDefault || attribute.hasDefault
        else { return false }
        let text = table.defaults[stored.name.folded]
        let value = (attribute.defaultValue ?? .null).databaseValue
        return try Bool.fetchOne(db, sql: "SELECT (\(text ?? "NULL")) IS NOT ?", arguments: [value]) ?? true
    }

    private func creation(of entity: Entity, _ db: Database) throws -> String {
        var parts = try entity.attributes.map { try definition(of: $0, db) }
        if !entity.primaryKey.isEmpty { parts.append("PRIMARY KEY \(entity.primaryKey.standardList)") }
        parts += entity.relationships.map { key in
            "FOREIGN KEY \(key.sourceAttributes.standardList) REFERENCES \(key.destination.standardIdentifier) "
                + "\(key.destinationAttributes.standardList) ON DELETE \(key.deleteRule.sqlAction)"
        }
        return "CREATE TABLE main.\(entity.name.standardIdentifier) (\(parts.list))"
    }

    /// The definition of a column for CREATE TABLE or ADD COLUMN.
    private func definition(of attribute: Attribute, _ db: Database) throws -> String {
        let type = attribute.declaredType.isEmpty ? attribute.affinity.typeName : attribute.declaredType
        guard
            type.unicodeScalars.allSatisfy({
                $0.properties.isAlphabetic || " (),0123456789".unicodeScalars.contains($0)
            }),
            Attribute.Affinity(declaredType: type, isStrict: false) == attribute.affinity
        else {
            throw failure(
                .unsupported, "the type \(type) of \(attribute.name) does not have the affinity \(attribute.affinity)")
        }
        var text = "\(attribute.name.standardIdentifier) \(type)" + (attribute.isRequired ? " NOT NULL" : "")
        if let value = attribute.defaultValue {
            text +=
                " DEFAULT "
                + (try String.fetchOne(db, sql: "SELECT quote(?)", arguments: [value.databaseValue]) ?? "NULL")
        }
        return text
    }
}

extension Attribute.Affinity {
    /// A type with the affinity; empty for values that are stored unchanged.
    fileprivate var typeName: String {
        switch self {
        case .integer: "INTEGER"
        case .real: "REAL"
        case .numeric: "NUMERIC"
        case .text: "TEXT"
        case .none: ""
        }
    }
}
