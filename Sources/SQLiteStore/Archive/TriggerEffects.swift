import GRDB
import PriceStore

/// What the triggers that a delete fires change, as far as their texts show, and what foreign keys do then.
struct TriggerEffects {
    private typealias Change = TriggerText.Change

    /// The tables from which triggers, or cascades after them, delete rows; in lower case.
    private(set) var deleted: Set<String> = []
    /// The tables that lose rows for any reason.
    private var losing: Set<String> = []
    /// The triggers that change rows of a table, by its name.
    private var changing: [String: String] = [:]
    /// The triggers that insert or change rows of a table, which may replace others.
    private var writing: [String: String] = [:]
    /// The tables whose references the delete clears.
    private let clearing: Set<String>
    /// A sentence about a trigger whose text cannot be read.
    private var unreadable: String?
    /// A trigger that uses REPLACE. Then so do the inserts and updates of the triggers that it fires, whatever they say. Source:
    /// sqlite.org/lang_createtrigger.html.
    private var replacing: String?

    /// Follows a delete.
    ///
    /// - Parameters:
    ///   - losing: the tables from which it deletes rows itself or by cascades.
    ///   - clearing: those whose references it clears.
    ///   - target: a table to which rows are written after it; nil: there is none.
    init(of losing: Set<String>, clearing: some Sequence<String>, target: String? = nil, _ db: Database) throws {
        self.clearing = Set(clearing.map { $0.folded })
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
        var waiting = losing.map { (Change(event: .delete, table: $0.folded), "") }
        waiting += self.clearing.map { (Change(event: .update, table: $0), "") }
        if let target {
            waiting += [.insert, .update].map { (Change(event: $0, table: target.folded), "") }
        }
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
                    unreadable = "what the trigger \(fired.name) does cannot be determined"
                    return
                }
                if effects.replaces { replacing = fired.name }
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
        if let unreadable { return unreadable }
        if let replacing { return "\(replacing) uses REPLACE, which deletes rows that cannot be seen" }
        for entry in try Row.fetchAll(
            db, sql: "SELECT name, sql, rootpage FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid")
        {
            let (name, definition): (String, String) = (entry[0], entry[1] ?? "")
            let table = name.folded
            // A row that REPLACE deletes sets no trigger off, and rows of virtual tables have none.
            if writing[table] != nil, SchemaText.replaces(definition) {
                return "\(name) uses REPLACE, which deletes rows that cannot be seen"
            }
            if let trigger = changing[table], losing.contains(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), and rows of \(name) are deleted too, so their earlier "
                    + "values are unknown"
            }
            if let trigger = changing[table], clearing.contains(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), whose references are cleared, so their earlier values "
                    + "are unknown"
            }
            guard deleted.contains(table) else { continue }
            if entry[2] == 0 { return "a trigger deletes rows of the virtual table \(name), which cannot be seen" }
            if table.hasPrefix("sqlite_") { return "a trigger deletes rows of \(name), which cannot be seen" }
            if try StoredShape(of: name, db) == nil { return "rows of \(name) cannot be identified" }
        }
        return nil
    }

    /// Why rows would be deleted without becoming candles, or candles would not be those of their rows; nil: no trigger does that.
    func obstacle(toCandlesOf table: String, in target: String) -> String? {
        if let unreadable { return unreadable }
        for name in [table, target] {
            if deleted.contains(name.folded) { return "a trigger deletes rows of \(name) when candles are made" }
            if let trigger = writing[name.folded] {
                return "the trigger \(trigger) changes rows of \(name) when candles are made"
            }
        }
        return nil
    }

    /// Whether a trigger, or what follows from one, may delete rows of a table.
    func mayDelete(from table: String, definition: String) -> Bool {
        let isReplaced = writing[table.folded] != nil && (replacing != nil || SchemaText.replaces(definition))
        return unreadable != nil || deleted.contains(table.folded) || isReplaced
    }

    /// The trigger that may replace rows of a table, as a clause; nil: none does.
    func replacement(in table: String) -> String? {
        if let unreadable { return unreadable }
        return writing[table.folded] == nil ? nil : replacing.map { "the trigger \($0) uses REPLACE" }
    }
}
