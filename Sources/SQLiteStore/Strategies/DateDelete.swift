import GRDB
import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit where no index gives them in the order of their dates.
    ///
    /// All rows that the pass is to delete are listed once, by date and key, in a temporary table. Rows of one date are
    /// deleted in one batch.
    mutating func dates() throws -> BatchContinuation? {
        guard let date = statement.date?.sql else {
            throw StoreError(.unsupported, store: connection.name, message: "the delete has no date")
        }
        if request.place == nil { try connection.makeDateList(statement, date, db) }
        guard let list = connection.temporaries.dateList else { return nil }
        let first = try connection.row(SQLFragment("SELECT min(date) FROM temp.\(list)"), db)?.first
        guard let first, !first.isNull else { return try connection.dropDateList(db) }
        let offset = request.fetchRequest.fetchLimit.map { [$0.databaseValue] }
        let end = try offset.flatMap {
            try connection.row(SQLFragment("SELECT date FROM temp.\(list) ORDER BY date LIMIT 1 OFFSET ?", $0), db)?
                .first
        }
        let stretch = end.map {
            SQLFragment("date \(first == $0 ? "<=" : "<") ?", [$0.databaseValue])
        }
        let columns = statement.scope.key.indices.map { "k\($0)" }.joined(separator: ", ")
        let keys = SQLFragment("SELECT \(columns) FROM temp.\(list)") + connection.whereClause(stretch ?? .always)
        try deleteChecked(.all([statement.isAmong(keys), statement.condition()]), by: .any, nil)
        guard let stretch else { return try connection.dropDateList(db) }
        try connection.execute(SQLFragment("DELETE FROM temp.\(list) WHERE ") + stretch, db)
        return BatchContinuation(position: [end ?? .null])
    }
}

extension SQLiteFileConnection {
    fileprivate func makeDateList(_ statement: DeleteStatement, _ date: DateSQL, _ db: Database) throws {
        try dropDateList(db)
        let list = temporaryName("dates")
        let keys = statement.scope.key.indices.map { "k\($0)" }
        let columns = (["date"] + keys).joined(separator: ", ")
        try execute(SQLFragment("CREATE TEMP TABLE \(list) (\(columns), PRIMARY KEY (\(columns))) WITHOUT ROWID"), db)
        let values = ([date.orderValue] + statement.scope.key).joined(separator: ", ")
        try execute(
            SQLFragment("INSERT INTO temp.\(list) ") + statement.select(values, of: statement.condition(), by: .any)
                + " ORDER BY \(values)", db)
        temporaries.dateList = list
    }

    /// - Returns: nil, for the end of a pass.
    @discardableResult
    fileprivate func dropDateList(_ db: Database) throws -> BatchContinuation? {
        if let list = temporaries.dateList { try execute(SQLFragment("DROP TABLE temp.\(list)"), db) }
        temporaries.dateList = nil
        return nil
    }
}
