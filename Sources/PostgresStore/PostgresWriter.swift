public import PriceStore

/// A PostgreSQL database that is read and changed.
public final class PostgresWriter: PostgresDatabase, RetentionWriter {
    /// Opens a database for reading and writing.
    ///
    /// - Parameters:
    ///   - address: the address of the server.
    ///   - zone: the time zone of columns and texts without one.
    ///   - lockTimeout: how long to wait for a locked table.
    ///   - maxReplicationLag: how far a standby may fall behind before batches wait; nil for no limit.
    ///   - patience: how long to wait for a server that cannot be reached.
    /// - Throws: ``StoreError`` if the server cannot be reached, refuses the connection, or is a standby.
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

    /// Has the server write the commits of this session to disk. Batches commit without waiting for the disk. One commit that waits is
    /// after all of them, and it needs a record of its own. Source: PostgreSQL manual, "Asynchronous Commit".
    package func flush() throws(StoreError) {
        try run("writing what was deleted to the server's disk") {
            try transaction(.full) { _ = try execute("SELECT pg_logical_emit_message(true, 'retention', '')") }
        }
    }
}
