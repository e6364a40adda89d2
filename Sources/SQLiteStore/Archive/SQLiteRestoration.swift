import GRDB
import GRDBSQLite
import PriceStore

/// Inserts the rows of an archive into the store again; see docs/undo.md.
///
/// Rows are inserted by one statement for each table where that is possible. If that fails, the rows are
/// compared with the store first, and if that is not enough, they are inserted one by one.
final class SQLiteRestoration: Restoration {
    let rules: [String]
    let tables: [RestorableTable]
    let mayDiffer: Bool
    private let archive: AttachedArchive
    private let writer: SQLiteWriter
    private var steps: RestorationSteps
    /// What the store has of the rows.
    private let known: KnownRows
    /// What the store has of the candles.
    private let candles: CandleStates
    /// Whether triggers of the store are switched off meanwhile.
    private let skipsTriggers: Bool
    /// What triggers insert meanwhile; nil: nothing that matters.
    private let inserts: TriggerInserts?
    /// What triggers write meanwhile; nil: none fires.
    private let triggered: TriggeredChanges?
    /// A temporary table with the numbers of archived rows that were not restored.
    private let skipped: String
    /// The numbers of tables of which rows were skipped.
    private var tablesWithSkips: Set<Int> = []

    init(_ request: RestorationRequest, _ writer: SQLiteWriter) throws(StoreError) {
        let archive = try AttachedArchive(request, writer)
        self.archive = archive
        self.writer = writer
        rules = archive.rules
        let skipsTriggers = request.triggers == .skip
        self.skipsTriggers = skipsTriggers
        let firesTriggers = !skipsTriggers && archive.tables.contains { !$0.triggers.isEmpty }
        mayDiffer = firesTriggers
        steps = RestorationSteps(archive.parts, of: archive.tables)
        let skipped = writer.temporaryName("skipped")
        self.skipped = skipped
        (known, inserts, triggered, candles) = try writer.run("preparing to restore rows") { db in
            try db.execute(
                sql:
                    "CREATE TEMP TABLE \(skipped) (number INTEGER, row INTEGER, PRIMARY KEY (number, row)) WITHOUT ROWID"
            )
            let known = try KnownRows(archive, writer, db)
            return (
                known, skipsTriggers ? nil : try TriggerInserts.watch(archive, writer, db),
                firesTriggers ? try TriggeredChanges(writer, db) : nil, try CandleStates(archive, known, writer, db)
            )
        }
        var tables = archive.parts.emptyCounts(of: archive.tables)
        candles.add(to: &tables)
        self.tables = tables
    }

    deinit {
        let (known, inserts, triggered, skipped) = (known, inserts, triggered, skipped)
        try? writer.run("ending the restoration") { db in
            try inserts?.remove(db)
            try triggered?.remove(db)
            try known.remove(db)
            try db.execute(sql: "DROP TABLE IF EXISTS temp.\(skipped)")
        }
    }

    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart {
        let (batch, next) = steps.next(rows: rows)
        var part = RestorationPart()
        let before = tablesWithSkips
        do {
            try writer.run("restoring rows") { db in
                triggered?.counts = [:]
                try writer.withTriggers(!skipsTriggers, db) {
                    // The archive is removed one day: what is said to be restored must be on disk by then.
                    try writer.transaction(steps.isEnd(next) ? .full : .normal) { try restore(batch, &part, db) }
                }
            }
            part.byTriggers = triggered?.counts.filter { !$1.isEmpty } ?? [:]
        } catch {
            tablesWithSkips = before
            throw error
        }
        steps.place = next
        part.hasMore = !steps.isEnd(next)
        return part
    }

    /// Restores a batch in its transaction.
    private func restore(_ batch: [RestorationStep], _ part: inout RestorationPart, _ db: Database) throws {
        defer { try? db.execute(sql: "PRAGMA defer_foreign_keys = OFF") }
        // A value would be changed to the type that a column has by now.
        try writer.catalog.confirm(db)
        try RestorationSteps.carryOut(batch, of: archive.tables, store: writer.name, &part, candles: candles) {
            try restore($0, &$1, db)
        } restoreCandles: {
            try restoreCandles($0, &$1, db)
        }
    }

    private func restore(_ step: RestorationStep, _ part: inout RestorationPart, _ db: Database) throws {
        if let portion = step.portions.first, !archive.tables[portion.table].holdsRows {
            return try restoreReferences(portion, &part, db)
        }
        // A row whose parent was skipped would belong to the row that uses the parent's key now.
        let hasSkippedParents = step.portions.contains { portion in
            archive.tables[portion.table].relationships.contains { !skippedParents($0).isEmpty }
        }
        if !hasSkippedParents, try insertAll(step.portions, db) {
            for portion in step.portions {
                part.note(archive.tables[portion.table].table) { $0.restoredCount += portion.rows.count }
            }
            return
        }
        try compare(step.portions, &part, db)
        defer { try? known.forget(db) }
        let left = try step.portions.map { try Int.fetchOne(db, sql: "SELECT count(*) FROM (\(leftQuery($0)))") ?? 0 }
        if try insertAll(step.portions, counts: left, db) {
            for (portion, count) in zip(step.portions, left) {
                part.note(archive.tables[portion.table].table) { $0.restoredCount += count }
            }
        } else {
            try insertEach(step.portions, &part, db)
        }
    }

    // MARK: All rows at once

    /// Inserts all rows of some portions, or those that are left after ``compare(_:_:_:)``; false: something was in the way,
    /// and none is inserted.
    ///
    /// - Parameter counts: the rows that are left; nil: nothing was compared.
    private func insertAll(_ portions: [ArchivedRows], counts: [Int]? = nil, _ db: Database) throws -> Bool {
        // Rows of a circle refer to rows that are inserted after them.
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        defer { try? db.execute(sql: "PRAGMA defer_foreign_keys = OFF") }
        return try inserting(db) {
            for (index, portion) in portions.enumerated() {
                let inserted = try insert(portion.rows, of: portion.table, areSearched: counts != nil, db)
                // A trigger may ignore a row.
                guard inserted == counts?[index] ?? portion.rows.count else { return false }
            }
            return !hasOpenReferences(db)
        }
    }

    /// Inserts rows of a table.
    ///
    /// - Parameter areSearched: whether the store was searched for them; then only those are inserted that are left.
    private func insert(_ rows: ClosedRange<Int64>, of number: Int, areSearched: Bool, _ db: Database) throws -> Int {
        let table = archive.tables[number]
        inserts?.restoring = number
        return try (areSearched ? table.insertions(besides: known) : [table.insertion]).reduce(0) { count, sql in
            try db.cachedStatement(sql: sql).execute(arguments: [rows.lowerBound, rows.upperBound])
            triggered?.leaveOut(TriggeredRows(insertedCount: db.changesCount), of: table.table)
            return count + db.changesCount
        }
    }

    /// Inserts rows in a savepoint. Where triggers of the store insert rows into other tables of the archive, and where they
    /// cannot, it is done once more without them: the places of these rows are those of archived ones.
    private func inserting(_ db: Database, _ body: () throws -> Bool) throws -> Bool {
        guard let inserts else { return try inSavepoint(db, body) }
        defer { (inserts.restoring, inserts.areKeptOut) = (-1, false) }
        for areKeptOut in [false, true] {
            (inserts.areKeptOut, inserts.count) = (areKeptOut, 0)
            if try inSavepoint(db, { try body() && (areKeptOut || inserts.count == 0) }) { return true }
        }
        return false
    }

    /// Carries out work in a savepoint, which is undone if the work says false or a constraint refuses it.
    private func inSavepoint(_ db: Database, _ body: () throws -> Bool) throws -> Bool {
        try db.execute(sql: "SAVEPOINT retention_undo")
        let counts = triggered?.counts
        func rollBack() throws {
            try db.execute(sql: "ROLLBACK TO retention_undo; RELEASE retention_undo")
            if let counts { triggered?.counts = counts }
        }
        do {
            guard try body() else {
                try rollBack()
                return false
            }
            try db.execute(sql: "RELEASE retention_undo")
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT && db.isInsideTransaction {
            try rollBack()
            failure = error
            return false
        }
    }

    /// Why the last savepoint was undone; nil: no constraint refused it.
    private var failure: DatabaseError?

    /// Whether a row refers to one that is not in the store.
    private func hasOpenReferences(_ db: Database) -> Bool {
        var (open, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0)
        return open > 0
    }

    // MARK: Compared with the store

    /// The rows of a portion that are neither in the store nor skipped, the last first.
    private func leftQuery(_ portion: ArchivedRows) -> String {
        let table = archive.tables[portion.table]
        return
            "SELECT a.\(table.rowID) FROM \(table.source) AS a WHERE a.\(table.rowID) BETWEEN \(portion.rows.lowerBound) AND "
            + "\(portion.rows.upperBound) AND NOT \(known.isFound(portion.table, "a.\(table.rowID)", .conflict, .present)) ORDER BY 1 DESC"
    }

    /// Finds the rows that the store has, those whose key another row uses, and their children.
    private func compare(_ portions: [ArchivedRows], _ part: inout RestorationPart, _ db: Database) throws {
        for portion in portions {
            let table = archive.tables[portion.table]
            try known.find(table, portion.rows, db)
            let present = try known.count(table, .present, db)
            part.note(table.table) { $0.presentCount += present }
            let conflicts = try Int64.fetchAll(
                db, sql: "SELECT row FROM \(known.found) WHERE number = ? AND state = ?",
                arguments: [portion.table, KnownRows.State.conflict.rawValue])
            for row in conflicts { try skip(row, portion.table, "the store has another row with its key", &part, db) }
        }
        while try skipChildren(portions, &part, db) {}
    }

    /// Skips the rows whose parents were skipped.
    ///
    /// - Returns: whether there were any.
    private func skipChildren(
        _ portions: [ArchivedRows], _ part: inout RestorationPart, _ db: Database
    ) throws -> Bool {
        var hasFound = false
        for portion in portions {
            let table = archive.tables[portion.table]
            for relationship in table.relationships {
                for parent in skippedParents(relationship) {
                    let references = relationship.sourceAttributes.map { "a." + $0.quotedIdentifier }
                    let rows = try Int64.fetchAll(
                        db,
                        sql: """
                            SELECT a.\(table.rowID) FROM \(table.source) AS a WHERE a.\(table.rowID) BETWEEN ? AND ?
                            AND NOT \(known.isFound(portion.table, "a.\(table.rowID)", .conflict, .present)) AND \(isSkipped(references, relationship, parent))
                            """, arguments: [portion.rows.lowerBound, portion.rows.upperBound])
                    for row in rows {
                        try known.leaveOut(row, of: portion.table, db)
                        try skip(
                            row, portion.table, "its row of \(archive.tables[parent].table) was not restored", &part, db
                        )
                    }
                    hasFound = hasFound || !rows.isEmpty
                }
            }
        }
        return hasFound
    }

    /// The tables of the archive with skipped rows that a relationship refers to.
    private func skippedParents(_ relationship: Relationship) -> [Int] {
        tablesWithSkips.filter { archive.tables[$0].table.folded == relationship.destination.folded }
    }

    /// Whether values refer to a skipped row.
    private func isSkipped(_ values: [String], _ relationship: Relationship, _ parent: Int) -> String {
        let table = archive.tables[parent]
        let keys = relationship.destinationAttributes.map { "p." + $0.quotedIdentifier }.joined(separator: ", ")
        return """
            (\(values.joined(separator: ", "))) IN (SELECT \(keys) FROM \(table.source) AS p WHERE p.\(table.rowID) IN
            (SELECT row FROM temp.\(skipped) WHERE number = \(parent)))
            """
    }

    private func skip(
        _ row: Int64, _ number: Int, _ reason: String, _ part: inout RestorationPart, _ db: Database
    ) throws {
        let table = archive.tables[number]
        try db.execute(sql: "INSERT OR IGNORE INTO temp.\(skipped) VALUES (?, ?)", arguments: [number, row])
        tablesWithSkips.insert(number)
        part.note(table.table) { $0.skippedCount += 1 }
        try list(row, table, reason, &part, db)
    }

    private func list(
        _ row: Int64, _ table: RestorationTable, _ reason: String, _ part: inout RestorationPart, _ db: Database
    ) throws {
        guard part.listsMore else { return }
        let key = try Row.fetchOne(db, sql: table.keyQuery, arguments: [row]).map {
            Array($0.databaseValues).map { StoreValue($0) }
        }
        part.skipped.append(SkippedRow(table: table.table, key: key ?? [], reason: reason))
    }

    // MARK: Row by row

    private struct Refused {
        var number: Int
        var row: Int64
        var reason = ""
    }

    /// Inserts the rows that are left one by one and skips the others.
    ///
    /// A child can be inserted before its parent turns out to be refused: the row that has the parent's key would get it. So an
    /// attempt in which a row was refused is rolled back, and the next one is made without that row and its children.
    private func insertEach(_ portions: [ArchivedRows], _ part: inout RestorationPart, _ db: Database) throws {
        while true {
            try db.execute(sql: "SAVEPOINT retention_undo_rows")
            let counts = triggered?.counts
            let (inserted, refused) = try insertLeft(portions, db)
            if !refused.isEmpty {
                try db.execute(sql: "ROLLBACK TO retention_undo_rows")
                if let counts { triggered?.counts = counts }
            }
            try db.execute(sql: "RELEASE retention_undo_rows")
            guard !refused.isEmpty else {
                for number in inserted { part.note(archive.tables[number].table) { $0.restoredCount += 1 } }
                return
            }
            for row in refused {
                try known.leaveOut(row.row, of: row.number, db)
                try skip(row.row, row.number, row.reason, &part, db)
            }
            while try skipChildren(portions, &part, db) {}
        }
    }

    /// Inserts the rows that are left one by one, as often as that helps.
    ///
    /// - Returns: the tables of the rows that were inserted, and those that were refused.
    private func insertLeft(_ portions: [ArchivedRows], _ db: Database) throws -> ([Int], [Refused]) {
        var inserted: [Int] = []
        var waiting = try portions.flatMap { portion in
            try Int64.fetchAll(db, sql: leftQuery(portion)).map { Refused(number: portion.table, row: $0) }
        }
        while true {
            var refused: [Refused] = []
            var isLater = false
            for var next in waiting {
                failure = nil
                var isIgnored = false
                // A row that has got a new rowid may have taken this one's.
                let table = archive.tables[next.number]
                if table.isSamePlace != nil { try known.find(table, next.row...next.row, db) }
                let isInserted = try inserting(db) {
                    isIgnored = try insert(next.row...next.row, of: next.number, areSearched: true, db) == 0
                    return !isIgnored && !hasOpenReferences(db)
                }
                if isInserted {
                    inserted.append(next.number)
                    continue
                }
                next.reason = isIgnored ? "a trigger ignores it" : reason(db)
                refused.append(next)
                isLater = isLater || !isIgnored && failure.map { Self.mayPassLater($0) } ?? true
            }
            // Another row can be what a row waits for: its parent.
            guard isLater, refused.count < waiting.count else { return (inserted, refused) }
            waiting = refused
        }
    }

    private static func mayPassLater(_ error: DatabaseError) -> Bool {
        [.SQLITE_CONSTRAINT_FOREIGNKEY, .SQLITE_CONSTRAINT_TRIGGER].contains(error.extendedResultCode)
    }

    /// Why a row was refused, as a clause.
    private func reason(_ db: Database) -> String {
        let missing = "a row that it refers to is not in the store"
        guard let failure, failure.extendedResultCode != .SQLITE_CONSTRAINT_FOREIGNKEY else { return missing }
        let said = writer.outOfStepIndex(failure, db)?.fact ?? failure.message ?? "a constraint"
        return failure.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER
            ? "a trigger refuses it: \(said)" : "the store refuses it: \(said)"
    }

    // MARK: References

    /// Gives references that were cleared their old values, where nobody has changed them since.
    private func restoreReferences(
        _ portion: ArchivedRows, _ part: inout RestorationPart, _ db: Database
    ) throws {
        let table = archive.tables[portion.table]
        let isOwnRowSkipped = try condition(skippedRows(table), table).map { try db.cachedStatement(sql: $0) }
        let hasRow = try db.cachedStatement(sql: table.hasRow)
        let updates = try table.referenceUpdates.map { update in
            (
                sql: update.sql,
                isBlocked: try condition(blocks(table, update.relationship), table).map {
                    try db.cachedStatement(sql: $0)
                }
            )
        }
        for row in portion.rows.reversed() {
            // It is listed as a row.
            if let isOwnRowSkipped, try Bool.fetchOne(isOwnRowSkipped, arguments: [row]) ?? false { continue }
            var isChanged = false
            var obstacle: String?
            for update in updates {
                if let isBlocked = update.isBlocked, try Bool.fetchOne(isBlocked, arguments: [row]) ?? false {
                    obstacle = "the row that it refers to was not restored"
                    continue
                }
                var count = 0
                failure = nil
                let isDone = try inSavepoint(db) {
                    // From the cache each time: a statement that has failed is not reused.
                    try db.cachedStatement(sql: update.sql).execute(arguments: [row])
                    count = db.changesCount
                    triggered?.leaveOut(TriggeredRows(changedCount: count), of: table.table)
                    return !hasOpenReferences(db)
                }
                if !isDone { obstacle = reason(db) }
                isChanged = isChanged || isDone && count > 0
            }
            if isChanged { part.note(table.table) { $0.referenceCount += 1 } }
            if !isChanged, obstacle == nil, try Bool.fetchOne(hasRow, arguments: [row]) == false {
                obstacle = "its row is not in the store"
            }
            guard let obstacle else { continue }
            part.note(table.table) { $0.skippedReferenceCount += 1 }
            try list(row, table, "its reference is not restored: \(obstacle)", &part, db)
        }
    }

    // MARK: Candles

    /// Gives candles the values that they had before rows were added to them, and deletes those that were made then.
    private func restoreCandles(_ portion: ArchivedRows, _ part: inout RestorationPart, _ db: Database) throws {
        let table = archive.tables[portion.table]
        let wasMade = try db.cachedStatement(sql: table.candleWasMade)
        for row in portion.rows.reversed() {
            let isMade = try Bool.fetchOne(wasMade, arguments: [row]) ?? false
            let change = try db.cachedStatement(sql: isMade ? table.candleDelete : table.candleUpdate)
            try change.execute(arguments: [row])
            guard db.changesCount == 1 else {
                throw StoreError.candlesCannotBeRestored(
                    table.table, "one of them was changed during the undo, or is there more than once",
                    store: writer.name)
            }
            triggered?.leaveOut(
                isMade ? TriggeredRows(deletedCount: 1) : TriggeredRows(changedCount: 1), of: table.table)
            // It may have been changed by an earlier transaction of the run, too: then it counts there.
            if candles.repeated[portion.table]?.contains(row) == true { continue }
            part.note(table.table) {
                if isMade { $0.deletedCandleCount += 1 } else { $0.restoredCandleCount += 1 }
            }
        }
    }

    private func condition(_ parts: [String], _ table: RestorationTable) -> String? {
        guard !parts.isEmpty else { return nil }
        return "SELECT \(parts.joined(separator: " OR ")) FROM \(table.source) AS r WHERE r.\(table.rowID) = ?"
    }

    /// Whether references belong to a row that was skipped, in SQL.
    private func skippedRows(_ table: RestorationTable) -> [String] {
        archive.tables.enumerated().filter { number, rows in
            rows.holdsRows && rows.table == table.table && tablesWithSkips.contains(number)
        }.map { number, rows in
            "EXISTS (SELECT 1 FROM temp.\(skipped) AS s JOIN \(rows.source) AS a ON a.\(rows.rowID) = s.row "
                + "WHERE s.number = \(number) AND \(table.isKey("a", of: table)))"
        }
    }

    /// Whether a reference refers to a row that was skipped, in SQL.
    private func blocks(_ table: RestorationTable, _ relationship: Relationship?) -> [String] {
        let columns = Set(table.columns.map { $0.folded })
        guard let relationship, relationship.sourceAttributes.allSatisfy({ columns.contains($0.folded) }) else {
            return []
        }
        let old = relationship.sourceAttributes.map { "r." + ("old_" + $0).quotedIdentifier }
        return skippedParents(relationship).map { isSkipped(old, relationship, $0) }
    }
}
