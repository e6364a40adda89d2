import PriceStore

extension BatchDelete {
    /// Deletes the rows that the predicate names among the next rows in key order, as many as the limit says.
    ///
    /// For tables without a date index: the table is read once, a window a batch, unless its key gives the rows
    /// of each group by date. Rows are deleted in the order of
    /// their keys, which need not be that of their dates.
    mutating func window() throws -> BatchContinuation? {
        if let place = try groups() { return place }
        let bounds = statement.scope.table.isWithoutRowID ? nil : request.rowIDs
        let start = bounds.flatMap { $0.lowerBound > .min ? [StoreValue.integer($0.lowerBound - 1)] : nil }
        let last = bounds.map { [StoreValue.integer($0.upperBound)] }
        let after = request.place ?? start
        let limit = request.fetchRequest.fetchLimit ?? .max
        let end: [StoreValue]?
        if limit == .max {
            end = nil
        } else if request.hasDenseRowIDs, let bounds, case .integer(let place)? = after?.first {
            // This many rowids have at most this many rows, and not many fewer, so no count is needed.
            let (next, isPast) = place.addingReportingOverflow(Int64(limit))
            end = isPast || next >= bounds.upperBound ? nil : [.integer(next)]
        } else {
            end = try connection.row(statement.windowEnd(after: after, through: last, rowCount: limit), db)
        }
        let window = statement.window(after: after, through: end ?? last)
        try delete(areAllExpired() ? window : .all([window, statement.condition()]), by: .table)
        return end.map(BatchContinuation.init(position:))
    }

    /// Whether all rows between the first and the last expired one are to be deleted, since the survey has found none there
    /// that stays, and nothing has changed the store since but deletions.
    private func areAllExpired() throws -> Bool {
        guard let bounds = request.rowIDs, case .rowIDs(let staying)? = request.stayingRows,
            !staying.overlaps(bounds), let surveyed = request.surveyed
        else { return false }
        return try connection.changeMark(db).hasOnlyDeleted(since: surveyed)
    }
}
