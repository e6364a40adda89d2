import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit, by a range of the date index.
    ///
    /// The row behind the last one to go is found by walking the index; then everything before it goes in one range,
    /// which SQLite deletes in a single pass, and rows of the boundary's own date by their keys. So the limit is met
    /// exactly and, wherever the job dies, every row left is at least as new as every row gone.
    mutating func range() throws -> BatchContinuation? {
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
            try delete(ahead, byDate: true)
            return nil
        }
        let value = boundary[0]
        let key = Array(boundary[1...])
        if from != value { try delete(statement.condition(DateSQL.Stretch(from: from, below: value)), byDate: true) }
        if deletedCount < limit {
            try delete(
                .all([statement.condition(DateSQL.Stretch(at: value)), statement.keyBefore(key)]), byDate: true)
        }
        return BatchContinuation(position: boundary)
    }
}
