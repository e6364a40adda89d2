import GRDB
package import PriceStore

extension SQLiteFile {
    /// Why the rows of a request cannot be archived: something deleted with them cannot be seen, or could not be restored.
    package func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try run("looking at what a delete changes") { db in
            let table = try scope(request.entity, db).table
            // SQLite drops a byte order mark when it binds a text in UTF-16, so copies could differ from their rows.
            if let encoding = try String.fetchOne(db, sql: "PRAGMA main.encoding"), encoding != "UTF-8" {
                return "the texts of the store are in \(encoding), and only those of stores in UTF-8 are archived"
            }
            if let rollup = request.deleting.rollup, let reason = try obstacle(toArchivedCandlesOf: rollup, db) {
                return reason
            }
            if table.managed != nil {
                return try catalog.coreData(db)?.history == nil
                    ? nil : "the store keeps a persistent history, which a restoration could not continue"
            }
            let keys = try keyGraph(of: request.entity, request.relationships, db)
            for name in keys.losing where try StoredShape(of: name, self, db) == nil {
                return "rows of \(name) cannot be identified"
            }
            let copied = try ArchiveReach(of: BatchDeleteRequest(request), self, db)
            for name in copied.rows {
                let kept = try ArchiveTable.rows(of: name, number: 0, self, db)
                if let reason = kept?.obstacle("rows", db) { return reason }
            }
            for (name, columns) in copied.references.sorted(by: { $0.key < $1.key }) {
                let kept = try ArchiveTable.references(of: name, columns: columns, number: 0, self, db)
                if let reason = kept?.obstacle("old values of references", db) { return reason }
                if let reason = try obstacleOfNullKeys(name, db) { return reason }
            }
            var effects: TriggerEffects?
            if try keys.firesTriggers(self, db) {
                let found = try TriggerEffects(of: keys.losing, clearing: keys.clearing, self, db)
                if let obstacle = try found.obstacle(self, db) { return obstacle }
                effects = found
            }
            if let reason = try danglingRows(request, table, deletedByTriggers: effects?.deleted ?? [], db) {
                return reason
            }
            let tables = Set(keys.losing).union(effects?.deleted ?? []).sorted()
            for shape in try tables.compactMap({ try StoredShape(of: $0, self, db) }) {
                // An undo can skip triggers.
                let columns = shape.columns.map(\.name)
                if let reason = try obstacle(toInsertsInto: shape.table.name, columns, firesTriggers: false, db) {
                    return "\(reason), so they could not be restored"
                }
            }
            return nil
        }
    }

    /// A sentence about rows with NULL in their primary key, which SQLite allows in a table with rowids; nil if there are none. An undo
    /// could not find such rows.
    private func obstacleOfNullKeys(_ table: String, _ db: Database) throws -> String? {
        guard let shape = try StoredShape(of: table, self, db), shape.hiddenRowID != nil, !shape.primaryKey.isEmpty
        else {
            return nil
        }
        let isNull = shape.primaryKey.map { "\($0.quotedIdentifier) IS NULL" }.joined(separator: " OR ")
        guard try exists("SELECT 1 FROM main.\(table.quotedIdentifier) WHERE \(isNull)", db) else { return nil }
        return "rows of \(table) have NULL in their primary key, so references that they lose could not be restored"
    }

    private func obstacle(toArchivedCandlesOf rollup: Rollup, _ db: Database) throws -> String? {
        guard try catalog.table(rollup.target, db) != nil else { return nil }
        guard let kept = try ArchiveTable.candles(of: rollup, number: 0, self, db) else {
            return "rows of \(rollup.target) cannot be identified"
        }
        if let reason = kept.obstacle("old values of candles", db) { return reason }
        return try obstacle(toUndoneCandlesOf: kept.storeTable, db)
    }

    /// A sentence about rows to delete that refer to rows missing from the store; SQLite would refuse to insert them again. Rows that
    /// triggers delete cannot be told from others of their table.
    private func danglingRows(
        _ request: SurveyRequest, _ table: SQLiteTable, deletedByTriggers: Set<String>, _ db: Database
    ) throws -> String? {
        let step = request.preceding.count
        if let removed = temporaries.removedRows, removed.steps.count > step,
            removed.steps[step].fetchRequest.entity == request.entity
        {
            for name in try losing(removed, step: step, db) {
                let child = try scope(name, db)
                let isRow = child.table.keySQL.map { "child." + $0 }.areFound(by: "mine")
                let rows: SQLFragment = """
                    temp.\(try removedTable(child.table, removed, db)) AS mine CROSS JOIN \(child.table.sql) AS child \
                    WHERE mine.step = \(step) AND \(isRow)
                    """
                if let reason = try danglingKey(of: child.table, "child", in: rows, db) { return reason }
            }
        } else {
            let scope = try scope(of: BatchDeleteRequest(request).fetchRequest, db)
            let rows: SQLFragment = "\(scope.from()) WHERE (\(try condition(request.expired, scope, db)))"
            if let reason = try danglingKey(of: table, RowScope.alias, in: rows, db) { return reason }
        }
        for name in deletedByTriggers.sorted() {
            let other = try scope(name, db).table
            let rows: SQLFragment = "\(other.sql) AS other_row WHERE 1"
            if let reason = try danglingKey(of: other, "other_row", in: rows, db) { return reason }
        }
        return nil
    }

    /// A sentence about a reference of a table that refers to no row, in one of some rows; nil if there is none.
    private func danglingKey(
        of table: SQLiteTable, _ row: String, in rows: SQLFragment, _ db: Database
    ) throws -> String? {
        let key = try table.entity.relationships.first {
            try exists("SELECT 1 FROM \(rows) AND \(dangles(row, $0, db))", db)
        }
        return key.map {
            "rows of \($0.source) refer to rows of \($0.destination) that are not in the store, so they could not be restored; "
                + "PRAGMA foreign_key_check(\($0.source.standardIdentifier)) lists them"
        }
    }

    /// The condition that a reference of a row refers to no row. It compares as SQLite does: with the affinity and collation of the other
    /// table's column.
    private func dangles(_ row: String, _ key: Relationship, _ db: Database) throws -> String {
        let isSet = key.sourceAttributes.map { "\(row).\($0.quotedIdentifier) IS NOT NULL" }.joined(separator: " AND ")
        guard let parent = try catalog.table(key.destination, db), parent.isParentKey(key.destinationAttributes) else {
            return isSet
        }
        let other = try scope(key.destination, db).table.sql
        let points = zip(key.sourceAttributes, key.destinationAttributes).map {
            "other.\($1.quotedIdentifier) = +\(row).\($0.quotedIdentifier)"
        }
        return "\(isSet) AND NOT EXISTS (SELECT 1 FROM \(other) AS other WHERE \(points.joined(separator: " AND ")))"
    }
}

extension SQLiteFile {
    /// Why an undo of candles of a table would make changes that an archive does not have, as a clause; nil if it would not.
    func obstacle(toUndoneCandlesOf table: String, _ db: Database) throws -> String? {
        if let key = try catalog.table(table, db)?.entity.incomingRelationships.first {
            return "rows of \(key.source) refer to candles of \(table), and an undo could not delete these candles"
        }
        let effects = try TriggerEffects(
            of: [table], clearing: [:], writing: TriggerText.Change.writes(into: table), self, db)
        if let obstacle = try effects.obstacle(self, db) { return obstacle }
        return effects.deleted.min().map {
            "a trigger deletes rows of \($0) when candles of \(table) are written or deleted"
        }
    }
}
