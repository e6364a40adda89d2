import PriceStore

/// Partitions that are wholly expired are taken away as a whole; rows are deleted where a partition holds others too.
extension PostgresConnection {
    /// Why a rule's rows cannot go by whole partitions or chunks, as a phrase; nil: they can. Nothing but their date may
    /// decide about them, and nothing may happen for each of them.
    func partitionObstacle(_ request: SurveyRequest, _ date: DateSQL, _ scope: RowScope, _ guards: TableGuards?) throws
        -> String?
    {
        let table = scope.table
        guard let guards else { return "\(table.name) is not divided into partitions" }
        if request.archiveRule != nil { return "each row is archived" }
        if request.rollup != nil { return "each row becomes a part of a candle" }
        if request.wantsObjectIDs { return "the key of every row is asked for" }
        if request.maxRows != nil {
            return "`max_rows` limits the deleted rows, and more rows may arrive in a partition"
        }
        if request.filter != .all { return "`where` chooses among the rows of a partition" }
        if let hold = request.holds.first { return "the hold \(hold.name) may keep rows of a partition" }
        if request.keepLast != nil || request.keptByOthers.contains(where: { !$0.isThinning }) {
            return "`keep_last` chooses among the rows of a partition"
        }
        if request.thinning != nil || !request.keptByOthers.isEmpty {
            return "`thin` chooses among the rows of a partition"
        }
        let column = try scope.attribute(request.date.name, store: name).name
        guard date.reading == .ordered else { return "the order of \(column) is not that of its dates" }
        if table.isHypertable {
            let chunkColumn = try chunkColumn(table) ?? ""
            guard chunkColumn == column else { return "its chunks are ranges of \(chunkColumn), not of \(column)" }
        } else {
            let leaves = try leaves(of: table)
            if let foreign = leaves.first(where: \.isForeign) { return "\(foreign.name) is a foreign table" }
            guard leaves.contains(where: { $0.rangeColumn == column }) else {
                return "no partitions are ranges of \(column)"
            }
        }
        return guards.dropObstacle
    }

    /// The partitions that are proved to hold only rows that a request deletes, oldest first, with the bytes of their rows.
    func expiredPartitions(_ table: PostgresTable, _ range: DateRange?) throws -> [(leaf: Leaf, bytes: Int)] {
        guard let range, let before = range.before else { return [] }
        let scope = RowScope(table)
        let date = try scope.date(range.date, store: name)
        let column = try scope.attribute(range.date.name, store: name).name
        let candidates = try leaves(of: table).compactMap { leaf -> (leaf: Leaf, bounds: PartitionBounds)? in
            guard !leaf.isForeign, leaf.rangeColumn == column, let bounds = PartitionBounds(leaf.bounds) else {
                return nil
            }
            return (leaf, bounds)
        }
        let proofs = try areTrue(date.isWhollyBefore(before), of: candidates.map(\.bounds), date)
        let expired = zip(candidates, proofs).filter(\.1).map(\.0)
        guard !expired.isEmpty else { return [] }
        let order = try rows(
            "SELECT place, coalesce(\(table.isDistributed ? CitusSQL.bytes("number::regclass") : "pg_relation_size(number)"), 0) FROM unnest("
                + .bound(ServerArray.text(expired.map(\.bounds.lower)), "\(date.orderType)[]") + ", "
                + .tables(expired.map(\.leaf.number))
                + ") WITH ORDINALITY AS expired (low, number, place) ORDER BY low")
        return order.compactMap { row in
            guard let place = row[0].flatMap({ Int($0) }) else { return nil }
            return (expired[place - 1].leaf, row[1].flatMap { Int($0) } ?? 0)
        }
    }

    /// Drops the oldest partitions that are wholly expired, as a batch of their own; nil: there is none, or their rows must
    /// go one by one.
    ///
    /// The rows are counted while nobody can write to them any more. `DETACH … CONCURRENTLY` keeps the whole table free
    /// meanwhile; it is not possible beside a default partition. Tables are marked before they are detached, so that a run
    /// that finds one attaches it again. Source: PostgreSQL manual, ALTER TABLE, "DETACH PARTITION".
    func dropNextPartitions(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult? {
        // A lost connection may leave tables detached: they are attached first when this is repeated.
        try run("dropping partitions of \(request.fetchRequest.entity)") {
            let table = try requireTable(request.fetchRequest.entity)
            guard transactionDepth == 0, request.continuation?.isBehindPartition != false,
                request.resultType == .count,
                let range = request.fetchRequest.predicate.dateRange,
                request.fetchRequest.predicate == .date(range)
            else { return nil }
            do {
                return try table.isHypertable
                    ? dropChunks(table, range, request) : dropPartitions(table, range, request)
            } catch let error as StoreError where error.engineCode == "SQLSTATE 55P03" {
                guard try abandonedPartitions(of: table).isEmpty else { throw error }
                dropTrouble = try "nothing is dropped as a whole, because \(lockHolder(of: table))"
                return BatchDeleteResult(deletedCount: 0, continuation: .behindPartitions)
            }
        }
    }

    /// Who uses a table or a part of it, as a phrase.
    private func lockHolder(of table: PostgresTable) throws -> String {
        let holder = try rows(
            "WITH RECURSIVE tree (oid) AS (SELECT " + .bound("\(table.number)", "oid")
                + " UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid) "
                + "SELECT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
                + "WHERE l.relation IN (SELECT oid FROM tree) AND l.granted AND a.pid <> pg_backend_pid() "
                + "ORDER BY a.xact_start LIMIT 1"
        ).first
        guard let holder else { return "another session uses parts of \(table.name)" }
        let program = holder[1].flatMap { $0.isEmpty ? nil : "\($0), " } ?? ""
        return "another session (\(program)server process \(holder[0] ?? "")) uses parts of \(table.name)"
    }

    /// Drops the oldest partitions, as many as one batch may.
    private func dropPartitions(
        _ table: PostgresTable, _ range: DateRange, _ request: DeleteWork
    ) throws -> BatchDeleteResult? {
        try attachAgain(of: table)
        guard table.isPartitioned, try guards(of: table)?.dropObstacle == nil else { return nil }
        let before = known
        var next = try nextPartitions(table, range)
        if next.isDetachable {
            let detached = try detach(next.leaves, of: table)
            if detached.count < next.leaves.count { next.areAll = false }
            next.leaves = detached
        }
        guard let first = next.leaves.first,
            let rowCount = try drop(
                next.leaves, of: table, areDetached: next.isDetachable, knowing: before, mustLeave: request.mustLeave)
        else { return nil }
        noteBatch(on: [table], firesTriggers: false)
        if let before { noteDropped(next.leaves, rowCount, table, request, before) }
        return BatchDeleteResult(
            deletedCount: rowCount, continuation: next.areAll ? .behindPartitions : .behindPartition(first.number))
    }

    /// How much a batch takes: a signal waits for a second or two.
    static let mostDetached = (count: 16, bytes: 1 << 30)
    /// How much a batch takes where a drop locks the whole table: others wait for some ten milliseconds.
    private static let mostAttached = (count: 4, bytes: 32 << 20)
    /// How many tables on workers a batch drops: each holds the lock for some milliseconds longer.
    private static let mostShards = 32

    /// The partitions that a batch drops.
    private struct NextPartitions {
        var leaves: [Leaf]
        /// Whether they can be detached while others use the table.
        var isDetachable: Bool
        /// Whether no other partition is wholly expired.
        var areAll: Bool
    }

    /// The oldest expired partitions, as many as one batch takes: each drop is one wait for the server's disk, so that
    /// small ones are deleted together. Beside a default partition none can be detached while others use the table.
    private func nextPartitions(_ table: PostgresTable, _ range: DateRange) throws -> NextPartitions {
        let expired = try expiredPartitions(table, range)
        guard let first = expired.first?.leaf else {
            return NextPartitions(leaves: [], isDetachable: false, areAll: true)
        }
        let parents = Set(expired.map(\.leaf.parentNumber))
        let withDefault = Set(
            try rows(
                "SELECT partrelid FROM pg_partitioned_table WHERE partdefid <> 0 AND partrelid = ANY ("
                    + .tables(parents) + ")"
            ).compactMap { $0[0].flatMap { Int($0) } })
        let isDetachable = !table.isDistributed && !withDefault.contains(first.parentNumber)
        var most = isDetachable ? Self.mostDetached : Self.mostAttached
        if table.isDistributed {
            most.count = try min(most.count, max(1, Self.mostShards / max(1, count(CitusSQL.shardCount(table.number)))))
        }
        var bytes = 0
        let leaves = expired.prefix(most.count).prefix {
            bytes += $0.bytes
            return $0.leaf.number == first.number
                || bytes <= most.bytes
                    && (table.isDistributed || withDefault.contains($0.leaf.parentNumber)) != isDetachable
        }
        return NextPartitions(
            leaves: leaves.map(\.leaf), isDetachable: isDetachable, areAll: leaves.count == expired.count)
    }

    /// Notes what is known of the rows that are left, where nothing but this drop has happened.
    func noteDropped(
        _ leaves: [Leaf], _ rowCount: Int, _ table: PostgresTable, _ request: DeleteWork, _ before: KnownCounts
    ) {
        known?.ofPartitions = before.ofPartitions
        for leaf in leaves { known?.ofPartitions[leaf.number] = nil }
        known?.note(rowCount, deletedFrom: table, request, before)
    }

    /// Counts the rows of partitions and drops them, in one transaction; nil: by now their rows must be deleted one by one, and
    /// those that were detached are attached again. What was known before need not be counted if it still holds once nobody
    /// can write to them any more.
    ///
    /// Under the lock on the whole table other sessions can read and write; nobody can create a trigger or a policy until
    /// the transaction ends. A partition that is not detached needs its parent for itself alone.
    ///
    /// - Parameter mustLeave: the date by which a row must stay readable; otherwise nothing is dropped, and the call fails.
    private func drop(
        _ leaves: [Leaf], of table: PostgresTable, areDetached: Bool, knowing before: KnownCounts?,
        mustLeave: DateAttribute?
    ) throws -> Int? {
        var lastRow: StoreError?
        let rowCount: Int? = try batch(
            "dropping the partitions \(leaves.map(\.name).joined(separator: ", "))", isExclusive: true
        ) {
            if table.isDistributed {
                try execute(script: CitusSQL.dropSettings + ["SET LOCAL lock_timeout = 50"])
            }
            let list = leaves.map(\.sql).joined(separator: ", ")
            let parents = try parents(in: table)
            for (mode, tables) in [
                ("SHARE UPDATE EXCLUSIVE", parents.map { "ONLY \($0.sql)" }),
                ("ACCESS EXCLUSIVE", areDetached ? [] : Set(leaves.compactMap(\.parent)).sorted().map { "ONLY \($0)" }),
                ("ACCESS EXCLUSIVE", leaves.map(\.sql)),
            ] where !tables.isEmpty {
                try execute("LOCK TABLE \(tables.joined(separator: ", ")) IN \(mode) MODE")
            }
            guard try guards(of: table, detached: areDetached ? leaves : [])?.dropObstacle == nil else {
                if areDetached { for leaf in leaves { try attach(leaf) } }
                return nil
            }
            lastRow = nil
            if areDetached {
                do { try requireRest(of: table, mustLeave) } catch let error as StoreError {
                    // Detached partitions would stay so.
                    for leaf in leaves { try attach(leaf) }
                    lastRow = error
                    return nil
                }
            }
            let rowCount = try knownCount(leaves, before) ?? countTogether(leaves, of: table)
            try execute("DROP TABLE \(list)")
            if !areDetached { try requireRest(of: table, mustLeave) }
            return rowCount
        }
        if let lastRow { throw lastRow }
        return rowCount
    }

    /// Counts all rows of tables that nobody can write to.
    func countTogether(_ leaves: [Leaf], of table: PostgresTable) throws -> Int {
        if table.isDistributed {
            // Rows of several tables would all be sent to the coordinator.
            return try leaves.reduce(0) { try $0 + count(SQLFragment("SELECT count(*) FROM \($1.sql)")) }
        }
        // Nobody else uses the rows any more: more than one process may count them.
        try execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
        let all = leaves.map { "SELECT FROM \($0.sql)" }.joined(separator: " UNION ALL ")
        return try count(SQLFragment("SELECT count(*) FROM (\(all)) AS found"))
    }
}

extension BatchContinuation {
    /// Where the deletion continues after a batch that dropped partitions, identified by the number of the first one.
    static func behindPartition(_ number: Int) -> BatchContinuation {
        BatchContinuation(position: [.text("partition"), .integer(Int64(number))])
    }

    /// Where it continues after the batch that dropped the last ones.
    static let behindPartitions = BatchContinuation(position: [.text("partitions")])

    /// Whether the batch before dropped partitions, and there are more.
    fileprivate var isBehindPartition: Bool { position.first == .text("partition") }
}

extension BatchDelete {
    /// The rows of partitions that hold others too, once all wholly expired ones are gone.
    mutating func partitions() throws -> BatchContinuation? {
        // After a dropped partition the range begins again.
        if let place = request.continuation, place.isBehindPartition || place == .behindPartitions {
            request.continuation = nil
        }
        return try range()
    }
}
