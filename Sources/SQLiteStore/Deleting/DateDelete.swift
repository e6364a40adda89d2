import GRDB
import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit if no index gives them in date order.
    ///
    /// A temporary table lists all rows to delete by date and key. Rows of one date are deleted in one batch. A listed row that no longer
    /// matches stays.
    mutating func dates() throws -> BatchContinuation? {
        guard let list = connection.temporaries.dateList else {
            throw connection.failure(.unsupported, "the dates of the rows are not listed")
        }
        let first = try connection.row("SELECT min(date) FROM temp.\(list)", db)?.first
        guard let first, !first.isNull else { return try connection.dropDateList(db) }
        // The list can contain more rows than the plan counted.
        let most = work.mostRows
        let end = try connection.row("SELECT date FROM temp.\(list) ORDER BY date LIMIT 1 OFFSET \(bound: most)", db)?
            .first
        let stretch = end.map { "date \(first == $0 ? "<=" : "<") \(bound: $0)" } ?? SQLFragment.always
        let keys: SQLFragment = "SELECT \(statement.scope.keyNames.list) FROM temp.\(list)\(stretch.whereClause)"
        let rows = SQLFragment.all([statement.isAmong(keys), statement.condition()])
        if let end, first == end, try !mayGoTogether(rows, by: .any) { return try connection.dropDateList(db) }
        try deleteChecked(rows, by: .any, nil)
        guard let end else { return try connection.dropDateList(db) }
        try connection.execute("DELETE FROM temp.\(list)\(stretch.whereClause)", db)
        return BatchContinuation(position: [end])
    }

    /// Whether the rows of one date, which become candles together, are within the rule's limit.
    func mayGoTogether(_ rows: SQLFragment, by path: RowPath) throws -> Bool {
        guard let most = work.allowedRows else { return true }
        return try connection.count("SELECT count(*) FROM \(statement.rows(rows, by: path))", db) <= most
    }
}

extension SQLiteFile {
    /// Prepares the first batch: checks the times of the existing candles and, if no index gives the rows by date, lists them. Both may
    /// read a whole table, so they run before the transaction that makes writers wait.
    func prepareCandles(of request: DeleteWork, _ db: Database) throws {
        guard let rollup = request.rollup else { return }
        try snapshot(db) {
            let scope = try scope(of: request.fetchRequest, db)
            try CandleTable(rollup, of: scope, self, db).checkTimes()
            guard request.method == .dates else { return }
            try dropDateList(db)
            let list = temporaryName("dates")
            let columns = (["date"] + scope.keyNames).list
            try execute("CREATE TEMP TABLE \(list) (\(columns), PRIMARY KEY (\(columns))) WITHOUT ROWID", db)
            let values = ([try dateSQL(rollup.date, scope, db).orderValue] + scope.key).list
            let rows = try condition(request.fetchRequest.predicate, scope, db).whereClause
            try countingTemporaryRows(db) {
                try execute(
                    "INSERT INTO temp.\(list) SELECT \(values) FROM \(scope.from())\(rows) ORDER BY \(values)", db)
            }
            temporaries.dateList = list
        }
    }

    /// - Returns: nil, the end of the pass.
    @discardableResult
    fileprivate func dropDateList(_ db: Database) throws -> BatchContinuation? {
        if let list = temporaries.dateList { try execute("DROP TABLE temp.\(list)", db) }
        temporaries.dateList = nil
        return nil
    }
}
