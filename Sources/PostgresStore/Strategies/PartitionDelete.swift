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

    /// The partitions that are proved to hold only rows that a request deletes, oldest first.
    func expiredPartitions(_ table: PostgresTable, _ range: DateRange) throws -> [Leaf] {
        guard let before = range.before else { return [] }
        let date = try RowScope(table).date(range.date, store: name)
        let candidates = try leaves(of: table).compactMap { leaf -> (leaf: Leaf, bounds: PartitionBounds)? in
            guard !leaf.isForeign,
                leaf.rangeColumn == (try? RowScope(table).attribute(range.date.name, store: name))?.name,
                let bounds = PartitionBounds(leaf.bounds)
            else { return nil }
            return (leaf, bounds)
        }
        guard !candidates.isEmpty else { return [] }
        let columns = candidates.map { date.isWhollyBefore(before, $0.bounds) }
        let row = try rows("SELECT " + .joined(columns, by: ", ", empty: .never)).first ?? []
        let expired = zip(candidates, row).filter { $0.1 == "t" }.map(\.0)
        let order = try rows(
            "SELECT place FROM unnest("
                + .bound(ServerArray.text(expired.map(\.bounds.lower)), "\(date.orderType)[]")
                + ") WITH ORDINALITY AS ends (low, place) ORDER BY low")
        return order.compactMap { $0[0].flatMap { Int($0) }.map { expired[$0 - 1].leaf } }
    }

    /// Drops the oldest partition that is wholly expired, as a batch of its own; nil: there is none.
    ///
    /// The rows are counted while nobody can write to it any more. `DETACH … CONCURRENTLY` keeps the whole table free
    /// meanwhile; it is not possible beside a default partition. A detached table is marked before, so that the next run
    /// drops it after a crash. Source: PostgreSQL manual, ALTER TABLE, "DETACH PARTITION".
    func dropNextPartition(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult? {
        let what = "dropping a partition of \(request.fetchRequest.entity)"
        do {
            let table = try requireTable(request.fetchRequest.entity)
            guard transactionDepth == 0, let range = request.fetchRequest.predicate.dateRange,
                request.fetchRequest.predicate == .date(range)
            else { return nil }
            if table.isHypertable { return try dropChunks(table, range, request) }
            guard try canDropPartitions(of: table) else { return nil }
            if try finishDetached(table) { catalog = PostgresCatalog() }
            guard let leaf = try expiredPartitions(table, range).first else { return nil }
            let rowCount = try drop(leaf, of: table)
            return BatchDeleteResult(
                deletedCount: rowCount,
                continuation: BatchContinuation(position: [.text("partition"), .integer(Int64(leaf.number))]))
        } catch {
            throw StoreError(error, store: name, doing: what)
        }
    }

    private func canDropPartitions(of table: PostgresTable) throws -> Bool {
        try table.isPartitioned && table.entity.incomingRelationships.isEmpty && !table.isDistributed
            && !hasRowTriggers(table)
    }

    private func drop(_ leaf: Leaf, of table: PostgresTable) throws -> Int {
        let hasDefault = try exists(
            "SELECT 1 FROM pg_partitioned_table WHERE partdefid <> 0 AND partrelid = "
                + .bound("\(leaf.parentNumber)", "oid"))
        if let parent = leaf.parent, !hasDefault {
            try execute("COMMENT ON TABLE \(leaf.sql) IS '\(Self.mark)\(table.number)'")
            // Should it fail half-way, nobody sees the rows any more, and the next run finishes it.
            try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf.sql) CONCURRENTLY")
        }
        return try batch("dropping the partition \(leaf.name)") {
            // Nobody else uses the rows any more: more than one process may count them.
            try execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
            try execute("LOCK TABLE \(leaf.sql) IN \(hasDefault ? "SHARE" : "ACCESS EXCLUSIVE") MODE")
            let rowCount = try count(SQLFragment("SELECT count(*) FROM \(leaf.sql)"))
            try execute("DROP TABLE \(leaf.sql)")
            return rowCount
        }
    }

    /// What marks a table that was a partition and is to be dropped; the number of the whole table follows.
    private static let mark = "retention: expired partition of "

    /// Finishes what a run that died has begun: detaches wholly what is half detached, drops what is detached.
    private func finishDetached(_ table: PostgresTable) throws -> Bool {
        let marked = try rows(
            """
            SELECT n.nspname, c.relname, i.inhparent::regclass::text, coalesce(i.inhdetachpending, FALSE), i.inhrelid IS NULL
            FROM pg_description d JOIN pg_class c ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
            JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            WHERE c.relkind = 'r' AND d.description =
            """ + SQLFragment(" ") + .bound("\(Self.mark)\(table.number)"))
        var isChanged = false
        for row in marked {
            let leaf = "\((row[0] ?? "").quotedIdentifier).\((row[1] ?? "").quotedIdentifier)"
            if row[3] == "t", let parent = row[2] {
                try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf) FINALIZE")
            } else if row[4] != "t" {
                // Marked and still a whole partition: the run died before it was detached.
                continue
            }
            try execute("DROP TABLE \(leaf)")
            isChanged = true
        }
        return isChanged
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
        return BatchDeleteResult(
            deletedCount: rowCount, continuation: BatchContinuation(position: [.text("partition"), .integer(0)]))
    }
}

extension BatchDelete {
    /// The rows of partitions that hold others too, once all wholly expired ones are gone.
    mutating func partitions() throws -> BatchContinuation? {
        // Behind a dropped partition the range begins anew.
        if case .integer? = request.continuation?.position.last { request.continuation = nil }
        return try range()
    }
}
