public import PriceStore

/// What a reader and a writer of a PostgreSQL database have in common. A database is opened as ``PostgresReader`` or
/// ``PostgresWriter``.
public class PostgresDatabase: PostgresConnection {
    /// Whether this build can open a database: it has libpq.
    public static var isAvailable: Bool { ServerLink.isAvailable }

    /// `postgresql`.
    public var engine: String { "postgresql" }

    /// The names of all tables, views and foreign tables that are not partitions.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") { try visibleNames() }
    }

    /// The table, view or foreign table of that name; `schema.table` where the search path does not find it.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try table(name)?.entity }
    }
}
