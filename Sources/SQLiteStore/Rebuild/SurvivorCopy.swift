import GRDB
import GRDBSQLite
import PriceStore

/// A copy of the store without the rows that a request deletes. It has every other row with its rowid, every table, index, view, trigger,
/// statistic and sequence, and the settings in the file's header.
///
/// Rows are read in storage order, and indexes are created last. Memory: a cache of 16 MB, and SQLite's sorter, which spills to temporary
/// files.
final class SurvivorCopy {
    private let store: SQLiteFile
    private let request: DeleteWork
    let file: PrivateFile
    /// A second connection to the store, which reads the remaining rows and writes them to the attached file.
    let reader: SQLiteFile
    /// The file's own connection, for its schema, and from which the backup reads.
    let target: DatabaseQueue
    private let entries: [SchemaEntry]
    private let schemaVersion: Int

    /// The number of rows that the request selects, which are not in the copy.
    private(set) var deletedCount = 0
    /// The rowids of the table that is being copied, in whose order rows are inserted; nil: it has none, or another table is copied.
    private var rowIDs: ClosedRange<Int64>?

    private static let attached = "retention_copy"
    private static let cacheKibibytes = 16_000

    /// Creates the file with the store's tables, without rows.
    init(of store: SQLiteFile, _ request: DeleteWork) throws {
        self.store = store
        self.request = request
        file = try PrivateFile(beside: store.storeIdentifier, name: store.name)
        let reader = try store.sibling()
        self.reader = reader
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.label = "retention copy"
        configuration.acceptsDoubleQuotedStringLiterals = true
        target = try DatabaseQueue(path: file.path, configuration: configuration)
        (entries, schemaVersion) = try reader.run("reading the schema") { db in
            (try SchemaEntry.all(db), try reader.pragma("schema_version", db))
        }
        let settings = try reader.run("reading the settings") { db in
            try ["page_size", "auto_vacuum", "encoding", "application_id", "user_version"].flatMap { name in
                try String.fetchAll(db, sql: "SELECT 'PRAGMA \(name) = ' || quote(\(name)) FROM pragma_\(name)")
            }
        }
        try target.unsafeReentrantWrite { db in
            // A copy is never kept after a crash.
            try db.execute(sql: "PRAGMA synchronous = OFF")
            for setting in settings { try db.execute(sql: setting) }
            // SQLite's own tables are created by name, and rules of the schema are not checked again.
            try db.execute(
                sql: """
                    PRAGMA journal_mode = OFF; PRAGMA writable_schema = ON;
                    PRAGMA cache_size = -\(Self.cacheKibibytes);
                    """)
            try db.inTransaction {
                for entry in entries where entry.isStoredTable {
                    // The first table with AUTOINCREMENT creates it.
                    if entry.name == SchemaEntry.sequences, try db.tableExists(SchemaEntry.sequences) { continue }
                    try db.execute(sql: entry.sql)
                }
                return .commit
            }
        }
    }

    /// Writes the rows and then the rest of the schema. The store must be locked against writers.
    ///
    /// - Throws: ``StoreError`` of kind `busy` if the schema has changed or more rows would be deleted than the limit of the request; of
    ///   kind `constraint` if a remaining row breaks a constraint of its table or no readable row would remain.
    func fill() throws {
        store.didBeginPhase?("copying the rows that stay")
        try reader.run("copying the remaining rows") { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
                    ATTACH ? AS \(Self.attached);
                    PRAGMA \(Self.attached).journal_mode = OFF; PRAGMA \(Self.attached).synchronous = OFF;
                    PRAGMA \(Self.attached).cache_size = -\(Self.cacheKibibytes);
                    """, arguments: [file.path])
            defer { try? db.execute(sql: "DETACH \(Self.attached)") }
            try db.inTransaction(.deferred) {
                guard try reader.pragma("schema_version", db) == schemaVersion else {
                    throw store.failure(.busy, "another program has just changed the store's schema", hint: "try again")
                }
                let connection = db.sqliteConnection
                try store.showing(
                    "copying the rows that stay", on: db,
                    share: { [self] in
                        guard let rowIDs else { return (0, 0) }
                        let done = sqlite3_last_insert_rowid(connection) &- rowIDs.lowerBound
                        return (done, rowIDs.upperBound &- rowIDs.lowerBound)
                    }
                ) { _ in try refusingBrokenRows { try copyRows(db) } }
                return .commit
            }
        }
        store.didBeginPhase?("making the indexes")
        try target.unsafeReentrantWrite { db in
            SQLiteFile.endWithTask(db)
            try refusingBrokenRows { try completeSchema(db) }
        }
    }

    /// Rows may break a constraint that was added to the schema by hand. A copy cannot contain them.
    private func refusingBrokenRows(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            var storeError = StoreError(
                error, store: store.name,
                doing: "a remaining row violates a constraint of its table, so it cannot be copied")
            storeError.hint = "fix the row, or run without --rebuild"
            throw storeError
        }
    }

    private func copyRows(_ db: Database) throws {
        let statement = try BatchDelete(request, reader, db).statement
        let own = statement.scope.table.tableName
        for entry in entries where entry.isStoredTable && entry.name != SchemaEntry.sequences {
            let table = try CopiedTable(entry.name, reader, db)
            if entry.name == own {
                try copySurvivors(table, statement, db)
            } else {
                try db.execute(sql: table.copyAll(to: Self.attached))
            }
        }
        // This table comes last, because inserting rows changes it.
        if entries.contains(where: { $0.name == SchemaEntry.sequences }) {
            let copied = "\(Self.attached).\(SchemaEntry.sequences)"
            try db.execute(
                sql: "DELETE FROM \(copied); INSERT INTO \(copied) SELECT * FROM main.\(SchemaEntry.sequences)")
        }
    }

    /// Copies the remaining rows and checks by three counts that each row either stays or is deleted. All counts read the table itself,
    /// whatever its indexes contain.
    private func copySurvivors(_ table: CopiedTable, _ statement: DeleteStatement, _ db: Database) throws {
        let scope = statement.scope
        let removed = SQLFragment.all([statement.condition(), scope.membership])
        rowIDs = try reader.rowIDs(of: scope.table, db)
        if let rowIDs { sqlite3_set_last_insert_rowid(db.sqliteConnection, rowIDs.lowerBound) }
        try reader.execute(table.copy(to: Self.attached, except: removed), db)
        let stayCount = db.changesCount
        rowIDs = nil
        let total = try reader.count("SELECT count(*) FROM \(scope.targetTable)", db)
        deletedCount = try reader.count(
            "SELECT count(*) FROM \(scope.fromTable)\(statement.condition().whereClause)", db)
        guard stayCount + deletedCount == total else {
            throw store.failure(
                .defect,
                "a rebuild kept \(stayCount.counted("row")) of \(scope.table.name) and left out \(deletedCount), but there "
                    + "are \(total); nothing was changed")
        }
        if let most = request.allowedRows ?? request.fetchRequest.fetchLimit, deletedCount > most {
            throw store.failure(
                .busy,
                "a rebuild would delete \(deletedCount.counted("row")), more than the \(most) that were counted: another "
                    + "program has changed the store", hint: "nothing is deleted; run again")
        }
        guard let date = request.mustLeave, deletedCount > 0 else { return }
        let rest = SQLFragment.all([
            try reader.dateSQL(date, scope, db).readable(), "(\(statement.condition())) IS NOT TRUE",
        ])
        guard try reader.exists("SELECT 1 FROM \(scope.from())\(rest.whereClause)", db) else {
            throw StoreError.lastRow(of: scope.table.name, store: store.name)
        }
    }

    /// Creates the indexes, and inserts schema entries without pages as they are in the store.
    private func completeSchema(_ db: Database) throws {
        try db.inTransaction {
            let indexes = entries.filter { $0.type == "index" && !$0.sql.isEmpty }
            for (place, entry) in indexes.enumerated() {
                if place > 0 { store.didBeginPhase?("making the indexes, \(place * 100 / indexes.count)%") }
                try db.execute(sql: entry.sql)
            }
            for entry in entries where entry.isText {
                try db.execute(
                    sql: "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)",
                    arguments: [entry.type, entry.name, entry.table, entry.sql])
            }
            guard try Set(SchemaEntry.all(db)) == Set(entries) else {
                throw store.failure(.defect, "a rebuild could not copy the whole schema; nothing was changed")
            }
            return .commit
        }
    }

    /// Closes the connections. The file stays until it is removed.
    func close() {
        reader.close()
        try? target.close()
    }
}
