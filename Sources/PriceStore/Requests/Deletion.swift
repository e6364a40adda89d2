/// The deletion of the rows that a ``SurveyRequest`` names, at work: the engine decides how they are deleted, its caller how
/// many at a time, and when.
///
/// It goes through the entity in passes. A pass ends where nothing more is found, or with ``remainingCount(besides:)``; the
/// next one begins at the beginning, since rows may have arrived anywhere.
public protocol Deletion: AnyObject {
    /// How the rows are deleted from here on. It changes where the engine has to give a method up.
    var outline: DeletionOutline { get }

    /// Deletes the next rows in one transaction of its own.
    ///
    /// - Throws: ``StoreError``; nothing of this part is left behind then, all earlier parts stay.
    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart

    /// How many rows that the request names are in the store now, exactly; and ends the pass.
    ///
    /// - Parameter others: rows that are not counted.
    func remainingCount(besides others: [Predicate]) throws(StoreError) -> Int
}

/// How an engine deletes the rows of a request, in words for people and figures for the loop that drives it.
public struct DeletionOutline: Hashable, Sendable {
    /// The engine's method, as a noun: `range batches`.
    public var method: String
    /// Why it is used, as a phrase; nil: it is the ordinary one.
    public var reason: String?
    /// How long one transaction for all rows is expected to lock the store; nil: rows are deleted in short batches.
    public var expectedLock: Duration?
    /// Whether a part is bounded by a number of rows; false: all rows are deleted in one part.
    public var isInBatches: Bool
    /// Whether rows must be deleted together, so that no limit on the time of a lock makes it shorter.
    public var isIndivisible = false
    /// Whether each part deletes the oldest rows that are left.
    public var isOldestFirst = false
    /// Whether the store's file is smaller afterwards.
    public var shrinksStore = false
    /// The index that finds the rows by their dates; nil: none is used.
    public var index: String?
    /// The rows of the first batch, where nobody says; nil: as the caller thinks best.
    public var firstBatchRows: Int?
    /// How long a batch should take, where nobody says; nil: as the caller thinks best.
    public var batchTarget: Duration?

    /// Makes an outline; engines do.
    public init(method: String, isInBatches: Bool) {
        self.method = method
        self.isInBatches = isInBatches
    }
}

/// How much a part of a deletion may delete.
public struct DeletionBounds: Hashable, Sendable {
    /// The most rows that the request names; nil: no limit. Rows that are deleted with them do not count.
    public var rows: Int?
    /// Whether no more rows may ever be deleted than these, as the last ones below a limit.
    public var isRest: Bool

    /// Makes bounds.
    public init(rows: Int? = nil, isRest: Bool = false) {
        self.rows = rows
        self.isRest = isRest
    }
}

/// What a part of a deletion did.
public struct DeletionPart: Hashable, Sendable {
    /// What was deleted.
    public var result: BatchDeleteResult
    /// Whether the pass goes on: there may be more rows, and another part does not do the same again.
    public var hasMore: Bool

    /// Makes a part; engines do.
    public init(_ result: BatchDeleteResult, hasMore: Bool) {
        self.result = result
        self.hasMore = hasMore
    }
}
