import PriceStore

/// A delete request with all that only this engine knows of it: one batch, or all rows.
struct DeleteWork: EngineDelete, Hashable {
    var request: BatchDeleteRequest
    var technique = DeleteMethod.whole
    var continuation: BatchContinuation?
    /// The rows that all parts of the deletion delete; nil: this is all of it.
    var allRows: StorePredicate?
    /// Whether no more rows than the limit may ever be deleted.
    var isRest = false
    /// The first and the last date of the rows, if a survey has just found them.
    var ends: DateEnds?
    /// What the aggregates over the rows did not have; then nothing is deleted that they do not have yet. Nil: there are none, or
    /// that was accepted.
    var rollupMemory: RollupMemory?
    /// The rule under whose name the rows are archived; nil: they are not.
    var archiveRule: String?
    /// What the rows become in the same transaction; nil: nothing.
    var rollup: Rollup?
    /// The candles that the rows of earlier batches have become.
    var candles = CandleTally()
    /// The most rows that may still be deleted; nil: any number.
    var allowedRows: Int?
    /// The date by which a row of the entity must stay readable: a batch that would delete the last one fails. Nil: none must stay.
    var mustLeave: DateAttribute?

    init(_ request: BatchDeleteRequest) { self.request = request }
}
