public import PriceObjects
public import PriceStore

/// What a reader and a writer of a SQLite file have in common. A file is opened as ``SQLiteReader`` or ``SQLiteWriter``.
public class SQLiteFile: SQLiteFileConnection, StoreHistory {
    /// `sqlite`.
    public var engine: String { "sqlite" }

    /// The names of all tables, views and virtual tables.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") { try catalog.names($0) }
    }

    /// The table, view or virtual table of that name, letters without case.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try catalog.table(name, $0)?.entity }
    }
}
