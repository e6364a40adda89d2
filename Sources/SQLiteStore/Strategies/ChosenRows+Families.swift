import GRDB
import GRDBSQLite
import PriceStore

/// Chosen rows with all that is deleted with them by cascades: the rows that refer to them, what refers to those, and so on.
///
/// They are deleted in the opposite order, so that no row is deleted before those that refer to it. SQLite's own cascades then
/// have nothing to do; by themselves they fail on a chain of more than 1000 rows (SQLITE_MAX_TRIGGER_DEPTH).
extension ChosenRows {
    /// Deletes the rows and what is deleted with them, the last rows of each family first.
    ///
    /// - Parameter bound: how many rows of one kind a cascade may delete; nil: all of them.
    /// - Returns: whether all rows were deleted.
    func deleteFamilies(atMost bound: Int?) throws -> Bool {
        let (waves, isAll) = try collect(atMost: bound)
        // Rows that the request names are among what cascades have found, and others may refer to those.
        if request.relationships == .deny { try deny() }
        // An entity that is reached in two ways can hold rows that refer to each other across the waves.
        let hadDeferred = try hasDeferredViolations()
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let own = scope.table.entity.incomingRelationships.filter(isOwn)
        try breakRings(waves)
        if own.count > 1 { try deleteLeavesFirst(own.filter { $0.deleteRule == .restrict }) }
        var deletes: [String: SQLFragment] = [:]
        for (wave, entities) in waves.enumerated().reversed() {
            for entity in entities {
                var delete =
                    try deletes[entity.table.name]
                    ?? SQLFragment("DELETE FROM \(entity.target()) WHERE ") + isChosen(entity, wave: 0)
                delete.arguments[0] = wave.databaseValue
                deletes[entity.table.name] = delete
                try connection.execute(delete, db)
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

    /// Follows the cascades from the rows of wave 0 and notes what is deleted with them; with `deny` only rows that the request
    /// names.
    ///
    /// Where one step reaches as many rows as the bound says, the batch becomes a smaller one: these rows, and only what
    /// is deleted with them. A row that refers to a deleted row is deleted before it, so that each such part leaves the store
    /// whole.
    ///
    /// - Returns: the entities of each wave, in the order in which their rows can be deleted; and whether the batch is still that
    ///   of the request's own rows.
    private func collect(atMost bound: Int?) throws -> (waves: [[RowScope]], isAll: Bool) {
        try findRoots()
        var waves = [[scope]]
        var partCount = 0
        var rings: Int?
        var cascades: [String: [Cascade]] = [:]
        families: while let parents = waves.last {
            guard !parents.isEmpty else {
                // What no wave has reached are rings, and chosen rows that hang on them: they are followed as well.
                guard let table = connection.temporaries.chosenRows[scope.table.name.folded] else { break }
                let last = waves.count - 1
                try connection.execute(
                    SQLFragment("UPDATE temp.\(table) SET wave = ? WHERE wave < 0", [last.databaseValue]), db)
                guard db.changesCount > 0 else { break }
                rings = last
                waves[last] = [scope]
                continue
            }
            var reached: [String: RowScope] = [:]
            for parent in parents {
                let known = try cascades[parent.table.name] ?? self.cascades(from: parent)
                cascades[parent.table.name] = known
                for cascade in known {
                    let most = partCount < Self.mostParts ? bound : nil
                    let count = try add(cascade, of: waves.count - 1, atMost: most)
                    if count > 0 { reached[cascade.child.table.name] = cascade.child }
                    if let most, count >= most {
                        try beginAgain(with: cascade.child, wave: waves.count)
                        partCount += 1
                        waves = [[cascade.child]]
                        rings = nil
                        continue families
                    }
                }
            }
            waves.append(reached.count > 1 ? childrenFirst(reached) : Array(reached.values))
        }
        // The rings go last, with the rows that the batch begins with: all rows that belong to them are deleted then.
        if let rings, let table = connection.temporaries.chosenRows[scope.table.name.folded] {
            try connection.execute(
                SQLFragment("UPDATE temp.\(table) SET wave = 0 WHERE wave = ?", [rings.databaseValue]), db)
            waves[rings] = []
        }
        return (waves, partCount == 0)
    }

    /// Takes chosen rows out of wave 0 that refer to other chosen ones by a cascade: they must be deleted before those, and a wave
    /// finds them again. A row that refers to itself stays: it waits for no other. So does one whose key is NO ACTION: its
    /// order does not matter, since the key is checked when all rows are deleted.
    private func findRoots() throws {
        let table = try table(scope)
        for key in scope.table.entity.incomingRelationships
        where isOwn(key) && key.deleteRule != .noAction && request.deleteRule(of: key) == .cascade {
            try connection.execute(
                SQLFragment("UPDATE temp.\(table) SET wave = -1 WHERE \(Self.tuple(Self.columns(scope))) IN (SELECT ")
                    + pointing(key, sparingChosen: false) + " AND " + Self.isAnother(scope) + ")", db)
        }
    }

    private static func isAnother(_ scope: RowScope) -> String {
        "NOT (" + zip(scope.key, columns(scope)).map { "\($0) = +chosen.\($1)" }.joined(separator: " AND ") + ")"
    }

    /// Takes the references from rows that go no earlier than the row of their table that they refer to, as in a ring,
    /// where SQLite's own cascade could follow them deeper than it can. All of these rows are deleted in this transaction.
    private func breakRings(_ entities: [[RowScope]]) throws {
        var seen: Set<String> = []
        for entity in entities.joined() where seen.insert(entity.table.name).inserted {
            for key in entity.table.entity.incomingRelationships
            where key.deleteRule == .cascade && key.source.folded == entity.table.name.folded
                && entity.table.canLose(key)
            {
                let mine = zip(Self.columns(entity), entity.key).map { "mine.\($0) = +\($1)" }
                let rows =
                    try pointing(key, sparingChosen: false)
                    + " AND \(Self.isAnother(entity)) AND EXISTS (SELECT 1 FROM temp.\(table(entity)) AS mine WHERE "
                    + "\(mine.joined(separator: " AND ")) AND mine.wave <= chosen.wave)"
                let most = SQLiteTable.largestRing
                let count = try connection.count(
                    SQLFragment("SELECT count(*) FROM (SELECT ") + rows + " LIMIT \(most + 1))", db)
                // The cascade goes from wave to wave, and once more through them for each such reference, of either key.
                guard count > 0, (count + 1) * entities.count * entity.table.ownReferences.count > most,
                    try !connection.hasDangling(entity.table, in: table(entity), db)
                else { continue }
                let sets = key.sourceAttributes.map { "\($0.quotedIdentifier) = NULL" }.joined(separator: ", ")
                try connection.execute(
                    SQLFragment(
                        "UPDATE OR ABORT \(entity.from()) SET \(sets) WHERE \(Self.tuple(entity.key)) IN (SELECT ")
                        + rows + ")", db)
            }
        }
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
            var columns = SQLFragment(", ?, ", [0.databaseValue])
            columns += child.table.name == scope.table.name ? try isNamed(child) : SQLFragment("0")
            var found =
                SQLFragment("SELECT ")
                + (try pointing($0, sparingChosen: true, wave: 0, columns: columns + SQLFragment(" AS named")))
            if request.relationships == .deny { found = SQLFragment("SELECT * FROM (") + found + ") WHERE named" }
            return Cascade(
                child: child,
                statement: SQLFragment("INSERT INTO temp.\(try table(child)) ") + found
                    + SQLFragment(
                        " LIMIT ? ON CONFLICT (\(Self.columns(child).joined(separator: ", "))) "
                            + "DO UPDATE SET wave = excluded.wave", [0.databaseValue]))
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

    /// Deletes chosen rows that no row refers to, until there are none: RESTRICT holds even between rows that are deleted in the
    /// same statement.
    private func deleteLeavesFirst(_ keys: [Relationship]) throws {
        guard !keys.isEmpty else { return }
        let isPointedAt = keys.map { key in
            let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
                "\(RowScope.alias).\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
            }
            return "EXISTS (SELECT 1 FROM \(scope.table.sql) AS child WHERE \(refers.joined(separator: " AND ")))"
        }
        repeat {
            try connection.execute(
                SQLFragment("DELETE FROM \(scope.from()) WHERE ") + isChosen(scope)
                    + " AND NOT (\(isPointedAt.joined(separator: " OR ")))", db)
        } while db.changesCount > 0
    }

    /// Whether the transaction has references to rows that are not there.
    private func hasDeferredViolations() throws -> Bool {
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }

    /// Families within families, beyond which a batch is no longer made smaller.
    private static let mostParts = 100
}
