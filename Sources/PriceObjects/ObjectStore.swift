public import PriceStore

/// A store whose rows a ``StoreContext`` inserts, updates and deletes, one by one or in batches.
///
/// ```swift
/// let id = try writer.insertObject(entity: "item", values: ["name": "new"])
/// let isChanged = try writer.updateObject(id, set: ["note": "old"], ifStill: ["name": "new"])
/// ```
public protocol ObjectStore: StoreWriter {
    /// Whether a transaction is open.
    var isInTransaction: Bool { get }

    /// Inserts one row and returns its ID. Missing values use the defaults of the store.
    ///
    /// - Throws: `StoreError` of kind `constraint` if the row breaks a constraint; nothing is then inserted.
    func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID

    /// Sets attributes of one row if it has the expected values.
    ///
    /// - Parameters:
    ///   - id: the row.
    ///   - values: the attributes to set. If an attribute of the key is among them, the row gets another ID.
    ///   - expected: the values that attributes must have, including the storage class; empty: the row must only exist.
    /// - Returns: whether the row had these values; if not, nothing is changed.
    func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool

    /// Deletes one row if it has the expected values. Foreign keys do what the schema declares.
    ///
    /// - Parameters:
    ///   - id: the row.
    ///   - expected: the values that attributes must have, including the storage class; empty: the row must only exist.
    /// - Returns: whether the row had these values and was deleted.
    func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool

    /// Inserts rows in one transaction.
    @discardableResult
    func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult

    /// Updates rows in one transaction.
    @discardableResult
    func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult
}

/// A store that executes queries in its own SQL.
package protocol StoreQueries: AnyObject {
    /// The rows of one statement that only reads, with `?` for each argument.
    func query(_ sql: String, _ arguments: [StoreValue]) throws(StoreError) -> [[StoreValue]]
}

/// A store that keeps a history of the transactions of all programs that use this library.
///
/// ```swift
/// try writer.keepHistory()
/// let token = try writer.currentHistoryToken()
/// ```
public protocol StoreHistory: AnyObject {
    /// A number that is another one after other connections have changed the store, also one without a history.
    func dataVersion() throws(StoreError) -> Int

    /// The position after the last transaction in the history; nil: the store keeps no history.
    func currentHistoryToken() throws(StoreError) -> HistoryToken?

    /// The next transactions after a position, in order, with all their changes in memory.
    ///
    /// - Parameters:
    ///   - token: the position; nil: before the oldest transaction in the history.
    ///   - limit: the maximum number of transactions.
    /// - Returns: transactions; empty at the end of the history. There may be fewer than the limit before the end, so that a few
    ///   transactions with many changes do not fill the memory.
    /// - Throws: `StoreError`: of kind `historyMissing` if transactions after the position were deleted; of kind `unsupported` if the store
    ///   keeps no history, or the token belongs to another one.
    func history(after token: HistoryToken?, limit: Int) throws(StoreError) -> [HistoryTransaction]
}
