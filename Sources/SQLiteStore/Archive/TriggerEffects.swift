import GRDB
import PriceStore

/// What the triggers that a delete sets off change, as far as their texts tell, and what foreign keys make of it.
struct TriggerEffects {
    private typealias Change = TriggerText.Change

    /// The tables from which triggers, or cascades after them, delete rows; in lower case.
    private(set) var deleted: Set<String> = []
    /// The tables that lose rows, however that comes about.
    private var losing: Set<String> = []
    /// The triggers that change rows of a table, by its name.
    private var changing: [String: String] = [:]
    /// The triggers that insert or change rows of a table, which may replace others.
    private var writing: [String: String] = [:]
    /// A sentence about a trigger that cannot be seen through.
    private var objection: String?

    init(of table: SQLiteTable, _ reach: Reach, _ db: Database) throws {
        let triggers = try Row.fetchAll(
            db, sql: "SELECT name, lower(tbl_name), sql FROM main.sqlite_schema WHERE type = 'trigger'"
        ).map { (name: $0[0] as String, table: $0[1] as String, text: TriggerText($0[2] as String? ?? "")) }
        let keys = try Row.fetchAll(
            db,
            sql: """
                SELECT lower(m.name), lower(f."table"), f.on_update, f.on_delete
                FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f WHERE m.type = 'table'
                """
        ).map {
            (
                child: $0[0] as String, parent: $0[1] as String, onUpdate: Relationship.DeleteRule(sql: $0[2]),
                onDelete: Relationship.DeleteRule(sql: $0[3])
            )
        }
        // The name of the trigger that makes a change; empty: it is part of the delete, which sees it.
        var waiting = reach.cascading.union([table.tableName]).map {
            (Change(event: .delete, table: $0.lowercased()), "")
        }
        waiting += reach.clearing.keys.map { (Change(event: .update, table: $0.lowercased()), "") }
        var seen: [Change: String] = [:]
        while let (change, trigger) = waiting.popLast() {
            guard seen[change] == nil || seen[change] == "" && !trigger.isEmpty else { continue }
            seen[change] = trigger
            note(change, by: trigger)
            for key in keys where key.parent == change.table {
                switch (change.event, key.onDelete, key.onUpdate) {
                case (.delete, .cascade, _): waiting.append((Change(event: .delete, table: key.child), trigger))
                case (.delete, .nullify, _), (.delete, .setDefault, _):
                    waiting.append((Change(event: .update, table: key.child), ""))
                case (.update, _, .cascade), (.update, _, .nullify), (.update, _, .setDefault):
                    waiting.append((Change(event: .update, table: key.child), trigger))
                default: break
                }
            }
            for fired in triggers where fired.table == change.table && fired.text.fires(on: change.event) {
                guard let effects = fired.text.effects else {
                    objection = "what the trigger \(fired.name) does cannot be told"
                    return
                }
                if effects.replaces { objection = "\(fired.name) uses REPLACE, which deletes rows that cannot be seen" }
                waiting += effects.changes.map { ($0, fired.name) }
            }
        }
    }

    private mutating func note(_ change: Change, by trigger: String) {
        if change.event == .delete { losing.insert(change.table) }
        guard !trigger.isEmpty else { return }
        switch change.event {
        case .delete: deleted.insert(change.table)
        case .insert: writing[change.table] = trigger
        case .update: (writing[change.table], changing[change.table]) = (trigger, trigger)
        }
    }

    /// Why rows that are deleted cannot be archived as they were, as a sentence; nil: they can.
    func obstacle(_ db: Database) throws -> String? {
        if let objection { return objection }
        for entry in try Row.fetchAll(
            db, sql: "SELECT name, sql, rootpage FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid")
        {
            let (name, definition): (String, String) = (entry[0], entry[1] ?? "")
            let table = name.lowercased()
            // A row that REPLACE deletes sets no trigger off, and rows of virtual tables have none.
            if writing[table] != nil, SchemaText.replaces(definition) {
                return "\(name) uses REPLACE, which deletes rows that cannot be seen"
            }
            if let trigger = changing[table], losing.contains(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), and rows of \(name) are deleted too, so it cannot be "
                    + "told what they were before"
            }
            guard deleted.contains(table) else { continue }
            if entry[2] == 0 { return "a trigger deletes rows of the virtual table \(name), which cannot be seen" }
            if table.hasPrefix("sqlite_") { return "a trigger deletes rows of \(name), which cannot be seen" }
            if try StoredShape(of: name, db) == nil { return "rows of \(name) cannot be identified" }
        }
        return nil
    }
}
