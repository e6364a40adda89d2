import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// An archive, attached read-only to a connection of its store and detached with this object.
final class AttachedArchive {
    /// The name of the archive's schema in SQL.
    let schema: String
    /// The rules whose rows are restored.
    let rules: [String]
    /// The tables of the archive that the parts name.
    let tables: [RestorationTable]
    /// The tables with references of the same rows that other rules cleared: a row may have the values that another undo restored.
    let otherReferences: [RestorationTable]
    /// The transactions of these rules, in the order of the run.
    let parts: [[ArchivedRows]]
    let mayBeUndoneInPart: Bool
    let connection: SQLiteFile

    /// Attaches an archive, and checks that it is the requested one and that the store can take its rows.
    init(_ request: RestorationRequest, _ connection: SQLiteFile) throws(StoreError) {
        self.connection = connection
        mayBeUndoneInPart = request.mayBeUndoneInPart
        try StoreFile.requireArchive(request.archive)
        if !request.mustBeComplete { try ArchiveFile.recover(request.archive) }
        let schema = connection.temporaryName("undo")
        self.schema = schema
        try connection.run("opening the archive \(request.archive)") { db in
            try Self.naming(request.archive) {
                try db.execute(sql: "ATTACH ? AS \(schema)", arguments: [Self.address(request.archive)])
            }
        }
        do {
            (rules, tables, otherReferences, parts) = try connection.run("reading the archive") { db in
                try Self.naming(request.archive) { try Self.read(request, schema, connection, db) }
            }
        } catch {
            try? connection.run("closing the archive") { try $0.execute(sql: "DETACH \(schema)") }
            throw error
        }
    }

    deinit { try? connection.run("closing the archive") { try $0.execute(sql: "DETACH \(schema)") } }

    // MARK: The file

    /// The path for `ATTACH`: read-only and without locks if this build of SQLite takes URIs.
    private static func address(_ path: String) -> String {
        guard sqlite3_compileoption_used("USE_URI") == 1 else { return path }
        // Slashes are encoded too, because two at the start would begin a host name.
        let plain = path.utf8.map { byte in
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_.".utf8.contains(byte)
            return isPlain
                ? String(UnicodeScalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "file:" + plain.joined() + "?mode=ro&immutable=1"
    }

    /// Runs work that reads the archive. Its errors name the archive.
    private static func naming<T>(_ path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError where error.message?.contains("same text encoding") == true {
            throw StoreError(
                .unsupported, store: path,
                message: "the store has another text encoding than when the archive was made, and rows of another "
                    + "encoding cannot be restored",
                hint: "nothing was changed; the rows in it can be read with any program for SQLite")
        } catch let error as DatabaseError
            where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode)
        {
            throw damaged(path, error.reason)
        } catch let error as DecodingError {
            throw damaged(path, "a list of names in it cannot be read: \(error)")
        }
    }

    static func damaged(_ path: String, _ reason: String) -> StoreError {
        StoreError(
            .inputOutput, store: path, message: "the archive is damaged: \(reason)",
            hint: "nothing was changed; restore the file from a backup")
    }

    // MARK: Its contents

    private static func read(
        _ request: RestorationRequest, _ schema: String, _ connection: SQLiteFile, _ db: Database
    ) throws -> ([String], [RestorationTable], [RestorationTable], [[ArchivedRows]]) {
        let path = request.archive
        func refused(_ message: String, hint: String = "nothing was changed") -> StoreError {
            StoreError(.unsupported, store: path, message: message, hint: hint)
        }
        if !request.mustBeComplete, try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema).sqlite_schema") == 0 {
            throw refused(
                "the archive is empty: its run was killed before it deleted a row, or the file \(path)-wal with the rows is missing"
            )
        }
        guard try Int32.fetchOne(db, sql: "PRAGMA \(schema).application_id") == ArchiveFile.applicationID else {
            throw refused("the file is not an archive of retention")
        }
        guard try String.fetchAll(db, sql: "PRAGMA \(schema).quick_check(1)") == ["ok"] else {
            throw damaged(path, "its check fails")
        }
        // It may contain only tables and indexes: reading it then executes nothing from the file.
        let entries = try Row.fetchAll(
            db, sql: "SELECT type, name, coalesce(rootpage, 0) > 0 FROM \(schema).sqlite_schema")
        for entry in entries {
            let (type, name): (String, String) = (entry[0], entry[1])
            guard type == "index" || type == "table" && entry[2] else {
                throw refused("the archive contains a \(type) that no run creates: \(name)")
            }
        }
        let names = Set(entries.map { $0[1] as String })
        for name in ["retention_archive", "retention_rules", "retention_tables", "retention_parts"]
        where !names.contains(name) {
            throw damaged(path, "it has no table \(name)")
        }
        let facts: [String: String] = try Row.fetchAll(
            db,
            sql:
                "SELECT CAST(name AS TEXT), CAST(value AS TEXT) FROM \(schema).retention_archive WHERE name || value NOTNULL"
        ).reduce(into: [:]) { $0[$1[0]] = $1[1] }
        guard facts["format"] == ArchiveFile.format else {
            throw refused(
                "the archive has the format \(facts["format"] ?? "?"), and this version reads \(ArchiveFile.format)",
                hint: "nothing was changed; use the version of retention that made it, or a newer one")
        }
        guard facts["run"] == request.run else {
            throw refused("the archive is of run \(facts["run"] ?? "?"), not of \(request.run)")
        }
        guard facts["engine"] == "sqlite" else {
            throw refused("the archive is of another engine: \(facts["engine"] ?? "?")")
        }
        guard facts["complete"] == "1" || !request.mustBeComplete else {
            throw refused(
                "the archive is not complete, because its run did not end normally",
                hint: "nothing was changed; the rows in it can be read with any program for SQLite")
        }
        return try contents(request, schema, connection, db)
    }

    private static func contents(
        _ request: RestorationRequest, _ schema: String, _ connection: SQLiteFile, _ db: Database
    ) throws -> ([String], [RestorationTable], [RestorationTable], [[ArchivedRows]]) {
        func wholeNumber(_ row: Row, _ column: String) throws -> Int64 {
            guard let number = Int64.fromDatabaseValue(row[column]), 0..<(1 << 48) ~= number else {
                throw damaged(request.archive, "a value in its lists is not a number (\(column))")
            }
            return number
        }
        var names: [Int: String] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT rule, name FROM \(schema).retention_rules") {
            guard let name = String.fromDatabaseValue(row["name"]) else {
                throw damaged(request.archive, "a rule in it has no name")
            }
            names[Int(try wholeNumber(row, "rule"))] = name
        }
        let list = try Row.fetchAll(
            db, sql: "SELECT part, rule, table_number, first_rowid, last_rowid FROM \(schema).retention_parts"
        ).map { row in
            let (first, last) = (try wholeNumber(row, "first_rowid"), try wholeNumber(row, "last_rowid"))
            guard first <= last else { throw damaged(request.archive, "a part of it has no rows") }
            return RequestedParts.Part(
                number: try wholeNumber(row, "part"), rule: Int(try wholeNumber(row, "rule")),
                table: Int(try wholeNumber(row, "table_number")), rows: first...last)
        }
        let requested = RequestedParts(request, names: names, list)
        if let name = requested.missingRule {
            throw StoreError(
                .unsupported, store: request.archive, message: "the archive has no rows of a rule '\(name)'",
                hint: "nothing was changed")
        }
        let ranges = Dictionary(grouping: list, by: \.table).mapValues { $0.map(\.rows) }
        var numbers: [Int] = []
        var tables: [RestorationTable] = []
        let entries = try Row.fetchAll(
            db,
            sql:
                "SELECT number, kind, store_table, archive_table, key, columns, sql FROM \(schema).retention_tables ORDER BY number"
        ).map {
            (number: Int(try wholeNumber($0, "number")), row: $0)
        }
        for (number, row) in entries where requested.tables.contains(number) {
            let table = try RestorationTable(
                row, schema, number: tables.count, archive: request.archive, connection, db)
            if table.kind == .rows {
                if requested.tablesUndone.contains(number) { try confirmRowIDs(of: table, connection, db) }
                try confirmInserts(into: table, request.triggers, connection, db)
            }
            guard let rows = ranges[number], try table.hasRows(rows, db) else {
                throw damaged(request.archive, "its table \(table.table) does not have the rows that its parts list")
            }
            numbers.append(number)
            tables.append(table)
        }
        guard let parts = requested.transactions(Array(zip(numbers, tables))) else {
            throw damaged(request.archive, "a part of it belongs to a table that is not in its list")
        }
        var otherReferences: [RestorationTable] = []
        let restored = Set(tables.filter(\.holdsRows).map(\.table.folded))
        for (number, row) in entries where !requested.tables.contains(number) && isReferences(row, of: restored) {
            let index = tables.count + otherReferences.count
            otherReferences.append(
                try RestorationTable(row, schema, number: index, archive: request.archive, connection, db))
        }
        identifyRows(of: &tables, &otherReferences)
        if request.triggers == .fire { try confirmTriggers(of: tables, connection, db) }
        return (requested.rules, tables, otherReferences, parts)
    }

    /// A row may have lost several references, one after the other. None of them identifies it while they return.
    private static func identifyRows(of tables: inout [RestorationTable], _ others: inout [RestorationTable]) {
        let references = (tables + others).filter { $0.kind == .references }
        func identify(_ table: inout RestorationTable) {
            let besides = references.filter { $0.number != table.number && $0.table == table.table }
            table.identifyRows(without: Set(besides.flatMap(\.columns)))
        }
        for number in tables.indices where tables[number].kind == .references { identify(&tables[number]) }
        for number in others.indices { identify(&others[number]) }
    }

    /// Whether a row of `retention_tables` lists references of some tables.
    private static func isReferences(_ row: Row, of tables: Set<String>) -> Bool {
        row["kind"] == ArchivedKind.references.rawValue
            && String.fromDatabaseValue(row["store_table"]).map { tables.contains($0.folded) } == true
    }

    /// Throws if a trigger that the undo fires changes rows of a table that it restores: these would differ from the archived ones.
    private static func confirmTriggers(
        of tables: [RestorationTable], _ connection: SQLiteFile, _ db: Database
    ) throws {
        let changes = tables.filter { !$0.triggers.isEmpty }.flatMap(\.changes)
        guard !changes.isEmpty else { return }
        let effects = try TriggerEffects(of: [], clearing: [:], writing: changes, connection, db)
        guard let clause = tables.lazy.compactMap({ effects.write(to: $0.table) }).first else { return }
        throw connection.failure(
            .unsupported, "\(clause), which the undo restores",
            hint: "nothing was changed; --triggers skip restores the rows and fires no trigger")
    }

    /// Throws if the rows of a table that was restored before cannot be found again: VACUUM renumbers a table without any index.
    private static func confirmRowIDs(
        of table: RestorationTable, _ connection: SQLiteFile, _ db: Database
    ) throws {
        guard !table.hasKey, try !table.hasIndex(db) else { return }
        throw connection.failure(
            .unsupported,
            "an earlier undo has restored the rows of \(table.table); the table has neither a key nor an "
                + "index, so they cannot be found again, and would be restored twice",
            hint: "nothing was changed; name the rules that are not undone with --rule")
    }

    private static func confirmInserts(
        into table: RestorationTable, _ triggers: TriggerChoice?, _ connection: SQLiteFile, _ db: Database
    ) throws {
        func obstacle(_ firesTriggers: Bool) throws -> String? {
            try connection.obstacle(
                toInsertsInto: table.table, table.columns, firesTriggers: firesTriggers, db)
        }
        guard let reason = try obstacle(triggers == .fire) else { return }
        let canSkip = try triggers == .fire && obstacle(false) == nil
        throw connection.failure(
            .unsupported, reason,
            hint: "nothing was changed"
                + (canSkip ? "; --triggers skip restores the rows without these triggers" : ""))
    }
}
