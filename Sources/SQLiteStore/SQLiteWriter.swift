public import PriceObjects
public import PriceStore

/// A SQLite file that is read and changed.
public final class SQLiteWriter: SQLiteStore, ObjectStore {
    /// Opens a file for reading and writing.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - create: whether a missing file is made, readable by its owner and group.
    ///   - busyTimeout: how long a locked store is waited for.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store that lacks its own model.
    ///   - owner: whose file it must be; a file that is absent or empty becomes the owner's.
    /// - Throws: ``StoreError`` if the file is not there, cannot be written, is no SQLite database, or is not the
    ///   owner's: it is then left as it is.
    public init(
        path: String, create: Bool = false, busyTimeout: Duration = .seconds(5), modelPath: String? = nil,
        owner: FileOwner? = nil
    ) throws(StoreError) {
        // The last connection that may write empties a WAL into the file when it is closed: first the file is only read.
        if let owner {
            do {
                _ = try SQLiteReader(path: path, busyTimeout: busyTimeout, owner: owner)
            } catch  where create && error.kind == .missing {
            } catch  where error.kind == .permission && StoreFile.hasJournal(path) {
                // What a crash left has to be rolled back before anything can be read.
            }
        }
        super.init(
            try SQLiteConnection(
                path: path, readOnly: false, create: create, busyTimeout: busyTimeout, modelPath: modelPath))
        if let owner { try connection.claim(for: owner) }
    }

    /// Throws what opening the file would throw if it is not there, cannot be written or is no SQLite database. The file
    /// is opened and closed, so nothing in this process may have it open.
    package static func requireDatabase(path: String) throws(StoreError) {
        try StoreFile.check(path, readOnly: false, create: false)
    }

    /// Adds one row.
    public func insert(entity: String, values: [String: StoreValue], onConflict: ConflictPolicy) throws(StoreError)
        -> InsertOutcome
    {
        try connection.insert(entity: entity, values: values, onConflict: onConflict)
    }

    /// Adds one row and says which it is.
    public func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID {
        try connection.insertObject(entity: entity, values: values)
    }

    /// Sets attributes of one row if it is still as expected.
    public func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool {
        try connection.updateObject(id, set: values, ifStill: expected)
    }

    /// Deletes one row if it is still as expected.
    public func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool {
        try connection.deleteObject(id, ifStill: expected)
    }

    /// The deletion of the rows that a request names.
    public func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion {
        try SQLiteDeletion(request, connection)
    }

    /// Carries out a batch delete in one transaction of its own.
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(request))
    }

    /// Carries out a batch of a deletion, or all of it, in one transaction of its own.
    func execute(_ work: DeleteWork) throws(StoreError) -> BatchDeleteResult { try connection.execute(work) }

    /// Saves new rows in one transaction of its own.
    public func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult {
        try connection.execute(request)
    }

    /// Changes rows in one transaction of its own.
    public func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult {
        try connection.execute(request)
    }

    /// Sets attributes of the rows that a request finds.
    public func update(_ request: PriceStore.FetchRequest, set values: [String: StoreValue]) throws(StoreError) -> Int {
        try connection.update(request, set: values)
    }

    /// Makes an entity, or adds the attributes that an existing one lacks.
    public func createEntity(_ entity: Entity) throws(StoreError) {
        try connection.createEntity(entity)
    }

    /// Removes an entity and its rows.
    public func dropEntity(named name: String) throws(StoreError) {
        try connection.dropEntity(named: name)
    }

    /// Whether another process has the store open in WAL mode, or any other connection has written since this was
    /// last asked. In rollback-journal mode others leave no trace, and the answer is always yes.
    public func hasCompany() throws(StoreError) -> Bool {
        try connection.hasCompany()
    }

    /// Empties a WAL that has grown beyond its bound. A reader that is in the way is named; far beyond the bound nothing
    /// more should be written.
    public func boundSideFiles() throws(StoreError) -> String? { try connection.boundWAL() }

    /// Gives unused room back to the file system.
    public func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        try connection.reclaim(request)
    }

    /// Who makes this connection's transactions, as the history names it; by default the process's name.
    public var author: String {
        get { connection.historyRecorder.author }
        set { connection.historyRecorder.author = newValue }
    }

    /// Tells the time of a transaction for the history; nil: SQLite's own clock does, in milliseconds.
    public var clock: (() -> Instant)? {
        get { connection.historyRecorder.clock }
        set { connection.historyRecorder.clock = newValue }
    }

    /// Makes the tables of the history, if the store has none. Refused for a Core Data store, which has its own.
    ///
    /// Programs that have the store open need not open it anew. What other programs change without this library, by
    /// another library or the `sqlite3` shell, is not in the history; nor are the rows of a table that is dropped, and
    /// rows that a trigger of the store overwrites by REPLACE under another key.
    public func keepHistory() throws(StoreError) { try connection.keepHistory() }

    /// Deletes the oldest transactions of the history with their changes, in one transaction.
    public func deleteHistory(before instant: Instant) throws(StoreError) -> Int {
        try connection.deleteHistory(before: instant)
    }

    /// Deletes the transactions of the history before a token's own with their changes, in one transaction.
    public func deleteHistory(before token: HistoryToken) throws(StoreError) -> Int {
        try connection.deleteHistory(before: token)
    }
}
