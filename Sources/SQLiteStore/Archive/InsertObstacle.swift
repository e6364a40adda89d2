import CSQLiteConfig
import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteFile {
    /// Why SQLite cannot insert rows into a table, as a clause; nil if it can. Constraints, generated columns, indexes and triggers may
    /// call functions that this program lacks. The statements are compiled and not run.
    func obstacle(
        toInsertsInto table: String, _ columns: [String], firesTriggers: Bool, _ db: Database
    ) throws -> String? {
        let names = columns.map(\.quotedIdentifier).list
        let values = columns.map { _ in "NULL" }.list
        let target = "main." + table.quotedIdentifier
        // A read-only connection ignores CHECK constraints.
        let definition = try catalog.schema(db).definition(of: table)
        let statements =
            ["INSERT INTO \(target) (\(names)) VALUES (\(values))"]
            + SchemaText.checks(definition).map { "SELECT \($0) FROM \(target)" }
        return try withTriggers(firesTriggers, db) {
            try Self.flaw(of: statements, db).map { "SQLite cannot insert rows into \(table): \($0)" }
        }
    }

    /// Runs work with the store's triggers on or off, without changing the store. Temporary triggers stay on.
    func withTriggers<T>(_ areOn: Bool, _ db: Database, _ body: () throws -> T) throws -> T {
        guard !areOn else { return try body() }
        try requireResult(retention_enable_triggers(db.sqliteConnection, 0))
        defer { _ = retention_enable_triggers(db.sqliteConnection, 1) }
        return try body()
    }
}
