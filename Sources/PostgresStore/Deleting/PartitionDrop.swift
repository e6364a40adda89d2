import PriceStore

extension SurveyQuery {
    /// Why a rule's rows cannot go by whole partitions or chunks, as a phrase; nil: they can. Nothing but their date may
    /// decide about them, and nothing may happen for each of them.
    func partitionObstacle(_ rows: SurveyRows, _ guards: TableGuards?) throws -> String? {
        let table = rows.scope.table
        guard let guards else { return "\(table.name) is not divided into partitions" }
        if request.deleting.archiveRule != nil { return "each row is archived" }
        if request.deleting.rollup != nil { return "each row becomes a part of a candle" }
        if request.deleting.maxRows != nil {
            return "`max_rows` limits the deleted rows, and more rows may arrive in a partition"
        }
        if request.filter != .all { return "`where` chooses among the rows of a partition" }
        if let hold = request.keepers.holds.first { return "the hold \(hold.name) may keep rows of a partition" }
        if request.keepers.keepLast != nil || request.keepers.others.contains(where: { !$0.isThinning }) {
            return "`keep_last` chooses among the rows of a partition"
        }
        if request.keepers.thinning != nil || !request.keepers.others.isEmpty {
            return "`thin` chooses among the rows of a partition"
        }
        let column = try rows.scope.attribute(request.date.name, store: session.name).name
        guard rows.date.reading == .ordered else { return "the order of \(column) is not that of its dates" }
        if table.isHypertable {
            let chunkColumn = try session.chunkColumn(table) ?? ""
            guard chunkColumn == column else { return "its chunks are ranges of \(chunkColumn), not of \(column)" }
        } else {
            let leaves = try session.leaves(of: table)
            if let foreign = leaves.first(where: \.isForeign) { return "\(foreign.name) is a foreign table" }
            guard leaves.contains(where: { $0.rangeColumn == column }) else {
                return "no partitions are ranges of \(column)"
            }
        }
        return guards.dropObstacle
    }
}

/// The partitions of a table that are wholly expired.
struct ExpiredPartitions {
    let session: PostgresConnection
    let table: PostgresTable

    /// The partitions that are proved to hold only rows that a request deletes, oldest first, with the bytes of their rows.
    func leaves(_ range: DateRange?) throws -> [(leaf: Leaf, bytes: Int)] {
        guard let range, let before = range.before else { return [] }
        let scope = RowScope(table)
        let date = try scope.date(range.date, store: session.name)
        let column = try scope.attribute(range.date.name, store: session.name).name
        let candidates = try session.leaves(of: table).compactMap { leaf -> (leaf: Leaf, bounds: PartitionBounds)? in
            guard !leaf.isForeign, leaf.rangeColumn == column, let bounds = leaf.bounds else {
                return nil
            }
            return (leaf, bounds)
        }
        let proofs = try date.areTrue(date.isWhollyBefore(before), of: candidates.map(\.bounds), session)
        let expired = zip(candidates, proofs).filter(\.1).map(\.0)
        guard !expired.isEmpty else { return [] }
        let order = try session.rows(
            "SELECT place, coalesce(\(table.isDistributed ? CitusSQL.bytes("oid::regclass") : "pg_relation_size(oid)"), 0) AS bytes FROM unnest("
                + .bound(ServerArray.text(expired.map(\.bounds.lower)), "\(date.orderType)[]") + ", "
                + .tables(expired.map(\.leaf.oid))
                + ") WITH ORDINALITY AS expired (low, oid, place) ORDER BY low")
        return try order.map { try (expired[$0.int("place") - 1].leaf, $0.int("bytes")) }
    }
}

/// The drop of whole partitions or chunks: rows are deleted where a partition holds others too.
struct PartitionDrop {
    let session: PostgresWriter
    let table: PostgresTable

    /// Drops the oldest partitions that are wholly expired, as a batch of their own; nil: there is none, or their rows must
    /// go one by one.
    func dropNext(_ work: DeleteWork) throws -> BatchDeleteResult? {
        guard session.transactionDepth == 0, work.continuation?.isBehindPartition != false,
            let range = work.fetchRequest.predicate.dateRange, work.fetchRequest.predicate == .date(range)
        else { return nil }
        do {
            return try table.isHypertable
                ? ChunkDrop(session: session, table: table, range: range).dropNext(
                    mustLeave: work.mustLeave, knowing: work.rollupMemory)
                : dropPartitions(range, mustLeave: work.mustLeave)
        } catch let error as StoreError where error.engineCode == "SQLSTATE 55P03" {
            session.dropTrouble = try "nothing is dropped as a whole, because \(lockHolder())"
            return BatchDeleteResult(deletedCount: 0, continuation: .behindPartitions)
        }
    }

    /// Who uses the table or a part of it, as a phrase.
    private func lockHolder() throws -> String {
        let holder = try session.row(
            SQLFragment(
                """
                \(PostgresConnection.tree("\(table.oid)::oid"))
                SELECT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
                WHERE l.relation IN (SELECT oid FROM tree) AND l.granted AND a.pid <> pg_backend_pid()
                ORDER BY a.xact_start LIMIT 1
                """))
        guard let holder else { return "another session uses parts of \(table.name)" }
        let program = try holder.optionalText("application_name").flatMap { $0.isEmpty ? nil : "\($0), " } ?? ""
        return "another session (\(program)server process \(try holder.int("pid"))) uses parts of \(table.name)"
    }

    /// Drops the oldest partitions, as many as one batch may.
    private func dropPartitions(_ range: DateRange, mustLeave: DateAttribute?) throws -> BatchDeleteResult? {
        guard table.isPartitioned, try session.guards(of: table)?.dropObstacle == nil else { return nil }
        let (leaves, areAll) = try nextPartitions(range)
        guard let first = leaves.first,
            let rowCount = try drop(leaves, mustLeave: mustLeave)
        else { return nil }
        return BatchDeleteResult(
            deletedCount: rowCount, continuation: areAll ? .behindPartitions : .behindPartition(first.oid))
    }

    /// How much a batch takes: a signal waits for a second or two.
    private static let most = (count: 16, bytes: 1 << 30)
    /// How many tables on workers a batch drops: each holds the lock for some milliseconds longer.
    private static let mostShards = 32

    /// The oldest expired partitions, as many as one batch takes, and whether these are all. Each drop is one wait for the
    /// server's disk, so that small ones are dropped together.
    private func nextPartitions(_ range: DateRange) throws -> (leaves: [Leaf], areAll: Bool) {
        let expired = try ExpiredPartitions(session: session, table: table).leaves(range)
        var mostCount = Self.most.count
        if table.isDistributed {
            mostCount = try min(
                mostCount, max(1, Self.mostShards / max(1, session.count(CitusSQL.shardCount(table.oid)))))
        }
        var bytes = 0
        let leaves = expired.prefix(mostCount).enumerated().prefix { place, partition in
            bytes += partition.bytes
            return place == 0 || bytes <= Self.most.bytes
        }
        return (leaves.map(\.element.leaf), leaves.count == expired.count)
    }

    /// Counts the rows of partitions and drops them, in one transaction; nil: by now their rows must be deleted one by one.
    ///
    /// While the rows are counted, others read everything and write to all other partitions. Then the transaction needs the
    /// table that the partitions belong to for itself, which takes some milliseconds: a commit releases its locks before it
    /// removes files. Nobody can create a trigger or a policy until the transaction ends. A session that is in the way for more
    /// than 50 ms is not waited for: later ones would have to wait behind this one.
    /// Source: PostgreSQL manual, "Explicit Locking".
    ///
    /// - Parameter mustLeave: the date by which a row must stay readable; otherwise nothing is dropped, and the call fails.
    private func drop(_ leaves: [Leaf], mustLeave: DateAttribute?) throws -> Int? {
        try session.batch("dropping the partitions \(leaves.map(\.name).joined(separator: ", "))", isExclusive: true) {
            if table.isDistributed {
                try session.execute(script: CitusSQL.dropSettings + ["SET LOCAL lock_timeout = 50"])
            }
            let list = leaves.map(\.sql).joined(separator: ", ")
            let parents = Set(leaves.compactMap(\.parent)).sorted().map { "ONLY \($0)" }
            func lock(_ tables: [String], _ mode: String) throws {
                try session.execute("LOCK TABLE \(tables.joined(separator: ", ")) IN \(mode) MODE")
            }
            try lock(try self.parents().map { "ONLY \($0)" }, "SHARE UPDATE EXCLUSIVE")
            try lock([list], table.isDistributed ? "ACCESS EXCLUSIVE" : "EXCLUSIVE")
            guard try session.guards(of: table)?.dropObstacle == nil else { return nil }
            let rowCount = try session.countTogether(leaves, of: table)
            try lock(parents, "ACCESS EXCLUSIVE")
            try session.execute("DROP TABLE \(list)")
            try RowsThatStay(session: session, table: table).requireSome(by: mustLeave)
            return rowCount
        }
    }

    /// The table and the partitions of it that are divided themselves.
    private func parents() throws -> [String] {
        let query =
            "SELECT n.nspname, c.relname FROM pg_partition_tree(" + .bound("\(table.oid)", "regclass")
            + ") t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace "
            + "WHERE c.relkind = 'p' ORDER BY t.level, c.oid"
        return try session.rows(query).map { try $0.relation("nspname", "relname") }
    }
}

extension PostgresConnection {
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
