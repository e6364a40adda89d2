import GRDB
public import PriceStore

extension SQLiteWriter {
    /// Executes a batch delete in one transaction.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(namingEntity(request)))
    }

    /// Executes a batch of a deletion, or all of it, in one transaction.
    func execute(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        // An empty list of IDs matches no row of any entity.
        if case .objectIDs([]) = request.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        if request.rollup == nil, request.method == .rebuild { return try rebuild(request) }
        return try run("deleting rows of \(request.fetchRequest.entity)") { db in
            let table = try scope(of: request.fetchRequest, db).table
            return try namingReferences(to: table, db) { try carryOut(request, db) }
        }
    }

    private func carryOut(_ request: DeleteWork, _ db: Database) throws -> BatchDeleteResult {
        if request.place == nil { try prepareCandles(of: request, db) }
        if request.continuation == nil, request.only == nil { try dropClearedRows(db) }
        let counter = try counter(of: request, db)
        let result = try archived(request) { archiver in
            try transaction(.normal) {
                if request.isPlanned { try catalog.confirm(db) }
                try archiver?.begin(request.request.withoutPlace, rollup: request.rollup, self, db)
                var batch = try BatchDelete(request, self, db, archiver)
                let continuation = try batch.run()
                var result = batch.result
                result.continuation = continuation
                let deleted = counter?.counts.map { ($0, $1.deletedCount - (batch.ownCounts[$0] ?? 0)) } ?? []
                result.deletedByTriggers = Dictionary(uniqueKeysWithValues: deleted.filter { $0.1 > 0 })
                counter?.forget()
                if let archiver, let rule = request.archiveRule {
                    result.archivedCount = try archiver.commit(
                        rule: rule, deletedCount: result.removedCount, candleCount: batch.candleCount)
                }
                return result
            }
        }
        // The batches of a saved plan share the rows that lost references, and only these.
        if result.continuation == nil { try endDelete(db, keepingCleared: request.only != nil) }
        return result
    }

    /// Removes the temporary triggers and tables that the batches of a delete share.
    func endDelete(_ db: Database, keepingCleared: Bool = false) throws {
        try archiver?.remove(db)
        try removeCounter(db)
        if !keepingCleared { try dropClearedRows(db) }
        try emptyBatchRows(db)
    }
}

extension DeleteWork {
    /// The position where the batch begins, or nil for the beginning.
    var place: [StoreValue]? { continuation.flatMap { $0 == .beginning ? nil : $0.position } }
}

extension SQLiteFile {
    /// Whether the keys of the rows are recorded first, because each row must be known.
    func choosesRows(_ request: BatchDeleteRequest, _ db: Database) throws -> Bool {
        let fetch = request.fetchRequest
        if request.resultType == .objectIDs || fetch.predicate.namesObjectIDs { return true }
        guard try scope(fetch.entity, db).table.managed == nil else { return false }
        let keys = try keyGraph(of: fetch.entity, request.relationships, db)
        return request.relationships != .asDeclared && !keys.keys.isEmpty || keys.takesOthers
    }
}

extension StorePredicate {
    fileprivate var namesObjectIDs: Bool {
        leaves.contains { if case .objectIDs = $0 { true } else { false } }
    }
}
