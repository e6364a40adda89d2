import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit, by a range of the date.
    ///
    /// A walk of the index finds the date of the row after the last one to delete. One range deletes everything before that date, which is
    /// right for any kind of table. Rows of that date are deleted by their places, as many as the limit leaves. So the limit is met
    /// exactly, and every remaining row is at least as new as every deleted row. On a hypertable all rows of that date are deleted, because
    /// a compressed chunk has no places. The same applies if rows become candles.
    mutating func range() throws -> BatchContinuation? {
        guard let date, date.reading == .ordered else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "the rows of \(scope.table.name) cannot be read in the order of their date")
        }
        if scope.table.isHypertable {
            if let next = try inSegments(date) { return next }
            if isOver { return nil }
            // After the compressed chunks, the range starts again.
            if request.continuation?.segment != nil { request.continuation = nil }
        }
        let isIndexed = scope.table.dateIndex(date.date) != nil
        if scope.table.isDistributed || !isIndexed { return try inSlices(date, isIndexed: isIndexed) }
        return try inDateOrder(date, from: request.continuation?.position ?? []).map {
            BatchContinuation(position: $0)
        }
    }

    /// Deletes the oldest rows, up to the limit. Returns the place after them; nil if there are no more.
    private mutating func inDateOrder(_ date: DateSQL, from place: [StoreValue]) throws -> [StoreValue]? {
        let from = place.first?.serverText
        // If a trigger kept the rows of a date, continue with the next date.
        let isBehind = place.count > 1
        func value(_ text: String?) -> SQLFragment { .bound(text, date.orderType) }
        var ahead = condition
        if let from { ahead = .all([condition, "\(date.column) \(isBehind ? ">" : ">=") " + value(from)]) }
        guard let limit = request.fetchRequest.fetchLimit else {
            try delete(ahead)
            return nil
        }
        let splitsDates = !scope.table.isHypertable && request.rollup == nil
        let boundary =
            "SELECT \(date.column)::\(date.orderType) AS boundary FROM \(scope.from)" + ahead.whereClause
            + " ORDER BY \(date.column) LIMIT 1 OFFSET "
            + .bound("\(splitsDates ? max(0, limit) : max(1, limit) - 1)", "int8")
        guard let end = try connection.row(boundary, isRepeated: usesOnePlan)?.text("boundary") else {
            try delete(ahead)
            return nil
        }
        guard splitsDates else {
            // Rows of the same date are deleted together.
            let rows = SQLFragment.all([ahead, "\(date.column) <= " + value(end)])
            guard try fits(rows) else { return nil }
            return try delete(rows) == 0 ? [.text(end), .null] : [.text(end)]
        }
        if from != end || isBehind { try delete(.all([ahead, "\(date.column) < " + value(end)])) }
        var position: [StoreValue] = [.text(end)]
        if deletedCount < limit {
            let tied = SQLFragment.all([ahead, "\(date.column) = " + value(end)])
            let gone = try delete(
                try rows(tied, order: "", limit: " LIMIT " + .bound("\(limit - deletedCount)", "int8")))
            if gone == 0, from == end { position.append(.null) }
        }
        return position
    }
}
