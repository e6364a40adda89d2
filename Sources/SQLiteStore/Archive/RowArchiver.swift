import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// Copies rows to an archive while a delete is at work, by temporary triggers on the tables that it can reach.
final class RowArchiver {
    /// What a transaction has copied to a table of the archive.
    private struct Copies: Equatable {
        var count = 0
        var checksum = ValueChecksum()
    }

    /// What the archiver is doing.
    private enum State {
        case idle
        /// A transaction of the store is at work; the archive's is open.
        case copying
        /// The archive has committed, the store not yet.
        case committed
    }

    let file: ArchiveFile
    private let rules: [ArchiveRequest.Rule]
    private var tables: [ArchiveTable] = []
    /// The last row of each table of the archive.
    private var lastRows: [Int64] = []
    /// The tables whose rows no count includes.
    private var uncounted: Set<Int> = []
    private var inserts: [Statement] = []
    private var reads: [Statement] = []
    /// The delete whose triggers are in place, and the schema that they were made for.
    private var installed: (request: BatchDeleteRequest, schema: Int)?
    private var state = State.idle
    /// What the transaction at work has copied, for each table.
    private var copies: [Copies] = []
    /// Why a copy failed, which SQLite's own message does not tell.
    private var failure: StoreError?
    private var partCount = 0
    private(set) var rowCount = 0
    private(set) var referenceCount = 0

    /// More arguments than any build of SQLite refuses; a row with more values is handed over in pieces.
    private static let mostArguments = 90

    init(_ file: ArchiveFile, rules: [ArchiveRequest.Rule]) {
        self.file = file
        self.rules = rules
    }

    // MARK: Triggers

    /// Puts the triggers of a delete in place.
    func install(_ request: BatchDeleteRequest, _ connection: SQLiteConnection, _ db: Database) throws {
        let schema = try connection.pragma("schema_version", db)
        if let installed, installed == (request, schema) { return }
        try remove(db)
        try db.addFunctions(of: self, [("retention_archive", -1, archive)])
        let reach = try ArchiveReach(of: request, connection, db)
        for table in reach.rows {
            guard let kept = try ArchiveTable.rows(of: table, number: tables.count, db) else { continue }
            try place(kept, event: "DELETE", when: nil, db)
            if reach.pairs.contains(table) { uncounted.insert(try number(of: kept)) }
        }
        for (table, columns) in reach.references.sorted(by: { $0.key < $1.key }) {
            guard let kept = try ArchiveTable.references(of: table, columns: columns, number: tables.count, db) else {
                continue
            }
            let names = kept.columns.map(\.quotedIdentifier)
            let changed = names.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
            try place(kept, event: "UPDATE OF \(names.joined(separator: ", "))", when: changed, db)
        }
        installed = (request, schema)
    }

    private func place(_ table: ArchiveTable, event: String, when condition: String?, _ db: Database) throws {
        let number = try number(of: table)
        let values = table.triggerValues
        let pieces = stride(from: 0, to: values.count, by: Self.mostArguments).map { start in
            let piece = values[start..<min(start + Self.mostArguments, values.count)]
            return "SELECT retention_archive(\(number), \(start), \(piece.joined(separator: ", ")));"
        }
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER retention_archive_\(number) AFTER \(event) ON main.\(table.storeTable.quotedIdentifier)
                \(condition.map { "WHEN " + $0 } ?? "") BEGIN \(pieces.joined(separator: " ")) END
                """)
    }

    /// The number of a table in the archive, where it is made if there is none.
    private func number(of table: ArchiveTable) throws(StoreError) -> Int {
        let known = tables.firstIndex {
            // Rules that treat relationships in other ways clear other references.
            $0.kind == table.kind && $0.storeTable == table.storeTable
                && ($0.kind == .rows || $0.columns == table.columns)
        }
        if let known {
            let other = tables[known]
            guard other.columns == table.columns, other.key == table.key else {
                throw StoreError(
                    .unsupported, store: file.path,
                    message: "the columns of \(table.storeTable) have changed during the run",
                    hint: "the next run archives the rest")
            }
            return known
        }
        let number = tables.count
        try file.run("adding a table to the archive") { db in
            try db.inTransaction(.immediate) {
                try db.execute(sql: table.creation)
                try db.execute(
                    sql: "INSERT INTO retention_tables VALUES (?, ?, ?, ?, ?, ?, ?)",
                    arguments: [
                        number, table.kind.rawValue, table.storeTable, table.name, try Self.jsonArray(table.key),
                        try Self.jsonArray(table.columns), table.definition,
                    ])
                return .commit
            }
            inserts.append(try db.makeStatement(sql: table.insertion))
            let names = table.archiveColumns.map(\.quotedIdentifier).joined(separator: ", ")
            reads.append(
                try db.makeStatement(
                    sql: "SELECT \(names) FROM \(table.name.quotedIdentifier) WHERE \(table.rowNumber) > ?"))
        }
        tables.append(table)
        lastRows.append(0)
        copies.append(Copies())
        return number
    }

    /// Names as a JSON array.
    private static func jsonArray(_ names: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(names), as: UTF8.self)
    }

    /// Removes the triggers of the last delete, also those that a rollback has brought back.
    func remove(_ db: Database) throws {
        installed = nil
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND name GLOB 'retention_archive_*'")
        for name in names { try db.execute(sql: "DROP TRIGGER temp.\(name.quotedIdentifier)") }
    }

    // MARK: A transaction of the store

    /// Begins to copy what a transaction of the store deletes.
    func begin() throws(StoreError) {
        failure = nil
        try file.run("writing the archive") { try $0.execute(sql: "BEGIN IMMEDIATE") }
        state = .copying
    }

    /// Brings the copies to disk, and makes sure that they are equal to what was deleted.
    ///
    /// - Parameters:
    ///   - rule: whose rows they are.
    ///   - deletedCount: how many rows of all tables were deleted.
    /// - Throws: if the copies are not equal or not so many. The store has to be rolled back then.
    /// - Returns: how many rows were copied.
    func commit(rule: String, deletedCount: Int) throws(StoreError) -> Int {
        let copied = copiedCount(.rows)
        guard copied == deletedCount else {
            throw StoreError(
                .unsupported, store: file.path,
                message: "\(deletedCount) rows would be deleted, but only \(copied) of them were archived",
                hint: "nothing of this transaction is deleted; report this, and set `archive: none` for the rule")
        }
        try file.run("writing the archive") { db in
            let rule = rules.firstIndex { $0.name == rule }
            for (table, copy) in zip(tables.indices, copies) where copy.count > 0 {
                try db.execute(
                    sql: "INSERT INTO retention_parts VALUES (?, ?, ?, ?, ?)",
                    arguments: [partCount, rule, table, lastRows[table] + 1, lastRows[table] + Int64(copy.count)])
            }
            try db.execute(sql: "COMMIT")
            state = .committed
            for (table, copy) in zip(tables.indices, copies) where copy.count > 0 { try verify(table, copy) }
        }
        return copied
    }

    private func copiedCount(_ kind: ArchiveTable.Kind) -> Int {
        tables.indices.reduce(0) { $0 + (tables[$1].kind == kind && !uncounted.contains($1) ? copies[$1].count : 0) }
    }

    /// Throws unless the copies can be read back as they were written.
    private func verify(_ table: Int, _ copy: Copies) throws {
        let statement = reads[table]
        try statement.setArguments([lastRows[table]])
        let raw = statement.sqliteStatement
        defer { sqlite3_reset(raw) }
        let width = sqlite3_column_count(raw)
        var read = Copies()
        while sqlite3_step(raw) == SQLITE_ROW {
            read.checksum.begin(table: table)
            for column in 0..<width { read.checksum.add(raw, column: column) }
            read.checksum.end()
            read.count += 1
        }
        guard read == copy else {
            throw StoreError(
                .unsupported, store: file.path,
                message:
                    "the copies of rows of \(tables[table].storeTable) are not equal to the rows: a value does not fit "
                    + "the declared type of its column",
                hint: "nothing of this transaction is deleted; set `archive: none` for the rule")
        }
    }

    /// Notes that the store has committed too.
    func finish() {
        guard state == .committed else { return }
        rowCount += copiedCount(.rows)
        referenceCount += copiedCount(.references)
        if copies.contains(where: { $0.count > 0 }) { partCount += 1 }
        for index in copies.indices { lastRows[index] += Int64(copies[index].count) }
        forget()
    }

    /// Takes the copies out again, because the store was rolled back.
    ///
    /// - Returns: why a row could not be copied; nil: that is not why.
    func withdraw() throws(StoreError) -> StoreError? {
        let state = state
        let changed = copies.indices.filter { copies[$0].count > 0 }
        forget()
        try file.run("taking rows out of the archive that were not deleted") { db in
            if db.isInsideTransaction { return try db.execute(sql: "ROLLBACK") }
            guard state == .committed, !changed.isEmpty else { return }
            try db.inTransaction(.immediate) {
                for table in changed {
                    try db.execute(
                        sql: "DELETE FROM \(tables[table].name.quotedIdentifier) WHERE \(tables[table].rowNumber) > ?",
                        arguments: [lastRows[table]])
                }
                try db.execute(sql: "DELETE FROM retention_parts WHERE part = ?", arguments: [partCount])
                return .commit
            }
        }
        return failure
    }

    private func forget() {
        state = .idle
        for index in copies.indices { copies[index] = Copies() }
    }

    /// Takes values of a row that was deleted or changed.
    fileprivate func take(
        _ values: UnsafeMutablePointer<OpaquePointer?>, _ count: Int32, _ context: OpaquePointer?
    ) {
        let table = Int(sqlite3_value_int64(values[0]))
        let start = sqlite3_value_int(values[1])
        guard state == .copying, inserts.indices.contains(table) else {
            return sqlite3_result_error(context, "no archive is open for this delete", -1)
        }
        let statement = inserts[table].sqliteStatement
        if start == 0 { copies[table].checksum.begin(table: table) }
        for index in 2..<count {
            // SQLite counts parameters from 1.
            sqlite3_bind_value(statement, start + index - 1, values[Int(index)])
            copies[table].checksum.add(values[Int(index)])
        }
        guard start + count - 2 == sqlite3_bind_parameter_count(statement) else { return }
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard code == SQLITE_DONE else {
            let error = DatabaseError(resultCode: ResultCode(rawValue: code))
            failure = StoreError(error, store: file.path, doing: "a row cannot be archived")
            return sqlite3_result_error(context, failure?.message ?? "", -1)
        }
        copies[table].checksum.end()
        copies[table].count += 1
    }

    // MARK: The end

    /// Removes tables without rows, completes the file, or removes it if it holds nothing.
    func complete() throws(StoreError) -> ArchiveResult? {
        inserts = []
        reads = []
        guard rowCount + referenceCount > 0 else {
            file.remove()
            return nil
        }
        try file.run("completing the archive") { db in
            for (number, table) in tables.enumerated() where lastRows[number] == 0 {
                try db.execute(sql: "DROP TABLE \(table.name.quotedIdentifier)")
                try db.execute(sql: "DELETE FROM retention_tables WHERE number = ?", arguments: [number])
            }
        }
        let sizeBytes = try file.complete()
        return ArchiveResult(
            path: file.path, rowCount: rowCount, referenceCount: referenceCount, sizeBytes: sizeBytes)
    }
}

private func archive(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let values, count > 2 else { return }
    functionObject(context, RowArchiver.self)?.take(values, count, context)
}
