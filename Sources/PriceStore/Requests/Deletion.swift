/// Deletes the rows of a ``SurveyRequest``. The engine decides how; its caller decides how many at a time, and when.
///
/// It processes the entity once. It ends when it finds no more rows, or when it has deleted as many as the survey counted.
package protocol Deletion: AnyObject {
    /// How the rows are deleted from now on. It changes if the engine has to use another method.
    var outline: DeletionOutline { get }

    /// Deletes the next rows in one transaction.
    ///
    /// - Throws: ``StoreError``; this part is then rolled back, and all earlier parts stay committed.
    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart

    /// The exact number of the request's rows that are in the store now, without others.
    func remainingCount(besides others: [StorePredicate]) throws(StoreError) -> Int
}

/// How an engine deletes the rows of a request, in words for people and figures for the loop that drives the deletion.
package struct DeletionOutline: Hashable, Sendable {
    /// The engine's method, as a noun: `range batches`.
    package var method: String
    /// Why the method is used, as a phrase; nil: it is the ordinary one.
    package var reason: String?
    /// Whether a part is bounded by a number of rows; false: all rows are deleted in one part.
    package var isInBatches: Bool
    /// Whether each part deletes the oldest remaining rows.
    package var isOldestFirst = false
    /// Who has locked rows that were skipped, as a phrase; nil: no row was.
    package var locker: String?
    /// Whether a rebuild of the store would be clearly faster. It is done only on request.
    package var rebuildPays = false
    /// The index that finds the rows by their dates; nil if none is used.
    package var index: String?
    /// The number of rows of the first batch, if the rule does not set it; nil: the caller's default.
    package var firstBatchRows: Int?
    /// The fewest rows of a batch, if the rule does not set its size: more than one if each batch has costs of many rows.
    package var fewestRows = 1
    /// How long a batch should take, if the rule does not set it; nil: the caller's default.
    package var batchTarget: Duration?
    /// How long a batch should take while nothing else uses the store; nil: ``batchTarget``.
    package var batchTargetAlone: Duration?

    package init(method: String, isInBatches: Bool) {
        self.method = method
        self.isInBatches = isInBatches
    }
}

/// How much a part of a deletion may delete.
package struct DeletionBounds: Hashable, Sendable {
    /// The limit of rows that the request names; nil: none. Rows that are deleted with them do not count.
    package var rows: Int?
    /// A condition that rows of the request must also meet; nil: none. They are deleted in one part with any method, and there are at most
    /// ``rows`` of them.
    package var only: StorePredicate?

    package init(rows: Int? = nil, only: StorePredicate? = nil) {
        self.rows = rows
        self.only = only
    }
}

/// What a part of a deletion did.
package struct DeletionPart: Hashable, Sendable {
    package var result: BatchDeleteResult
    /// Whether there may be more rows that another part can delete.
    package var hasMore: Bool
    /// How long it waited for others, in attempts that were rolled back.
    package var waited = Duration.zero

    package init(_ result: BatchDeleteResult, hasMore: Bool) {
        self.result = result
        self.hasMore = hasMore
    }
}
