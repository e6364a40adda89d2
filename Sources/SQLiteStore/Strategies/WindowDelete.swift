import PriceStore

extension BatchDelete {
    /// Deletes the rows that the predicate names among the next rows in key order, as many as the limit says.
    ///
    /// For tables without a date index: the table is gone through once, a window a batch. Rows go in the order of
    /// their keys, which need not be that of their dates.
    mutating func window() throws -> BatchContinuation? {
        let after = request.continuation?.position
        let limit = request.fetchRequest.fetchLimit ?? .max
        let end =
            limit == .max ? nil : try connection.row(statement.windowEnd(after: after, rowCount: limit), db)
        let window = statement.window(after: after, through: end)
        try delete(.all([window, statement.condition()]), byDate: false)
        // The pages are at hand: what other rules delete of them costs little more.
        for (index, predicate) in request.alsoDeleting.enumerated() {
            let before = deletedCount
            try delete(
                .all([window, try connection.condition(predicate, statement.scope, db)]), byDate: false)
            alsoDeletedCounts[index] += deletedCount - before
            deletedCount = before
        }
        return end.map(BatchContinuation.init(position:))
    }
}
