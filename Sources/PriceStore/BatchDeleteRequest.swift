/// A delete that the store carries out itself, without loading objects, in one transaction.
///
/// It does not see unsaved changes of any context: save first. Contexts that hold deleted objects are brought up to
/// date afterwards by ``StoreContext/mergeChanges(deleted:)``.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// What the result tells.
    public enum ResultType: Hashable, Sendable {
        /// Nothing but success.
        case statusOnly
        /// How many rows of the entity went.
        case count
        /// Which rows of the entity went.
        case objectIDs
    }

    /// The rows to delete. Its sort descriptors and limit are obeyed: with a limit of 10 and the date ascending, the
    /// ten oldest rows go.
    public var fetchRequest: FetchRequest
    /// What the result tells.
    public var resultType: ResultType
    /// How the engine finds the rows.
    public var strategy: DeleteStrategy
    /// Where the batch before this one ended, so that the search goes on from there; nil: from the beginning.
    public var continuation: BatchContinuation?

    /// Makes a request that deletes the rows of a fetch request.
    public init(
        fetchRequest: FetchRequest, resultType: ResultType = .statusOnly, strategy: DeleteStrategy = .whole,
        continuation: BatchContinuation? = nil
    ) {
        self.fetchRequest = fetchRequest
        self.resultType = resultType
        self.strategy = strategy
        self.continuation = continuation
    }
}

/// How an engine finds the rows of a batch.
public enum DeleteStrategy: String, Hashable, Sendable, CaseIterable {
    /// One statement for all of them.
    case whole
    /// By ranges of an indexed date, oldest first.
    case range
    /// By windows of the rowid.
    case windows
    /// By ranges of the primary key of a table without a rowid.
    case keys
}

/// A place in the order in which batches go through a table.
public struct BatchContinuation: Hashable, Sendable {
    /// The values of the place: for ``DeleteStrategy/range`` the stored date and the key, else the key.
    public let position: [StoreValue]

    /// Makes a continuation; engines do.
    public init(position: [StoreValue]) {
        self.position = position
    }
}

/// What a batch delete did.
public struct BatchDeleteResult: Hashable, Sendable {
    /// Rows of the entity that the predicate named and that went.
    public var deletedCount: Int
    /// Rows that went because a relationship cascaded, of any entity.
    public var cascadedCount: Int
    /// Rows that lost a reference because a relationship nullified it.
    public var nullifiedCount: Int
    /// The IDs of the rows that went, if they were asked for; else empty.
    public var objectIDs: [ObjectID]
    /// Where the next batch goes on; nil: the end was reached.
    public var continuation: BatchContinuation?

    /// Makes a result; engines do.
    public init(
        deletedCount: Int, cascadedCount: Int = 0, nullifiedCount: Int = 0, objectIDs: [ObjectID] = [],
        continuation: BatchContinuation? = nil
    ) {
        self.deletedCount = deletedCount
        self.cascadedCount = cascadedCount
        self.nullifiedCount = nullifiedCount
        self.objectIDs = objectIDs
        self.continuation = continuation
    }
}
