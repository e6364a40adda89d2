import PriceStore

/// A delete request with all that only this engine knows of it: one batch, or all rows.
struct DeleteWork: EngineDelete, Hashable {
    var request: BatchDeleteRequest
    var technique = Technique.whole
    /// The first and the last rowid to look at, for windows: no row is deleted outside of them. Nil: all.
    var rowIDs: ClosedRange<Int64>?
    var continuation: BatchContinuation?
    /// Only rows that meet this too, no more than the limit; nil: any.
    var only: StorePredicate?
    /// The rule under whose name the rows are archived; nil: they are not.
    var archiveRule: String?
    /// What the rows become in the transaction that deletes them; nil: nothing.
    var rollup: Rollup?
    /// The most rows that may still be deleted, because the plan counted no more; nil: no limit.
    var allowedRows: Int?
    /// The date by which a row of the entity must stay readable: a batch that would delete the last one fails. Nil: none must stay.
    var mustLeave: DateAttribute?
    /// The candles that the rows of earlier batches have become.
    var candles = CandleTally()
    /// Whether the delete was planned by a survey: then it is not carried out on another schema.
    var isPlanned = false

    init(_ request: BatchDeleteRequest) { self.request = request }
}
