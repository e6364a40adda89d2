import PriceStore

/// The comparison of an index with its table before rows are deleted by it.
///
/// SQLite takes the date from the index alone and deletes the row whose rowid it finds there. Where a damaged index has an
/// old date for a fresh row, the fresh row would go. So the rows that a delete is about to take are looked up by their
/// keys first, in the same transaction, and the predicate is asked of the values that the table has. The delete reads
/// the same pages afterwards, so that the comparison costs little.
extension BatchDelete {
    /// Throws if a row that the statement would delete is, in the table itself, no row that the request names.
    ///
    /// - Parameter sorted: whether the rows are read in the order in which they lie, as the delete reads them; their keys
    ///   are noted for it.
    /// - Throws: ``StoreError`` of kind `inputOutput`; nothing of the batch is deleted then.
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
