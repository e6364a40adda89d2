public import PriceObjects
public import PriceStore

/// What readers and writers of a SQLite file have in common. Open a file as ``SQLiteReader`` or ``SQLiteWriter``.
///
/// ```swift
/// let names = try store.entity(named: "t")?.attributes.map(\.name) ?? []
/// ```
public class SQLiteFile: SQLiteFileConnection, StoreHistory, StoreQueries {
    /// `sqlite`.
    public var engine: String { "sqlite" }

    /// The names of all tables, views and virtual tables.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") { try catalog.names($0) }
    }

    /// The table, view or virtual table with that name, ignoring case.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try catalog.table(name, $0)?.entity }
    }
}
