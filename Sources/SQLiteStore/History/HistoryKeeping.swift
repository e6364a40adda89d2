import PriceObjects
import GRDB
import PriceStore

/// What a connection knows of the store's history.
struct HistoryState {
    /// SQLite's count of changes of the schema, at which this was found out.
    var schemaVersion: Int
    /// Whether the store keeps a history, and the connection has its triggers.
    var isKept: Bool
}

/// Writing the history.
extension SQLiteConnection {
    func keepHistory() throws(StoreError) {
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

    /// Has the transaction at work recorded, if the store keeps its history. Called when a transaction has begun, and
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

    func deleteHistory(before instant: Instant) throws(StoreError) -> Int {
        // In order of number, up to the first that stays: a clock that was set back leaves no gap.
        try deleteHistory(
            SQLFragment(
                "SELECT number FROM main.\(HistoryTables.transactions) WHERE +at >= ? ORDER BY number LIMIT 1",
                [instant.microseconds.databaseValue]))
    }

    func deleteHistory(before token: HistoryToken) throws(StoreError) -> Int {
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
