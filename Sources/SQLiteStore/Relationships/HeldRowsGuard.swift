import GRDB
import GRDBSQLite
package import PriceStore

/// Refuses to delete held rows, or to take them out of their hold, whatever does it: temporary triggers on tables from which
/// cascades take rows, or the store's own triggers may.
///
/// The condition of a delete spares held rows already. What it cannot know is what a trigger of the store does meanwhile.
final class HeldRowsGuard {
    /// What the conditions in the triggers are compared with: a trigger cannot have parameters.
    fileprivate let arguments: [StoreValue]

    private init(arguments: [StoreValue]) { self.arguments = arguments }

    /// Puts the triggers in place; nil where the condition of the delete is enough.
    static func make(
        _ request: BatchDeleteRequest, _ connection: SQLiteFileConnection, _ db: Database
    ) throws -> HeldRowsGuard? {
        let own = try connection.scope(of: request.fetchRequest, db).table
        let others = try connection.tablesLosingRows(request, db)
        var guarded: [(scope: RowScope, hold: HeldRows, condition: SQLFragment)] = []
        for hold in request.fetchRequest.predicate.holds {
            let scope = try connection.scope(hold.entity, db)
            guard
                others.hasTriggers || others.names.contains(scope.table.tableName.folded)
                    || !scope.table.isSame(as: own)
            else { continue }
            guarded.append((scope, hold, try connection.condition(hold.rows, scope, db)))
        }
        guard !guarded.isEmpty else { return nil }
        let all = SQLFragment.joined(guarded.map(\.condition), by: " ", empty: .never)
        let result = HeldRowsGuard(arguments: all.arguments.map(StoreValue.init))
        // A rollback can bring triggers back that were removed with an older guard: this function takes its place.
        try db.addFunctions(of: result, [("retention_held_argument", 1, argument)])
        var first = 0
        for (index, entry) in guarded.enumerated() {
            let keys = entry.scope.table.keySQL
            let isOld = zip(entry.scope.key, keys).map { "\($0) = OLD.\($1)" }.joined(separator: " AND ")
            let condition = entry.condition.literalArguments("retention_held_argument", from: first)
            first += entry.condition.arguments.count
            let isHeld = "EXISTS (SELECT 1 FROM \(entry.scope.from()) WHERE \(isOld) AND (\(condition)) IS NOT FALSE)"
            var events = [("DELETE", "deleted", isHeld)]
            if others.hasTriggers, let changes = Self.changes(entry.hold, entry.scope.table) {
                events.append(("UPDATE", "changed", "\(changes) AND \(isHeld)"))
            }
            for (event, verb, when) in events {
                let message = "the hold \(entry.hold.name) keeps a row of \(entry.hold.entity) that would be \(verb)"
                try db.execute(
                    sql: """
                        CREATE TEMP TRIGGER retention_held_\(index)_\(event) BEFORE \(event) ON \(entry.scope.table.sql)
                        WHEN \(when) BEGIN SELECT RAISE(ABORT, \(message.quotedLiteral)); END
                        """)
            }
        }
        return result
    }

    /// The condition in a trigger that an update changes what a hold asks of a row; nil: it asks nothing.
    private static func changes(_ hold: HeldRows, _ table: SQLiteTable) -> String? {
        let attributes = Set(hold.rows.allAttributeNames).compactMap { table.entity.attribute(named: $0) }
        guard !attributes.isEmpty else { return nil }
        // Before an update it is not known what the store will compute.
        if attributes.contains(where: \.isGenerated) { return "TRUE" }
        let columns = attributes.map { table.columnSQL($0) }.sorted()
        return "(" + columns.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ") + ")"
    }
}

private func argument(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let held = functionObject(context, HeldRowsGuard.self) else { return }
    let index = Int(sqlite3_value_int64(values?[0]))
    guard held.arguments.indices.contains(index) else { return }
    held.arguments[index].become(resultOf: context)
}

extension SQLiteFileConnection {
    /// The tables from which cascades of a delete take rows, those whose references it clears, in lower case, and whether
    /// the store's own triggers fire.
    fileprivate func tablesLosingRows(
        _ request: BatchDeleteRequest, _ db: Database
    ) throws -> (names: Set<String>, changed: Set<String>, hasTriggers: Bool) {
        let own = try scope(of: request.fetchRequest, db).table
        if let graph = try graph(request, RemovedRows(), step: 0, db) {
            // Which triggers a Core Data store has is not looked up: it has none of Core Data's.
            return (Set(graph.reachedTables().map { $0.folded }), [], true)
        }
        let reach = try Reach(of: own.name, request.relationships, self, db)
        let losing = try ([own.name] + reach.cascading).compactMap { try catalog.table($0, db)?.entity }
        let changed = try reach.clearing.keys.compactMap { try catalog.table($0, db)?.entity }
        return (
            Set(reach.cascading.map { $0.folded }), Set(reach.nullifying.keys.map { $0.folded }),
            losing.contains { !$0.deleteTriggers.isEmpty } || changed.contains { !$0.updateTriggers.isEmpty }
        )
    }
}

extension SQLiteFileConnection {
    /// Why it is not certain that holds keep their rows from a delete, or nil: a row that REPLACE deletes fires no trigger
    /// that could refuse it.
    func obstacleOfHolds(_ holds: [HeldRows], _ request: BatchDeleteRequest, _ db: Database) throws -> String? {
        guard !holds.isEmpty else { return nil }
        let reach = try tablesLosingRows(request, db)
        guard reach.hasTriggers || !reach.changed.isEmpty else { return nil }
        let own = try scope(of: request.fetchRequest, db).table.tableName
        let effects =
            reach.hasTriggers ? try TriggerEffects(of: reach.names.union([own]), clearing: reach.changed, db) : nil
        let replacing = try Row.fetchAll(
            db, sql: "SELECT lower(name), sql FROM main.sqlite_schema WHERE type = 'table' AND sql LIKE '%REPLACE%'"
        ).filter { SchemaText.replaces($0[1]) }.map { $0[0] as String }
        for hold in holds {
            let held = try scope(hold.entity, db).table.tableName
            let isReplacing =
                replacing.contains(held.folded) && (reach.hasTriggers || reach.changed.contains(held.folded))
            guard
                let reason = effects?.replacement(in: held) ?? (isReplacing ? "the table \(held) uses REPLACE" : nil)
            else { continue }
            return
                "the hold '\(hold.name)' cannot be kept: \(reason), and held rows of \(hold.entity) can be deleted by it"
        }
        return nil
    }
}

extension SQLiteFile {
    /// Whether a delete of rows of an entity can delete rows of another one, or the same rows, or change attributes of them.
    package func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool {
        try run("following the relationships of \(entity)") { db in
            guard let own = try catalog.table(entity, db) else { return false }
            let way = try way(from: own, relationships, db)
            return try tables(named: other, db).contains { table in
                try table.isSame(as: own) || way.reaches(table) || !way.cleared(table, attributes).isEmpty
            }
        }
    }

    /// Those of some attributes of an entity that a delete of rows of another one, or the same, can set to NULL or a default.
    package func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String] {
        try run("following the relationships of \(entity)") { db in
            guard let own = try catalog.table(entity, db) else { return [] }
            let way = try way(from: own, relationships, db)
            return try tables(named: other, db).flatMap { try way.cleared($0, attributes).flatMap(\.attributes) }
        }
    }

    /// Whether triggers of the store may delete rows of a table when rows of an entity are deleted.
    package func triggersMayDelete(
        from table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool {
        try run("following the triggers of \(entity)") { db in
            guard let own = try catalog.table(entity, db) else { return false }
            let request = BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: own.name),
                relationships: relationships == .deny ? .asDeclared : relationships)
            let reach = try tablesLosingRows(request, db)
            let effects = try TriggerEffects(
                of: reach.names.union([own.tableName]), clearing: reach.changed, target: nil, db)
            return try tables(named: table, db).contains { other in
                let definition = try String.fetchOne(
                    db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)",
                    arguments: [other.tableName])
                return effects.mayDelete(from: other.tableName, definition: definition ?? "")
            }
        }
    }

    private func way(
        from own: SQLiteTable, _ relationships: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> CascadeWay {
        try CascadeWay(scope(own.name, db), relationships == .deny ? .asDeclared : relationships, self, db)
    }
}

extension SQLiteFileConnection {
    /// The entity of a name, or those whose objects are in the table of that name.
    fileprivate func tables(named name: String, _ db: Database) throws -> [SQLiteTable] {
        if let table = try catalog.table(name, db) { return [table] }
        let entities = try catalog.coreData(db)?.entities.values.filter { $0.table.folded == name.folded }
        return try entities?.compactMap { try catalog.table($0.name, db) } ?? []
    }
}
