public import PriceObjects
public import PriceStore

/// A PostgreSQL database that is read and changed.
public final class PostgresWriter: PostgresStore, ObjectStore {
    /// Opens a database for reading and writing.
    ///
    /// - Parameters:
    ///   - address: where it is.
    ///   - zone: the zone of columns and texts that name none.
    ///   - lockTimeout: how long a locked table is waited for.
    ///   - maxReplicationLag: how far a standby may fall behind before batches wait; nil: it does not matter.
    ///   - patience: how long a server that is gone is waited for.
    /// - Throws: ``StoreError`` if the server cannot be reached, does not let us in, or is a standby.
    public init(
        _ address: PostgresAddress, zone: CalendarZone = .utc, lockTimeout: Duration = .seconds(5),
        maxReplicationLag: Duration? = nil, patience: Duration = .seconds(20)
    ) throws(StoreError) {
        let connection = try PostgresConnection(
            address,
            PostgresConnection.Options(
                isReadOnly: false, zone: zone, lockTimeout: lockTimeout, patience: patience,
                maxReplicationLag: maxReplicationLag))
        super.init(connection)
        try connection.refuseStandby()
    }

    /// Takes the lock of a run; the session holds it until it ends, and takes it again after a lost connection.
    ///
    /// - Throws: ``StoreError`` of kind `busy` that names the holder.
    public func takeRunLock() throws(StoreError) { try connection.takeRunLock() }

    /// Adds one row.
    public func insert(entity: String, values: [String: StoreValue], onConflict: ConflictPolicy) throws(StoreError)
        -> InsertOutcome
    {
        try connection.insert(entity: entity, values: values, onConflict: onConflict)
    }

    /// Adds rows by COPY into a temporary table and one INSERT from there; nil: a row breaks a constraint, nothing was
    /// added, and the rows must be judged one by one.
    public func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> RowsInserted? {
        try connection.insert(entity: entity, rows: rows, onConflict: onConflict)
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

    /// Carries out a batch delete in one transaction of its own. A deadlock, a serialization failure, a lock that is not
    /// to be had and a lost connection are tried again.
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(request))
    }

    /// Carries out a batch of a deletion, or all of it, in one transaction of its own.
    func execute(_ work: DeleteWork) throws(StoreError) -> BatchDeleteResult { try connection.execute(work) }

    /// The deletion of the rows that a request names.
    public func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion {
        try PostgresDeletion(request, connection)
    }

    /// Saves new rows in one transaction of its own.
    public func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult {
        try connection.execute(request)
    }

    /// Changes rows in one transaction of its own.
    public func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult {
        try connection.execute(request)
    }

    /// Sets attributes of the rows that a request finds.
    public func update(_ request: FetchRequest, set values: [String: StoreValue]) throws(StoreError) -> Int {
        try connection.update(request, set: values)
    }

    /// Makes an entity, or adds the attributes that an existing one lacks.
    public func createEntity(_ entity: Entity) throws(StoreError) { try connection.createEntity(entity) }

    /// Removes an entity and its rows.
    public func dropEntity(named name: String) throws(StoreError) { try connection.dropEntity(named: name) }

    /// Whether another session of this database was at work within the last second.
    public func hasCompany() throws(StoreError) -> Bool { try connection.hasCompany() }

    /// How long the next batch should wait for standbys or for old transactions, and why; nil: it need not.
    public func wantedPause() throws(StoreError) -> WantedPause? {
        try connection.wantedPause()
    }

    /// Has the tables that were deleted from vacuumed and analysed, where that is asked for.
    public func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        try connection.reclaim(request)
    }
}
