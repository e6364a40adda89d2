import GRDB
import PriceStore

/// Checks whether the schema allows the references that a delete sets to NULL.
extension SQLiteFileConnection {
    /// Rows whose reference cannot be cleared, with at most one obstacle per table. Rows that are deleted too are included, because the
    /// reference may be cleared before they are deleted.
    func fixedReferences(_ removed: RemovedRows, step: Int, _ db: Database) throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for parent in try losing(removed, step: step, db) {
            for key in try keys(into: parent, of: removed.request(step), db) where key.clears {
                guard !found.contains(where: { $0.relationship.source == key.source }),
                    let table = try catalog.table(key.source, db),
                    let refused = try table.isFixed(key, db)
                        ? "1" : table.dangles(table.name.quotedIdentifier, without: key)
                else { continue }
                let condition = "removed.step = ? AND NOT " + (try childIsRemoved(key, removed, steps: "< \(step)", db))
                let rows = try references(key, removed, condition, [step], db)
                let number = try count(
                    SQLFragment("SELECT count(*) FROM (SELECT child.*") + rows
                        + ") AS \(table.name.quotedIdentifier) WHERE \(refused)", db)
                guard number > 0 else { continue }
                found.append(Survey.Obstacle(relationship: key, rowCount: number, objection: .fixedReference))
            }
        }
        return found
    }
}

extension SQLiteTable {
    /// Whether a reference is used where NULL may be invalid, whatever the rows are: in a CHECK constraint, another key, an index that is
    /// partial or has expressions, or a generated column, whose expression is unknown.
    fileprivate func isFixed(_ key: Relationship, _ db: Database) throws -> Bool {
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
        let texts = try Row.fetchAll(
            db,
            sql: "SELECT type, name, sql FROM main.sqlite_schema WHERE lower(tbl_name) = lower(?) AND sql IS NOT NULL",
            arguments: [name]
        ).map { (type: $0[0] as String, name: $0[1] as String, sql: $0[2] as String) }
        let odd = indexes.filter { $0.isPartial || $0.columns.contains { $0.name == nil } }
        return texts.contains { text in
            text.type == "table"
                ? SchemaText.checks(text.sql).contains { Self.names(columns, in: $0) }
                : odd.contains { $0.name == text.name } && Self.names(columns, in: text.sql)
        }
    }

    /// The condition that another reference of a row to its own table refers to no row, or nil if there is no such reference. On an UPDATE
    /// of any column SQLite checks all of them; on a delete it does not.
    fileprivate func dangles(_ row: String, without key: Relationship) -> String? {
        let others = entity.relationships.filter {
            $0.destination.folded == name.folded && $0.sourceAttributes != key.sourceAttributes
        }
        let conditions = others.map { reference in
            let isSet = reference.sourceAttributes.map { "\(row).\($0.quotedIdentifier) IS NOT NULL" }
            let points = zip(reference.sourceAttributes, reference.destinationAttributes).map {
                "other.\($1.quotedIdentifier) = \(row).\($0.quotedIdentifier)"
            }
            return "(" + isSet.joined(separator: " AND ")
                + " AND NOT EXISTS (SELECT 1 FROM \(sql) AS other WHERE \(points.joined(separator: " AND "))))"
        }
        return conditions.isEmpty ? nil : conditions.joined(separator: " OR ")
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
