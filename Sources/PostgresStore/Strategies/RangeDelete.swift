import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit, by a range of the date.
    ///
    /// The date of the row behind the last one to go is found by walking the index; everything before it goes in one
    /// range, which is right for any kind of table, and rows of that very date by their places, as many as the limit
    /// leaves. So the limit is met exactly and every row left is at least as new as every row gone.
    mutating func range() throws -> BatchContinuation? {
        if scope.table.isDistributed { return try shardByShard() }
        return try inDateOrder(condition, from: request.continuation?.position ?? []).map {
            BatchContinuation(position: $0)
        }
    }

    /// The oldest rows of a condition, up to the limit. Returns the place behind them; nil: there are no more.
    mutating func inDateOrder(_ condition: SQLFragment, from place: [StoreValue]) throws -> [StoreValue]? {
        guard let date, date.reading == .ordered else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "the rows of \(scope.table.name) cannot be taken in the order of their date")
        }
        let from = place.first?.serverText
        // Behind a date whose rows could not be deleted, as a trigger may keep them, the next date is gone to.
        let isBehind = place.count > 1
        func value(_ text: String?) -> SQLFragment { .bound(text, date.orderType) }
        var ahead = condition
        if let from { ahead = .all([condition, "\(date.column) \(isBehind ? ">" : ">=") " + value(from)]) }
        guard let limit = request.fetchRequest.fetchLimit else {
            try delete(ahead)
            return nil
        }
        let boundary =
            "SELECT \(date.column) FROM \(scope.from)" + ahead.whereClause
            + " ORDER BY \(date.column) LIMIT 1 OFFSET " + .bound("\(max(0, limit))", "int8")
        guard let end = try connection.execute(boundary, isRepeated: usesOnePlan).rows.first?[0] else {
            try delete(ahead)
            return nil
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
