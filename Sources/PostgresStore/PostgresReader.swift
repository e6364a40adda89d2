public import PriceStore

/// A PostgreSQL database that is only read: the store of a dry run.
///
/// Every transaction is read-only and sees one state of the database. New rows can be rehearsed for the entities given at opening: they go
/// into temporary tables of the session with copies of the store's constraints. All counts then include them.
public final class PostgresReader: PostgresDatabase, RetentionInserter {
    /// Opens a database for reading.
    ///
    /// - Parameters:
    ///   - address: the address of the server.
    ///   - zone: the time zone of columns and texts without one.
    ///   - lockTimeout: how long to wait for a locked table.
    ///   - rehearsing: the entities that new rows are rehearsed for.
    /// - Throws: ``StoreError`` if the server cannot be reached, or refuses the connection.
    public init(
        _ address: PostgresAddress, zone: CalendarZone = .utc, lockTimeout: Duration = .seconds(5),
        rehearsing entities: [String] = []
    ) throws(StoreError) {
        try super.init(address, Options(isReadOnly: true, zone: zone, lockTimeout: lockTimeout))
        if !entities.isEmpty { try makeShadows(of: entities) }
    }
}
