public import PriceStore

extension StoreContext {
    /// Executes a batch delete in several transactions, so that other programs can write between them, and merges each into this context
    /// and others. It goes through the rows once, in key order.
    ///
    /// - Parameters:
    ///   - request: what to delete, without sort descriptors, limit and offset.
    ///   - rowCount: how many rows of the entity a transaction deletes, at least 1.
    ///   - contexts: other contexts of the same store and thread to update.
    ///   - progress: called after each transaction with the totals so far. If it throws, committed batches stay.
    /// - Returns: the totals; the object IDs are those of all batches, if they were requested.
    /// - Throws: `StoreError`: of kind `unsupported` in the cases of ``execute(_:allowingUnsavedChanges:)``, for a request with sort
    ///   descriptors, a limit or an offset, and inside a transaction of the store; otherwise errors of the store; `CancellationError`
    ///   between two batches. Committed batches stay.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, inBatchesOf rowCount: Int, mergingInto contexts: [StoreContext] = [],
        progress: (BatchDeleteResult) throws -> Void = { _ in }
    ) throws -> BatchDeleteResult {
        if case .objectIDs([]) = request.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        _ = try committingWriter()
        let request = try inserter.namingEntity(request)
        let fetch = request.fetchRequest
        guard rowCount > 0, fetch.sortDescriptors.isEmpty, fetch.fetchLimit == nil, fetch.fetchOffset == 0 else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "a delete in batches needs at least one row per batch, and takes no order, limit or offset")
        }
        var next = fetch
        next.fetchLimit = rowCount
        var total = BatchDeleteResult(deletedCount: 0)
        while true {
            try Task.checkCancellation()
            try checkIsSaved(request)
            // One transaction, so that a row is deleted only while it matches.
            let (ids, result) = try inserter.transaction(.normal) {
                let ids = try inserter.fetchObjectIDs(next)
                var batch = request
                batch.resultType = .objectIDs
                batch.fetchRequest.predicate = .objectIDs(ids)
                return (ids, try execute(batch))
            }
            guard let last = ids.last else { return total }
            for context in [self] + contexts.filter({ $0 !== self }) {
                try context.merge(ChangeSet(deleted: result.objectIDs), deletesIn: request.changedEntities)
            }
            total.add(result)
            if request.resultType != .objectIDs { total.objectIDs = [] }
            try progress(total)
            next.predicate = fetch.predicate && .key(KeyRange(after: last.key, through: nil))
        }
    }
}

extension BatchDeleteResult {
    fileprivate mutating func add(_ other: BatchDeleteResult) {
        deletedCount += other.deletedCount
        cascadedCount += other.cascadedCount
        nullifiedCount += other.nullifiedCount
        for (table, count) in other.deletedByTriggers { deletedByTriggers[table, default: 0] += count }
        objectIDs += other.objectIDs
    }
}
