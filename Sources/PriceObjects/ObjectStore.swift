public import PriceStore

/// A store whose rows a ``StoreContext`` inserts, updates and deletes one by one, and in batches.
public protocol ObjectStore: StoreWriter {
    /// Adds one row and says which it is; values that are not named take the store's default.
    ///
    /// - Throws: `StoreError` of kind `constraint` if the row breaks one, and nothing is left behind.
    func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID

    /// Sets attributes of one row if it is still as expected.
    ///
    /// - Parameters:
    ///   - id: the row.
    ///   - values: the attributes to set. An attribute of the key may be among them: the row then has another ID.
    ///   - expected: what attributes must still be, in value and in storage class; empty: the row need only exist.
    /// - Returns: whether the row was there and as expected; else nothing was changed.
    func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool

    /// Deletes one row if it is still as expected; foreign keys do what the schema declares.
    ///
    /// - Parameters:
    ///   - id: the row.
    ///   - expected: what attributes must still be, in value and in storage class; empty: the row need only exist.
    /// - Returns: whether the row was there and as expected, and is gone now.
    func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool

    /// Saves new rows in one transaction of its own.
    func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult

    /// Changes rows in one transaction of its own.
    func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult
}

/// A store that remembers the transactions of all programs that use this library.
public protocol StoreHistory: AnyObject {
    /// The place behind the last transaction that the store remembers; nil: it keeps no history.
    func currentHistoryToken() throws(StoreError) -> HistoryToken?

    /// The next transactions behind a place, in order, with all their changes in memory.
    ///
    /// - Parameters:
    ///   - token: the place; nil: before the oldest transaction that is kept.
    ///   - limit: how many transactions at most.
    /// - Returns: transactions; none: the history has no more. There may be fewer than the limit before its end, so that
    ///   a few transactions of many changes do not fill the memory.
    /// - Throws: `StoreError`: of kind `historyMissing` if transactions behind the place were deleted; of kind
    ///   `unsupported` if the store keeps no history, or the token is of another one.
    func history(after token: HistoryToken?, limit: Int) throws(StoreError) -> [HistoryTransaction]
}
