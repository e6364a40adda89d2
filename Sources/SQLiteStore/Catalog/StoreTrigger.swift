import CSQLiteConfig
import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// A trigger of the store and what its statements do.
struct StoreTrigger {
    let name: String
    /// The table or view of the trigger, in lower case.
    let table: String
    let text: TriggerText
    /// What its statements do, or nil if SQLite cannot compile it.
    let body: TriggerBody?
}

/// What the statements of a trigger do, without what they cause.
struct TriggerBody {
    var changes: [TriggerText.Change] = []
    /// The lower-cased tables and views that they read, including those that they change.
    var reads: Set<String> = []
    var replaces = false

    var changed: Set<String> { Set(changes.map(\.table)) }
}

extension SQLiteFile {
    func storeTriggers(_ db: Database) throws -> [StoreTrigger] {
        if let known = catalog.triggers { return known }
        let schema = try catalog.schema(db)
        let rows = schema.entries("trigger")
        // For what a view reads, the authorizer reports the view's name instead of the trigger's.
        let views = schema.entries("view").map(\.name)
        var triggers: [StoreTrigger] = []
        if !rows.isEmpty {
            let probe = try TriggerProbe(self, triggers: Set(rows.map(\.name)).subtracting(views))
            for row in rows {
                let text = TriggerText(row.sql)
                triggers.append(
                    StoreTrigger(
                        name: row.name.isEmpty ? "without a name" : row.name, table: row.table.folded, text: text,
                        body: try probe.body(of: text, on: row.table)))
            }
        }
        catalog.triggers = triggers
        return triggers
    }
}

/// Asks SQLite what a trigger does. A copy of the trigger is created on an empty temporary table with the same columns, and a statement
/// that fires it is compiled: SQLite reports each table and column to the authorizer. Nothing is executed. SQL text is read only for words
/// that the authorizer does not receive. Source: sqlite.org/c3ref/set_authorizer.html.
private final class TriggerProbe {
    private let connection: SQLiteFile
    /// The store's triggers. What they do when the probe fires them is left out.
    private let triggers: Set<String>
    private var heard: [(code: Int32, table: String, column: String)] = []
    private var isHeard = false

    /// The authorizer's name of a rowid that is not a column.
    private static let rowID = "ROWID"

    /// A name that nothing in the store has.
    private let name = "retention_" + UUID().uuidString.replacing("-", with: "")

    init(_ store: SQLiteFile, triggers: Set<String>) throws {
        // A connection has only one authorizer, and GRDB uses that of the store's connection.
        connection = try store.sibling(forProbes: true)
        self.triggers = triggers
        try connection.run("looking at the triggers of the store") { db in
            // Core Data's functions are registered per connection.
            _ = try connection.catalog.coreData(db)
            // Without this, SQLite copies INSERT … SELECT * page by page and does not report the table that is read.
            try db.execute(sql: "PRAGMA count_changes = ON")
        }
    }

    deinit { connection.close() }

    /// What a trigger's statements do, or nil if SQLite cannot compile them.
    func body(of text: TriggerText, on table: String) throws -> TriggerBody? {
        guard let event = text.event else { return nil }
        return try connection.run("looking at the triggers of \(table)") { db in
            let columns = try String.fetchAll(
                db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main')", arguments: [table])
            guard let first = columns.first?.quotedIdentifier else { return nil }
            let subject = "temp.\(name)_table"
            let handle = db.sqliteConnection
            // Only the first statement is compiled, as SQLite does with a stored text.
            func compile(_ sql: String, isCarriedOut: Bool) -> Bool {
                var statement: OpaquePointer?
                defer { sqlite3_finalize(statement) }
                guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { return false }
                return !isCarriedOut || sqlite3_step(statement) == SQLITE_DONE
            }
            func execute(_ sql: String) -> Bool { compile(sql, isCarriedOut: true) }
            defer { _ = execute("DROP TABLE IF EXISTS \(subject)") }
            guard execute("CREATE TABLE \(subject) (\(columns.map(\.quotedIdentifier).list))"),
                execute("CREATE TEMP TRIGGER \(name) AFTER \(event.rawValue) ON \(subject) \(text.body)")
            else { return nil }
            let sets =
                switch event {
                case .delete: "DELETE FROM \(subject)"
                case .insert: "INSERT INTO \(subject) DEFAULT VALUES"
                case .update: "UPDATE \(subject) SET \(first) = NULL"
                }
            defer { retention_enable_triggers(handle, 1) }
            // First the store's triggers are off, because compiling chains of them takes long. A view cannot be changed without them, so
            // they are switched on if that fails.
            for areOn: Int32 in [0, 1] {
                (heard, isHeard) = ([], false)
                retention_enable_triggers(handle, areOn)
                sqlite3_set_authorizer(handle, hear, Unmanaged.passUnretained(self).toOpaque())
                defer { sqlite3_set_authorizer(handle, nil, nil) }
                if compile(sets, isCarriedOut: false), isHeard { return body(text) }
            }
            return nil
        }
    }

    private func body(_ text: TriggerText) -> TriggerBody {
        var body = TriggerBody(replaces: text.replaces)
        var updated: [String: Set<String>] = [:]
        for (code, table, column) in heard {
            switch code {
            case SQLITE_DELETE: body.changes.append(TriggerText.Change(event: .delete, table: table))
            case SQLITE_INSERT: body.changes.append(TriggerText.Change(event: .insert, table: table))
            case SQLITE_UPDATE: updated[table, default: []].insert(column)
            default: body.reads.insert(table)
            }
        }
        for (table, columns) in updated.sorted(by: { $0.key < $1.key }) {
            // This changes the key of the row, whatever that column is called.
            let isKey = columns.contains(Self.rowID)
            body.changes.append(TriggerText.Change(event: .update, table: table, columns: isKey ? nil : columns))
        }
        return body
    }

    fileprivate func take(_ code: Int32, _ table: String, _ column: String, of schema: String, by trigger: String) {
        isHeard = isHeard || trigger == name
        // A table of which no column is read is reported as the trigger names it, usually without its schema.
        guard schema == "main" || schema.isEmpty && code == SQLITE_READ, !triggers.contains(trigger),
            [SQLITE_DELETE, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_READ].contains(code)
        else { return }
        heard.append((code, table.folded, column == Self.rowID ? column : column.folded))
    }
}

private func hear(
    _ context: UnsafeMutableRawPointer?, _ code: Int32, _ table: UnsafePointer<CChar>?, _ column: UnsafePointer<CChar>?,
    _ schema: UnsafePointer<CChar>?, _ trigger: UnsafePointer<CChar>?
) -> Int32 {
    func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
    guard let context else { return SQLITE_DENY }
    Unmanaged<TriggerProbe>.fromOpaque(context).takeUnretainedValue().take(
        code, text(table), text(column), of: text(schema), by: text(trigger))
    return SQLITE_OK
}
