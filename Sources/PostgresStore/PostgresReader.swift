public import PriceStore

/// A PostgreSQL database that is only read: the store of a dry run.
///
/// Every transaction is read-only and sees one state of the database. New rows can still be rehearsed, for the entities
/// that were named when it was opened: they are inserted into temporary tables of the session, with copies of the
/// store's own constraints, and all counts are then as if they were in the store.
public final class PostgresReader: PostgresDatabase, StoreInserter, RetentionReader {
    /// Opens a database for reading.
    ///
    /// - Parameters:
    ///   - address: where it is.
    ///   - zone: the zone of columns and texts that name none.
    ///   - lockTimeout: how long a locked table is waited for.
    ///   - rehearsing: the entities that new rows will be given to.
    /// - Throws: ``StoreError`` if the server cannot be reached, or refuses the connection.
    public init(
        _ address: PostgresAddress, zone: CalendarZone = .utc, lockTimeout: Duration = .seconds(5),
        rehearsing entities: [String] = []
    ) throws(StoreError) {
        try super.init(address, Options(isReadOnly: true, zone: zone, lockTimeout: lockTimeout))
        if !entities.isEmpty { try makeShadows(of: entities) }
    }
}
