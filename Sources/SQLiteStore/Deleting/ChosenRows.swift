import GRDB
import PriceStore

/// The rows that one batch deletes: those that a query selects and those that cascades delete with them. Their keys are recorded before
/// anything changes.
///
/// Then references to these rows are cleared as the schema or the request says, and the rows are deleted, children first. So no row is
/// deleted before those that refer to it, and SQLite's own cascades find nothing to do.
struct ChosenRows {
    let request: BatchDeleteRequest
    let scope: RowScope
    let graph: KeyGraph
    let connection: SQLiteFile
    let db: Database
    /// The keys of the rows, as the only step.
    private let removed: RemovedRows
    private(set) var ownCounts: [String: Int] = [:]
    /// The number of rows deleted with those of the query.
    var cascadedCount: Int { ownCounts.reduce(0) { $0 + ($1.key == scope.table.name ? 0 : $1.value) } }
    /// The change in the number of remaining rows that lost a reference; below 0 if more of them were deleted than added.
    private(set) var nullifiedCount = 0

    /// Records the rows whose keys a query yields.
    init(
        _ keys: SQLFragment, of work: DeleteWork, _ scope: RowScope, _ graph: KeyGraph,
        _ connection: SQLiteFile, _ db: Database
    ) throws {
        request = work.request
        self.scope = scope
        self.graph = graph
        self.connection = connection
        self.db = db
        removed = connection.temporaries.batchRows
        try connection.emptyBatchRows(db)
        let table = try connection.removedTable(scope.table, removed, db)
        try connection.countingTemporaryRows(db) {
            try connection.execute("INSERT INTO temp.\(table) SELECT *, 0, 0 FROM (\(keys))", db)
        }
    }

    /// Deletes the rows, and deletes or changes those that refer to them as the request and the schema say.
    ///
    /// - Parameter bound: the most rows that one foreign key may cascade to, or nil for no limit.
    /// - Returns: whether all rows were deleted. If not, some related rows were, and the batch must be repeated.
    mutating func delete(atMost bound: Int?) throws -> Bool {
        if request.relationships == .deny { try deny(scope, "deny does not allow that") { _ in true } }
        let (tables, isAll) = try connection.countingTemporaryRows(db) { try collect(atMost: bound) }
        try connection.confirmKept(db) { entity in
            // No cascade leads back to the rule's own table.
            guard entity.table.name != scope.table.name, tables.contains(where: { $0.table.name == entity.table.name })
            else { return nil }
            return try isChosen(entity)
        }
        for table in tables {
            // The plan refuses this, but such a row may have been added since.
            try deny(table, "ON DELETE SET DEFAULT would make them refer to another row") {
                $0.deleteRule == .setDefault
            }
            for key in graph.keys(into: table.table.name) where key.clears && request.relationships != .deny {
                try clear(key)
            }
        }
        // Rows of two child tables may refer to each other through a foreign key without an action.
        let hadOpen = db.hasOpenReferences
        if tables.count > 1 { try connection.execute("PRAGMA defer_foreign_keys = ON", db) }
        for table in tables.reversed() {
            try connection.execute("DELETE FROM \(table.target()) WHERE \(isChosen(table))", db)
            ownCounts[table.table.name, default: 0] += db.changesCount
            nullifiedCount -= try connection.forgetCleared(
                table.table.name, table.table, self.table(table), db)
        }
        if tables.count > 1 {
            if !hadOpen && db.hasOpenReferences {
                throw connection.failure(
                    .constraint, "remaining rows refer to rows that would be deleted with those of \(scope.table.name)")
            }
            try connection.execute("PRAGMA defer_foreign_keys = OFF", db)
        }
        return isAll
    }

    /// The number of selected rows that are deleted, and their keys if they are to be listed. A trigger of the store may have restored
    /// some.
    func goneKeys(listed: Bool) throws -> (count: Int, keys: [[StoreValue]]) {
        let gone =
            "FROM temp.\(try table(scope)) AS chosen"
            + (scope.table.entity.deleteTriggers.isEmpty
                ? "" : " WHERE NOT EXISTS (SELECT 1 FROM \(scope.from()) WHERE \(scope.key.areFound(by: "chosen")))")
        guard listed else { return (try connection.count("SELECT count(*) \(gone)", db), []) }
        let list = scope.keyNames.list
        let keys = try connection.rows("SELECT \(list) \(gone) ORDER BY \(list)", db)
        return (keys.count, keys)
    }

    // MARK: Rows that are deleted with others

    /// Follows the cascades and records the rows that are deleted with the selected ones.
    ///
    /// If a foreign key leads to `bound` rows, the batch shrinks to these rows and those deleted with them. A row is deleted before the row
    /// that it refers to, so each such part leaves the store consistent.
    ///
    /// - Returns: the tables that lose rows, parents before children, and whether the batch still includes the selected rows.
    private func collect(atMost bound: Int?) throws -> (tables: [RowScope], isAll: Bool) {
        var reached: Set<String> = [scope.table.name]
        var isAll = true
        for name in graph.losing where reached.contains(name) {
            for key in graph.keys(into: name) where key.deleteRule == .cascade {
                let child = try source(of: key)
                let rows = try pointing(key, sparingChosen: true)
                try connection.execute(
                    """
                    INSERT OR IGNORE INTO temp.\(try table(child)) SELECT *, 0, 1 FROM \
                    (SELECT \(rows) LIMIT \(bound: bound ?? -1))
                    """, db)
                let count = db.changesCount
                if count > 0 { reached.insert(child.table.name) }
                guard let bound, count >= bound else { continue }
                for (entity, table) in removed.tables where entity != child.table.name.folded {
                    try connection.execute("DELETE FROM temp.\(table)", db)
                }
                reached = [child.table.name]
                isAll = false
                break
            }
        }
        return (try graph.losing.filter(reached.contains).map { try connection.tableScope($0, db) }, isAll)
    }

    /// Throws if a row refers to a recorded row through one of some foreign keys, even if it would be deleted itself.
    private func deny(_ parent: RowScope, _ reason: String, keys: (Relationship) -> Bool) throws {
        var obstacles: [(rowCount: Int, source: String)] = []
        for key in graph.keys(into: parent.table.name) where keys(key) {
            let rows = try pointing(key, sparingChosen: false)
            let number = try connection.count("SELECT count(*) FROM (SELECT DISTINCT \(rows))", db)
            if number > 0 { obstacles.append((number, key.text)) }
        }
        guard obstacles.isEmpty else {
            throw StoreError.referenced(
                parent.table.name, by: obstacles, forbiddenBy: reason, store: connection.name)
        }
    }

    // MARK: References

    /// Clears the references of rows that refer to recorded rows.
    private mutating func clear(_ key: Relationship) throws {
        let child = try source(of: key)
        // Where the request overrides the schema, SQLite could follow a chain of rows deeper than it can handle.
        let rows = try pointing(key, sparingChosen: !graph.forced.contains(key))
        guard let noted = try connection.noteCleared(child.table.name, child.table, rows, db) else { return }
        nullifiedCount += noted.newCount
        let sets = key.sourceAttributes.map { "\($0.quotedIdentifier) = NULL" }.list
        try connection.execute(
            "UPDATE \(child.from()) SET \(sets) WHERE \(child.key.operand) IN (SELECT * FROM temp.\(noted.keys))", db)
    }

    private func source(of key: Relationship) throws -> RowScope { try connection.tableScope(key.source, db) }

    // MARK: SQL

    private func table(_ scope: RowScope) throws -> String { try connection.removedTable(scope.table, removed, db) }

    /// The part after SELECT of a query for the keys of source rows that refer to recorded rows of the destination.
    ///
    /// - Parameter sparingChosen: whether rows that are recorded themselves are left out.
    private func pointing(_ key: Relationship, sparingChosen: Bool) throws -> SQLFragment {
        let stays: SQLFragment =
            sparingChosen ? "NOT \(try connection.childIsRemoved(key, removed, steps: "= 0", db))" : "TRUE"
        return "\(try connection.childKeys(key, db))\(try connection.references(key, removed, stays, db))"
    }

    private func isChosen(_ scope: RowScope) throws -> SQLFragment {
        "\(scope.key.operand) IN (SELECT \(scope.keyNames.list) FROM temp.\(try table(scope)))"
    }
}

extension SQLiteFile {
    /// Throws if a cascade reaches a row that must stay, or the last readable row of an entity.
    ///
    /// - Parameter reached: returns the condition that cascades reach a row of an entity, or nil if none is reached.
    func confirmKept(_ db: Database, reached: (RowScope) throws -> SQLFragment?) throws {
        for kept in rowsToKeep.entities {
            guard try catalog.table(kept.entity, db) != nil, case let entity = try scope(kept.entity, db),
                let rows = try reached(entity)
            else { continue }
            let isReadable = try dateSQL(kept.date, entity, db).readable()
            let readable: SQLFragment = "SELECT 1 FROM \(entity.from()) WHERE \(isReadable)"
            if try exists("\(readable) AND \(rows)", db), try !exists("\(readable) AND NOT (\(rows))", db) {
                throw StoreError.lastRow(of: entity.table.name, store: name)
            }
        }
        for kept in rowsToKeep.rows {
            guard try catalog.table(kept.rows.entity, db) != nil, case let entity = try scope(kept.rows.entity, db),
                let rows = try reached(entity)
            else { continue }
            let isKept = try condition(.notTrue(.not(kept.rows.rows)), entity, db)
            guard try exists("SELECT 1 FROM \(entity.from()) WHERE \(rows) AND (\(isKept))", db) else { continue }
            throw failure(
                .constraint,
                "a batch is rolled back, because a row of \(entity.table.name) that \(kept.keeper) keeps refers to "
                    + "rows that it deletes",
                hint: "the row has come to refer to them since the plan was made; the next run makes a new plan")
        }
    }
}
