public import PriceObjects
public import PriceStore

/// What a reader and a writer of a SQLite file have in common. A file is opened as ``SQLiteReader`` or ``SQLiteWriter``.
public class SQLiteStore: StoreHistory {
    let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// The path as the user named it.
    public var name: String { connection.name }
    /// The file's path without links.
    public var storeIdentifier: String { connection.storeIdentifier }
    /// `sqlite`.
    public var engine: String { "sqlite" }

    /// Told each different statement before its first execution, with its query plan.
    public var trace: ((_ statement: String, _ plan: [String]) -> Void)? {
        get { connection.trace }
        set { connection.trace = newValue }
    }

    /// The names of all tables, views and virtual tables.
    public func entityNames() throws(StoreError) -> [String] {
        try connection.run("reading the schema") { try connection.catalog.names($0) }
    }

    /// The table, view or virtual table of that name, letters without case.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try connection.run("reading the schema") { try connection.catalog.table(name, $0)?.entity }
    }

    /// How many rows a request finds.
    public func count(_ request: PriceStore.FetchRequest) throws(StoreError) -> Int { try connection.count(request) }

    /// The values of rows that a request finds.
    public func fetch(_ request: PriceStore.FetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try connection.fetch(request, attributes: attributes)
    }

    /// The rows that a request finds, with their identities.
    public func fetchRows(
        _ request: PriceStore.FetchRequest, attributes: [String]
    ) throws(StoreError) -> [StoredRow] {
        try connection.fetchRows(request, attributes: attributes)
    }

    /// What a rule would find and delete.
    public func survey(_ request: SurveyRequest) throws(StoreError) -> Survey { try connection.survey(request) }

    /// How the rows of a request would be deleted now.
    public func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline {
        let findings = try connection.findings(of: request)
        return DeletionOutline(findings.technique, findings, maxLock: request.maxLock)
    }

    /// How many readable rows of an entity stay after several deletes.
    public func countSpared(
        _ entity: String, date: DateAttribute, filter: Predicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        if let count = try connection.countSpared(entity, date: date, filter: filter, by: deletes, limit: limit) {
            return count
        }
        return try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
    }

    /// Throws if the rows or indexes of an entity are damaged; all of its pages are read.
    public func verify(entity: String) throws(StoreError) { try connection.verify(entity: entity) }

    /// Some different values of an attribute, from the first rows, the last ones and between.
    public func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try connection.sample(entity: entity, attribute: attribute, limit: limit)
    }

    /// The size of the main file in bytes.
    public func sizeBytes() throws(StoreError) -> Int64 {
        try connection.run("reading the size") { try connection.sizeBytes($0) }
    }

    /// What has to be done once so that the file gives the room of deleted rows back.
    public func reclaimAdvice() throws(StoreError) -> String? { try connection.reclaimAdvice() }

    /// The room that the rows and indexes of a table take in bytes; nil for a view, and where SQLite was built without
    /// `dbstat`. It reads all of their pages.
    public func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try connection.run("reading the size of \(entity)") { try connection.sizeBytes(ofEntity: entity, $0) }
    }

    /// The place behind the last transaction of the history; nil: the store keeps none.
    public func currentHistoryToken() throws(StoreError) -> HistoryToken? { try connection.currentHistoryToken() }

    /// The next transactions of the history behind a place. They are read until they have 10,000 changes.
    public func history(after token: HistoryToken?, limit: Int) throws(StoreError) -> [HistoryTransaction] {
        try connection.history(after: token, limit: limit)
    }

    /// Carries out `body` in one transaction; transactions nest.
    public func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T {
        try connection.transaction(durability, body)
    }
}
