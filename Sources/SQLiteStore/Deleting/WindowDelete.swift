import PriceStore

extension BatchDelete {
    /// Deletes the matching rows among the next `fetchLimit` rows in key order.
    ///
    /// The table is read once, one window per batch, unless its key gives the rows of each group by date. Rows are deleted in key order,
    /// which need not be date order.
    mutating func window() throws -> BatchContinuation? {
        if let groups, let values = work.groups, let date = statement.date?.sql {
            return try delete(by: groups, values, date)
        }
        let start = work.rowIDs.flatMap { $0.lowerBound > .min ? [StoreValue.integer($0.lowerBound - 1)] : nil }
        let last = work.rowIDs.map { [StoreValue.integer($0.upperBound)] }
        let after = work.place ?? start
        let limit = work.fetchRequest.fetchLimit ?? .max
        let end =
            try limit == .max
            ? nil : connection.row(statement.windowEnd(after: after, through: last, rowCount: limit), db)
        let rows = SQLFragment.all([
            statement.scope.keys(after: after, through: end ?? last), statement.condition(),
        ])
        if let most = work.allowedRows, most < limit {
            try delete(statement.isAmong(statement.first(most, of: rows)), by: .table)
        } else {
            try delete(rows, by: .table)
        }
        return end.map(BatchContinuation.init(position:))
    }
}
