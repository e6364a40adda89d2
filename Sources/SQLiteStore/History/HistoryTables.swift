import GRDB

/// The tables in which a store keeps its history.
///
/// They are ordinary tables of the store: backups contain them, and a rule can delete from them. Transaction numbers increase by one and
/// are never reused, so a gap shows that transactions were deleted.
enum HistoryTables {
    /// The table with one row: the identifier by which tokens name the store.
    static let identity = "retention_history"
    /// The table with a row for each transaction.
    static let transactions = "retention_transaction"
    /// The table with a row for each changed row.
    static let changes = "retention_change"

    static let names = [identity, transactions, changes]

    /// Creates the tables. The changes of a transaction are stored together and deleted with it.
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE main.\(identity) (identifier TEXT NOT NULL);
                INSERT INTO main.\(identity) VALUES (lower(hex(randomblob(16))));
                CREATE TABLE main.\(transactions) (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    at INTEGER NOT NULL,
                    author TEXT NOT NULL
                );
                CREATE INDEX main.\(transactions)_at ON \(transactions) (at);
                CREATE TABLE main.\(changes) (
                    number INTEGER NOT NULL REFERENCES \(transactions) ON DELETE CASCADE,
                    place INTEGER NOT NULL,
                    entity TEXT NOT NULL,
                    kind TEXT NOT NULL,
                    key NOT NULL,
                    PRIMARY KEY (number, place)
                ) WITHOUT ROWID;
                """)
    }

    static func exist(_ db: Database) throws -> Bool {
        try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name IN "
                + "('\(identity)', '\(transactions)', '\(changes)')") == names.count
    }

    /// The number of the last transaction, including deleted ones, or 0 if there was none.
    static func lastNumber(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT seq FROM main.sqlite_sequence WHERE name = '\(transactions)'")) ?? 0
    }
}
