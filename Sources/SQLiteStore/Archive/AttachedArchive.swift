import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// A complete archive of a store, attached to a connection for reading. It is detached with the object.
final class AttachedArchive {
    /// Rows of a table of the archive that belong to one part.
    struct Portion: Hashable {
        var table: Int
        var rows: ClosedRange<Int64>
    }

    /// A transaction of the run that made the archive.
    struct Part: Hashable {
        var portions: [Portion]
    }

    /// The name of the archive's schema in SQL.
    let schema: String
    /// The rules whose rows are restored.
    let rules: [String]
    /// The tables of the archive that the parts name.
    let tables: [RestorationTable]
    /// The parts of these rules, in the order of the run.
    let parts: [Part]
    private let connection: SQLiteConnection

    /// Attaches an archive and checks that it is the one that is meant, and that the store has what it needs for its rows.
    init(_ request: RestorationRequest, _ connection: SQLiteConnection) throws(StoreError) {
        self.connection = connection
        try StoreFile.requireArchive(request.archive)
        let schema = connection.temporaryName("undo")
        self.schema = schema
        try connection.run("opening the archive \(request.archive)") { db in
            try Self.naming(request.archive) {
                try db.execute(sql: "ATTACH ? AS \(schema)", arguments: [Self.address(request.archive)])
            }
        }
        do {
            (rules, tables, parts) = try connection.run("reading the archive") { db in
                try Self.naming(request.archive) { try Self.read(request, schema, connection, db) }
            }
        } catch {
            try? connection.run("closing the archive") { try $0.execute(sql: "DETACH \(schema)") }
            throw error
        }
    }

    deinit { try? connection.run("closing the archive") { try $0.execute(sql: "DETACH \(schema)") } }

    // MARK: The file

    /// The path for `ATTACH`: read-only and without locks, where this build of SQLite takes addresses.
    private static func address(_ path: String) -> String {
        guard sqlite3_compileoption_used("USE_URI") == 1 else { return path }
        let plain = path.utf8.map { byte in
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_./".utf8.contains(byte)
            return isPlain
                ? String(UnicodeScalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        // A second slash would begin the name of a machine.
        return "file:" + (path.hasPrefix("//") ? plain.dropFirst() : plain[...]).joined() + "?mode=ro&immutable=1"
    }

    /// Carries out work that reads the archive, and names its errors after the archive.
    private static func naming<T>(_ path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError
            where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode)
        {
            throw damaged(path, error.message ?? "it cannot be read")
        } catch let error as DecodingError {
            throw damaged(path, "a list of names in it cannot be read: \(error)")
        }
    }

    private static func damaged(_ path: String, _ reason: String) -> StoreError {
        StoreError(
            .inputOutput, store: path, message: "the archive is damaged: \(reason)",
            hint: "nothing was changed; restore the file from a backup")
    }

    // MARK: Its contents

    private static func read(
        _ request: RestorationRequest, _ schema: String, _ connection: SQLiteConnection, _ db: Database
    ) throws -> ([String], [RestorationTable], [Part]) {
        let path = request.archive
        func refused(_ message: String, hint: String = "nothing was changed") -> StoreError {
            StoreError(.unsupported, store: path, message: message, hint: hint)
        }
        guard try Int32.fetchOne(db, sql: "PRAGMA \(schema).application_id") == ArchiveFile.applicationID else {
            throw refused("the file is not an archive of retention")
        }
        guard try String.fetchAll(db, sql: "PRAGMA \(schema).quick_check(1)") == ["ok"] else {
            throw damaged(path, "its check fails")
        }
        // Only tables: nothing in the file is carried out by reading it.
        let entries = try Row.fetchAll(db, sql: "SELECT type, name, rootpage FROM \(schema).sqlite_schema")
        for entry in entries {
            let (type, name): (String, String) = (entry[0], entry[1])
            guard type == "index" || type == "table" && (entry[2] as Int64? ?? 0) > 0 else {
                throw refused("the archive holds a \(type) that no run makes: \(name)")
            }
        }
        let names = Set(entries.map { $0[1] as String })
        for name in ["retention_archive", "retention_rules", "retention_tables", "retention_parts"]
        where !names.contains(name) {
            throw damaged(path, "it has no table \(name)")
        }
        let facts = Dictionary(
            try Row.fetchAll(db, sql: "SELECT name, CAST(value AS TEXT) FROM \(schema).retention_archive")
                .map { ($0[0] as String? ?? "", $0[1] as String? ?? "") }
        ) { first, _ in first }
        guard facts["format"] == ArchiveFile.format else {
            throw refused(
                "the archive has the format \(facts["format"] ?? "?"), and this version reads \(ArchiveFile.format)",
                hint: "nothing was changed; use the version of retention that made it, or a newer one")
        }
        guard facts["run"] == request.run else {
            throw refused("the archive is of run \(facts["run"] ?? "?"), not of \(request.run)")
        }
        guard facts["engine"] == "sqlite", facts["store"] == connection.storeIdentifier else {
            throw refused("the archive is of another store: \(facts["store"] ?? "?")")
        }
        guard facts["complete"] == "1" else {
            throw refused(
                "the archive is not complete, because its run did not end by itself",
                hint: "nothing was changed; the rows in it can be read with any program for SQLite")
        }
        return try contents(request, schema, connection, db)
    }

    private static func contents(
        _ request: RestorationRequest, _ schema: String, _ connection: SQLiteConnection, _ db: Database
    ) throws -> ([String], [RestorationTable], [Part]) {
        var rules: [Int: String] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT rule, name FROM \(schema).retention_rules ORDER BY rule") {
            let name: String = row[1]
            if request.rules.isEmpty || request.rules.contains(name) { rules[row[0]] = name }
        }
        var parts: [Int64: Part] = [:]
        var used: Set<Int> = []
        var ruleNumbers: Set<Int> = []
        for row in try Row.fetchAll(
            db, sql: "SELECT part, rule, table_number, first_rowid, last_rowid FROM \(schema).retention_parts")
        {
            let (rule, table, first, last): (Int, Int, Int64, Int64) = (row[1], row[2], row[3], row[4])
            guard rules[rule] != nil, first <= last else { continue }
            parts[row[0], default: Part(portions: [])].portions.append(Portion(table: table, rows: first...last))
            used.insert(table)
            ruleNumbers.insert(rule)
        }
        var numbers: [Int: Int] = [:]
        var tables: [RestorationTable] = []
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(schema).retention_tables ORDER BY number") {
            let number: Int = row["number"]
            guard used.contains(number) else { continue }
            numbers[number] = tables.count
            tables.append(
                try RestorationTable(row, schema, number: tables.count, archive: request.archive, connection, db))
        }
        let ordered = try parts.sorted { $0.key < $1.key }.map { _, part in
            Part(
                portions: try part.portions.map { portion in
                    guard let table = numbers[portion.table] else {
                        throw damaged(request.archive, "a part of it is about a table that it does not name")
                    }
                    return Portion(table: table, rows: portion.rows)
                })
        }
        return (ruleNumbers.sorted().compactMap { rules[$0] }, tables, ordered)
    }
}
