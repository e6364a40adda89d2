import GRDB
import GRDBSQLite
import PriceStore

/// Chosen rows with all that is deleted with them by cascades: the rows that refer to them, what refers to those, and so on.
///
/// They are deleted in the opposite order, so that no row is deleted before those that refer to it, and SQLite's own cascades have
/// nothing to do. No cascade leads back to a table that it has passed: such a delete is refused.
extension ChosenRows {
    /// Deletes the rows and what is deleted with them, the last rows of each family first.
    ///
    /// - Parameter bound: how many rows of one kind a cascade may delete; nil: all of them.
    /// - Returns: whether all rows were deleted.
    func deleteFamilies(atMost bound: Int?) throws -> Bool {
        let (waves, isAll) = try collect(atMost: bound)
        try connection.confirmKept(db) { entity in
            // No cascade leads back to the rule's own table.
            guard entity.table.name != scope.table.name,
                connection.temporaries.chosenRows[entity.table.name.folded] != nil
            else { return nil }
            return try isChosen(entity)
        }
        for entity in waves.dropFirst().joined() { try denyDefaults(entity) }
        // An entity that is reached in two ways can hold rows that refer to each other across the waves.
        let hadDeferred = try hasDeferredViolations()
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        for (wave, entities) in waves.enumerated().reversed() {
            for entity in entities {
                try connection.execute(
                    SQLFragment("DELETE FROM \(entity.target()) WHERE ") + isChosen(entity, wave: wave), db)
            }
        }
        if try !hadDeferred && hasDeferredViolations() {
            throw StoreError(
                .constraint, store: connection.name,
                message: "remaining rows refer to rows that would be deleted with those of \(scope.table.name)")
        }
        try db.execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return isAll
    }

    /// Follows the cascades from the rows of wave 0 and notes what is deleted with them.
    ///
    /// Where one step reaches as many rows as the bound says, the batch becomes a smaller one: these rows, and only what
    /// is deleted with them. A row that refers to a deleted row is deleted before it, so that each such part leaves the store
    /// whole.
    ///
    /// - Returns: the entities of each wave, in the order in which their rows can be deleted; and whether the batch is still that
    ///   of the request's own rows.
    private func collect(atMost bound: Int?) throws -> (waves: [[RowScope]], isAll: Bool) {
        var waves = [[scope]]
        var isAll = true
        families: while let parents = waves.last, !parents.isEmpty {
            var reached: [String: RowScope] = [:]
            for parent in parents {
                for cascade in try cascades(from: parent) {
                    let count = try add(cascade, of: waves.count - 1, atMost: bound)
                    if count > 0 { reached[cascade.child.table.name] = cascade.child }
                    if let bound, count >= bound {
                        try beginAgain(with: cascade.child, wave: waves.count)
                        isAll = false
                        waves = [[cascade.child]]
                        continue families
                    }
                }
            }
            waves.append(reached.count > 1 ? childrenFirst(reached) : Array(reached.values))
        }
        return (waves, isAll)
    }

    /// A relationship by which rows are deleted with others, and the statement that notes them.
    private struct Cascade {
        let child: RowScope
        /// Its first argument is the wave that the rows get, its last two are the wave that they refer to and a limit.
        let statement: SQLFragment
    }

    private func cascades(from parent: RowScope) throws -> [Cascade] {
        try execute("CREATE INDEX IF NOT EXISTS temp.\(table(parent))_wave ON \(table(parent)) (wave)")
        let keys = try connection.incoming(parent.table.name, of: request, db)
        return try keys.filter { $0.deleteRule == .cascade }.map {
            let child = try source(of: $0)
            let found =
                SQLFragment("SELECT ")
                + (try pointing($0, sparingChosen: true, wave: 0, columns: SQLFragment(", ?", [0.databaseValue])))
            return Cascade(
                child: child,
                statement: SQLFragment("INSERT OR IGNORE INTO temp.\(try table(child)) ") + found
                    + SQLFragment(" LIMIT ?", [0.databaseValue]))
        }
    }

    /// Notes the rows that refer to those of a wave and are not noted yet; returns how many.
    private func add(_ cascade: Cascade, of wave: Int, atMost bound: Int?) throws -> Int {
        var insert = cascade.statement
        let last = insert.arguments.count - 1
        insert.arguments[0] = (wave + 1).databaseValue
        insert.arguments[last - 1] = wave.databaseValue
        insert.arguments[last] = (bound ?? -1).databaseValue
        try connection.execute(insert, db)
        return db.changesCount
    }

    /// Entities in an order in which those that refer to others come before them.
    private func childrenFirst(_ entities: [String: RowScope]) -> [RowScope] {
        var ordered: [RowScope] = []
        var seen: Set<String> = []
        func visit(_ entity: String) {
            guard let scope = entities[entity], seen.insert(entity).inserted else { return }
            for key in scope.table.entity.incomingRelationships {
                for other in entities.keys.sorted() where other.folded == key.source.folded { visit(other) }
            }
            ordered.append(scope)
        }
        for entity in entities.keys.sorted() { visit(entity) }
        return ordered
    }

    /// Whether the transaction has references to rows that are not there.
    private func hasDeferredViolations() throws -> Bool {
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }
}

extension SQLiteFileConnection {
    /// Throws if a cascade has reached a row that must stay.
    ///
    /// - Parameter reached: the condition that a row of an entity is reached by the cascades; nil: none is.
    func confirmKept(_ db: Database, reached: (RowScope) throws -> SQLFragment?) throws {
        for kept in rowsToKeep.rows {
            guard try catalog.table(kept.rows.entity, db) != nil, case let entity = try scope(kept.rows.entity, db),
                let rows = try reached(entity)
            else { continue }
            let query =
                SQLFragment("SELECT 1 FROM \(entity.from()) WHERE ") + rows + " AND ("
                + (try condition(.notTrue(.not(kept.rows.rows)), entity, db)) + ") LIMIT 1"
            guard try row(query, db) != nil else { continue }
            throw StoreError(
                .constraint, store: name,
                message:
                    "a batch is rolled back, because a row of \(entity.table.name) that \(kept.keeper) keeps refers to "
                    + "rows that it deletes",
                hint: "the row has come to refer to them since the plan was made; the next run makes a new plan")
        }
    }
}
