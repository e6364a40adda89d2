import GRDB
import PriceStore

/// What the triggers that a delete fires change, and what foreign keys do then.
struct TriggerEffects {
    private typealias Change = TriggerText.Change

    /// A delete, and the table of candles that it writes, as far as they decide which triggers fire.
    struct Cause: Hashable {
        let entity: String
        let includesSubentities: Bool
        let relationships: BatchDeleteRequest.RelationshipRule
        let target: String?

        init(_ request: BatchDeleteRequest, writing target: String?) {
            entity = request.fetchRequest.entity.folded
            includesSubentities = request.fetchRequest.includesSubentities
            relationships = request.relationships
            self.target = target?.folded
        }
    }

    /// What follows, each with the trigger that does it, itself or by foreign keys; empty: it is part of the delete, which sees it.
    private var found: [(trigger: String, change: Change)] = []
    /// The attributes of a table that foreign keys change after the change of another row, by its name.
    private var changedByKeys: [String: Set<String>] = [:]
    /// The tables whose references the delete clears.
    private var clearing: Set<String>
    /// The tables whose rows the delete deletes or changes.
    private var family: Set<String>
    /// The tables with keys to those from which it deletes.
    private var referring: Set<String>
    /// The triggers that read a table, by its name.
    private var reading: [String: String] = [:]
    /// A trigger that may skip the row for which it runs.
    private var skipping: String?
    private var derived: [String: Set<String>]
    /// The rows that a trigger deletes, or whose keys it changes, although others may refer to them without an action of their own.
    private var guarded: [(trigger: String, verb: String, parent: String, child: String)] = []
    /// A sentence about a trigger that SQLite cannot compile; nil: there is none.
    private(set) var unreadable: String?
    /// A trigger that uses REPLACE. Then so do the inserts and updates of the triggers that it fires, whatever they say. Source:
    /// sqlite.org/lang_createtrigger.html.
    private var replacing: String?

    /// The tables from which triggers, or cascades after them, delete rows; in lower case.
    var deleted: Set<String> {
        Set(found.filter { !$0.trigger.isEmpty && $0.change.event == .delete }.map(\.change.table))
    }

    /// Follows a delete.
    ///
    /// - Parameters:
    ///   - losing: the tables from which it deletes rows itself or by cascades.
    ///   - clearing: those whose references it clears, with their columns; nil: which ones is not known.
    ///   - writing: the changes of rows that follow it.
    ///   - derived: the columns of a Core Data store that its own triggers compute, by table; nil: the store is another one.
    ///   - isReplacing: whether all writes of triggers may replace rows, as those do that a trigger with REPLACE sets off.
    init(
        of losing: [String], clearing: [String: [String]?], writing: [TriggerText.Change] = [],
        derived: [String: Set<String>]? = nil, isReplacing: Bool = false, _ connection: SQLiteFile,
        _ db: Database
    ) throws {
        self.clearing = Set(clearing.keys.map { $0.folded })
        let clears = clearing.map { table, columns in
            Change(event: .update, table: table.folded, columns: columns.map { Set($0.map { $0.folded }) })
        }
        let triggers = try connection.storeTriggers(db)
        let keys = try Self.keys(db)
        // Of a Core Data store it is not known which tables lose references.
        family = Set(losing.map { $0.folded }).union(derived == nil ? self.clearing : [])
        referring = Set(keys.filter { key in losing.contains { $0.folded == key.parent } }.map(\.child))
        self.derived = derived ?? [:]
        let replacingTables = try Set(
            connection.catalog.schema(db).entries("table").filter {
                $0.sql.mentions("REPLACE") && SchemaText.replaces($0.sql)
            }.map(\.name.folded))
        // The name of the trigger that makes a change; empty: it is part of the delete, which sees it.
        var waiting = losing.map { (Change(event: .delete, table: $0.folded), "") }
        waiting += (clears + writing).map { ($0, "") }
        var seen: [Change: String] = [:]
        while let (change, trigger) = waiting.popLast() {
            found.append((trigger, change))
            guard seen[change] == nil || seen[change] == "" && !trigger.isEmpty else { continue }
            seen[change] = trigger
            waiting += effects(of: change, by: trigger, keys)
            for fired in triggers where fired.table == change.table && fired.text.fires(on: change) {
                guard let effects = fired.body else {
                    unreadable = "what the trigger \(fired.name) does cannot be determined"
                    return
                }
                if trigger.isEmpty, fired.text.skipsRows { skipping = fired.name }
                if effects.changes.isEmpty || !effects.changes.allSatisfy(isDerived) {
                    for table in effects.reads { reading[table] = fired.name }
                }
                if effects.replaces { replacing = fired.name }
                waiting += effects.changes.map { ($0, fired.name) }
                // A row that takes the place of another deletes it.
                let replaced = effects.changes.filter {
                    $0.event != .delete && (isReplacing || effects.replaces || replacingTables.contains($0.table))
                }
                waiting += replaced.map { (Change(event: .delete, table: $0.table), fired.name) }
            }
        }
        guard replacing != nil, !isReplacing else { return }
        self = try TriggerEffects(
            of: losing, clearing: clearing, writing: writing, derived: derived, isReplacing: true, connection, db)
    }

    /// Why another delete could come of it in batches, children first, than in one statement, as a sentence; nil: the same one does.
    /// With a single table, to which nothing refers, it is the same: SQLite calls triggers row by row.
    var misplaced: String? {
        if let skipping {
            return
                "the trigger \(skipping) may skip the row (RAISE(IGNORE)) for which it runs. Use RAISE(ABORT), or remove the trigger"
        }
        guard family.count > 1 || !referring.isEmpty else { return nil }
        for table in family.union(referring).sorted() {
            let isOwn = family.contains(table)
            if let trigger = isOwn ? toucher(of: table) : writer(of: table) {
                return
                    "the trigger \(trigger) changes rows of \(table), "
                    + (isOwn ? "of which the delete takes rows or references" : "which refer to those that are deleted")
                    + ": which rows go is not known. Remove the trigger"
            }
            if isOwn, family.count > 1, let trigger = reading[table] {
                return
                    "the trigger \(trigger) reads \(table), and rows of several tables are deleted or changed in another order than "
                    + "SQLite's own. Remove the trigger"
            }
        }
        return nil
    }

    /// Whether a change is what Core Data's own triggers do.
    private func isDerived(_ change: Change) -> Bool {
        guard change.event == .update, let columns = change.columns else { return false }
        return derived[change.table]?.isSuperset(of: columns) ?? false
    }

    /// What foreign keys do after a change.
    private mutating func effects(of change: Change, by trigger: String, _ keys: [KeyColumn]) -> [(Change, String)] {
        var found: [(Change, String)] = []
        for key in keys where key.isTouched(by: change) {
            guard let next = key.change(after: change) else {
                let verb = change.event == .delete ? "deletes rows" : "changes keys"
                if !trigger.isEmpty { guarded.append((trigger, verb, key.parent, key.child)) }
                continue
            }
            // That a delete clears references, the batch sees.
            let isClearing = change.event == .delete && next.event == .update
            if next.event == .update, !isClearing || !trigger.isEmpty {
                changedByKeys[key.child, default: []].insert(key.column)
            }
            found.append((next, isClearing ? "" : trigger))
        }
        return found
    }

    /// A column of a foreign key; names in lower case.
    private struct KeyColumn {
        var (child, column, parent, parentColumn): (String, String, String, String)
        var (onUpdate, onDelete): (Relationship.DeleteRule, Relationship.DeleteRule)
        /// Whether the store computes the reference, or what it refers to.
        var isComputed: Bool

        /// Whether a change concerns the rows to which it refers.
        func isTouched(by change: Change) -> Bool {
            guard change.table == parent else { return false }
            return change.event == .delete
                || change.event == .update && (isComputed || change.concerns([parentColumn]))
        }

        /// What it does after a change that touches it; nil: nothing, and the store refuses the change while rows refer to these.
        func change(after change: Change) -> Change? {
            switch change.event == .delete ? onDelete : onUpdate {
            case .noAction, .restrict: return nil
            case .cascade where change.event == .delete: return Change(event: .delete, table: child)
            default:
                return Change(event: .update, table: child, columns: [column])
            }
        }
    }

    private static func keys(_ db: Database) throws -> [KeyColumn] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT lower(m.name), lower(f."from"), lower(f."table"), lower(coalesce(f."to",
                    (SELECT name FROM pragma_table_info(f."table", 'main') WHERE pk = f.seq + 1), '')), f.on_update, f.on_delete,
                    EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name, 'main') AS c WHERE c.name = f."from" AND c.hidden > 1)
                    OR EXISTS (SELECT 1 FROM pragma_table_xinfo(f."table", 'main') AS c WHERE c.name = f."to" AND c.hidden > 1)
                FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f WHERE m.type = 'table'
                """
        ).map {
            KeyColumn(
                child: $0[0], column: $0[1], parent: $0[2], parentColumn: $0[3],
                onUpdate: Relationship.DeleteRule(sql: $0[4]), onDelete: Relationship.DeleteRule(sql: $0[5]),
                isComputed: $0[6])
        }
    }

    /// The triggers that make such changes of a table, in lower case.
    private func triggers(of table: String, _ isMeant: (Change) -> Bool) -> [String] {
        found.filter { !$0.trigger.isEmpty && $0.change.table == table && isMeant($0.change) }.map(\.trigger)
    }

    private func deleter(of table: String) -> String? { triggers(of: table) { $0.event == .delete }.last }

    /// A trigger that inserts or changes rows of a table, which may replace others.
    private func writer(of table: String) -> String? { triggers(of: table) { $0.event != .delete }.last }

    /// The first trigger by name that changes rows of a table.
    private func changer(of table: String) -> String? { triggers(of: table) { $0.event == .update }.min() }

    /// A trigger that does anything to rows of a table, but for what Core Data derives.
    private func toucher(of table: String) -> String? { triggers(of: table) { !isDerived($0) }.last }

    private func losesRows(_ table: String) -> Bool {
        found.contains { $0.change.event == .delete && $0.change.table == table }
    }

    /// Why rows that are deleted cannot be archived as they were, as a sentence; nil: they can.
    func obstacle(_ connection: SQLiteFile, _ db: Database) throws -> String? {
        if let unreadable { return unreadable }
        if let replacing { return "\(replacing) uses REPLACE, which deletes rows that cannot be seen" }
        for entry in try connection.catalog.schema(db).entries("table") {
            let (name, table) = (entry.name, entry.name.folded)
            // A row that REPLACE deletes sets no trigger off, and rows of virtual tables have none.
            if writer(of: table) != nil, SchemaText.replaces(entry.sql) {
                return "\(name) uses REPLACE, which deletes rows that cannot be seen"
            }
            if let trigger = changer(of: table), losesRows(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), and rows of \(name) are deleted too, so their earlier "
                    + "values are unknown"
            }
            if let trigger = changer(of: table), clearing.contains(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), whose references are cleared, so their earlier values "
                    + "are unknown"
            }
            // Foreign keys clear references to rows that triggers delete.
            guard deleted.contains(table) || changedByKeys[table] != nil else { continue }
            guard entry.isStoredTable else {
                return "a trigger deletes rows of the virtual table \(name), which cannot be seen"
            }
            if table.hasPrefix("sqlite_") { return "a trigger deletes rows of \(name), which cannot be seen" }
            if try StoredShape(of: name, connection, db) == nil { return "rows of \(name) cannot be identified" }
        }
        return nil
    }

    /// Why the store may refuse the delete after some batches, as a clause: a trigger deletes rows to which others refer, or changes
    /// their keys. Nil: none does, or the others are deleted or changed, too, and the trigger is trusted to do that first.
    var refusedByKey: String? {
        let found = guarded.filter { !losesRows($0.child) && changer(of: $0.child) == nil }
        return found.min { ($0.parent, $0.child) < ($1.parent, $1.child) }.map {
            "the trigger \($0.trigger) \($0.verb) of \($0.parent), to which rows of \($0.child) may refer: the store refuses that, and "
                + "which rows they are is not known. Give the foreign key of \($0.child) an action, or change "
                + "the trigger"
        }
    }

    /// Why rows would be deleted without becoming candles, or candles would not be those of their rows; nil: no trigger does that.
    func obstacle(toCandlesOf table: String, in target: String) -> String? {
        if let unreadable { return unreadable }
        for name in [table, target] {
            if deleted.contains(name.folded) { return "a trigger deletes rows of \(name) when candles are made" }
            if let trigger = writer(of: name.folded) {
                return "the trigger \(trigger) changes rows of \(name) when candles are made"
            }
        }
        return nil
    }

    /// Why some rows of a table may be deleted, or stop being these rows, besides what the delete says, as a clause; nil: they stay.
    ///
    /// - Parameters:
    ///   - definition: the table's own.
    ///   - attributes: what decides which rows they are; empty: all rows of the table.
    func threat(to name: String, _ definition: String, attributes: [Attribute]) -> String? {
        if let unreadable { return unreadable }
        let table = name.folded
        if let replacing, writer(of: table) != nil {
            return "the trigger \(replacing) uses REPLACE, which can delete rows of \(name)"
        }
        if writer(of: table) != nil || clearing.contains(table), SchemaText.replaces(definition) {
            return "the definition of \(name) uses REPLACE, which can delete rows of \(name)"
        }
        if let trigger = deleter(of: table) { return "the trigger \(trigger) deletes rows of \(name)" }
        return change(of: name, attributes: attributes)
    }

    /// Whether rows of a table may be inserted, changed or deleted because of triggers, but for what Core Data derives.
    func mayTouch(_ name: String) -> Bool {
        unreadable != nil || toucher(of: name.folded) != nil || changedByKeys[name.folded] != nil
    }

    /// A trigger that inserts, changes or deletes rows of a table, as a clause, or nil if none does.
    func write(to name: String) -> String? {
        if let unreadable { return unreadable }
        let table = name.folded
        if let trigger = deleter(of: table) ?? writer(of: table) {
            return "the trigger \(trigger) changes rows of \(name)"
        }
        return changedByKeys[table] == nil ? nil : "after a trigger a foreign key changes rows of \(name)"
    }

    /// What changes some attributes of a table, as a clause; nil: no trigger does, nor a foreign key because of one.
    func change(of name: String, attributes: [Attribute]) -> String? {
        let table = name.folded
        let names = Set(attributes.map { ($0.column ?? $0.name).folded })
        if let column = changedByKeys[table]?.intersection(names).min() {
            return "a foreign key changes \(column) of \(name)"
        }
        // What the store computes changes with any attribute.
        let isComputed = attributes.contains(where: \.isGenerated)
        let found = triggers(of: table) { $0.event == .update && (isComputed || $0.concerns(names)) }.min()
        guard !names.isEmpty, let found else { return nil }
        return "the trigger \(found) changes rows of \(name)"
    }
}
