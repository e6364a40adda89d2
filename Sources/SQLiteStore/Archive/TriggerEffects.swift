import GRDB
import PriceStore

/// The changes that triggers and foreign keys make after a delete.
struct TriggerEffects {
    private typealias Change = TriggerText.Change

    /// The properties of a delete that decide which triggers fire, with the table of candles that it writes.
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

    /// The trigger that deletes rows of a table, itself or by cascades, by the table's name in lower case.
    private var deleting: [String: String] = [:]
    /// The tables that lose rows, for any reason.
    private var losing: Set<String> = []
    /// The triggers that change rows of a table, by the table's name.
    private var changing: [String: [(trigger: String, change: Change)]] = [:]
    /// The trigger that inserts or changes rows of a table, which may replace others, by the table's name.
    private var writing: [String: String] = [:]
    /// The attributes of a table that foreign keys change after a change of another row, by the table's name.
    private var changedByKeys: [String: Set<String>] = [:]
    /// The tables whose references are cleared by the delete.
    private var clearing: Set<String>
    /// Rows that a trigger deletes, or whose keys it changes, while other rows may refer to them by a key without an action.
    private var guarded: [(trigger: String, verb: String, parent: String, child: String)] = []
    /// A sentence about a trigger that rules out the order in which rows are deleted; nil if there is none.
    private(set) var misplaced: String?
    /// A sentence about a trigger that SQLite cannot compile; nil if there is none.
    private(set) var unreadable: String?
    /// A trigger that uses REPLACE. Inserts and updates of the triggers that it fires then replace rows too, whatever they say. Source:
    /// sqlite.org/lang_createtrigger.html.
    private var replacing: String?

    /// The tables from which triggers, or cascades after them, delete rows, in lower case.
    var deleted: Set<String> { Set(deleting.keys) }

    /// Follows the effects of a delete.
    ///
    /// - Parameters:
    ///   - losing: the tables that lose rows by the delete itself or by cascades, its own table first. A table comes after all tables whose
    ///     rows take its rows along.
    ///   - clearing: the tables whose references the delete clears, with the columns; nil columns are unknown.
    ///   - writing: the changes of rows that follow the delete.
    ///   - isReplacing: whether all writes of triggers may replace rows, as after a trigger with REPLACE.
    init(
        of losing: [String], clearing: [String: [String]?], writing: [TriggerText.Change] = [],
        isReplacing: Bool = false, _ connection: SQLiteFileConnection, _ db: Database
    ) throws {
        self.clearing = Set(clearing.keys.map { $0.folded })
        let clears = clearing.map { table, columns in
            Change(event: .update, table: table.folded, columns: columns.map { Set($0.map { $0.folded }) })
        }
        let triggers = try connection.storeTriggers(db)
        let keys = try Self.keys(db)
        let order = losing.map { $0.folded }
        let losing = Set(order)
        let replacingTables = try Set(
            Row.fetchAll(
                db, sql: "SELECT lower(name), sql FROM main.sqlite_schema WHERE type = 'table' AND sql LIKE '%REPLACE%'"
            )
            .filter { SchemaText.replaces($0[1]) }.map { $0[0] as String })
        for trigger in triggers
        where misplaced == nil
            && trigger.text.isFired(on: trigger.table, losing, clears + writing.filter { $0.event == .insert })
        {
            misplaced = Self.misplaced(trigger, order, self.clearing, Self.chain(from: trigger, triggers, keys))
        }
        // The trigger that makes a change; empty for a part of the delete, which the batch sees.
        var waiting = losing.map { (Change(event: .delete, table: $0.folded), "") }
        waiting += (clears + writing).map { ($0, "") }
        var seen: [Change: String] = [:]
        while let (change, trigger) = waiting.popLast() {
            note(change, by: trigger)
            guard seen[change] == nil || seen[change] == "" && !trigger.isEmpty else { continue }
            seen[change] = trigger
            // A batch determines what refers to its rows before it deletes the first of them.
            if !trigger.isEmpty, misplaced == nil, let key = keys.first(where: { $0.mayAttach(change, to: losing) }) {
                misplaced =
                    "the trigger \(trigger) may make rows of \(key.child) refer to rows of \(key.parent) while these are deleted. "
                    + "Remove the trigger"
            }
            waiting += effects(of: change, by: trigger, keys)
            for fired in triggers where fired.table == change.table && fired.text.fires(on: change) {
                guard let effects = fired.body else {
                    unreadable = "what the trigger \(fired.name) does cannot be determined"
                    return
                }
                if effects.replaces { replacing = fired.name }
                waiting += effects.changes.map { ($0, fired.name) }
                // A row that replaces another deletes it.
                let replaced = effects.changes.filter {
                    $0.event != .delete && (isReplacing || effects.replaces || replacingTables.contains($0.table))
                }
                waiting += replaced.map { (Change(event: .delete, table: $0.table), fired.name) }
            }
        }
        guard replacing != nil, !isReplacing else { return }
        self = try TriggerEffects(
            of: order, clearing: clearing, writing: writing, isReplacing: true, connection, db)
    }

    /// A trigger and those that it fires, also by way of foreign keys.
    private static func chain(
        from first: StoreTrigger, _ triggers: [StoreTrigger], _ keys: [KeyColumn]
    ) -> [StoreTrigger] {
        var (found, names): ([StoreTrigger], Set<String>) = ([first], [first.name])
        var (waiting, seen): ([Change], Set<Change>) = (first.body?.changes ?? [], [])
        while let change = waiting.popLast() {
            guard seen.insert(change).inserted else { continue }
            waiting += keys.filter { $0.isTouched(by: change) }.compactMap { $0.change(after: change) }
            for next in triggers where next.table == change.table && next.text.fires(on: change) {
                guard names.insert(next.name).inserted else { continue }
                found.append(next)
                waiting += next.body?.changes ?? []
            }
        }
        return found
    }

    /// Why a trigger of one of the tables rules out that rows are deleted in their order, children first, as a sentence; nil if it does
    /// not. SQLite itself deletes a row before its children, and calls BEFORE triggers before both.
    ///
    /// - Parameters:
    ///   - order: the tables that lose rows.
    ///   - clearing: those that lose references.
    ///   - chain: the trigger, and those that it fires.
    private static func misplaced(
        _ trigger: StoreTrigger, _ order: [String], _ clearing: Set<String>, _ chain: [StoreTrigger]
    ) -> String? {
        let named = "the trigger \(trigger.name) of \(trigger.table)"
        if trigger.text.isBefore, trigger.text.skipsRows {
            return
                "\(named) runs before a row is deleted or changed, and may skip the row (RAISE(IGNORE)). Use RAISE(ABORT), or "
                + "remove the trigger"
        }
        let family = Set(order).union(clearing)
        guard family.count > 1 else { return nil }
        let own = order.firstIndex(of: trigger.table) ?? order.count
        let changes = chain.flatMap { $0.body?.changes ?? [] }
        // Rows that refer to the trigger's own row are gone by then.
        if let table = order.prefix(own + 1).first(where: { table in
            changes.contains {
                $0.table == table && ($0.event == .delete || $0.event == .insert && table != trigger.table)
            }
        }) {
            return
                "\(named) deletes or inserts rows of \(table), which the rule deletes too: which of them go by the trigger is not "
                + "known. Remove the trigger"
        }
        let (reads, changed) = (
            Set(chain.flatMap { $0.body?.reads ?? [] }), Set(chain.flatMap { $0.body?.changed ?? [] })
        )
        if trigger.text.isBefore {
            guard let table = family.subtracting([trigger.table]).intersection(reads.union(changed)).min() else {
                return nil
            }
            return
                "\(named) runs before a row is deleted or changed, and reads or changes \(table), whose rows may be deleted or "
                + "changed first. Make it an AFTER trigger"
        }
        // A trigger reads a row to change it. That is harmless if it does nothing else.
        let raises = chain.contains(where: \.text.mayRaise)
        guard
            let table = order.prefix(own).first(where: { table in
                reads.contains(table)
                    && (raises || !changes.allSatisfy { $0.event == .update && $0.table == table })
            })
        else { return nil }
        return "\(named) reads \(table), whose rows are deleted after those of \(trigger.table). Remove the trigger"
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
            // The batch sees that a delete clears references.
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
        /// Whether the store computes the reference or the column to which it refers.
        var isComputed: Bool

        /// Whether a change affects rows to which it refers.
        func isTouched(by change: Change) -> Bool {
            guard change.table == parent else { return false }
            return change.event == .delete
                || change.event == .update && (isComputed || change.concerns([parentColumn]))
        }

        /// What it does after a change that affects it. Nil: nothing, and the store refuses the change while rows refer to the changed
        /// ones.
        func change(after change: Change) -> Change? {
            switch change.event == .delete ? onDelete : onUpdate {
            case .noAction, .restrict: return nil
            case .cascade where change.event == .delete: return Change(event: .delete, table: child)
            default:
                let isCleared = change.event == .update && onUpdate == .nullify
                return Change(
                    event: .update, table: child, columns: [column], cleared: isCleared ? [column] : [])
            }
        }

        /// Whether a change may make another row refer to a row of these tables, or change which of them a row refers to.
        func mayAttach(_ change: Change, to tables: Set<String>) -> Bool {
            guard tables.contains(parent) else { return false }
            return change.mayRefer(by: column, of: child)
                || change.event == .update && change.table == child && isComputed
                || change.event == .update && change.table == parent && (isComputed || change.concerns([parentColumn]))
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

    private mutating func note(_ change: Change, by trigger: String) {
        if change.event == .delete { losing.insert(change.table) }
        guard !trigger.isEmpty else { return }
        switch change.event {
        case .delete: deleting[change.table] = trigger
        case .insert: writing[change.table] = trigger
        case .update:
            writing[change.table] = trigger
            changing[change.table, default: []].append((trigger, change))
        }
    }

    /// Why deleted rows cannot be archived as they were, as a sentence; nil if they can.
    func obstacle(_ db: Database) throws -> String? {
        if let unreadable { return unreadable }
        if let replacing { return "\(replacing) uses REPLACE, which deletes rows that cannot be seen" }
        for entry in try Row.fetchAll(
            db, sql: "SELECT name, sql, rootpage FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid")
        {
            let (name, definition): (String, String) = (entry[0], entry[1] ?? "")
            let table = name.folded
            // Rows that REPLACE deletes fire no trigger, and virtual tables have no triggers.
            if writing[table] != nil, SchemaText.replaces(definition) {
                return "\(name) uses REPLACE, which deletes rows that cannot be seen"
            }
            if let trigger = changing[table]?.map(\.trigger).min(), losing.contains(table) {
                return
                    "the trigger \(trigger) changes rows of \(name), and rows of \(name) are deleted too, so their earlier "
                    + "values are unknown"
            }
            if let trigger = changing[table]?.map(\.trigger).min(), clearing.contains(table) {
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

    /// Why the store may refuse the delete after some batches, as a clause: a trigger deletes rows to which others refer, or changes their
    /// keys. It is nil if none does, or if the referring rows are deleted or changed too; the trigger is then trusted to do that first.
    var refusedByKey: String? {
        let found = guarded.filter { !losing.contains($0.child) && changing[$0.child] == nil }
        return found.min { ($0.parent, $0.child) < ($1.parent, $1.child) }.map {
            "the trigger \($0.trigger) \($0.verb) of \($0.parent), to which rows of \($0.child) may refer: the store refuses that, and "
                + "which rows they are is not known. Give the foreign key of \($0.child) an action, or change "
                + "the trigger"
        }
    }

    /// Why rows would be deleted without becoming candles, or candles would differ from their rows; nil if no trigger causes that.
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

    /// Why rows of a table may be deleted, or no longer be the same rows, besides what the delete says, as a clause; nil if they stay.
    ///
    /// - Parameters:
    ///   - definition: the definition of the table.
    ///   - attributes: the attributes that decide which rows they are; empty for all rows of the table.
    func threat(to name: String, _ definition: String, attributes: [Attribute]) -> String? {
        if let unreadable { return unreadable }
        let table = name.folded
        if let replacing, writing[table] != nil { return "the trigger \(replacing) uses REPLACE" }
        if writing[table] != nil || clearing.contains(table), SchemaText.replaces(definition) {
            return "the table \(name) uses REPLACE"
        }
        if let trigger = deleting[table] { return "the trigger \(trigger) deletes rows of \(name)" }
        return change(of: name, attributes: attributes)
    }

    /// A trigger that inserts, changes or deletes rows of a table, as a clause; nil if there is none.
    func write(to name: String) -> String? {
        if let unreadable { return unreadable }
        let table = name.folded
        if let trigger = deleting[table] ?? writing[table] { return "the trigger \(trigger) changes rows of \(name)" }
        return changedByKeys[table] == nil ? nil : "after a trigger a foreign key changes rows of \(name)"
    }

    /// What changes some attributes of a table, as a clause; nil if no trigger does, and no foreign key after one.
    func change(of name: String, attributes: [Attribute]) -> String? {
        let table = name.folded
        let names = Set(attributes.map { ($0.column ?? $0.name).folded })
        if let column = changedByKeys[table]?.intersection(names).min() {
            return "a foreign key changes \(column) of \(name)"
        }
        // A computed column changes with any attribute.
        let isComputed = attributes.contains(where: \.isGenerated)
        let found = changing[table]?.filter { isComputed || $0.change.concerns(names) }.map(\.trigger).min()
        guard !names.isEmpty, let found else { return nil }
        return "the trigger \(found) changes rows of \(name)"
    }
}
