import PriceStore

extension SurveyQuery {
    /// Why a rule's rows cannot be deleted by whole partitions or chunks, as a phrase; nil if they can. Only the date may decide which rows
    /// are deleted, and no row may need work of its own.
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
        if let keeper = (request.ownKeepers + request.keepers.others).first {
            return "`\(keeper.isThinning ? "thin" : "keep_last")` chooses among the rows of a partition"
        }
        let column = try rows.scope.attribute(request.date.name).name
        guard rows.date.reading == .ordered else { return "the order of \(column) is not that of its dates" }
        if table.isHypertable {
            guard rows.isByChunks else { return "its chunks are not ranges of \(column)" }
        } else {
            let partitions = try session.partitions(of: table)
            if let foreign = partitions.all.first(where: \.isForeign) { return "\(foreign.name) is a foreign table" }
            guard partitions.all.contains(where: { $0.rangeColumn == column }) else {
                return "no partitions are ranges of \(column)"
            }
        }
        return guards.dropObstacle
    }
}

extension PostgresDatabase {
    /// The largest partitions of a table that are proved to hold only rows of a range, oldest first, with their real tables and the bytes
    /// of their rows.
    func expired(
        _ partitions: Partitions, _ range: DateRange?
    ) throws -> [(part: Leaf, leaves: [Leaf], bytes: Int)] {
        guard let range, let before = range.before else { return [] }
        let scope = RowScope(partitions.table)
        let date = try scope.date(range.date)
        let column = try scope.attribute(range.date.name).name
        let candidates = partitions.all.filter { $0.rangeColumn == column && $0.bounds != nil && !$0.isForeign }
        let proofs = try date.areTrue(date.isWhollyBefore(before), of: candidates.map(\.bounds), self)
        let proved = Set(zip(candidates, proofs).filter(\.1).map(\.0.oid))
        let expired = candidates.filter { part in
            proved.contains(part.oid) && !partitions.path(from: part).dropFirst().contains { proved.contains($0.oid) }
        }
        guard !expired.isEmpty else { return [] }
        let bytes =
            partitions.table.isDistributed
            ? CitusSQL.bytes("oid::regclass")
            : "(SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(oid))::int8"
        let order = try rows(
            "SELECT place, coalesce(\(bytes), 0) AS bytes FROM unnest("
                + .list(expired.map { $0.bounds?.lower }, date.orderType) + ", " + .list(expired.map(\.oid), "oid")
                + ") WITH ORDINALITY AS expired (low, oid, place) ORDER BY low")
        return try order.map {
            let part = expired[try $0.int("place") - 1]
            return (part, partitions.leaves(in: part), try $0.int("bytes"))
        }
    }
}

/// The drop of whole partitions or chunks. Rows are deleted from partitions that hold other rows too.
struct PartitionDrop {
    let session: PostgresWriter
    let table: PostgresTable

    /// Drops the oldest wholly expired partitions, in a batch of its own. It is nil if there are none, or if their rows must be deleted one
    /// by one.
    func dropNext(_ work: DeleteWork) throws -> BatchDeleteResult? {
        guard session.transactionDepth == 0, work.continuation?.isBehindPartition != false,
            let range = work.fetchRequest.predicate.dateRange, work.fetchRequest.predicate == .date(range)
        else { return nil }
        do {
            if table.isHypertable { return try dropNextChunks(work, range) }
            let partitions = try session.partitions(of: table)
            let (parts, areAll) = try next(of: partitions, range)
            guard let first = parts.first, let rowCount = try drop(parts, of: partitions, mustLeave: work.mustLeave)
            else { return nil }
            return BatchDeleteResult(
                deletedCount: rowCount, continuation: areAll ? .behindPartitions : .behindPartition(first.oid))
        } catch let error as StoreError where error.isLockUnavailable {
            let holder = try session.lockHolder(of: table, writesRows: false)
            session.dropTrouble = "nothing is dropped as a whole, because \(holder) uses parts of \(table.name)"
            return BatchDeleteResult(deletedCount: 0, continuation: .behindPartitions)
        }
    }

    /// The limits of a batch. A signal waits for a second or two.
    private static let most = (count: 16, bytes: 1 << 30)
    /// The most tables on workers that a batch drops. Each extends the lock by some milliseconds.
    private static let mostShards = 32

    /// The oldest expired partitions for one batch, and whether these are all. Each drop waits once for the server's disk, so small
    /// partitions are dropped together.
    private func next(of partitions: Partitions, _ range: DateRange) throws -> (parts: [Leaf], areAll: Bool) {
        let expired = try session.expired(partitions, range)
        var mostCount = Self.most.count
        if table.isDistributed {
            mostCount = try min(
                mostCount, max(1, Self.mostShards / max(1, session.count(CitusSQL.shardCount(table.oid)))))
        }
        var (count, bytes) = (0, 0)
        let next = expired.enumerated().prefix { place, partition in
            count += partition.leaves.count
            bytes += partition.bytes
            return place == 0 || count <= mostCount && bytes <= Self.most.bytes
        }
        return (next.map(\.element.part), next.count == expired.count)
    }

    /// Counts the rows of partitions and drops the partitions, in one transaction. It is nil if their rows must be deleted one by one by
    /// now.
    ///
    /// During the count, others can read everything and write to all other partitions. Then the transaction locks the parent table
    /// exclusively, for some milliseconds: a commit releases its locks before it removes files. Nobody can create a trigger or a policy
    /// until the transaction ends. The transaction waits at most 50 ms for a lock, because later sessions would queue behind it. Source:
    /// PostgreSQL manual, "Explicit Locking".
    private func drop(_ parts: [Leaf], of partitions: Partitions, mustLeave: DateAttribute?) throws -> Int? {
        try session.batch("dropping the partitions \(parts.map(\.name).joined(separator: ", "))", waitsBriefly: true) {
            if table.isDistributed {
                for setting in [CitusSQL.propagatesDrops] + CitusSQL.briefWait { try session.execute(setting) }
            }
            let list = parts.map(\.sql).joined(separator: ", ")
            let parents = Set(parts.map(partitions.parent)).sorted().map { "ONLY \($0)" }
            let divided = [table.sql] + partitions.all.filter(\.isPartitioned).map(\.sql)
            func lock(_ tables: [String], _ mode: String) throws {
                try session.execute("LOCK TABLE \(tables.joined(separator: ", ")) IN \(mode) MODE")
            }
            try lock(divided.map { "ONLY \($0)" }, "SHARE UPDATE EXCLUSIVE")
            try lock([list], table.isDistributed ? "ACCESS EXCLUSIVE" : "EXCLUSIVE")
            guard try session.guards(of: table)?.dropObstacle == nil else { return nil }
            try session.requireSchema(of: [table], since: "the plan was made: nothing is dropped")
            // While the locks were waited for, a partition may have been detached, and another table may have got its name.
            let now = Set(try session.readPartitions(of: table).all)
            guard parts.allSatisfy(now.contains) else { return nil }
            let rowCount = try session.countTogether(parts, of: table)
            try lock(parents, "ACCESS EXCLUSIVE")
            try session.execute("DROP TABLE \(list)")
            // What was declared on these partitions alone is gone with them.
            session.catalog.fingerprints[table.sql] = try session.fingerprints(of: [table.sql])[table.sql]
            try session.requireRest(of: table, by: mustLeave)
            return rowCount
        }
    }
}

extension PostgresDatabase {
    /// Counts all rows of tables to which nobody can write.
    func countTogether(_ parts: [Leaf], of table: PostgresTable) throws -> Int {
        if table.isDistributed {
            // For a single query, the rows of several tables would all go to the coordinator.
            return try parts.reduce(0) { try $0 + count("SELECT count(*) FROM \($1.sql)") }
        }
        // Nobody else uses the rows any more, so several processes may count them.
        try execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
        let all = parts.map { "SELECT FROM \($0.sql)" }.joined(separator: " UNION ALL ")
        return try count("SELECT count(*) FROM (\(all)) AS found")
    }
}

extension BatchContinuation {
    /// The continuation after a batch that dropped partitions. The number of the first one identifies it.
    static func behindPartition(_ number: Int) -> BatchContinuation {
        BatchContinuation(position: [.text("partition"), .integer(Int64(number))])
    }

    /// The continuation after the batch that dropped the last partitions.
    static let behindPartitions = BatchContinuation(position: [.text("partitions")])

    /// Whether the previous batch dropped partitions and more remain.
    var isBehindPartition: Bool { position.first == .text("partition") }
}
