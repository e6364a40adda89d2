import GRDB
import PriceStore

/// One batch delete request at work: the strategies add to it what they delete.
struct BatchDelete {
    let connection: SQLiteFileConnection
    let db: Database
    let request: DeleteWork
    let statement: DeleteStatement
    /// Copies the rows that are deleted; nil: they are not archived.
    let archiver: RowArchiver?
    var deletedCount = 0
    /// Rows that were deleted with them, and rows that have lost a reference.
    private(set) var (cascadedCount, nullifiedCount) = (0, 0)
    /// The rows that the batch's own statements have deleted, by table.
    private(set) var ownCounts: [String: Int] = [:]
    var objectIDs: [ObjectID] = []
    /// The candles that the rows of this batch, and of those before it, have become.
    private(set) var candles: CandleTally
    /// How many candles this batch has written.
    private(set) var candleCount = 0
    /// Rows of this batch that became candles.
    private var rolledUpCount = 0
    /// The delete of objects with what belongs to them; nil: only the rows themselves are concerned.
    var objects: ObjectDelete?
    /// Whether the rows to delete are noted one by one before they are deleted.
    let choosesRows: Bool
    /// Whether only a part of the related rows is deleted, and not yet the rows themselves.
    private(set) var isUnfinished = false

    init(_ request: DeleteWork, _ connection: SQLiteFileConnection, _ db: Database, _ archiver: RowArchiver? = nil)
        throws
    {
        self.request = request
        candles = request.candles
        self.archiver = archiver
        self.connection = connection
        self.db = db
        let scope = try connection.scope(of: request.fetchRequest, db)
        let predicate = try request.fetchRequest.predicate.withDeclaredDates(
            of: scope.table.entity, store: connection.name)
        var (range, rest) = predicate.splitDateRange()
        let sortedBy = request.fetchRequest.sortDescriptors.first
        if let found = range, found.date.name != (sortedBy?.attribute ?? found.date.name) {
            (range, rest) = (nil, predicate)
        }
        let date = try range.map { (try connection.dateSQL($0.date, scope, db), $0.before) }
        let access = try range.flatMap {
            scope.table.dateAccess(try scope.attribute($0.date.name, store: connection.name), filter: rest)
        }
        statement = DeleteStatement(
            scope: scope, date: date.map { (sql: $0.0, before: $0.1) },
            rest: try connection.condition(rest, scope, db),
            restOfValues: try connection.condition(connection.withoutFoundPicks(rest, scope, db), scope, db),
            access: access)
        objects = try ObjectDelete.make(request, scope, connection, db)
        choosesRows = try connection.choosesRows(request.request, db)
        // The survey of a plan has looked for them, and its batches confirm that the schema is the same.
        if !request.isPlanned,
            let reason = try connection.obstacleOfOrder(request.request, db)
                ?? connection.obstacleOfHolds(
                    request.fetchRequest.predicate.holds, request.request, writing: request.rollup?.target, db)?.text
        {
            throw StoreError(.unsupported, store: connection.name, message: reason)
        }
    }

    /// Deletes the rows of a condition. Throws if an index names other rows than the table has; see ``IndexCheck``.
    mutating func delete(_ condition: SQLFragment, by path: RowPath) throws {
        let rows = lookedUp(condition, by: path)
        try checkIndex(rows, by: path)
        try deleteChecked(condition, by: path, rows)
    }

    /// Deletes the rows of a condition that was compared with the table, or that takes the rows by their keys.
    ///
    /// - Parameter rows: the same rows as they were looked up; nil: only the table itself is read.
    mutating func deleteChecked(_ condition: SQLFragment, by path: RowPath, _ rows: SQLFragment?) throws {
        guard let rollup = request.rollup else { return try deleteRows(condition, by: path, rows) }
        let table = try CandleTable(rollup, of: statement.scope, connection, db)
        let made = try table.candles(of: statement.rows(condition, by: path))
        let before = deletedCount
        try deleteRows(condition, by: path, rows)
        try table.write(made, deletedCount: deletedCount - before)
        rolledUpCount += made.totals.rowCount
        candleCount += made.changes.count
        candles.add(made)
    }

    private mutating func deleteRows(_ condition: SQLFragment, by path: RowPath, _ rows: SQLFragment?) throws {
        if objects != nil {
            try objects?.delete(statement.keys(condition, by: path), whole: statement.condition())
            deletedCount = objects?.deletedCount ?? 0
            (cascadedCount, nullifiedCount) = (objects?.cascadedCount ?? 0, objects?.nullifiedCount ?? 0)
            objectIDs = objects?.objectIDs ?? []
            return
        }
        if choosesRows {
            guard !isUnfinished else { return }
            let scope = try connection.tableScope(of: request.fetchRequest, db)
            guard let graph = try connection.keyGraph(of: scope.table.name, request.relationships, db) else { return }
            var chosen = try ChosenRows(
                statement.keys(condition, by: path), of: request, scope, graph, connection, db)
            isUnfinished = try !chosen.delete(atMost: cascadeBound)
            cascadedCount += chosen.cascadedCount
            nullifiedCount += chosen.nullifiedCount
            for (table, count) in chosen.ownCounts { ownCounts[table, default: 0] += count }
            let gone = try chosen.goneKeys(listed: request.resultType == .objectIDs)
            deletedCount += gone.count
            objectIDs += gone.keys.map { connection.objectID(scope, $0) }
            return
        }
        let delete = statement.delete(condition, by: path)
        if let archiver {
            try archiver.delete(
                delete, copying: { try copy($0, of: rows, condition, by: path) }, connection, db)
        } else {
            try connection.execute(delete, db)
        }
        deletedCount += db.changesCount
        ownCounts[statement.scope.table.tableName, default: 0] += db.changesCount
    }

    /// How many rows may be deleted with those of a batch; nil: it is not one of several.
    private var cascadeBound: Int? {
        guard request.technique.isInBatches || request.only != nil, let limit = request.fetchRequest.fetchLimit else {
            return nil
        }
        return max(Self.fewestCascaded, limit.multipliedReportingOverflow(by: 4).partialValue)
    }

    /// Fewer rows of a cascade do not get a batch of their own.
    private static let fewestCascaded = 2000

    /// Carries out the request by its strategy and returns where the next batch continues.
    mutating func run() throws -> BatchContinuation? {
        let lostCount = try lostCount()
        let next = try runOnce()
        if let lostCount, deletedCount > 0, let now = try self.lostCount(), now > lostCount {
            throw StoreError(
                .constraint, store: connection.name,
                message:
                    "a batch is rolled back, because triggers or foreign keys of the store would delete or change "
                    + "\(now - lostCount == 1 ? "a row" : "\(now - lostCount) rows") of \(request.fetchRequest.entity) that thin "
                    + "or keep_last keeps",
                hint: "change the trigger or the key, or set enabled: false in the rule")
        }
        // Whatever the technique, no row is deleted that did not become a candle.
        guard request.rollup == nil || rolledUpCount == deletedCount else {
            throw StoreError(
                .defect, store: connection.name,
                message: "\(deletedCount.counted("row", "was", "were")) deleted, and \(rolledUpCount) of them "
                    + "became candles")
        }
        try checkRest()
        return isUnfinished ? request.continuation ?? .beginning : next
    }

    /// How many kept rows are gone; nil: deleting rows sets nothing off that could take them.
    private func lostCount() throws -> Int? {
        let (entity, predicate) = (statement.scope.table.entity, request.fetchRequest.predicate)
        guard predicate.sparesKeptRows,
            !entity.deleteTriggers.isEmpty || !entity.incomingRelationships.isEmpty
        else { return nil }
        return try connection.lostCount(of: predicate, statement.scope, db)
    }

    /// Throws if the batch has deleted the last readable row: the rows that were to stay are gone, by another program.
    private func checkRest() throws {
        guard let date = request.mustLeave, deletedCount > 0 else { return }
        let scope = statement.scope
        let query =
            SQLFragment("SELECT 1 FROM \(scope.from()) WHERE ") + (try connection.dateSQL(date, scope, db).readable())
            + " LIMIT 1"
        guard try connection.row(query, db) == nil else { return }
        throw StoreError.lastRow(of: scope.table.name, store: connection.name)
    }

    private mutating func runOnce() throws -> BatchContinuation? {
        guard request.technique == .whole || request.fetchRequest.fetchOffset == 0 else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "a delete in batches by the technique \(request.technique.rawValue) has no offset",
                hint: "use the technique whole")
        }
        switch request.technique {
        case .whole:
            try whole()
            return nil
        case .range: return try range()
        case .windows, .keys: return try window()
        case .dates: return try dates()
        case .rebuild:
            throw StoreError(
                .unsupported, store: connection.name,
                message: "a rebuild is not a statement and cannot run in a transaction")
        }
    }

    /// Everything in one statement; with a limit, the first rows in the order of the sort descriptors.
    private mutating func whole() throws {
        let fetch = request.fetchRequest
        if let only = request.only {
            let rows = try connection.condition(only, statement.scope, db)
            return try delete(.all([rows, statement.condition()]), by: .table)
        }
        guard fetch.fetchLimit != nil || fetch.fetchOffset > 0 else {
            return try delete(statement.condition(), by: statement.access != nil ? .date : .any)
        }
        let scope = try connection.tableScope(of: fetch, db)
        let key = scope.key.joined(separator: ", ")
        let order = try connection.order(fetch.sortDescriptors, scope)
        let chosen =
            statement.keys(statement.condition(), by: .any)
            + SQLFragment(" ORDER BY \(order)") + connection.limits(fetch)
        try delete(
            SQLFragment(scope.key.count > 1 ? "(\(key)) IN (" : "\(key) IN (") + chosen + ")", by: .any)
    }
}

extension SQLiteFileConnection {
    /// The sort descriptors in SQL, ties broken by key.
    func order(_ descriptors: [StoreSortDescriptor], _ scope: RowScope) throws -> String {
        let sorted = try descriptors.map { descriptor in
            scope.column(try scope.attribute(descriptor.attribute, store: name)) + (descriptor.ascending ? "" : " DESC")
        }
        return (sorted + scope.key).joined(separator: ", ")
    }
}

extension StorePredicate {
    /// The date range from the earliest date on that the predicate demands, and all the rest of it.
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
            return (range, parts.dropFirst().reduce(parts.first ?? .all) { $0 && $1 })
        default: return (nil, self)
        }
    }
}
