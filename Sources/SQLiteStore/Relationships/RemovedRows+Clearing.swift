import GRDB
import PriceStore

/// References that a delete sets to NULL: whether the schema allows it.
extension SQLiteFileConnection {
    /// Rows that cannot lose their reference, at most one obstacle for each table. Rows that are deleted as well are among them:
    /// they may lose it before they are deleted.
    func fixedReferences(_ removed: RemovedRows, step: Int, _ db: Database) throws -> [Survey.Obstacle] {
        var cleared: [String: [Relationship]] = [:]
        for parent in try losing(removed, step: step, db) {
            for key in try keys(into: parent, of: removed.request(step), db) where key.clears {
                cleared[key.source.folded, default: []].append(key)
            }
        }
        return try cleared.sorted { $0.key < $1.key }.compactMap { name, keys in
            guard let table = try catalog.table(name, db) else { return nil }
            let constraints = try ClearingConstraints(table, db)
            // A row may lose several references, one after the other.
            for subset in 1..<(1 << keys.count) {
                let together = keys.indices.filter { subset & (1 << $0) != 0 }.map { keys[$0] }
                guard let refused = constraints.refusal(of: together) else { continue }
                var condition = "NOT " + (try childIsRemoved(together[0], removed, steps: "< \(step)", db))
                for key in together.dropFirst() { condition += " AND " + (try loses(key, removed, step: step, db)) }
                let columns = constraints.columns(without: together)
                let rows = try references(together[0], removed, "removed.step = ? AND \(condition)", [step], db)
                let number = try count(
                    SQLFragment("SELECT count(*) FROM (SELECT \(columns)") + rows
                        + ") AS \(table.name.quotedIdentifier) WHERE \(refused)", db)
                guard number > 0 else { continue }
                return Survey.Obstacle(relationship: together[0], rowCount: number, objection: .fixedReference)
            }
            return nil
        }
    }

    /// A condition on `child` that it refers to a row that is deleted in a step.
    private func loses(_ key: Relationship, _ removed: RemovedRows, step: Int, _ db: Database) throws -> String {
        let parent = try scope(key.destination, db)
        let table = try removedTable(parent.table, removed, db)
        let matches =
            zip(key.sourceAttributes, key.destinationAttributes).map {
                "other.\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
            } + [parent.table.keySQL.map { "other." + $0 }.areKey(of: "lost")]
        return
            "EXISTS (SELECT 1 FROM \(parent.source) AS other CROSS JOIN temp.\(table) AS lost "
            + "WHERE \(matches.joined(separator: " AND ")) AND lost.step = \(step))"
    }
}

/// What a table demands of its rows when they lose references.
private struct ClearingConstraints {
    private let table: SQLiteTable
    /// The CHECK constraints, each in parentheses.
    private let checks: [String]
    /// The texts of the unique indexes that NULL values may break.
    private let indexes: [String]

    init(_ table: SQLiteTable, _ db: Database) throws {
        self.table = table
        let texts = try Row.fetchAll(
            db,
            sql: "SELECT type, name, sql FROM main.sqlite_schema WHERE lower(tbl_name) = lower(?) AND sql IS NOT NULL",
            arguments: [table.name]
        ).map { (type: $0[0] as String, name: $0[1] as String, sql: $0[2] as String) }
        checks = texts.filter { $0.type == "table" }.flatMap { SchemaText.checks($0.sql) }
        let odd = table.indexes.filter { $0.isUnique && ($0.isPartial || $0.columns.contains { $0.name == nil }) }
        indexes = texts.filter { text in odd.contains { $0.name == text.name } }.map(\.sql)
    }

    /// The condition that a row cannot lose these references at once, on a row that has lost them; nil: any row can, as far
    /// as it is not one of fewer references.
    func refusal(of keys: [Relationship]) -> String? {
        let concerned = checks.filter { check in keys.allSatisfy { Self.names($0.sourceAttributes, in: check) } }
        var refused = concerned.map { "NOT \($0)" }
        if let key = keys.first, keys.count == 1 {
            if isFixed(key) { return "1" }
            refused += table.dangles(table.name.quotedIdentifier)
        }
        return refused.isEmpty ? nil : refused.map { "(\($0))" }.joined(separator: " OR ")
    }

    /// The columns of `child` for a SELECT, as they are without these references.
    func columns(without keys: [Relationship]) -> String {
        table.entity.attributes.map { attribute in
            let name = attribute.name.quotedIdentifier
            let isCleared = keys.contains { Self.contains(attribute.name, $0.sourceAttributes) }
            return "\(isCleared ? "NULL" : "child.\(name)") AS \(name)"
        }.joined(separator: ", ")
    }

    /// Whether what a reference takes part in is not worth looking at row by row: a key that others refer to, a unique
    /// index that many NULL values can break, and generated columns with constraints of their own.
    private func isFixed(_ key: Relationship) -> Bool {
        let columns = key.sourceAttributes
        let generated = table.entity.attributes.filter(\.isGenerated)
        return table.entity.incomingRelationships.contains { incoming in
            incoming.destinationAttributes.contains { Self.contains($0, columns) }
        }
            || indexes.contains { Self.names(columns, in: $0) }
            || generated.contains { column in
                column.isRequired || checks.contains { Self.names([column.name], in: $0) }
            }
    }

    private static func contains(_ name: String, _ names: [String]) -> Bool {
        names.contains { $0.folded == name.folded }
    }

    /// Whether a text of the schema may name one of these columns.
    private static func names(_ columns: [String], in text: String) -> Bool {
        let text = text.folded
        let isPart = { (character: Character) in character.isLetter || character.isNumber || character == "_" }
        let words = Set(text.split { !isPart($0) })
        return columns.map { $0.folded }.contains {
            $0.allSatisfy(isPart) ? words.contains($0[...]) : text.contains($0)
        }
    }
}

extension SQLiteTable {
    /// The relationships of the table to itself.
    private var ownReferences: [Relationship] {
        entity.relationships.filter { $0.destination.folded == name.folded }
    }

    /// The condition that a reference of a row to its own table refers to no row. SQLite looks at all of them whichever
    /// column of the row changes; a deletion alone does not mind.
    fileprivate func dangles(_ row: String) -> [String] {
        ownReferences.map { reference in
            let isSet = reference.sourceAttributes.map { "\(row).\($0.quotedIdentifier) IS NOT NULL" }
            let points = zip(reference.sourceAttributes, reference.destinationAttributes).map {
                "other.\($1.quotedIdentifier) = \(row).\($0.quotedIdentifier)"
            }
            return isSet.joined(separator: " AND ")
                + " AND NOT EXISTS (SELECT 1 FROM \(sql) AS other WHERE \(points.joined(separator: " AND ")))"
        }
    }
}
