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
        try super.init(
            address,
            Options(
                isReadOnly: false, zone: zone, lockTimeout: lockTimeout, patience: patience,
                maxReplicationLag: maxReplicationLag))
        try refuseStandby()
    }
}
