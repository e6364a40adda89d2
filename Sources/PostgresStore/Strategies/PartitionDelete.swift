import PriceStore

/// Partitions that are wholly expired are taken away as a whole; rows go where a partition holds others too.
extension PostgresConnection {
    /// Whether a rule's rows may go by whole partitions: nothing but their date decides about them.
    func canDropPartitions(_ rows: SurveyRows) throws -> Bool {
        let table = rows.scope.table
        guard rows.scope.isTable, rows.request.filter == .all, rows.request.keepLast == nil,
            table.entity.incomingRelationships.isEmpty, rows.date.reading == .ordered, !table.isDistributed
        else { return false }
        if table.isHypertable { return true }
        guard table.isPartitioned else { return false }
        let leaves = try leaves(of: table)
        guard leaves.contains(where: { $0.rangeColumn != nil }), !leaves.contains(where: \.isForeign) else {
            return false
        }
        return try !hasRowTriggers(table)
    }

    /// Whether rows that go fire triggers: a table that is dropped fires none.
    private func hasRowTriggers(_ table: PostgresTable) throws -> Bool {
        // Bit 3 of the type: on DELETE.
        try exists(
            "SELECT 1 FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgtype & 8 <> 0 AND t.tgrelid IN (SELECT relid FROM "
                + "pg_partition_tree(" + .bound("\(table.number)", "regclass") + ")) LIMIT 1")
    }

    /// The partitions that are proved to hold only rows that a request deletes, oldest first, with the bytes of their rows.
    private func expiredPartitions(_ table: PostgresTable, _ range: DateRange) throws -> [(leaf: Leaf, bytes: Int)] {
        guard let before = range.before else { return [] }
        let scope = RowScope(table)
        let date = try scope.date(range.date, store: name)
        let column = try scope.attribute(range.date.name, store: name).name
        let candidates = try leaves(of: table).compactMap { leaf -> (leaf: Leaf, bounds: PartitionBounds)? in
            guard !leaf.isForeign, leaf.rangeColumn == column, let bounds = PartitionBounds(leaf.bounds) else {
                return nil
            }
            return (leaf, bounds)
        }
        guard !candidates.isEmpty else { return [] }
        let columns = candidates.map { date.isWhollyBefore(before, $0.bounds) }
        let row = try rows("SELECT " + .joined(columns, by: ", ", empty: .never)).first ?? []
        let expired = zip(candidates, row).filter { $0.1 == "t" }.map(\.0)
        guard !expired.isEmpty else { return [] }
        let order = try rows(
            "SELECT place, coalesce(pg_relation_size(number), 0) FROM unnest("
                + .bound(ServerArray.text(expired.map(\.bounds.lower)), "\(date.orderType)[]") + ", "
                + .bound(ServerArray.text(expired.map { "\($0.leaf.number)" }), "oid[]")
                + ") WITH ORDINALITY AS expired (low, number, place) ORDER BY low")
        return order.compactMap { row in
            guard let place = row[0].flatMap({ Int($0) }) else { return nil }
            return (expired[place - 1].leaf, row[1].flatMap { Int($0) } ?? 0)
        }
    }

    /// Drops the oldest partitions that are wholly expired, as a batch of their own; nil: there is none.
    ///
    /// The rows are counted while nobody can write to them any more. `DETACH … CONCURRENTLY` keeps the whole table free
    /// meanwhile; it is not possible beside a default partition. Tables are marked before they are detached, so that the
    /// next run finds, counts and drops them after a crash. Source: PostgreSQL manual, ALTER TABLE, "DETACH PARTITION".
    func dropNextPartitions(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult? {
        // A lost connection may leave tables detached: they are the first ones when this is repeated.
        try run("dropping partitions of \(request.fetchRequest.entity)") {
            let table = try requireTable(request.fetchRequest.entity)
            guard transactionDepth == 0, request.continuation?.isBehindPartition != false,
                let range = request.fetchRequest.predicate.dateRange,
                request.fetchRequest.predicate == .date(range)
            else { return nil }
            if table.isHypertable { return try dropChunks(table, range, request) }
            guard try canDropPartitions(of: table) else { return nil }
            let before = known
            let detached = try abandonedPartitions(of: table, range)
            for leaf in detached {
                guard let parent = leaf.parent else { continue }
                try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf.sql) FINALIZE")
            }
            var next = NextPartitions(leaves: detached, isDetachable: true, areAll: false)
            if detached.isEmpty {
                next = try nextPartitions(table, range)
                if next.isDetachable {
                    let detached = try detach(next.leaves, of: table)
                    if detached.count < next.leaves.count { next.areAll = false }
                    next.leaves = detached
                }
            }
            guard let first = next.leaves.first else { return nil }
            let rowCount = try drop(next.leaves, areDetached: next.isDetachable, knowing: before)
            if let before { noteDropped(next.leaves, rowCount, table, request, before) }
            return BatchDeleteResult(
                deletedCount: rowCount, continuation: next.areAll ? .behindPartitions : .behindPartition(first.number))
        }
    }

    /// How much a batch takes: a signal waits for a second or two.
    private static let mostDetached = (count: 16, bytes: 1 << 30)
    /// How much a batch takes where a drop locks the whole table: others wait for some ten milliseconds.
    private static let mostAttached = (count: 4, bytes: 32 << 20)

    /// The partitions that a batch drops.
    private struct NextPartitions {
        var leaves: [Leaf]
        /// Whether they can be detached while others use the table.
        var isDetachable: Bool
        /// Whether no other partition is wholly expired.
        var areAll: Bool
    }

    /// The oldest expired partitions, as many as one batch takes: each drop is one wait for the server's disk, so that
    /// small ones go together. Beside a default partition none can be detached while others use the table.
    private func nextPartitions(_ table: PostgresTable, _ range: DateRange) throws -> NextPartitions {
        let expired = try expiredPartitions(table, range)
        guard let first = expired.first?.leaf else {
            return NextPartitions(leaves: [], isDetachable: false, areAll: true)
        }
        let parents = ServerArray.text(Set(expired.map { "\($0.leaf.parentNumber)" }))
        let withDefault = Set(
            try rows(
                "SELECT partrelid FROM pg_partitioned_table WHERE partdefid <> 0 AND partrelid = ANY ("
                    + .bound(parents, "oid[]") + ")"
            ).compactMap { $0[0].flatMap { Int($0) } })
        let isDetachable = !withDefault.contains(first.parentNumber)
        let most = isDetachable ? Self.mostDetached : Self.mostAttached
        var bytes = 0
        let leaves = expired.prefix(most.count).prefix {
            bytes += $0.bytes
            return $0.leaf.number == first.number
                || bytes <= most.bytes && withDefault.contains($0.leaf.parentNumber) != isDetachable
        }
        return NextPartitions(
            leaves: leaves.map(\.leaf), isDetachable: isDetachable, areAll: leaves.count == expired.count)
    }

    /// Notes what is known of the rows that are left, where nothing but this drop has happened.
    private func noteDropped(
        _ leaves: [Leaf], _ rowCount: Int, _ table: PostgresTable, _ request: BatchDeleteRequest, _ before: KnownCounts
    ) {
        known?.ofPartitions = before.ofPartitions
        for leaf in leaves { known?.ofPartitions[leaf.number] = nil }
        known?.note(rowCount, deletedFrom: table, request, before)
    }

    private func canDropPartitions(of table: PostgresTable) throws -> Bool {
        try table.isPartitioned && table.entity.incomingRelationships.isEmpty && !table.isDistributed
            && !hasRowTriggers(table)
    }

    /// Detaches partitions and returns those that are. Nobody sees their rows any more.
    private func detach(_ leaves: [Leaf], of table: PostgresTable) throws -> [Leaf] {
        try batch("marking partitions of \(table.name)") {
            try execute(script: leaves.map { "COMMENT ON TABLE \($0.sql) IS '\(Self.mark)\(table.number)'" })
        }
        var detached: [Leaf] = []
        for leaf in leaves {
            guard let parent = leaf.parent else { continue }
            do {
                try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf.sql) CONCURRENTLY")
                detached.append(leaf)
            } catch let fault as ServerFault where !fault.isConnectionLost && !detached.isEmpty {
                // What is detached is dropped; the next batch meets the same trouble and tells it.
                break
            }
        }
        try takeNumbers(ofDetached: detached)
        return detached
    }

    /// Counts the rows of partitions and drops them, in one transaction. What was known before need not be counted if it
    /// still holds once nobody can write to them any more.
    private func drop(_ leaves: [Leaf], areDetached: Bool, knowing before: KnownCounts?) throws -> Int {
        try batch("dropping the partitions \(leaves.map(\.name).joined(separator: ", "))") {
            let list = leaves.map(\.sql).joined(separator: ", ")
            try execute("LOCK TABLE \(list) IN \(areDetached ? "ACCESS EXCLUSIVE" : "SHARE") MODE")
            let rowCount = try knownCount(leaves, before) ?? countTogether(leaves)
            try execute("DROP TABLE \(list)")
            return rowCount
        }
    }

    private func countTogether(_ leaves: [Leaf]) throws -> Int {
        // Nobody else uses the rows any more: more than one process may count them.
        try execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
        let all = leaves.map { "SELECT FROM \($0.sql)" }.joined(separator: " UNION ALL ")
        return try count(SQLFragment("SELECT count(*) FROM (\(all)) AS found"))
    }

    /// What marks a table that was a partition and is to be dropped; the number of the whole table follows.
    private static let mark = "retention: expired partition of "

    /// Tables that a run which died has detached, or begun to detach, and whose rows are all among those that a request
    /// deletes. Those that are only begun have a parent.
    func abandonedPartitions(of table: PostgresTable, _ range: DateRange) throws -> [Leaf] {
        let marked = try rows(
            """
            SELECT c.oid::int8, n.nspname, c.relname, i.inhparent::regclass::text, coalesce(i.inhparent, 0)::int8
            FROM pg_description d JOIN pg_class c ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
            JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            WHERE c.relkind = 'r' AND (i.inhrelid IS NULL OR i.inhdetachpending) AND d.description =
            """ + SQLFragment(" ") + .bound("\(Self.mark)\(table.number)"))
        return try marked.compactMap { row in
            let leaf = Leaf(
                number: row[0].flatMap { Int($0) } ?? 0,
                sql: "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)", name: row[2] ?? "",
                isForeign: false, parent: row[3], parentNumber: row[4].flatMap { Int($0) } ?? 0, bounds: "",
                rangeColumn: nil)
            // The rule may keep more than it did then.
            let scope = RowScope(table, source: leaf.sql)
            let isExpired = try scope.date(range.date, store: name).readable(before: range.before)
            let others = "SELECT 1 FROM \(scope.from) WHERE (" + isExpired + ") IS NOT TRUE LIMIT 1"
            return try exists(others) ? nil : leaf
        }
    }

    /// Drops the chunks of a hypertable that are wholly expired; nil: there are none.
    private func dropChunks(
        _ table: PostgresTable, _ range: DateRange, _ request: BatchDeleteRequest
    ) throws -> BatchDeleteResult? {
        guard request.continuation == nil, let before = range.before else { return nil }
        let scope = RowScope(table)
        let date = try scope.date(range.date, store: name)
        let expired =
            "SELECT count(*) FROM \(scope.from)" + (try condition(request.fetchRequest.predicate, scope)).whereClause
        let rowCount = try batch("dropping chunks of \(table.name)", isolation: "REPEATABLE READ") {
            let countBefore = try count(expired)
            guard try !exists(TimescaleSQL.unreadableRows(scope, date, before: before)) else { return 0 }
            try execute(TimescaleSQL.dropChunks(table, date, before: before))
            return countBefore - (try count(expired))
        }
        guard rowCount > 0 else { return nil }
        return BatchDeleteResult(deletedCount: rowCount, continuation: .behindPartition(0))
    }
}

extension BatchContinuation {
    /// What a batch leads on from that dropped partitions, told apart by the number of the first one.
    fileprivate static func behindPartition(_ number: Int) -> BatchContinuation {
        BatchContinuation(position: [.text("partition"), .integer(Int64(number))])
    }

    /// What the batch leads on from that dropped the last ones.
    fileprivate static let behindPartitions = BatchContinuation(position: [.text("partitions")])

    /// Whether the batch before dropped partitions, and there are more.
    fileprivate var isBehindPartition: Bool { position.first == .text("partition") }
}

extension BatchDelete {
    /// The rows of partitions that hold others too, once all wholly expired ones are gone.
    mutating func partitions() throws -> BatchContinuation? {
        // Behind a dropped partition the range begins anew.
        if let place = request.continuation, place.isBehindPartition || place == .behindPartitions {
            request.continuation = nil
        }
        return try range()
    }
}
