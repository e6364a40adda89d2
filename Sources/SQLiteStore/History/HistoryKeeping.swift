public import PriceObjects
import GRDB
public import PriceStore

/// What a connection knows of the store's history.
struct HistoryState {
    /// SQLite's count of changes of the schema, at which this was found out.
    var schemaVersion: Int
    /// Whether the store keeps a history, and the connection has its triggers.
    var isKept: Bool
}

/// Writing the history.
extension SQLiteWriter {
    /// Who makes this connection's transactions, as the history names it; by default the process's name.
    public var author: String {
        get { historyRecorder.author }
        set { historyRecorder.author = newValue }
    }

    /// Tells the time of a transaction for the history; nil: SQLite's own clock does, in milliseconds.
    public var clock: (() -> Instant)? {
        get { historyRecorder.clock }
        set { historyRecorder.clock = newValue }
    }

    /// Makes the tables of the history, if the store has none. Refused for a Core Data store, which has its own.
    ///
    /// Programs that have the store open need not open it again. What other programs change without this library, by
    /// another library or the `sqlite3` shell, is not in the history; nor are the rows of a table that is dropped, and
    /// rows that a trigger of the store overwrites by REPLACE under another key.
    public func keepHistory() throws(StoreError) {
        try run("beginning to keep the history") { db in
            try transaction(.normal) {
                guard try !HistoryTables.exist(db) else { return }
                let metadata = "SELECT count(*) FROM main.sqlite_schema WHERE name IN ('Z_METADATA', 'Z_PRIMARYKEY')"
                guard try Int.fetchOne(db, sql: metadata) == 0 else {
                    throw StoreError(
                        .unsupported, store: name, message: "refusing to keep a history in a Core Data store",
                        hint: "Core Data has a history of its own: NSPersistentHistoryTrackingKey turns it on")
                }
                try HistoryTables.create(db)
                catalog = catalog.emptied
                try recordTransaction(db)
            }
        }
    }

    /// Deletes the oldest transactions of the history with their changes, in one transaction.
    public func deleteHistory(before instant: Instant) throws(StoreError) -> Int {
        // In order of number, up to the first that stays: a clock that was set back leaves no gap.
        try deleteHistory(
            SQLFragment(
                "SELECT number FROM main.\(HistoryTables.transactions) WHERE +at >= ? ORDER BY number LIMIT 1",
                [instant.microseconds.databaseValue]))
    }

    /// Deletes the transactions of the history before a token's own with their changes, in one transaction.
    public func deleteHistory(before token: HistoryToken) throws(StoreError) -> Int {
        try run("deleting history") { db in
            _ = try historyPlace(token, db)
            return try deleteHistory(SQLFragment("SELECT ?", [token.transactionNumber.databaseValue]))
        }
    }

    private func deleteHistory(_ firstToStay: SQLFragment) throws(StoreError) -> Int {
        try run("deleting history") { db in
            try transaction(.normal) {
                _ = try historyIdentifier(db)
                let delete = SQLFragment("DELETE FROM main.\(HistoryTables.transactions) WHERE number < coalesce((")
                try execute(delete + firstToStay + "), 9223372036854775807)", db)
                return db.changesCount
            }
        }
    }
}

extension SQLiteWriter {
    /// Has the current transaction recorded, if the store keeps its history. Called when a transaction has begun, and
    /// when it has changed the schema.
    ///
    /// Others may begin to keep a history, or make tables, while this connection is open: SQLite's count of schema
    /// changes tells. That is one look at the first page, which a transaction has read anyway.
    func recordTransaction(_ db: Database) throws {
        let version = try Int.fetchOne(db.cachedStatement(sql: "PRAGMA main.schema_version")) ?? 0
        if temporaries.history?.schemaVersion != version {
            if temporaries.history?.isKept == true { try HistoryTriggers.remove(db) }
            let isKept = try HistoryTables.exist(db)
            if isKept { try HistoryTriggers.create(catalog.emptied, db) }
            temporaries.history = HistoryState(schemaVersion: version, isKept: isKept)
        }
        guard temporaries.history?.isKept == true, historyRecorder.number == nil else { return }
        try historyRecorder.begin(after: try HistoryTables.lastNumber(db), store: name, db)
    }

    /// Runs a piece of work that changes rows by a statement of its own, in a transaction that the history can know.
    func change<T>(_ what: String, _ body: (Database) throws -> T) throws(StoreError) -> T {
        try run(what) { db in
            if db.isInsideTransaction { return try body(db) }
            return try transaction(.normal) { try run(what, body) }
        }
    }
}
