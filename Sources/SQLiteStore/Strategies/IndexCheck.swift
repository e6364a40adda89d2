import PriceStore

/// Compares an index with its table before rows are deleted by it.
///
/// SQLite reads the date from the index only and deletes the row whose rowid it finds there. If a damaged index has an
/// old date for a new row, the new row would be deleted. So the rows to be deleted are first looked up by their keys,
/// in the same transaction, and the predicate is evaluated on the values in the table. The delete then reads the same
/// pages, so the comparison costs little.
extension BatchDelete {
    /// Throws if the statement would delete a row that, in the table itself, does not match the request.
    ///
    /// - Parameter sorted: whether the rows are read in physical order, as the delete reads them; their keys are noted
    ///   for it.
    /// - Throws: ``StoreError`` of kind `inputOutput`; then nothing of the batch is deleted.
    func checkIndex(_ condition: SQLFragment, by path: RowPath, sorted: Bool = false) throws {
        let scope = statement.scope
        guard path != .table, scope.table.indexes.contains(where: { $0.name != scope.table.keyIndex }) else { return }
        let keys = scope.key.indices.map { "k\($0)" }
        let same = zip(scope.key, keys).map { "\($0) = found.\($1)" }.joined(separator: " AND ")
        let rows =
            sorted
            ? SQLFragment("\(scope.targetTable) WHERE ") + statement.isAmong(statement.keys(condition, by: path))
            : SQLFragment("(") + statement.keys(condition, by: path, as: keys)
                + ") AS found CROSS JOIN \(scope.targetTable) WHERE \(same)"
        let query =
            SQLFragment("SELECT 1 FROM ") + rows + " AND (" + statement.condition() + ") IS NOT TRUE LIMIT 1"
        guard try connection.row(query, db) != nil else { return }
        let index = (path == .date ? statement.access?.index : nil).map { "the index \($0)" } ?? "an index"
        throw StoreError(
            .inputOutput, store: connection.name,
            message: "\(index) of \(scope.table.name) is damaged: its values differ from those in the table",
            engineCode: "SQLITE_CORRUPT_INDEX", hint: "run REINDEX on the store, then try again")
    }
}
