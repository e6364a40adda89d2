import GRDB
import PriceStore

/// Checks whether the schema allows the references that a delete sets to NULL.
extension SQLiteFile {
    /// Why a reference that a delete clears may not become NULL, whatever the deleted rows are; nil: it may.
    func fixedReference(of delete: BatchDeleteRequest, _ db: Database) throws -> String? {
        guard delete.relationships != .deny else { return nil }
        let graph = try keyGraph(of: delete.fetchRequest.entity, delete.relationships, db)
        for key in graph.keys where key.clears {
            let table = try scope(key.source, db).table
            let cleared = "\(key.source) (\(key.sourceAttributes.list)) would be cleared"
            if try table.isFixed(key, catalog.schema(db)) {
                return
                    "references of \(cleared), and a CHECK constraint, another key, a partial index or one of expressions "
                    + "uses them, or the table has generated columns"
            }
            // On an UPDATE of any column SQLite checks all references of a row to its own table; on a delete it does not.
            let isChecked = table.entity.relationships.contains {
                $0.destination.folded == table.name.folded && $0.sourceAttributes != key.sourceAttributes
            }
            let dangling = "SELECT 1 FROM pragma_foreign_key_check(?, 'main') WHERE lower(parent) = lower(?) LIMIT 1"
            if isChecked, try Int.fetchOne(db, sql: dangling, arguments: [table.name, table.name]) != nil {
                return "references of \(cleared), and other references of \(table.name) to itself lead nowhere; "
                    + "PRAGMA foreign_key_check(\(table.name.standardIdentifier)) lists them"
            }
        }
        return nil
    }
}

extension SQLiteTable {
    /// Whether a reference is used where NULL may be invalid, whatever the rows are: in a CHECK constraint, another key, an index that is
    /// partial or has expressions, or a generated column, whose expression is unknown.
    fileprivate func isFixed(_ key: Relationship, _ schema: StoreSchema) -> Bool {
        let columns = key.sourceAttributes
        func shares(_ names: [String]) -> Bool { names.contains { Self.contains($0, columns) } }
        let otherKeys = entity.relationships.filter {
            $0.destination != key.destination || $0.sourceAttributes != columns
                || $0.destinationAttributes != key.destinationAttributes
        }
        if entity.incomingRelationships.contains(where: { shares($0.destinationAttributes) })
            || otherKeys.contains(where: { shares($0.sourceAttributes) })
            || entity.attributes.contains(where: \.isGenerated)
        {
            return true
        }
        let odd = indexes.filter { $0.isPartial || $0.columns.contains { $0.name == nil } }
        return schema.entries(ofTable: name).contains { entry in
            entry.type == "table"
                ? SchemaText.checks(entry.sql).contains { Self.names(columns, in: $0) }
                : odd.contains { $0.name == entry.name } && Self.names(columns, in: entry.sql)
        }
    }

    private static func contains(_ name: String, _ names: [String]) -> Bool {
        names.contains { $0.folded == name.folded }
    }

    /// Whether an SQL text of the schema may name one of these columns.
    private static func names(_ columns: [String], in text: String) -> Bool {
        let text = text.folded
        let isPart = { (character: Character) in character.isLetter || character.isNumber || character == "_" }
        let words = Set(text.split { !isPart($0) })
        return columns.map { $0.folded }.contains {
            $0.allSatisfy(isPart) ? words.contains($0[...]) : text.contains($0)
        }
    }
}
