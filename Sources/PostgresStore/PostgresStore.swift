public import PriceStore

/// What a reader and a writer of a PostgreSQL database have in common. A database is opened as ``PostgresReader`` or
/// ``PostgresWriter``.
public class PostgresStore {
    let connection: PostgresConnection

    init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    /// Whether this build can open a database: it has libpq.
    public static var isAvailable: Bool { ServerLink.isAvailable }

    /// The URL without its password.
    public var name: String { connection.name }
    /// The server and the database, however they were named.
    public var storeIdentifier: String { connection.storeIdentifier }
    /// `postgresql`.
    public var engine: String { "postgresql" }

    /// Told each different statement before its first execution, with its query plan; not those that only read the
    /// server's catalog.
    public var trace: ((_ statement: String, _ plan: [String]) -> Void)? {
        get { connection.trace }
        set { connection.trace = newValue }
    }

    /// The names of all tables, views and foreign tables that are nobody's partition.
    public func entityNames() throws(StoreError) -> [String] {
        try connection.run("reading the schema") { try connection.entityNames() }
    }

    /// The table, view or foreign table of that name; `schema.table` where the search path does not find it.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try connection.run("reading the schema") { try connection.table(name)?.entity }
    }

    /// How many rows a request finds.
    public func count(_ request: FetchRequest) throws(StoreError) -> Int { try connection.count(request) }

    /// The values of rows that a request finds.
    public func fetch(_ request: FetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try connection.fetch(request, attributes: attributes)
    }

    /// The rows that a request finds, with their identities; only of tables with a primary key.
    public func fetchRows(_ request: FetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow] {
        try connection.fetchRows(request, attributes: attributes)
    }

    /// What a rule would find and delete.
    public func survey(_ request: SurveyRequest) throws(StoreError) -> Survey {
        try connection.run("counting the rows of \(request.entity)") { try connection.findings(of: request).survey }
    }

    /// How the rows of a request would be deleted now.
    public func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline {
        try connection.knownFindings(of: request).outline
    }

    /// How many readable rows of an entity stay after several deletes.
    public func countSpared(
        _ entity: String, date: DateAttribute, filter: Predicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        let counted = try connection.run("counting the rows of \(entity) that stay") {
            try connection.countSpared(entity, date: date, filter: filter, by: deletes, limit: limit)
        }
        if let counted { return counted }
        return try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
    }

    /// Some different values of an attribute, from the first rows and the last ones.
    public func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try connection.sample(entity: entity, attribute: attribute, limit: limit)
    }

    /// The size of the database in bytes.
    public func sizeBytes() throws(StoreError) -> Int64 { try connection.sizeBytes() }

    /// The room that a table, its indexes and its partitions take in bytes; nil for a view.
    public func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try connection.sizeBytes(ofEntity: entity)
    }

    /// Carries out `body` in one transaction; transactions nest.
    public func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T {
        try connection.transaction(durability, body)
    }

    /// Whether a run holds the database's lock at this moment.
    public func isRunLockHeld() throws(StoreError) -> Bool { try connection.isRunLockHeld() }
}
