import GRDB
import PriceStore

/// The execution of one batch delete request. The methods add up what they delete.
struct BatchDelete {
    let connection: SQLiteFile
    let db: Database
    let work: DeleteWork
    let statement: DeleteStatement
    /// How the key gives rows by date in groups; nil: rows are not deleted so.
    let groups: KeyGroups?
    let archiver: RowArchiver?
    /// What the batch has done so far. Its candles are made of the rows of this and earlier batches.
    private(set) var result = BatchDeleteResult(deletedCount: 0)
    var deletedCount: Int { result.deletedCount }
    /// The rows that the batch's own statements deleted, by table.
    private(set) var ownCounts: [String: Int] = [:]
    private(set) var candleCount = 0
    /// The number of this batch's rows that became candles.
    private var rolledUpCount = 0
    /// The delete of Core Data objects, or nil if it affects only the rows themselves.
    let objects: ObjectDelete?
    /// Whether the keys of the rows are recorded before they are deleted.
    let choosesRows: Bool
    /// Whether only some related rows are deleted yet, and not the rows themselves.
    private(set) var isUnfinished = false

    init(_ work: DeleteWork, _ connection: SQLiteFile, _ db: Database, _ archiver: RowArchiver? = nil)
        throws
    {
        self.work = work
        result.candles = work.candles
        self.archiver = archiver
        self.connection = connection
        self.db = db
        let scope = try connection.scope(of: work.fetchRequest, db)
        let predicate = try work.fetchRequest.predicate.withDeclaredDates(
            of: scope.table.entity, store: connection.name)
        var (range, rest) = predicate.splitDateRange()
        let sortedBy = work.fetchRequest.sortDescriptors.first
        if let found = range, found.date.name != (sortedBy?.attribute ?? found.date.name) {
            (range, rest) = (nil, predicate)
        }
        let date = try range.map { (sql: try connection.dateSQL($0.date, scope, db), before: $0.before) }
        let access = try range.flatMap {
            scope.table.dateAccess(try scope.attribute($0.date.name, store: connection.name), filter: rest)
        }
        groups = work.groups == nil || work.method != .keys ? nil : date.flatMap { KeyGroups(scope, $0.sql) }
        // Each statement of such a batch names a group whose rows all match the other parts.
        rest = groups?.parts(of: rest).ofRows ?? rest
        statement = DeleteStatement(
            scope: scope, date: date, rest: try connection.condition(rest, scope, db),
            restOfValues: try connection.condition(connection.withoutFoundPicks(rest, scope, db), scope, db),
            access: access)
        objects = try ObjectDelete(work, scope, connection, db)
        choosesRows = try connection.choosesRows(work.request, db)
        // For a planned delete, the survey has looked for obstacles, and each batch confirms that the schema is the same.
        if !work.isPlanned,
            let reason = try connection.obstacleOfOrder(work.request, db)
                ?? connection.obstacleOfHolds(
                    work.fetchRequest.predicate.holds, work.request, writing: work.rollup?.target, db)?.text
        {
            throw connection.failure(.unsupported, reason)
        }
    }

    /// Deletes the rows that match a condition. Throws if an index disagrees with the table; see ``IndexCheck``.
    mutating func delete(_ condition: SQLFragment, by path: RowPath) throws {
        let rows = lookedUp(condition, by: path)
        try checkIndex(rows, by: path)
        try deleteChecked(condition, by: path, rows)
    }

    /// Deletes the rows that match a condition that was compared with the table or names them by key.
    ///
    /// - Parameter rows: the same rows looked up in the table, or nil if only the table is read.
    mutating func deleteChecked(_ condition: SQLFragment, by path: RowPath, _ rows: SQLFragment?) throws {
        guard let rollup = work.rollup else { return try deleteRows(condition, by: path, rows) }
        let table = try CandleTable(rollup, of: statement.scope, connection, db)
        let made = try table.candles(of: statement.rows(condition, by: path))
        let before = deletedCount
        try deleteRows(condition, by: path, rows)
        try table.write(made, deletedCount: deletedCount - before)
        rolledUpCount += made.totals.rowCount
        candleCount += made.changes.count
        result.candles.add(made)
    }

    private mutating func deleteRows(_ condition: SQLFragment, by path: RowPath, _ rows: SQLFragment?) throws {
        if let objects {
            let keys = statement.keys(condition, by: path)
            return try objects.delete(keys, whole: statement.condition(), into: &result)
        }
        if choosesRows {
            guard !isUnfinished else { return }
            let scope = try connection.tableScope(of: work.fetchRequest, db)
            let graph = try connection.keyGraph(of: scope.table.name, work.relationships, db)
            var chosen = try ChosenRows(
                statement.keys(condition, by: path), of: work, scope, graph, connection, db)
            isUnfinished = try !chosen.delete(atMost: cascadeBound)
            result.cascadedCount += chosen.cascadedCount
            result.nullifiedCount += chosen.nullifiedCount
            for (table, count) in chosen.ownCounts { ownCounts[table, default: 0] += count }
            let gone = try chosen.goneKeys(listed: work.resultType == .objectIDs)
            result.deletedCount += gone.count
            result.objectIDs += gone.keys.map { connection.objectID(scope, $0) }
            return
        }
        let delete = statement.delete(condition, by: path)
        let before = db.totalChangesCount
        if let archiver {
            try archiver.delete(
                delete, copying: { try copy($0, of: rows, condition, by: path) }, connection, db)
        } else {
            try connection.execute(delete, db)
        }
        try requireNoOtherChange(since: before)
        result.deletedCount += db.changesCount
        ownCounts[statement.scope.table.tableName, default: 0] += db.changesCount
    }

    /// The most rows that may be deleted along with those of a batch, or nil if the batch is the only one.
    private var cascadeBound: Int? {
        guard work.method.isInBatches || work.only != nil, let limit = work.fetchRequest.fetchLimit else {
            return nil
        }
        return max(Self.fewestCascaded, limit.multipliedReportingOverflow(by: 4).partialValue)
    }

    /// The fewest cascaded rows that get a batch of their own.
    private static let fewestCascaded = 2000

    /// Runs the request with its method and returns where the next batch continues.
    mutating func run() throws -> BatchContinuation? {
        let lostCount = try lostCount()
        let next = try runOnce()
        if let lostCount, deletedCount > 0, let now = try self.lostCount(), now > lostCount {
            throw connection.failure(
                .constraint,
                "a batch is rolled back, because triggers or foreign keys of the store would delete or change "
                    + "\((now - lostCount).counted("row")) of \(work.fetchRequest.entity) that thin "
                    + "or keep_last keeps", hint: "change the trigger or the key, or set enabled: false in the rule")
        }
        try requireNoMoreThanAsked()
        // Whatever the method, every deleted row must have become part of a candle.
        guard work.rollup == nil || rolledUpCount == deletedCount else {
            throw connection.failure(
                .defect,
                "\(deletedCount.counted("row", "was", "were")) deleted, and \(rolledUpCount) of them "
                    + "became candles")
        }
        try checkRest()
        return isUnfinished ? work.continuation ?? .beginning : next
    }

    /// The number of kept rows that are gone, or nil if no trigger or foreign key can delete them.
    private func lostCount() throws -> Int? {
        let (entity, predicate) = (statement.scope.table.entity, work.fetchRequest.predicate)
        guard predicate.sparesKeptRows,
            !entity.deleteTriggers.isEmpty || !entity.incomingRelationships.isEmpty
        else { return nil }
        return try connection.lostCount(of: predicate, statement.scope, db)
    }

    /// Throws if the batch has deleted the last readable row, because another program removed the rows that were to stay.
    private func checkRest() throws {
        guard let date = work.mustLeave, deletedCount > 0 else { return }
        let scope = statement.scope
        let isReadable = try connection.dateSQL(date, scope, db).readable()
        if try connection.exists("SELECT 1 FROM \(scope.from()) WHERE \(isReadable)", db) { return }
        throw StoreError.lastRow(of: scope.table.name, store: connection.name)
    }

    private mutating func runOnce() throws -> BatchContinuation? {
        switch work.method {
        case .whole:
            try whole()
            return nil
        case .range: return try range()
        case .windows, .keys: return try window()
        case .dates: return try dates()
        case .rebuild:
            throw connection.failure(.unsupported, "a rebuild is not a statement and cannot run in a transaction")
        }
    }

    /// Deletes everything in one statement; with a limit, the first rows in the order of the sort descriptors.
    private mutating func whole() throws {
        let fetch = work.fetchRequest
        if let only = work.only {
            let rows = try connection.condition(only, statement.scope, db)
            return try delete(.all([rows, statement.condition()]), by: .table)
        }
        guard fetch.fetchLimit != nil || fetch.fetchOffset > 0 else {
            return try delete(statement.condition(), by: statement.access != nil ? .date : .any)
        }
        let scope = try connection.tableScope(of: fetch, db)
        let order = try connection.order(fetch.sortDescriptors, scope)
        let keys = statement.keys(statement.condition(), by: .any)
        try delete(statement.isAmong("\(keys) ORDER BY \(order)\(connection.limits(fetch))"), by: .any)
    }
}

extension SQLiteFile {
    /// The sort descriptors in SQL, with ties broken by key.
    func order(_ descriptors: [StoreSortDescriptor], _ scope: RowScope) throws -> String {
        let sorted = try descriptors.map { descriptor in
            try scope.column(descriptor.attribute, store: name) + (descriptor.ascending ? "" : " DESC")
        }
        return (sorted + scope.key).list
    }
}

extension StorePredicate {
    /// Splits the predicate into its date range, if it starts at the earliest date, and the rest.
    func splitDateRange() -> (range: DateRange?, rest: StorePredicate) {
        switch self {
        case .date(let range) where range.from == nil: return (range, .all)
        case .and(var parts):
            guard
                let index = parts.firstIndex(where: {
                    if case .date(let range) = $0 { range.from == nil } else { false }
                }),
                case .date(let range) = parts.remove(at: index)
            else { return (nil, self) }
            return (range, parts.reduce(.all) { $0 && $1 })
        default: return (nil, self)
        }
    }
}
