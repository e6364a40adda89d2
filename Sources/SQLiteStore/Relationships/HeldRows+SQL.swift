import GRDB
import PriceStore

/// The rows that must stay because of holds: those whose delete would cascade to a held row or clear the reference by which it is held.
///
/// A delete cannot spare them while SQLite follows its foreign keys, so they are found backwards: from the held rows to all rows that lead
/// to them. Their keys are in the temporary tables of a ``RemovedRows``, which may spill to a file.
struct SparingRows {
    /// The deletes that they affect.
    struct Key: Hashable {
        var entity: String
        var relationships: BatchDeleteRequest.RelationshipRule
        var holds: [HeldRows]
    }

    let rows: RemovedRows
    /// The state of the store in which they were found, by the changes of other connections, or nil if they must be found again.
    var version: Int?
}

extension SQLiteFile {
    /// The condition that a row is not held and that no held row is deleted with it.
    func notHeld(
        _ holds: [HeldRows], by rule: BatchDeleteRequest.RelationshipRule?, _ scope: RowScope, _ db: Database
    ) throws -> SQLFragment {
        var parts: [SQLFragment] = try holds.compactMap { try held($0, scope, db).map { "(\($0)) IS FALSE" } }
        if let rule, let table = try sparingRows(holds, rule, scope, db) {
            parts.append(scope.isNotIn(table))
        }
        return .all(parts)
    }

    /// The condition that a row of a scope is held, or nil if the hold is about other rows.
    func held(_ hold: HeldRows, _ scope: RowScope, _ db: Database) throws -> SQLFragment? {
        let held = try self.scope(hold.entity, db)
        guard held.table.isSame(as: scope.table) else { return nil }
        return .all([held.membership, try condition(hold.rows, held, db)])
    }

    /// The temporary table with the keys of a scope's rows with which a held row would be deleted, or nil if no relationship leads to a
    /// held entity.
    private func sparingRows(
        _ holds: [HeldRows], _ rule: BatchDeleteRequest.RelationshipRule, _ scope: RowScope, _ db: Database
    ) throws -> String? {
        let way = try CascadeWay(scope, rule, self, db)
        let reached = try holds.filter { hold in
            let held = try self.scope(hold.entity, db).table
            return try way.reaches(held) || !way.cleared(held, hold.rows.allAttributeNames).isEmpty
        }
        guard !reached.isEmpty else { return nil }
        let key = SparingRows.Key(entity: scope.table.name.folded, relationships: rule, holds: reached)
        let version = try pragma("data_version", db)
        let known = temporaries.sparingRows[key]
        let rows = known?.rows ?? RemovedRows()
        if known?.version != version {
            // The tables stay, because triggers may name them.
            for table in rows.tables.values { try execute("DELETE FROM temp.\(table)", db) }
            try way.find(reached, rows)
            temporaries.sparingRows[key] = SparingRows(rows: rows, version: version)
        }
        return try removedTable(scope.table, rows, db)
    }

    /// Makes the next use find the rows that must stay again if anything has changed since a survey.
    func forgetSparingRows(unless mark: ChangeMark) {
        guard temporaries.sparingMark != mark else { return }
        temporaries.sparingMark = mark
        for key in temporaries.sparingRows.keys { temporaries.sparingRows[key]?.version = nil }
    }
}

extension SQLiteTable {
    /// Whether a row of this table can also be a row of another one's entity.
    func isSame(as other: SQLiteTable) -> Bool {
        guard let own = managed, let managed = other.managed else { return name == other.name }
        return own.table == managed.table && !Set(own.numbers).isDisjoint(with: managed.numbers)
    }
}

/// The tables that cascades reach from the rows of an entity, and the way back from held rows.
struct CascadeWay {
    private let scope: RowScope
    private let connection: SQLiteFile
    private let db: Database
    private let request: BatchDeleteRequest
    /// The model of a Core Data store, if the scope is an entity of it.
    private let model: CoreDataSchema?
    /// The lower-cased names of the tables that lose rows through cascades.
    private let tables: Set<String>

    init(
        _ scope: RowScope, _ rule: BatchDeleteRequest.RelationshipRule, _ connection: SQLiteFile,
        _ db: Database
    ) throws {
        self.scope = scope
        self.connection = connection
        self.db = db
        request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: scope.table.name), relationships: rule)
        model = try scope.table.managed == nil ? nil : connection.catalog.coreData(db)
        if let model, let entity = scope.table.managed {
            tables = Set(model.reachedTables(from: entity).map(\.folded))
        } else {
            let graph = try connection.keyGraph(of: scope.table.name, rule, db)
            // Only with `deny` is a delete carried out whose cascades would lead back to its own table.
            tables = Set(graph.losing.dropFirst(graph.circle == nil ? 1 : 0).map(\.folded))
        }
    }

    /// Whether a cascade can delete rows of a table.
    func reaches(_ table: SQLiteTable) -> Bool { tables.contains(table.tableName.folded) }

    /// A column that refers to rows that the delete can remove, and that is then set to NULL or a default.
    struct Cleared {
        /// The attributes of the column.
        var attributes: [String]
        /// The table that it refers to.
        var parent: SQLiteTable
        /// The condition that a row, as ``RowScope/alias``, refers to a `parent`.
        var condition: String
    }

    /// The given attributes of a table that the delete can clear.
    func cleared(_ table: SQLiteTable, _ attributes: [String]) throws -> [Cleared] {
        if let model, let managed = table.managed {
            return try model.allLinks.filter { $0.destinationTable == managed.table }.compactMap { link in
                // Rows that a cascade deletes lose no reference. The inverse of a one-to-one relationship may still refer to a deleted row.
                let rule = link.relationship.deleteRule
                guard let column = link.pointing?.column.quotedIdentifier,
                    rule == .nullify || rule == .cascade && link.back != nil
                else { return nil }
                let names = attributes.filter { table.entity.attribute(named: $0).map(table.columnSQL) == column }
                guard !names.isEmpty, isLosing(link.table), let parent = try modelTable(link.table, model)
                else { return nil }
                return Cleared(
                    attributes: names, parent: parent,
                    condition: "parent.Z_PK = \(RowScope.alias).\(column)\(Self.isParent(link))")
            }
        }
        return try table.entity.relationships(using: attributes).compactMap { key in
            guard key.with(deleteRule: request.deleteRule(of: key)).clears,
                isLosing(key.destination), let parent = try connection.catalog.table(key.destination, db)
            else { return nil }
            return Cleared(
                attributes: key.sourceAttributes, parent: parent, condition: key.refers(RowScope.alias, to: "parent"))
        }
    }

    private func isLosing(_ table: String) -> Bool {
        tables.contains(table.folded) || table.folded == scope.table.tableName.folded
    }

    /// A further condition that `parent` has a relationship.
    private static func isParent(_ link: ModelLink) -> String {
        link.coversTable ? "" : " AND parent.Z_ENT IN (\(link.numbers.sqlList))"
    }

    private func modelTable(_ name: String, _ model: CoreDataSchema) throws -> SQLiteTable? {
        try model.entities.values.first { $0.table == name }.flatMap {
            try connection.catalog.table($0.name, db)
        }
    }

    /// Records the held rows that cascades can reach and all rows that lead to them.
    func find(_ holds: [HeldRows], _ rows: RemovedRows) throws {
        var wave = 0
        var frontier: [String: SQLiteTable] = [:]
        for hold in holds {
            let held = try connection.tableScope(hold.entity, db)
            func note(_ table: SQLiteTable, _ columns: [String], _ from: String) throws {
                let into = try connection.removedTable(table, rows, db)
                let isHeld = try connection.condition(hold.rows, held, db)
                try connection.execute(
                    "INSERT OR IGNORE INTO temp.\(into) SELECT \(columns.list), 0, 0 FROM \(from) (\(isHeld)) IS NOT FALSE",
                    db)
                frontier[table.tableName.folded] = table
            }
            if reaches(held.table) { try note(held.table, held.key, held.from() + " WHERE") }
            for cleared in try cleared(held.table, hold.rows.allAttributeNames) {
                let parent = try connection.scope(cleared.parent.name, db)
                try note(
                    cleared.parent, cleared.parent.keySQL.map { "parent.\($0)" },
                    "\(held.from()) CROSS JOIN \(parent.table.sql) AS parent WHERE \(cleared.condition) AND")
            }
        }
        while !frontier.isEmpty {
            var reached: [String: SQLiteTable] = [:]
            for (name, table) in frontier {
                let parents =
                    try model.map { try modelParents($0, of: name, rows, wave) } ?? keyParents(of: table, rows, wave)
                for parent in parents {
                    let into = try connection.removedTable(parent.table, rows, db)
                    try connection.execute(
                        "INSERT OR IGNORE INTO temp.\(into) SELECT \(parent.columns), 0, \(wave + 1)\(parent.rows)", db)
                    guard db.changesCount > 0 else { continue }
                    reached[parent.table.tableName.folded] = parent.table
                }
            }
            frontier = reached
            wave += 1
        }
    }

    /// Rows of a table (as `parent`) whose delete also deletes others, for an INSERT: the key's columns and the clauses after them.
    private struct Parents {
        var table: SQLiteTable
        var columns: String
        var rows: String
    }

    /// The parents of recorded rows of a table, through foreign keys that cascade.
    private func keyParents(of table: SQLiteTable, _ rows: RemovedRows, _ wave: Int) throws -> [Parents] {
        let child = try connection.scope(table.name, db)
        let noted = try connection.removedTable(child.table, rows, db)
        return try child.table.entity.relationships.filter { request.deleteRule(of: $0) == .cascade }.compactMap {
            key in
            let parent = try connection.scope(key.destination, db)
            guard isLosing(parent.table.name) else { return nil }
            let isChild = child.table.keySQL.map { "child." + $0 }.areFound(by: "held")
            return Parents(
                table: parent.table, columns: parent.table.keySQL.map { "parent.\($0)" }.list,
                rows:
                    " FROM temp.\(noted) AS held CROSS JOIN \(child.table.sql) AS child CROSS JOIN \(parent.table.sql) AS parent "
                    + "WHERE \(isChild) AND \(key.refers("child", to: "parent")) AND held.wave = \(wave)")
        }
    }

    /// The rows whose delete cascades to recorded rows of a table, through relationships of a model.
    private func modelParents(
        _ model: CoreDataSchema, of name: String, _ rows: RemovedRows, _ wave: Int
    ) throws -> [Parents] {
        var found: [Parents] = []
        for link in model.allLinks
        where link.destinationTable.folded == name && link.relationship.deleteRule == .cascade {
            guard isLosing(link.table), let table = try modelTable(link.table, model) else { continue }
            let noted = try connection.removedTable(link.destinationTable, rows, db)
            let joins: [(rows: String, refers: String)] =
                switch link.storage {
                case .own(let reference): [("", "parent.\(reference.column.quotedIdentifier) = held.k0")]
                case .other(let reference):
                    [
                        (
                            " CROSS JOIN main.\(link.destinationTable.quotedIdentifier) AS child",
                            "child.Z_PK = held.k0 AND parent.Z_PK = child.\(reference.column.quotedIdentifier)"
                        )
                    ]
                case .pairs(let pairs, let own, let other):
                    zip(own, other).map { own, other in
                        (
                            " CROSS JOIN main.\(pairs.quotedIdentifier) AS pair",
                            "pair.\(other.quotedIdentifier) = held.k0 AND parent.Z_PK = pair.\(own.quotedIdentifier)"
                        )
                    }
                }
            found += joins.map { join in
                Parents(
                    table: table, columns: "parent.Z_PK",
                    rows: " FROM temp.\(noted) AS held\(join.rows) CROSS JOIN main.\(link.table.quotedIdentifier) "
                        + "AS parent WHERE \(join.refers)\(Self.isParent(link)) AND held.wave = \(wave)")
            }
        }
        return found
    }
}
