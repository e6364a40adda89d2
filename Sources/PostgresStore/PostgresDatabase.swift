public import PriceStore

/// The common base of ``PostgresReader`` and ``PostgresWriter``, which open a PostgreSQL database.
public class PostgresDatabase: PostgresConnection {
    /// Whether this build can open a database: it was built with libpq.
    public static var isAvailable: Bool { ServerLink.isAvailable }

    /// `postgresql`.
    public var engine: String { "postgresql" }

    /// The names of all tables, views and foreign tables that are not partitions.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") { try visibleNames() }
    }

    /// The table, view or foreign table with a name. `schema.table` names one that is not in the search path.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try table(name)?.entity }
    }
}
