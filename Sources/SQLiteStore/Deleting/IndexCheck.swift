import PriceStore

/// Compares an index with its table before rows are deleted by it.
///
/// SQLite reads only the index for the date and deletes the row whose rowid is there. A damaged index with an old date for a new row would
/// delete the new row. So the same transaction first looks the rows up by key and evaluates the predicate on the values in the table. The
/// delete then reads the same pages, so the check costs little.
extension BatchDelete {
    /// The rows that an index gives, looked up in the table, for a FROM clause, or nil if only the table is read.
    func lookedUp(_ condition: SQLFragment, by path: RowPath) -> SQLFragment? {
        let scope = statement.scope
        guard path != .table, scope.table.indexes.contains(where: { $0.name != scope.table.keyIndex }) else {
            return nil
        }
        let same = zip(scope.key, scope.keyNames).map { "\($0) = found.\($1)" }.joined(separator: " AND ")
        let keys = statement.keys(condition, by: path, as: scope.keyNames)
        return "(\(keys)) AS found CROSS JOIN \(scope.targetTable) WHERE \(same)"
    }

    /// Throws if one of the rows looked up does not match the request.
    ///
    /// - Throws: ``StoreError`` of kind `inputOutput`. Then nothing of the batch is deleted.
    func checkIndex(_ rows: SQLFragment?, by path: RowPath) throws {
        // The query that copies the rows checks them too.
        guard let rows, archiver?.copiesByQuery != true else { return }
        if try hasOthers(rows) { throw damagedIndex(path) }
    }

    /// Whether a row of a FROM clause with its condition does not match the request.
    func hasOthers(_ rows: SQLFragment) throws -> Bool {
        try connection.exists("SELECT 1 FROM \(rows) AND (\(statement.values)) IS NOT TRUE", db)
    }

    /// Calls SQL functions with values of the rows to delete, and checks the rows looked up.
    func copy(_ calls: String, of rows: SQLFragment?, _ condition: SQLFragment, by path: RowPath) throws {
        guard let rows else { return try connection.execute(statement.select("\(calls)", of: condition, by: path), db) }
        let found = try connection.row("SELECT total((\(statement.values)) IS NOT TRUE), \(calls) FROM \(rows)", db)
        if found?.first != .real(0) { throw damagedIndex(path) }
    }

    private func damagedIndex(_ path: RowPath) -> StoreError {
        let scope = statement.scope
        let index = (path == .date ? statement.access?.index : nil).map { "the index \($0)" } ?? "an index"
        return connection.failure(
            .inputOutput, "\(index) of \(scope.table.name) is damaged: its values differ from those in the table",
            engineCode: "SQLITE_CORRUPT_INDEX", hint: "run REINDEX on the store, then try again")
    }
}
