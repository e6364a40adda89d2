import GRDB
import PriceStore

/// Temporary tables with keys of rows. They may spill to a file.
extension SQLiteFile {
    /// The table for the keys of deleted rows of a table.
    func removedTable(_ table: SQLiteTable, _ removed: RemovedRows, _ db: Database) throws -> String {
        try removedTable(table.tableName, removed, db, keyedBy: table.managed == nil ? table : nil)
    }

    /// The table for the keys of deleted rows of a table by its name.
    ///
    /// - Parameter table: the table, or nil for one of Core Data.
    func removedTable(
        _ name: String, _ removed: RemovedRows, _ db: Database, keyedBy table: SQLiteTable? = nil
    ) throws -> String {
        if let known = removed.tables[name.folded] { return known }
        let keys = try createKeys("removed", of: table, others: ", step, wave", db)
        if removed.isIndexed { try execute("CREATE INDEX temp.\(keys)_step ON \(keys) (step, wave)", db) }
        removed.tables[name.folded] = keys
        return keys
    }

    /// Creates a table of keys.
    private func createKeys(
        _ kind: String, of table: SQLiteTable?, others: String = "", _ db: Database
    ) throws -> String {
        let name = temporaryName(kind)
        var columns = "k0 INTEGER PRIMARY KEY\(others))"
        if let table {
            let keys = RowScope(table).keyNames
            // A rowid gets its type, so that references are compared with it as SQLite does.
            let type = table.rowIDAlias != nil && keys.count == 1 ? " INTEGER" : ""
            columns = "\(keys.map { $0 + type }.list)\(others), PRIMARY KEY (\(keys.list))) WITHOUT ROWID"
        }
        try execute("CREATE TEMP TABLE \(name) (\(columns)", db)
        return name
    }

    // MARK: Of a batch

    /// Forgets the rows that the last batch deleted.
    func emptyBatchRows(_ db: Database) throws {
        try countingTemporaryRows(db) {
            for table in temporaries.batchRows.tables.values { try execute("DELETE FROM temp.\(table)", db) }
        }
    }

    /// Notes rows of a table that lose a reference.
    ///
    /// - Parameter keys: a query for their keys, without its SELECT.
    /// - Returns: the temporary table with their keys, and how many of them lost none before in this delete; nil: there are no such rows.
    func noteCleared(
        _ name: String, _ table: SQLiteTable?, _ keys: SQLFragment, _ db: Database
    ) throws -> (keys: String, newCount: Int)? {
        let (touched, all) =
            try temporaries.clearedRows[name.folded]
            ?? (createKeys("touched", of: table, db), createKeys("cleared", of: table, db))
        temporaries.clearedRows[name.folded] = (touched, all)
        return try countingTemporaryRows(db) {
            try execute("DELETE FROM temp.\(touched)", db)
            try execute("INSERT OR IGNORE INTO temp.\(touched) SELECT \(keys)", db)
            guard db.changesCount > 0 else { return nil }
            try execute("INSERT OR IGNORE INTO temp.\(all) SELECT * FROM temp.\(touched)", db)
            return (touched, db.changesCount)
        }
    }

    /// Forgets that rows lost a reference, because they are deleted now. Returns their number.
    func forgetCleared(_ name: String, _ table: SQLiteTable?, _ removed: String, _ db: Database) throws -> Int {
        guard let all = temporaries.clearedRows[name.folded]?.all else { return 0 }
        let keys = table.map { RowScope($0).keyNames } ?? ["k0"]
        return try countingTemporaryRows(db) {
            try execute(
                "DELETE FROM temp.\(all) WHERE \(keys.operand) IN (SELECT \(keys.list) FROM temp.\(removed))", db)
            return db.changesCount
        }
    }

    /// Forgets which rows lost references. Called before the first batch of a delete, and after its last.
    func dropClearedRows(_ db: Database) throws {
        for names in temporaries.clearedRows.values {
            for table in [names.touched, names.all] { try db.execute(sql: "DROP TABLE IF EXISTS temp.\(table)") }
        }
        temporaries.clearedRows = [:]
    }
}
