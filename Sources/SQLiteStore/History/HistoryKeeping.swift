public import PriceObjects
import GRDB
public import PriceStore

/// Writing the history.
extension SQLiteWriter {
    /// The author of this connection's transactions in the history; by default the process's name.
    public var author: String {
        get { historyRecorder.author }
        set { historyRecorder.author = newValue }
    }

    /// Returns the time of a transaction for the history. If nil, SQLite's clock is used, in milliseconds.
    public var clock: (() -> Instant)? {
        get { historyRecorder.clock }
        set { historyRecorder.clock = newValue }
    }

    /// Creates the history's tables if the store has none. Refused for a Core Data store, which has its own history.
    ///
    /// Programs that have the store open need not reopen it. The history does not contain changes that other programs make without this
    /// library, for example with the `sqlite3` shell, nor the rows of a dropped table, nor rows that a trigger of the store overwrites by
    /// REPLACE under another key.
    public func keepHistory() throws(StoreError) {
        try run("beginning to keep the history") { db in
            try transaction(.normal) {
                guard try !HistoryTables.exist(db) else { return }
                let metadata = "SELECT count(*) FROM main.sqlite_schema WHERE name IN ('Z_METADATA', 'Z_PRIMARYKEY')"
                guard try Int.fetchOne(db, sql: metadata) == 0 else {
                    throw failure(
                        .unsupported, "refusing to keep a history in a Core Data store",
                        hint: "Core Data has a history of its own: NSPersistentHistoryTrackingKey turns it on")
                }
                try HistoryTables.create(db)
                catalog = catalog.emptied
                try recordTransaction(db)
            }
        }
    }

    /// Deletes the transactions of the history before an instant with their changes, in one transaction. Returns their number.
    public func deleteHistory(before instant: Instant) throws(StoreError) -> Int {
        // They are deleted in order of number up to the first that stays, so a clock that was set back leaves no gap.
        try deleteHistory(
            """
            SELECT number FROM main.\(HistoryTables.transactions) WHERE +at >= \(bound: instant.microseconds) \
            ORDER BY number LIMIT 1
            """)
    }

    /// Deletes the transactions of the history before a token's with their changes, in one transaction. Returns their number.
    public func deleteHistory(before token: HistoryToken) throws(StoreError) -> Int {
        try run("deleting history") { db in
            _ = try historyPlace(token, db)
            return try deleteHistory("SELECT \(bound: token.transactionNumber)")
        }
    }

    private func deleteHistory(_ firstToStay: SQLFragment) throws(StoreError) -> Int {
        try run("deleting history") { db in
            try transaction(.normal) {
                _ = try historyIdentifier(db)
                try execute(
                    """
                    DELETE FROM main.\(HistoryTables.transactions) \
                    WHERE number < coalesce((\(firstToStay)), 9223372036854775807)
                    """, db)
                return db.changesCount
            }
        }
    }
}

extension SQLiteWriter {
    /// Records the current transaction if the store keeps a history. Called when a transaction begins and after it changes the schema.
    ///
    /// Other programs may start a history or create tables while this connection is open; SQLite's schema version shows it. It is on the
    /// first page, which a transaction has read anyway.
    func recordTransaction(_ db: Database) throws {
        let version = try StoreSchema.version(db)
        if temporaries.history?.schemaVersion != version {
            if temporaries.history?.isKept == true { try HistoryTriggers.remove(db) }
            let isKept = try HistoryTables.exist(db)
            if isKept { try HistoryTriggers.create(catalog.emptied, db) }
            temporaries.history = (version, isKept)
        }
        guard temporaries.history?.isKept == true, historyRecorder.number == nil else { return }
        try historyRecorder.begin(after: try HistoryTables.lastNumber(db), store: name, db)
    }

    /// Runs work that changes rows by its own statement, in a transaction that the history records.
    func change<T>(_ what: String, _ body: (Database) throws -> T) throws(StoreError) -> T {
        try run(what) { db in
            if db.isInsideTransaction { return try body(db) }
            return try transaction(.normal) { try run(what, body) }
        }
    }
}
