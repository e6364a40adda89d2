import GRDB
import PriceStore

extension BatchDelete {
    /// Drops the indexes of the table, deletes the rows in physical order, and creates the indexes again: all in the
    /// current transaction.
    ///
    /// Relationships, triggers and histories work as in any delete. An index of a constraint stays, and so does a
    /// unique one to which foreign keys may refer. The statistics of the indexes are kept.
    mutating func rebuildInPlace(within limit: LockLimit) throws {
        let indexes = try droppedIndexes()
        try limit.bounding(db, store: connection.name) {
            let statistics = try StatisticsTable.all(of: indexes.map(\.name), connection, db)
            for index in indexes { try db.execute(sql: "DROP INDEX main.\(index.name.quotedIdentifier)") }
            try delete(statement.condition(), by: .table)
            for index in indexes { try db.execute(sql: index.sql) }
            for table in statistics { try table.restore(db) }
        }
        if let most = request.fetchRequest.fetchLimit, deletedCount > most {
            throw StoreError(
                .methodUnfit, store: connection.name,
                message: "a rebuild would delete \(deletedCount.counted("row")), more than the \(most) allowed")
        }
        try limit.check(connection.name)
    }

    private func droppedIndexes() throws -> [(name: String, sql: String)] {
        let table = statement.scope.table
        let isPointedAt = !table.entity.incomingRelationships.isEmpty
        return try table.indexes.compactMap { index in
            guard !(index.isUnique && isPointedAt),
                let sql = try String.fetchOne(
                    db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?",
                    arguments: [index.name])
            else { return nil }
            return (index.name, sql)
        }
    }
}

/// What SQLite knows of indexes for its query planner, noted before they are dropped.
private struct StatisticsTable {
    let name: String
    let rows: [[StoreValue]]

    /// The rows of `sqlite_stat1` and `sqlite_stat4`, where the store has them.
    static func all(
        of indexes: [String], _ connection: SQLiteFileConnection, _ db: Database
    ) throws -> [StatisticsTable] {
        try ["sqlite_stat1", "sqlite_stat4"].compactMap { name in
            guard try db.tableExists(name, in: "main") else { return nil }
            let marks = indexes.map { _ in "?" }.joined(separator: ", ")
            let rows = try connection.rows(
                SQLFragment("SELECT * FROM main.\(name) WHERE idx IN (\(marks))", indexes.map(\.databaseValue)), db)
            return StatisticsTable(name: name, rows: rows)
        }
    }

    func restore(_ db: Database) throws {
        for row in rows {
            let marks = row.map { _ in "?" }.joined(separator: ", ")
            try db.execute(
                sql: "INSERT INTO main.\(name) VALUES (\(marks))",
                arguments: StatementArguments(row.map(\.databaseValue)))
        }
    }
}
