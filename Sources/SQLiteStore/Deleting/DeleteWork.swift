import PriceStore

/// A delete request with what only this engine knows of it: one batch, or all rows.
struct DeleteWork: EngineDelete, Hashable {
    var request: BatchDeleteRequest
    var method = DeleteMethod.whole
    /// The range of rowids to which windows are limited, or nil for all.
    var rowIDs: ClosedRange<Int64>?
    /// The groups of the key to which keys are limited, one after another; nil: the rows are in no such groups.
    var groups: [StoreValue]?
    var continuation: BatchContinuation?
    /// A further condition for the rows, within the limit, or nil.
    var only: StorePredicate?
    /// The rule under whose name the rows are archived, or nil without an archive.
    var archiveRule: String?
    /// What the rows become in the transaction that deletes them, or nil.
    var rollup: Rollup?
    /// The most rows that may still be deleted, as the plan counted them, or nil for no limit.
    var allowedRows: Int?
    /// The most rows of a batch.
    var mostRows: Int { min(request.fetchRequest.fetchLimit ?? .max, allowedRows ?? .max) }
    /// The date that must stay readable in at least one row: a batch that would delete the last such row fails. Nil if none must stay.
    var mustLeave: DateAttribute?
    /// The candles made of the rows of earlier batches.
    var candles = CandleTally()
    /// Whether a survey planned the delete. It then fails if the schema has changed.
    var isPlanned = false

    init(_ request: BatchDeleteRequest) { self.request = request }
}

extension BatchDeleteRequest {
    /// The request without limit, offset and order, which is the same for all its batches.
    var withoutPlace: BatchDeleteRequest {
        var request = self
        request.fetchRequest.fetchLimit = nil
        request.fetchRequest.fetchOffset = 0
        request.fetchRequest.sortDescriptors = []
        return request
    }
}
