import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit, by a range of the date index.
    ///
    /// The row behind the last one to go is found by walking the index; then everything before it goes in one range,
    /// which SQLite deletes in a single pass, and rows of the boundary's own date by their keys. So the limit is met
    /// exactly and, wherever the job dies, every row left is at least as new as every row gone.
    ///
    /// - Parameter sorted: whether the rows of the range are noted first and then deleted in the order in which they lie.
    mutating func range(sorted: Bool) throws -> BatchContinuation? {
        guard let date = statement.date, statement.access != nil else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "\(statement.scope.table.name) has no index that gives its rows by date")
        }
        let from = request.continuation?.position.first
        let limit = request.fetchRequest.fetchLimit ?? .max
        let ahead = statement.condition(DateSQL.Stretch(from: from))
        let boundary =
            limit == .max
            ? nil : try connection.row(statement.boundary(ahead, column: date.sql.column, offset: limit), db)
        guard let boundary else {
            try delete(ahead, sorted: sorted)
            return nil
        }
        let value = boundary[0]
        let key = Array(boundary[1...])
        if from != value { try delete(statement.condition(DateSQL.Stretch(from: from, below: value)), sorted: sorted) }
        if deletedCount < limit {
            try delete(
                .all([statement.condition(DateSQL.Stretch(at: value)), statement.keyBefore(key)]), byDate: true)
        }
        return BatchContinuation(position: boundary)
    }

    private mutating func delete(_ range: SQLFragment, sorted: Bool) throws {
        guard sorted else { return try delete(range, byDate: true) }
        // SQLite holds what a subquery yields in the order of the key, in a temporary b-tree that may spill to disk.
        let key = statement.scope.key
        let keys = key.count == 1 ? key[0] : "(" + key.joined(separator: ", ") + ")"
        try delete(SQLFragment("\(keys) IN (") + statement.keys(range, byDate: true) + ")", byDate: false)
    }
}
