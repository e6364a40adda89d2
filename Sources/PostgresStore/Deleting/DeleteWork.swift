import PriceStore

/// A delete request with the data that only this engine needs. It covers one batch or all rows.
struct DeleteWork: EngineDelete, Hashable {
    var request: BatchDeleteRequest
    var method = DeleteMethod.whole
    var continuation: BatchContinuation?
    /// The rows of all parts of the deletion; nil if this is the only part.
    var allRows: StorePredicate?
    /// The first and the last date of the rows, if a survey has just found them.
    var ends: DateEnds?
    /// The cutoff, if rows that an aggregate lacks stay; nil if their loss was accepted.
    var materializedBefore: Instant?
    /// The rule in whose name the rows are archived; nil if they are not.
    var archiveRule: String?
    /// The rollup of the rows in the same transaction; nil if none.
    var rollup: Rollup?
    /// The candles of the rows that were deleted so far.
    var candles = CandleTally()
    /// The most rows that may still be deleted; nil for any number.
    var allowedRows: Int?
    /// The rows that the plan counted and that are not deleted yet; nil if there is no plan.
    var plannedRows: Int?
    var skipsLocked = false
    /// The date by which a row of the entity must stay readable; nil if none must. A batch that would delete the last such row fails.
    var mustLeave: DateAttribute?

    init(_ request: BatchDeleteRequest) { self.request = request }
}
