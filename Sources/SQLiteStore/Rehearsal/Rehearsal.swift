import GRDB
public import PriceStore

/// Predicts inserts: rows are inserted into a shadow of their table, where SQLite checks them.
extension SQLiteReader {
    /// Adds a row to the rehearsal and predicts the outcome of its insert.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        try run("rehearsing a row of \(entity)") { db in
            let logical = try scope(entity, db)
            // Rows of a Core Data entity are rehearsed in its table, by column name.
            let table = try logical.table.managed.flatMap { try catalog.stored($0.table, db) } ?? logical.table
            let scope = logical.table.managed == nil ? logical : RowScope(table)
            let key = scope.table.name.folded
            var shadow: ShadowTable
            if let known = temporaries.shadows[key] {
                shadow = known
            } else {
                shadow = try makeShadow(scope.table, db)
                if logical.table.managed?.managed != nil { shadow.nextRowID = try nextKey(logical, db) }
                temporaries.shadows[key] = shadow
            }
            let row: NewRow
            if logical.table.managed == nil {
                row = try newRow(values, onConflict, scope, db)
            } else {
                switch try managedRow(values, onConflict, logical, db) {
                case .row(let managed): row = managed
                case .refused(let reason): return .rejected(reason)
                }
            }
            try checkReplacement(row, scope.table)
            let outcome = try rehearse(row, in: &shadow, scope: RowScope(scope.table, source: shadow.view), db)
            temporaries.shadows[key] = shadow
            guard case .rejected(let reason) = outcome else { return outcome }
            return .rejected(
                [shadow.name, String(shadow.probe.dropFirst("temp.".count))].reduce(reason) {
                    $0.replacing("\($1).", with: "\(scope.table.name).")
                })
        }
    }
}

extension SQLiteFileConnection {
    fileprivate func rehearse(
        _ row: NewRow, in shadow: inout ShadowTable, scope: RowScope, _ db: Database
    ) throws -> InsertOutcome {
        let table = scope.table
        var given = row
        if let rowID = table.rowID, !row.names(table.rowIDAlias) {
            // SQLite gives a new row the largest rowid plus one. A shadow must not begin at 1 again.
            given.rowID = (rowID, try nextRowID(shadow, table, db))
        }
        switch try values(of: given, byItself: shadow, table, db) {
        case .refused(let reason): return .rejected(reason)
        case .nothing: return .ignored
        case .row(let values):
            for key in try collisions(values, shadow, table, db) { try hide(key, shadow, table, db) }
        }
        // Only in these cases may a row have to be removed from the shadow again.
        let mayBeUndone = row.onConflict == .replace || !table.entity.relationships.isEmpty
        while true {
            if mayBeUndone { try execute(SQLFragment("SAVEPOINT retention_attempt"), db) }
            let (inserted, replaces) = try insertOrReplace(given, into: shadow.table, returning: shadow.returned, db)
            var outcome = InsertOutcome.ignored
            var further: [[StoreValue]] = []
            switch inserted {
            case .nothing: break
            case .refused(let reason): outcome = .rejected(reason)
            case .row(let values):
                // A row that replaces another keeps the columns that it does not set, and may so collide with a third row.
                if replaces { further = try collisions(values, shadow, table, db) }
                let broken = try brokenReference(values, of: row, replaces: replaces, shadow.returned, scope, db)
                outcome = broken.map(InsertOutcome.rejected) ?? .saved
            }
            if mayBeUndone {
                var isUndone = !further.isEmpty
                if case .rejected = outcome { isUndone = true }
                if isUndone {
                    try execute(SQLFragment("ROLLBACK TO retention_attempt"), db)
                }
                try execute(SQLFragment("RELEASE retention_attempt"), db)
            }
            guard further.isEmpty else {
                for key in further { try hide(key, shadow, table, db) }
                continue
            }
            if outcome == .saved {
                // The replaced row may have had the largest rowid, or may get it.
                shadow.nextRowID = given.rowID.flatMap {
                    row.onConflict == .replace || $0.value == .max ? nil : $0.value + 1
                }
            } else if shadow.isAutoincrement {
                // A row that was not inserted still uses up a rowid.
                shadow.nextRowID = nil
            }
            return outcome
        }
    }

    /// The row's values in the columns of unique keys before it meets other rows: the given ones, unless a default or a generated column
    /// decides.
    private func values(
        of row: NewRow, byItself shadow: ShadowTable, _ table: SQLiteTable, _ db: Database
    ) throws -> Insertion {
        let columns = Set(shadow.uniqueKeys.flatMap { $0.columns.map(\.name) })
        let isOpen = columns.contains { column in
            !row.names(column) && column != row.rowID?.name
                && (table.defaults[column.folded] != nil
                    || table.entity.attribute(named: column)?.isGenerated == true)
        }
        guard isOpen else {
            return .row(
                shadow.returned.map { name in
                    if let rowID = row.rowID, rowID.name == name { return .integer(rowID.value) }
                    return row.values.first { $0.column == name }?.value ?? .null
                })
        }
        let probed = try insert(row, into: shadow.probe, returning: shadow.returned, .fail, db)
        try execute(SQLFragment("DELETE FROM \(shadow.probe)"), db)
        return probed
    }

    /// The rowid of the next row.
    private func nextRowID(_ shadow: ShadowTable, _ table: SQLiteTable, _ db: Database) throws -> Int64 {
        if let known = shadow.nextRowID { return known }
        guard let rowID = table.keySQL.first else { return 1 }
        let stored = try rows(
            SQLFragment(
                "SELECT \(rowID) FROM \(table.sql) AS stored WHERE \(table.isNotHidden(by: shadow.hidden)) "
                    + "ORDER BY \(rowID) DESC LIMIT 1"), db
        ).first?.first
        var largest: [StoreValue?] = [
            stored, try self.row(SQLFragment("SELECT max(\(rowID)) FROM \(shadow.table)"), db)?[0],
        ]
        if shadow.isAutoincrement {
            largest.append(
                try self.row(
                    SQLFragment("SELECT seq FROM temp.sqlite_sequence WHERE name = ?", [shadow.name.databaseValue]), db)?[
                        0])
        }
        let numbers = largest.compactMap { value -> Int64? in
            if case .integer(let number) = value { number } else { nil }
        }
        guard let last = numbers.max() else { return 1 }
        guard last < .max else {
            throw notPredictable(table, "it has a row with the largest possible rowid, so that the next one is random")
        }
        // If the largest is below 1, the next rowid is 1 without AUTOINCREMENT only if there is no row.
        return last + 1
    }

    /// The keys of stored rows, not yet hidden, that share a unique key with a row of these values.
    private func collisions(
        _ values: [StoreValue], _ shadow: ShadowTable, _ table: SQLiteTable, _ db: Database
    ) throws -> [[StoreValue]] {
        let keyList = table.keySQL.map { "stored.\($0)" }.joined(separator: ", ")
        var found: [[StoreValue]] = []
        for key in shadow.uniqueKeys {
            let given = key.columns.map { column in
                shadow.returned.firstIndex(of: column.name).map { values[$0] } ?? .null
            }
            // NULL equals nothing, not even NULL.
            guard !given.contains(.null) else { continue }
            let matches = key.columns.map {
                "stored.\($0.name.quotedIdentifier) COLLATE \($0.collation.quotedIdentifier) = ?"
            }
            let condition = key.condition.map { " AND (\($0))" } ?? ""
            let query = SQLFragment(
                "SELECT \(keyList) FROM \(table.sql) AS stored WHERE \(matches.joined(separator: " AND "))\(condition) "
                    + "AND \(table.isNotHidden(by: shadow.hidden))", given.map(\.databaseValue))
            for row in try rows(query, db) where !found.contains(row) { found.append(row) }
        }
        return found
    }

    /// Moves a stored row into the shadow.
    private func hide(_ key: [StoreValue], _ shadow: ShadowTable, _ table: SQLiteTable, _ db: Database) throws {
        var columns = table.entity.attributes.filter { !$0.isGenerated }.map(\.name.quotedIdentifier)
        if let rowID = table.rowID, table.rowIDAlias == nil { columns.insert(rowID.quotedIdentifier, at: 0) }
        let list = columns.joined(separator: ", ")
        let isRow = table.keySQL.map { "stored.\($0) = ?" }.joined(separator: " AND ")
        let arguments = key.map(\.databaseValue)
        try execute(
            SQLFragment(
                "INSERT INTO \(shadow.hidden) VALUES (\(key.map { _ in "?" }.joined(separator: ", ")))", arguments), db)
        try execute(
            SQLFragment(
                "INSERT INTO \(shadow.table) (\(list)) SELECT \(list) FROM \(table.sql) AS stored WHERE \(isRow)",
                arguments), db)
    }

    /// Throws if replacing a row could have effects beyond it, which cannot be predicted.
    fileprivate func checkReplacement(_ row: NewRow, _ table: SQLiteTable) throws {
        guard row.onConflict == .replace else { return }
        guard table.entity.updateTriggers.isEmpty else {
            throw notPredictable(
                table,
                "on_conflict is replace, and it has a trigger on UPDATE ("
                    + "\(table.entity.updateTriggers.map(\.name).joined(separator: ", ")))"
            )
        }
        let keyCount = table.indexes.filter(\.isUnique).count + (table.rowIDAlias == nil ? 0 : 1)
        for key in table.entity.incomingRelationships
        where keyCount > 1 && key.destinationAttributes.contains(where: { row.names($0) }) {
            throw notPredictable(
                table,
                "on_conflict: replace may change \(key.destinationAttributes.joined(separator: ", ")) of "
                    + "\(table.name), to which \(key.source) refers")
        }
    }

    /// The message for a dangling reference of an inserted row, or nil.
    ///
    /// - Parameter replaces: whether the row replaced another. Then unchanged references are not checked.
    private func brokenReference(
        _ values: [StoreValue], of row: NewRow, replaces: Bool, _ names: [String], _ scope: RowScope, _ db: Database
    ) throws -> String? {
        for key in scope.table.entity.relationships {
            if replaces, !key.sourceAttributes.contains(where: { row.names($0) }) { continue }
            let given = key.sourceAttributes.compactMap { name in names.firstIndex(of: name).map { values[$0] } }
            if try !pointsAtRow(key, given, db) { return "FOREIGN KEY constraint failed" }
        }
        return nil
    }

    /// Whether the row that a foreign key's values refer to exists. NULL is always valid.
    func pointsAtRow(_ key: Relationship, _ values: [StoreValue], _ db: Database) throws -> Bool {
        guard !values.contains(.null) else { return true }
        let parent = try scope(key.destination, db)
        let matches = key.destinationAttributes.map { "\(RowScope.alias).\($0.quotedIdentifier) = ?" }
        let query = SQLFragment(
            "SELECT 1 FROM \(parent.from()) WHERE \(matches.joined(separator: " AND ")) LIMIT 1",
            values.map(\.databaseValue))
        return try row(query, db) != nil
    }
}
