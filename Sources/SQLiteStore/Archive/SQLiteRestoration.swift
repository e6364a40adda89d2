import GRDB
import GRDBSQLite
import PriceStore

/// Inserts the rows of an archive into the store again; see docs/undo.md.
///
/// Rows are inserted by one statement for each table where that is possible. Where something is in the way, the rows are
/// compared with the store first, and if that is not enough, they are inserted one by one.
final class SQLiteRestoration: Restoration {
    let rules: [String]
    let tables: [RestorableTable]
    let mayDiffer: Bool
    private let archive: AttachedArchive
    private let writer: SQLiteWriter
    private let steps: [RestorationStep]
    /// The next step, and how many rows of its first portion are done.
    private var place = (step: 0, rows: Int64(0))
    /// The tables with old values of references, by the number of the table with the rows.
    private let references: [Int: [RestorationTable]]
    /// Temporary tables with the numbers of archived rows: those that the store has, and those that were not restored.
    private let known: String
    private let skipped: String
    /// The numbers of tables of which rows were skipped.
    private var tablesWithSkips: Set<Int> = []

    init(_ request: RestorationRequest, _ writer: SQLiteWriter) throws(StoreError) {
        let archive = try AttachedArchive(request, writer)
        self.archive = archive
        self.writer = writer
        rules = archive.rules
        tables = archive.emptyCounts
        mayDiffer = archive.tables.contains(where: \.mayDiffer)
        steps = archive.steps
        (known, skipped) = (writer.temporaryName("known"), writer.temporaryName("skipped"))
        let (known, skipped) = (known, skipped)
        references = try writer.run("preparing to restore rows") { db in
            for name in [known, skipped] {
                try db.execute(
                    sql:
                        "CREATE TEMP TABLE \(name) (number INTEGER, row INTEGER, state INTEGER, PRIMARY KEY (number, row)) WITHOUT ROWID"
                )
            }
            return try archive.copyReferences(db)
        }
    }

    deinit {
        let names = [known, skipped] + Set(references.values.joined().map(\.copyName))
        try? writer.run("ending the restoration") { db in
            for name in names { try db.execute(sql: "DROP TABLE IF EXISTS temp.\(name)") }
        }
    }

    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart {
        let (batch, next) = nextBatch(rows: max(1, rows))
        var part = RestorationPart()
        let before = tablesWithSkips
        do {
            try writer.run("restoring rows") { db in
                // The archive is removed one day: what is said to be restored must be on disk by then.
                try writer.transaction(next.step == steps.count ? .full : .normal) {
                    defer { try? db.execute(sql: "PRAGMA defer_foreign_keys = OFF") }
                    for step in batch { try restore(step, &part, db) }
                }
            }
        } catch {
            tablesWithSkips = before
            throw error
        }
        place = next
        part.hasMore = place.step < steps.count
        return part
    }

    /// The steps, or pieces of steps, of the next transaction, and the place behind them.
    private func nextBatch(rows: Int) -> ([RestorationStep], (step: Int, rows: Int64)) {
        var batch: [RestorationStep] = []
        var next = place
        var room = Int64(rows)
        while room > 0, next.step < steps.count {
            let step = steps[next.step]
            if step.isWhole || step.portions.isEmpty {
                if !batch.isEmpty, step.rowCount > room { break }
                batch.append(step)
                room -= Int64(step.rowCount)
                next = (next.step + 1, 0)
                continue
            }
            var portion = step.portions[0]
            // What was deleted last is restored first.
            let last = portion.rows.upperBound - next.rows
            let first = max(portion.rows.lowerBound, last - room + 1)
            portion.rows = first...last
            batch.append(RestorationStep(portions: [portion], isWhole: false))
            room -= last - first + 1
            next =
                first == step.portions[0].rows.lowerBound
                ? (next.step + 1, 0) : (next.step, next.rows + (last - first + 1))
        }
        return (batch, next)
    }

    private func restore(_ step: RestorationStep, _ part: inout RestorationPart, _ db: Database) throws {
        if let portion = step.portions.first, archive.tables[portion.table].kind == .references {
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
        let left = try step.portions.map { try Int.fetchOne(db, sql: "SELECT count(*) FROM (\(leftQuery($0)))") ?? 0 }
        if try insertAll(step.portions, counts: left, db) {
            for (portion, count) in zip(step.portions, left) {
                part.note(archive.tables[portion.table].table) { $0.restoredCount += count }
            }
        } else {
            try insertEach(step.portions, &part, db)
        }
        try db.execute(sql: "DELETE FROM temp.\(known)")
    }

    // MARK: All rows at once

    /// Inserts all rows of some portions, or those that are left after ``compare(_:_:_:)``; false: something was in the way,
    /// and none is inserted.
    ///
    /// - Parameter counts: the rows that are left; nil: nothing was compared.
    private func insertAll(_ portions: [AttachedArchive.Portion], counts: [Int]? = nil, _ db: Database) throws -> Bool {
        // Rows of a circle refer to rows that are inserted after them.
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        defer { try? db.execute(sql: "PRAGMA defer_foreign_keys = OFF") }
        return try inSavepoint(db) {
            for (index, portion) in portions.enumerated() {
                let table = archive.tables[portion.table]
                let condition = counts == nil ? "" : " AND NOT \(isKnown(portion.table, "a.\(table.rowID)"))"
                let statement = try db.cachedStatement(sql: table.insertion(where: condition))
                try statement.execute(arguments: [portion.rows.lowerBound, portion.rows.upperBound])
                // A trigger may ignore a row.
                guard db.changesCount == counts?[index] ?? portion.rows.count else { return false }
            }
            return !hasOpenReferences(db)
        }
    }

    /// Carries out work in a savepoint, which is undone if the work says false or a constraint refuses it.
    private func inSavepoint(_ db: Database, _ body: () throws -> Bool) throws -> Bool {
        try db.execute(sql: "SAVEPOINT retention_undo")
        func rollBack() throws { try db.execute(sql: "ROLLBACK TO retention_undo; RELEASE retention_undo") }
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

    private func isKnown(_ number: Int, _ row: String) -> String {
        "EXISTS (SELECT 1 FROM temp.\(known) AS k WHERE k.number = \(number) AND k.row = \(row))"
    }

    /// The rows of a portion that are neither in the store nor skipped, the last first.
    private func leftQuery(_ portion: AttachedArchive.Portion) -> String {
        let table = archive.tables[portion.table]
        return
            "SELECT a.\(table.rowID) FROM \(table.source) AS a WHERE a.\(table.rowID) BETWEEN \(portion.rows.lowerBound) AND "
            + "\(portion.rows.upperBound) AND NOT \(isKnown(portion.table, "a.\(table.rowID)")) ORDER BY 1 DESC"
    }

    /// Finds the rows that the store has, those whose key another row uses, and their children.
    private func compare(_ portions: [AttachedArchive.Portion], _ part: inout RestorationPart, _ db: Database) throws {
        for portion in portions {
            let table = archive.tables[portion.table]
            try db.execute(
                sql: """
                    INSERT INTO temp.\(known) SELECT \(portion.table), a.\(table.rowID), \(table.isEqual(references[portion.table] ?? []))
                    FROM \(table.source) AS a CROSS JOIN \(table.target) AS m ON \(table.isSameKey)
                    WHERE a.\(table.rowID) BETWEEN ? AND ?
                    """, arguments: [portion.rows.lowerBound, portion.rows.upperBound])
            let present =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM temp.\(known) WHERE number = ? AND state", arguments: [portion.table]
                ) ?? 0
            part.note(table.table) { $0.presentCount += present }
            let conflicts = try Int64.fetchAll(
                db, sql: "SELECT row FROM temp.\(known) WHERE number = ? AND NOT state", arguments: [portion.table])
            for row in conflicts { try skip(row, portion.table, "the store has another row with its key", &part, db) }
        }
        while try skipChildren(portions, &part, db) {}
    }

    /// Skips the rows whose parents were skipped.
    ///
    /// - Returns: whether there were any.
    private func skipChildren(
        _ portions: [AttachedArchive.Portion], _ part: inout RestorationPart, _ db: Database
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
                            AND NOT \(isKnown(portion.table, "a.\(table.rowID)")) AND \(isSkipped(references, relationship, parent))
                            """, arguments: [portion.rows.lowerBound, portion.rows.upperBound])
                    for row in rows {
                        try db.execute(
                            sql: "INSERT INTO temp.\(known) VALUES (?, ?, 0)", arguments: [portion.table, row])
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
        tablesWithSkips.filter { archive.tables[$0].table.lowercased() == relationship.destination.lowercased() }
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
        try db.execute(sql: "INSERT OR IGNORE INTO temp.\(skipped) VALUES (?, ?, 0)", arguments: [number, row])
        tablesWithSkips.insert(number)
        part.note(table.table) { $0.skippedCount += 1 }
        guard part.skipped.count < Self.mostListed else { return }
        let key = try Row.fetchOne(db, sql: table.keyQuery(), arguments: [row]).map {
            Array($0.databaseValues).map { StoreValue($0) }
        }
        part.skipped.append(SkippedRow(table: table.table, key: key ?? [], reason: reason))
    }

    private static let mostListed = 100

    // MARK: Row by row

    /// Inserts the rows that are left one by one, as often as that helps, and skips the others.
    private func insertEach(_ portions: [AttachedArchive.Portion], _ part: inout RestorationPart, _ db: Database) throws
    {
        var waiting = try portions.flatMap { portion in
            try Int64.fetchAll(db, sql: leftQuery(portion)).map { (number: portion.table, row: $0) }
        }
        var reasons: [String] = []
        while true {
            var refused: [(number: Int, row: Int64)] = []
            var isLater = false
            reasons = []
            for next in waiting {
                let table = archive.tables[next.number]
                failure = nil
                var isIgnored = false
                let isInserted = try inSavepoint(db) {
                    let statement = try db.cachedStatement(sql: table.insertion())
                    try statement.execute(arguments: [next.row, next.row])
                    isIgnored = db.changesCount == 0
                    return !isIgnored && !hasOpenReferences(db)
                }
                if isInserted {
                    part.note(table.table) { $0.restoredCount += 1 }
                    continue
                }
                refused.append(next)
                reasons.append(isIgnored ? "a trigger ignores it" : reason(table))
                isLater = isLater || !isIgnored && failure.map { Self.mayPassLater($0) } ?? true
            }
            // Another row can be what a row waits for: its parent.
            guard isLater, refused.count < waiting.count else {
                waiting = refused
                break
            }
            waiting = refused
        }
        for (next, reason) in zip(waiting, reasons) { try skip(next.row, next.number, reason, &part, db) }
    }

    private static func mayPassLater(_ error: DatabaseError) -> Bool {
        [.SQLITE_CONSTRAINT_FOREIGNKEY, .SQLITE_CONSTRAINT_TRIGGER].contains(error.extendedResultCode)
    }

    /// Why a row was refused, as a clause.
    private func reason(_ table: RestorationTable) -> String {
        let missing = "a row that it refers to is not in the store"
        guard let failure, failure.extendedResultCode != .SQLITE_CONSTRAINT_FOREIGNKEY else { return missing }
        let said = failure.message ?? "a constraint"
        return failure.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER
            ? "a trigger refuses it: \(said)" : "the store refuses it: \(said)"
    }

    // MARK: References

    /// Gives references that were cleared their old values, where nobody has changed them since.
    private func restoreReferences(
        _ portion: AttachedArchive.Portion, _ part: inout RestorationPart, _ db: Database
    ) throws {
        let table = archive.tables[portion.table]
        let updates = try table.referenceUpdates.map { update in
            (
                statement: try db.cachedStatement(sql: update.sql),
                blocked: try blocked(table, update.relationship).map { try db.cachedStatement(sql: $0) }
            )
        }
        for row in portion.rows.reversed() {
            var isChanged = false
            for update in updates {
                if let blocked = update.blocked, try Bool.fetchOne(blocked, arguments: [row]) ?? false { continue }
                var count = 0
                let isDone = try inSavepoint(db) {
                    try update.statement.execute(arguments: [row])
                    count = db.changesCount
                    return !hasOpenReferences(db)
                }
                isChanged = isChanged || isDone && count > 0
            }
            if isChanged { part.note(table.table) { $0.referenceCount += 1 } }
        }
    }

    /// Whether a reference belongs to a row that was skipped, or refers to one, in SQL; nil: none was skipped.
    private func blocked(_ table: RestorationTable, _ relationship: Relationship?) -> String? {
        var conditions: [String] = []
        for (number, rows) in archive.tables.enumerated()
        where rows.kind == .rows && rows.table == table.table && tablesWithSkips.contains(number) {
            let keys = table.key.map { "a.\($0.quotedIdentifier) = r.\($0.quotedIdentifier)" }.joined(
                separator: " AND ")
            conditions.append(
                "EXISTS (SELECT 1 FROM temp.\(skipped) AS s JOIN \(rows.source) AS a ON a.\(rows.rowID) = s.row "
                    + "WHERE s.number = \(number) AND \(keys))")
        }
        let columns = Set(table.columns.map { $0.lowercased() })
        if let relationship, relationship.sourceAttributes.allSatisfy({ columns.contains($0.lowercased()) }) {
            let old = relationship.sourceAttributes.map { "r." + ("old_" + $0).quotedIdentifier }
            conditions += skippedParents(relationship).map { isSkipped(old, relationship, $0) }
        }
        guard !conditions.isEmpty else { return nil }
        return "SELECT \(conditions.joined(separator: " OR ")) FROM \(table.source) AS r WHERE r.\(table.rowID) = ?"
    }
}

extension RestorationPart {
    /// Adds to the counts of a table.
    fileprivate mutating func note(_ table: String, _ change: (inout RestoredTable) -> Void) {
        change(&tables[table, default: RestoredTable()])
    }
}
