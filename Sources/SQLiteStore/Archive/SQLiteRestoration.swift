import GRDB
import GRDBSQLite
import PriceStore

/// The work of an ``ArchiveRestoration`` in a SQLite file.
final class SQLiteRestoration: RestorationWork {
    /// A trigger that changes rows of a restored table is refused.
    var mayDiffer: Bool { false }
    private let archive: AttachedArchive
    private let writer: SQLiteWriter
    private let db: Database
    private let known: KnownRows
    private let skipsTriggers: Bool
    /// What triggers write during the restoration; nil if none fires.
    private let triggered: TriggerCounter?
    private let skipped: SkippedRows
    /// The rows of the last ``find(_:)`` that get a new rowid, because another row has theirs. The rowid is not a key.
    private var moves: [Int: Set<Int64>] = [:]
    /// Why the last savepoint was undone; nil if no constraint caused it.
    private var failure: DatabaseError?

    var tables: [RestorationTable] { archive.tables }
    var storeName: String { writer.name }

    static func begin(_ request: RestorationRequest, _ writer: SQLiteWriter) throws(StoreError) -> any Restoration {
        var request = request
        request.triggers = request.triggers ?? .fire
        let archive = try AttachedArchive(request, writer)
        return try writer.run("preparing to restore rows") { db in
            let work = try SQLiteRestoration(archive, skipsTriggers: request.triggers == .skip, writer, db)
            let candles = try CandleStates(archive, work.known, writer, db)
            return ArchiveRestoration(work, rules: archive.rules, parts: archive.parts, candles: candles)
        }
    }

    private init(_ archive: AttachedArchive, skipsTriggers: Bool, _ writer: SQLiteWriter, _ db: Database) throws {
        (self.archive, self.writer, self.db, self.skipsTriggers) = (archive, writer, db, skipsTriggers)
        skipped = try SkippedRows(of: archive, db)
        known = try KnownRows(archive, db)
        let firesTriggers = !skipsTriggers && archive.tables.contains { !$0.triggers.isEmpty }
        // What a history records is not an effect of the store's triggers.
        let own = Set(HistoryTables.names + archive.tables.map(\.table.folded))
        let others = try writer.catalog.schema(db).ordinaryTables.filter { !own.contains($0.folded) }
        triggered = firesTriggers ? try TriggerCounter(on: others, writer, db) : nil
    }

    deinit {
        let (known, triggered, skipped) = (known, triggered, skipped)
        try? writer.run("ending the restoration") { db in
            try triggered?.remove(db)
            try known.remove(db)
            try skipped.remove()
        }
    }

    func transaction(isLast: Bool, _ body: () throws -> Void) throws(StoreError) -> [String: TriggeredRows] {
        triggered?.forget()
        try writer.run("restoring rows") { db in
            try writer.withTriggers(!skipsTriggers, db) {
                try writer.transaction(isLast ? .full : .normal) {
                    // If the type of a column has changed, SQLite would convert values to it.
                    try writer.catalog.confirm(db)
                    try body()
                }
            }
        }
        return triggered?.counts ?? [:]
    }

    // MARK: Compared with the store

    func mustCompare(_ rows: ArchivedRows) -> Bool { known.hasMoved(rows) }

    func find(_ rows: ArchivedRows) throws -> (present: Set<Int64>, conflicts: Set<Int64>) {
        let found = try known.find(archive.tables[rows.table], rows.rows, db)
        moves[rows.table] = found.moves
        return (found.present, found.conflicts)
    }

    func children(
        _ rows: RowsToRestore, by relationship: Relationship, of parent: Int, _ parents: Set<Int64>
    ) throws -> [Int64] {
        try skipped.children(rows, by: relationship, of: parent, parents)
    }

    func noteSkipped(_ row: Int64, of table: Int) throws { try skipped.noteSkipped(row, of: table) }

    func key(of row: Int64, in table: Int) throws -> [StoreValue] {
        try writer.row(SQLFragment(archive.tables[table].keyQuery, [.integer(row)]), db) ?? []
    }

    // MARK: Inserted

    func insert(_ rows: [RowsToRestore]) throws -> Bool {
        // Rows that refer to each other in a circle refer to rows that are inserted later.
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        defer { try? db.execute(sql: "PRAGMA defer_foreign_keys = OFF") }
        return try attempt {
            for portion in rows {
                let (table, moved) = (archive.tables[portion.table], moves[portion.table] ?? [])
                var inPlace = portion
                inPlace.leftOut.formUnion(moved.filter(portion.rows.contains))
                let elsewhere =
                    moved.isEmpty ? [] : portion.rows.ranges { moved.contains($0) && !portion.leftOut.contains($0) }
                let count =
                    try inPlace.ranges.reduce(0) { try $0 + insert($1, into: table, table.insertion) }
                    + elsewhere.reduce(0) { try $0 + insert($1, into: table, table.insertionElsewhere) }
                // A trigger may ignore a row.
                guard count == portion.count else { return false }
            }
            return !db.hasOpenReferences
        }
    }

    func insert(_ row: Int64, of number: Int) throws -> RowRefusal? {
        let table = archive.tables[number]
        // A row with a new rowid may have taken this one.
        let isTaken = try table.isPlaceTaken.flatMap { try Bool.fetchOne(db, sql: $0, arguments: [row]) } == true
        failure = nil
        var isIgnored = false
        let isInserted = try attempt {
            isIgnored = try insert(row...row, into: table, isTaken ? table.insertionElsewhere : table.insertion) == 0
            return !isIgnored && !db.hasOpenReferences
        }
        return isInserted ? nil : isIgnored ? .isIgnored : refusal
    }

    private func insert(_ rows: ClosedRange<Int64>, into table: RestorationTable, _ sql: String) throws -> Int {
        try db.cachedStatement(sql: sql).execute(arguments: [rows.lowerBound, rows.upperBound])
        return db.changesCount
    }

    /// Runs work in a savepoint. The savepoint is undone if the work returns false or a constraint refuses it.
    func attempt(_ body: () throws -> Bool) throws -> Bool {
        struct IsUndone: Error {}
        let written = triggered?.written
        do {
            try writer.transaction(.normal) {
                do {
                    guard try body() else { throw IsUndone() }
                } catch let error as DatabaseError
                    where error.resultCode == .SQLITE_CONSTRAINT && db.isInsideTransaction
                {
                    failure = error
                    throw IsUndone()
                }
            }
            return true
        } catch is IsUndone {}
        if let written { triggered?.written = written }
        return false
    }

    /// Why the last attempt was undone.
    private var refusal: RowRefusal {
        guard let failure, failure.extendedResultCode != .SQLITE_CONSTRAINT_FOREIGNKEY else { return .lacksParent }
        let said = writer.outOfStepIndex(failure, db)?.fact ?? failure.reason
        return failure.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER
            ? RowRefusal("a trigger refuses it: \(said)", mayPass: true) : RowRefusal("the store refuses it: \(said)")
    }

    // MARK: References

    func restoreReferences(_ rows: ArchivedRows, skipped: [Int: Set<Int64>]) throws -> RestoredReferences {
        let table = archive.tables[rows.table]
        var found: RestoredReferences = (0, [:])
        let isOwnRowSkipped = try condition(skippedRows(table, skipped), table).map { try db.cachedStatement(sql: $0) }
        let hasRow = try db.cachedStatement(sql: table.hasRow)
        let updates = try table.referenceUpdates.map { update in
            (
                sql: update.sql,
                isBlocked: try condition(try blocks(table, update.relationship, skipped), table).map {
                    try db.cachedStatement(sql: $0)
                }
            )
        }
        for row in rows.rows.reversed() {
            // It is already listed as a skipped row.
            if let isOwnRowSkipped, try Bool.fetchOne(isOwnRowSkipped, arguments: [row]) == true { continue }
            var isChanged = false
            for update in updates {
                if let isBlocked = update.isBlocked, try Bool.fetchOne(isBlocked, arguments: [row]) == true {
                    found.obstacles[row] = "the row that it refers to was not restored"
                    continue
                }
                var count = 0
                failure = nil
                let isDone = try attempt {
                    // Taken from the cache each time, because a failed statement is not reused.
                    try db.cachedStatement(sql: update.sql).execute(arguments: [row])
                    count = db.changesCount
                    return !db.hasOpenReferences
                }
                if !isDone { found.obstacles[row] = refusal.reason }
                isChanged = isChanged || isDone && count > 0
            }
            if isChanged { found.changedCount += 1 }
            if !isChanged, found.obstacles[row] == nil, try Bool.fetchOne(hasRow, arguments: [row]) == false {
                found.obstacles[row] = "its row is not in the store"
            }
        }
        return found
    }

    private func condition(_ parts: [String], _ table: RestorationTable) -> String? {
        guard !parts.isEmpty else { return nil }
        return "SELECT \(parts.joined(separator: " OR ")) FROM \(table.source) AS r WHERE r.\(table.rowID) = ?"
    }

    /// Whether references belong to a row that was skipped, in SQL.
    private func skippedRows(_ table: RestorationTable, _ skipped: [Int: Set<Int64>]) -> [String] {
        archive.tables.filter { $0.holdsRows && $0.table == table.table && skipped[$0.number] != nil }.map { rows in
            "EXISTS (SELECT 1 FROM temp.\(self.skipped.name) AS s JOIN \(rows.source) AS a ON a.\(rows.rowID) = s.row "
                + "WHERE s.number = \(rows.number) AND \(table.isKey("a", of: table)))"
        }
    }

    /// Whether a reference refers to a row that was skipped, in SQL.
    private func blocks(
        _ table: RestorationTable, _ relationship: Relationship?, _ skipped: [Int: Set<Int64>]
    ) throws -> [String] {
        let columns = Set(table.columns.map { $0.folded })
        guard let relationship, relationship.sourceAttributes.allSatisfy({ columns.contains($0.folded) }) else {
            return []
        }
        let old = relationship.sourceAttributes.map { "r." + ("old_" + $0).quotedIdentifier }
        return try parents(relationship, in: skipped).map { try self.skipped.isAmong(old, relationship, $0) }
    }

    // MARK: Candles

    func restoreCandles(_ rows: ArchivedRows) throws -> (restored: [Int64], deleted: [Int64])? {
        let table = archive.tables[rows.table]
        let wasMade = try db.cachedStatement(sql: table.candleWasMade)
        var (restored, deleted): ([Int64], [Int64]) = ([], [])
        for row in rows.rows.reversed() {
            let isMade = try Bool.fetchOne(wasMade, arguments: [row]) == true
            try db.cachedStatement(sql: isMade ? table.candleDelete : table.candleUpdate).execute(arguments: [row])
            guard db.changesCount == 1 else { return nil }
            if isMade { deleted.append(row) } else { restored.append(row) }
        }
        return (restored, deleted)
    }
}
