import PriceStore

/// A batch delete request inside its transaction. Its methods add what they delete.
struct BatchDelete {
    let connection: PostgresDatabase
    var request: DeleteWork
    let scope: RowScope
    let condition: SQLFragment
    /// The date that the predicate demands; nil if none.
    let date: DateSQL?
    let usesOnePlan: Bool
    /// Archives the rows; nil if they are not archived.
    let part: ArchivePart?
    var deletedCount = 0
    /// Whether the next part has more rows than may still be deleted, so that this is the last batch.
    var isOver = false
    var writtenCount = 0
    /// The parts that spare kept rows, if the deletes may have waited for others, whose changes only later statements see.
    private let keepers: [Keeper]
    /// Whether triggers may act at the end of the transaction.
    let firesTriggers: Bool
    /// The groups and buckets of deleted rows in which other rows are kept.
    private var touched: [TouchedBuckets] = []

    init(
        _ request: DeleteWork, _ connection: PostgresDatabase, _ part: ArchivePart?, checking keepers: [Keeper],
        firesTriggers: Bool
    ) throws {
        self.firesTriggers = firesTriggers
        self.keepers = keepers
        self.request = request
        self.part = part
        self.connection = connection
        let scope = RowScope(try connection.requireTable(request.fetchRequest.entity))
        self.scope = scope
        condition = try connection.condition(request.fetchRequest.predicate, scope)
        _ = try connection.order(request.fetchRequest, scope)
        usesOnePlan = Self.usesOnePlan(request, scope.table)
        date = try request.fetchRequest.predicate.dateRange.map { try scope.date($0.date) }
    }

    /// Whether the next batch repeats the statements and one plan serves them all: for ranges of a date index. On a hypertable, one plan
    /// for all chunks would open each of them, and decompress more segments than needed.
    static func usesOnePlan(_ request: DeleteWork, _ table: PostgresTable) -> Bool {
        [.range, .partitions].contains(request.method) && !table.isDistributed && !table.isHypertable
    }

    /// Deletes the rows of a table that meet a condition, and returns their number.
    @discardableResult
    mutating func delete(_ condition: SQLFragment, from target: String? = nil) throws -> Int {
        if let cutoff = request.materializedBefore, scope.table.isHypertable, let date {
            try Aggregates(session: connection, table: scope.table).requireMaterialized(
                scope, date, condition, before: cutoff)
        }
        if let rollup = request.rollup { return try delete(condition, becoming: rollup) }
        let rows = request.skipsLocked ? unlocked(condition, from: target) : condition
        return try connection.unlogged(isUnlogged()) { try deleteRows(rows, from: target) }
    }

    /// Whether the server need not log a DELETE for aggregates: there are some, and it changes only the rows that it names. Without aggregates
    /// nothing is logged, and direct deletes of compressed batches stay on.
    func isUnlogged() throws -> Bool {
        try scope.table.isHypertable && !firesTriggers && scope.table.entity.incomingRelationships.isEmpty
            && Aggregates(session: connection, table: scope.table).exist()
    }

    private static let skip: SQLFragment = " FOR UPDATE SKIP LOCKED"

    /// The condition that a row meets a condition and no other session has locked it.
    private func unlocked(_ condition: SQLFragment, from target: String?) -> SQLFragment {
        let place = target == nil && !scope.table.isSingle ? Self.place(scope) : "\(RowScope.alias).ctid"
        let free =
            "SELECT \(place) FROM \(target.map { "\($0) AS \(RowScope.alias)" } ?? scope.from)" + condition.whereClause
            + Self.skip
        return .all([condition, "(\(place)) IN (" + free + ")"])
    }

    /// Throws if a statement deleted other rows than those that its condition matched just before.
    ///
    /// The server's own delete of compressed rows has deleted too many in several versions, see ``KnownDefect/ofTimescale``. A delete on
    /// several servers is divided among shards, which the job does not see.
    func requireSame(_ matchingCount: Int, _ goneCount: Int) throws {
        // A trigger may keep rows.
        guard goneCount > matchingCount || goneCount < matchingCount && !firesTriggers else { return }
        let gone = "the server deleted \(goneCount.counted("row")) of "
        guard scope.table.isDistributed else {
            throw StoreError(
                .defect, store: connection.name,
                message:
                    gone
                    + "compressed chunks of \(scope.table.name) where \(matchingCount) match the rule: nothing of this batch is deleted"
            )
        }
        // Servers have no state in common, so another session may have changed the rows.
        throw StoreError(
            .busy, store: connection.name,
            message:
                gone
                + "\(scope.table.name) where \(matchingCount) matched the rule just before: another session inserts, changes or deletes "
                + "expired rows, or the server is wrong",
            engineCode: "SQLSTATE 40001", hint: "nothing of this batch is deleted; run again")
    }

    private mutating func deleteRows(_ condition: SQLFragment, from target: String?) throws -> Int {
        if let part {
            let count = try part.delete(
                condition, of: scope, from: target ?? scope.source, isRepeated: usesOnePlan)
            deletedCount += count
            return count
        }
        let statement: SQLFragment =
            "DELETE FROM \(target.map { "\($0) AS \(RowScope.alias)" } ?? scope.from)" + condition.whereClause
        if !keepers.isEmpty { return try deleteNoting(statement) }
        let count = try connection.execute(statement, isRepeated: usesOnePlan).changedCount
        deletedCount += count
        return count
    }

    /// Runs a DELETE and records the groups and buckets of the rows.
    private mutating func deleteNoting(_ delete: SQLFragment) throws -> Int {
        let columns = try connection.touchedColumns(keepers, scope)
        let names = columns.indices.map { "t\($0)" }
        let named = zip(columns, names).map { $0 + " AS \($1)" }
        let lists = names.map { ", (SELECT array_agg(\($0)) FROM touched) AS \($0)" }.joined()
        let row = try connection.onlyRow(
            "WITH gone AS (" + delete + " RETURNING " + .joined(named, by: ", ", empty: "1")
                + "), touched AS (SELECT DISTINCT * FROM gone) SELECT (SELECT count(*) FROM gone) AS rows\(lists)",
            isRepeated: usesOnePlan)
        let count = try row.int("rows")
        if count > 0 { touched.append(try names.map(row.optionalText)) }
        deletedCount += count
        return count
    }

    /// Runs the request by its method, and returns where the next batch continues.
    mutating func run() throws -> BatchContinuation? {
        let before = try request.rollup.map(changeCounts)
        let next = try deleteByMethod()
        // Deferred triggers must act before the candles and the remaining rows are checked.
        if firesTriggers || before != nil { try connection.execute("SET CONSTRAINTS ALL IMMEDIATE") }
        if let rollup = request.rollup, let before { try requireOwnChanges(rollup, since: before) }
        if !touched.isEmpty {
            try connection.checkKept(keepers, scope, touched: touched, firesTriggers: firesTriggers)
        }
        if deletedCount > 0 {
            try connection.requireRest(of: scope.table, by: request.mustLeave, besides: condition)
        }
        return next
    }

    private mutating func deleteByMethod() throws -> BatchContinuation? {
        switch request.method {
        case .whole: return try whole()
        case .range: return try range()
        case .windows where request.rollup == nil: return try windows()
        case .partitions where request.rollup == nil:
            // After the dropped partitions, the range of the other rows starts again.
            if let place = request.continuation, place.isBehindPartition || place == .behindPartitions {
                request.continuation = nil
            }
            return try range()
        case .windows, .partitions:
            throw StoreError(
                .unsupported, store: connection.name,
                message: "rows that become candles are not deleted by the method \(request.method.rawValue)")
        }
    }

    /// Deletes everything in one statement; with a limit, the first rows in the order of the sort descriptors.
    private mutating func whole() throws -> BatchContinuation? {
        let fetch = request.fetchRequest
        guard scope.table.localRows == nil else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "\(scope.table.name) has foreign partitions, so its rows are not deleted by the method whole")
        }
        let isLimited = fetch.fetchLimit != nil
        if isLimited, request.rollup != nil, try !fits(condition) { return nil }
        try delete(
            isLimited && request.rollup == nil
                ? rows(condition, order: connection.order(fetch, scope), limit: connection.limits(fetch)) : condition)
        return nil
    }

    /// The condition that a row is one of the first rows of a condition.
    ///
    /// A `ctid` identifies a row only within one table. In a table with partitions or children the same place exists in each part, so it is
    /// combined with the table's own number. On a distributed table neither can be used. The outer statement repeats the condition, so that
    /// a row that others change meanwhile is judged again.
    func rows(_ condition: SQLFragment, order: SQLFragment, limit: SQLFragment) throws -> SQLFragment {
        let limit = limit + (request.skipsLocked ? Self.skip : "")
        if scope.table.isSingle {
            let places = "SELECT ctid FROM \(scope.from)" + condition.whereClause + order + limit
            return .all([condition, "\(RowScope.alias).ctid = ANY (ARRAY(" + places + "))"])
        }
        if scope.table.isDistributed { _ = try connection.requireKey(scope) }
        let place = Self.place(scope)
        let chosen = "SELECT \(place) FROM \(scope.from)" + condition.whereClause + order + limit
        return .all([condition, "(\(place)) IN (" + chosen + ")"])
    }

    /// The columns that identify a row of a table with several parts.
    static func place(_ scope: RowScope) -> String {
        scope.table.isDistributed
            ? scope.key.joined(separator: ", ") : "\(RowScope.alias).tableoid, \(RowScope.alias).ctid"
    }
}

extension PostgresDatabase {
    /// The ORDER BY of a request with ties broken by key; empty if it has neither.
    func order(_ request: StoreFetchRequest, _ scope: RowScope) throws -> SQLFragment {
        let sorted = try request.sortDescriptors.map { descriptor in
            let attribute = try scope.attribute(descriptor.attribute)
            let isNeverNull = attribute.isRequired || request.predicate.dateRange?.date.name == attribute.name
            // NULL sorts first, as in all other stores. The server reads no index in this order.
            let nulls = isNeverNull ? "" : descriptor.ascending ? " NULLS FIRST" : " NULLS LAST"
            return scope.column(attribute.name) + (descriptor.ascending ? " ASC" : " DESC") + nulls
        }
        let all = sorted + scope.key
        return all.isEmpty ? "" : " ORDER BY \(all.joined(separator: ", "))"
    }

    /// The LIMIT and OFFSET of a request; empty if it has none.
    func limits(_ request: StoreFetchRequest) -> SQLFragment {
        var text = ""
        if let limit = request.fetchLimit { text += " LIMIT \(max(0, limit))" }
        if request.fetchOffset > 0 { text += " OFFSET \(request.fetchOffset)" }
        return SQLFragment(text)
    }
}
