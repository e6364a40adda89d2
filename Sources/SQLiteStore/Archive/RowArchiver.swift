import GRDB
import GRDBSQLite
import PriceStore

/// Copies rows to an archive in the transaction that deletes them.
///
/// A query reads the rows first if the delete removes only the rows that it names. Otherwise temporary triggers on all tables that the
/// delete can reach pass each row on.
final class RowArchiver {
    /// What the archiver is doing.
    private enum State {
        case idle
        /// A transaction of the store is running, and one of the archive is open.
        case copying
        /// The archive has committed, the store has not.
        case committed
    }

    let file: ArchiveFile
    private let rules: [ArchiveRequest.Rule]
    private var tables: [CopiedRows] = []
    private let readBack = ReadBack()
    /// The delete for which copying is set up, and the version of the schema then.
    private var installed: (request: BatchDeleteRequest, rollup: Rollup?, schema: Int)?
    /// The table whose rows are read before they are deleted; nil if triggers pass rows on.
    private var queried: Int?
    private var deleted = RowIDChecksum()
    private var state = State.idle
    /// Why a copy failed. SQLite's own message does not contain it.
    private var failure: StoreError?
    private var partCount = 0
    private(set) var rowCount = 0
    private(set) var referenceCount = 0

    private static let function = "retention_archive"

    init(_ file: ArchiveFile, rules: [ArchiveRequest.Rule]) throws(StoreError) {
        self.file = file
        self.rules = rules
        try file.run("preparing the archive", readBack.addFunction)
    }

    // MARK: What is copied

    /// Sets up the copying of the rows of a delete, and of the candles that they become.
    private func install(
        _ request: BatchDeleteRequest, _ rollup: Rollup?, _ connection: SQLiteFile, _ db: Database
    ) throws {
        let schema = try connection.pragma("schema_version", db)
        if let installed, installed == (request, rollup, schema) { return }
        try remove(db)
        try db.addFunctions(of: self, isAggregate: true, [(Self.function, -1, archive)])
        let reach = try ArchiveReach(of: request, connection, db)
        if reach.isOnlyNamedRows, let name = reach.rows.first,
            let kept = try ArchiveTable.rows(of: name, number: tables.count, connection, db), kept.rowIDColumn != nil
        {
            queried = try number(of: kept)
        } else {
            try placeTriggers(reach, connection, db)
        }
        if let rollup, let kept = try ArchiveTable.candles(of: rollup, number: tables.count, connection, db) {
            for event in ["INSERT", "UPDATE"] { try place(kept, event: event, when: nil, db) }
        }
        installed = (request, rollup, schema)
    }

    private func placeTriggers(_ reach: ArchiveReach, _ connection: SQLiteFile, _ db: Database) throws {
        for table in reach.rows {
            guard let kept = try ArchiveTable.rows(of: table, number: tables.count, connection, db) else { continue }
            try place(kept, event: "DELETE", when: nil, db)
            if reach.pairs.contains(table) { tables[try number(of: kept)].areCounted = false }
        }
        for (table, columns) in reach.references.sorted(by: { $0.key < $1.key }) {
            guard
                let kept = try ArchiveTable.references(
                    of: table, columns: columns, number: tables.count, connection, db)
            else { continue }
            let names = kept.columns.map(\.quotedIdentifier)
            let changed = names.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
            try place(kept, event: "UPDATE OF \(names.list)", when: changed, db)
        }
    }

    private func place(_ table: ArchiveTable, event: String, when condition: String?, _ db: Database) throws {
        let number = try number(of: table)
        let values = table.triggerValues(isInserted: event == "INSERT")
        let pieces = CopiedRows.calls(of: Self.function, number: number, values)
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER retention_archive_\(number)_\(event.prefix(6)) AFTER \(event) ON main.\(table.storeTable.quotedIdentifier)
                \(condition.map { "WHEN " + $0 } ?? "") BEGIN \(pieces.map { "SELECT \($0);" }.joined(separator: " ")) END
                """)
    }

    /// The number of a table in the archive. The table is created if needed.
    private func number(of table: ArchiveTable) throws(StoreError) -> Int {
        let known = tables.firstIndex {
            // Rules with different `relationships` clear different references.
            $0.table.kind == table.kind && $0.table.storeTable == table.storeTable
                && (table.kind == .rows || $0.table.columns == table.columns)
        }
        if let known {
            let other = tables[known].table
            guard other.columns == table.columns, other.key == table.key else {
                throw StoreError(
                    .unsupported, store: file.path,
                    message: "the columns of \(table.storeTable) were changed during the run",
                    hint: "the next run archives the rest")
            }
            return known
        }
        let number = tables.count
        tables.append(
            try file.run("adding a table to the archive") {
                try CopiedRows(table, number: number, $0)
            })
        return number
    }

    /// Removes the triggers of the last delete, also those that a rollback has restored.
    func remove(_ db: Database) throws {
        installed = nil
        queried = nil
        try db.dropTriggers("retention_archive_")
    }

    // MARK: A transaction of the store

    /// Starts to copy what the current transaction of the store deletes.
    func begin(
        _ request: BatchDeleteRequest, rollup: Rollup? = nil, _ connection: SQLiteFile, _ db: Database
    ) throws {
        failure = nil
        try file.requirePlace()
        try install(request, rollup, connection, db)
        try file.run("writing the archive") { try $0.execute(sql: "BEGIN IMMEDIATE") }
        state = .copying
    }

    /// Deletes rows of the rule's own table. It copies them first unless triggers do.
    ///
    /// - Parameter copy: runs a query that makes the given calls for each row that the delete names.
    /// - Throws: if the deleted rows are not the copied ones.
    func delete(
        _ delete: SQLFragment, copying copy: (_ calls: String) throws -> Void, _ connection: SQLiteFile,
        _ db: Database
    ) throws {
        guard let queried else { return try connection.execute(delete, db) }
        let table = tables[queried]
        let values = table.table.columns.map { "\(RowScope.alias).\($0.quotedIdentifier)" }
        try copy(CopiedRows.calls(of: Self.function, number: queried, values).list)
        sqlite3_update_hook(db.sqliteConnection, noteDeleted, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_update_hook(db.sqliteConnection, nil, nil) }
        try connection.execute(delete, db)
        guard table.rowIDs == deleted else {
            throw StoreError(
                .unsupported, store: file.path,
                message: "the rows of \(table.table.storeTable) to delete are not those that were archived",
                hint: "nothing of this transaction is deleted; check the store with PRAGMA integrity_check")
        }
    }

    var copiesByQuery: Bool { queried != nil }

    fileprivate func note(deleted rowID: Int64) { deleted.add(rowID) }

    /// Commits the archive, and verifies that the copies equal the deleted rows.
    ///
    /// - Throws: if the copies or their number differ. The store must then be rolled back.
    /// - Returns: the number of copied rows.
    func commit(rule: String, deletedCount: Int, candleCount: Int) throws(StoreError) -> Int {
        func require(_ copied: Int, of count: Int, _ what: String) throws(StoreError) {
            guard copied != count else { return }
            throw StoreError(
                .unsupported, store: file.path,
                message: "\(count) \(what), but only \(copied) of them were archived",
                hint: "nothing of this transaction is deleted; report this, and set `archive: none` for the rule")
        }
        let copied = copiedCount(.rows)
        try require(copied, of: deletedCount, "rows would be deleted")
        try require(copiedCount(.candles), of: candleCount, "candles were written")
        try file.run("writing the archive") { db in
            let rule = rules.firstIndex { $0.name == rule }
            for (number, rows) in tables.enumerated() where rows.copies.rowCount > 0 {
                try rows.flush()
                try db.execute(
                    sql: "INSERT INTO retention_parts VALUES (?, ?, ?, ?, ?)",
                    arguments: [
                        partCount, rule, number, rows.lastRow + 1, rows.lastRow + Int64(rows.copies.rowCount),
                    ])
            }
            try SQLiteFile.timingCommit { try db.execute(sql: "COMMIT") }
            state = .committed
            for rows in tables { try rows.verify(readBack, archive: file.path) }
        }
        // Copies in a file that nobody can find are useless.
        try file.requirePlace()
        file.noteCommit()
        return copied
    }

    private func copiedCount(_ kind: ArchivedKind) -> Int {
        tables.reduce(0) { $0 + ($1.table.kind == kind && $1.areCounted ? $1.copies.rowCount : 0) }
    }

    /// Notes that the store has committed too.
    func finish() {
        rowCount += copiedCount(.rows)
        referenceCount += copiedCount(.references)
        if tables.contains(where: { $0.copies.rowCount > 0 }) { partCount += 1 }
        for rows in tables { rows.finish() }
        forget()
    }

    /// Removes the copies again after a rollback of the store.
    ///
    /// - Returns: why a row could not be copied; nil if that was not the cause.
    func withdraw() throws(StoreError) -> StoreError? {
        let state = state
        let changed = tables.filter { $0.copies.rowCount > 0 }
        forget()
        // A rollback removes triggers that the transaction made.
        installed = nil
        try file.run("removing rows that were not deleted from the archive") { db in
            if db.isInsideTransaction { return try db.execute(sql: "ROLLBACK") }
            guard state == .committed, !changed.isEmpty else { return }
            try db.inTransaction(.immediate) {
                for rows in changed {
                    try db.execute(
                        sql: "DELETE FROM \(rows.table.name.quotedIdentifier) WHERE \(rows.table.rowNumber) > ?",
                        arguments: [rows.lastRow])
                }
                try db.execute(sql: "DELETE FROM retention_parts WHERE part = ?", arguments: [partCount])
                return .commit
            }
            file.noteCommit()
        }
        return failure
    }

    private func forget() {
        state = .idle
        deleted = RowIDChecksum()
        for rows in tables { rows.forget() }
    }

    fileprivate func take(_ values: SQLValues, _ context: OpaquePointer?) {
        guard state == .copying, values.count > CopiedRows.leadingArguments,
            case let table = Int(sqlite3_value_int64(values[0])), tables.indices.contains(table)
        else {
            return sqlite3_result_error(context, "no archive is open for this delete", -1)
        }
        do throws(DatabaseError) {
            try tables[table].take(
                SQLValues(rebasing: values.dropFirst(CopiedRows.leadingArguments)),
                from: Int(sqlite3_value_int64(values[1])))
        } catch {
            let cause = file.failure(error, doing: "a row cannot be archived")
            failure = cause
            sqlite3_result_error(context, cause.message, -1)
        }
    }

    // MARK: The end

    /// Drops tables without rows, and completes the file. A file without rows is removed.
    func complete() throws(StoreError) -> ArchiveResult? {
        let empty = tables.enumerated().filter { $0.element.lastRow == 0 }.map { ($0.offset, $0.element.table.name) }
        // SQLite cannot close the file while statements are open.
        tables = []
        try file.requirePlace()
        guard rowCount + referenceCount > 0 else {
            file.remove()
            return nil
        }
        try file.run("completing the archive") { db in
            for (number, name) in empty {
                // In this order: after a kill between the two, each table that is listed is there.
                try db.execute(sql: "DELETE FROM retention_tables WHERE number = ?", arguments: [number])
                try db.execute(sql: "DROP TABLE \(name.quotedIdentifier)")
            }
        }
        let sizeBytes = try file.complete()
        return ArchiveResult(
            path: file.path, rowCount: rowCount, referenceCount: referenceCount, sizeBytes: sizeBytes)
    }
}

private func archive(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, RowArchiver.self)?.take(SQLValues(start: values, count: Int(count)), context)
}

private func noteDeleted(
    _ archiver: UnsafeMutableRawPointer?, _ change: Int32, _ schema: UnsafePointer<CChar>?,
    _ table: UnsafePointer<CChar>?, _ rowID: Int64
) {
    if let archiver, change == SQLITE_DELETE {
        Unmanaged<RowArchiver>.fromOpaque(archiver).takeUnretainedValue().note(deleted: rowID)
    }
}
