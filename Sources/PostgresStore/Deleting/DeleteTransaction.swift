public import PriceStore

extension PostgresWriter {
    /// Runs a batch delete in one transaction. It retries after a deadlock, a serialization failure, a lock timeout or a lost connection.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(namingEntity(request)))
    }

    func execute(_ work: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        // An empty list of IDs names no row, whatever the entity.
        if case .objectIDs([]) = work.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        guard work.resultType != .objectIDs, work.fetchRequest.fetchOffset == 0 else {
            throw StoreError(
                .unsupported, store: name, message: "a delete on a server reports counts, not IDs, and has no offset")
        }
        if work.rollup == nil, work.method == .partitions {
            let entity = work.fetchRequest.entity
            let dropped = try run("dropping partitions of \(entity)") {
                try PartitionDrop(session: self, table: requireTable(entity)).dropNext(work)
            }
            if let dropped { return dropped }
        }
        return try run(work.what) { try DeleteTransaction(work, self) }.execute()
    }

    /// Who has locked rows that a batch can skip, as a phrase. It is nil if the batch cannot skip rows: others are copied, counted or changed
    /// with them, or they have no places.
    func lockerToSkip(_ work: DeleteWork) throws(StoreError) -> String? {
        try run("looking for locks") {
            let table = try requireTable(work.fetchRequest.entity)
            guard work.rollup == nil, !table.isDistributed,
                try ReachOfDelete(of: table, work.asDeclared.relationships, self).keys.isEmpty,
                try !table.isHypertable || !exists(TimescaleSQL.compressedChunks(table))
            else { return nil }
            return try lockHolder(of: table, writesRows: true)
        }
    }
}

/// The transaction of a batch: its locks, its deletes, and the copies, counts and checks around them.
struct DeleteTransaction {
    let session: PostgresWriter
    let work: DeleteWork
    let table: PostgresTable
    let reach: ReachOfDelete
    private let firesTriggers: Bool
    /// The parts of the condition whose kept rows are listed in temporary tables.
    private let listed: [Keeper]
    /// The statement that locks the tables; see ``ReachOfDelete/locks()``.
    private let locks: String

    init(_ work: DeleteWork, _ session: PostgresWriter) throws {
        (self.work, self.session) = (work, session)
        table = try session.requireTable(work.fetchRequest.entity)
        reach = try ReachOfDelete(of: table, work.asDeclared.relationships, session)
        firesTriggers = try reach.firesTriggers()
        listed = try reach.overridesRules ? [] : session.keepersToList(work.fetchRequest.predicate, table)
        locks = try reach.locks()
    }

    private var holds: Holds { Holds(session: session, all: work.fetchRequest.predicate.holds) }

    /// Whether the request denies the delete of rows to which others refer.
    private var denies: Bool { work.relationships == .deny && !reach.keys.isEmpty }

    /// Whether foreign keys overlap, so that the server would count changed rows twice. They are then counted first, in the same snapshot.
    private var isPredicted: Bool { reach.isEntangled && work.method == .whole }

    func execute() throws(StoreError) -> BatchDeleteResult {
        let isOneState = try session.run(work.what) {
            if let obstacle = try holds.obstacle(reach) {
                throw StoreError(.unsupported, store: session.name, message: obstacle.text)
            }
            return try needsOneState()
        }
        session.changedTables.formUnion(reach.losing.map(\.sql))
        if listed.isEmpty { session.forgetKeptRows(of: table) }
        if work.archiveRule != nil { try session.archiver?.prepare(reach, work.rollup, session) }
        if !listed.isEmpty { try session.listKept(listed, table, isFirst: work.continuation == nil) }
        var part: ArchivePart?
        let result = try session.batch(
            work.what, isolation: isOneState ? "REPEATABLE READ" : "READ COMMITTED",
            usesOnePlan: !reach.overridesRules && BatchDelete.usesOnePlan(work, table), locks: isOneState ? locks : "",
            waitsBriefly: true
        ) {
            if reach.overridesRules { return try overrideRules(&part) }
            guard !listed.isEmpty else { return try deleteBatch(&part, isOneState: isOneState) }
            return try session.sparingListed(listed, table) { try deleteBatch(&part, isOneState: isOneState) }
        }
        if let part { session.archiver?.didCommit(part) }
        return result
    }

    private func needsOneState() throws -> Bool {
        if reach.overridesRules || isPredicted || table.isHypertable { return true }
        if denies && work.method == .whole || work.archiveRule != nil && !reach.keys.isEmpty { return true }
        // Kept rows are checked again only if the batch neither archives rows nor makes candles. A cluster has no single state.
        let isPlain = work.archiveRule == nil && work.rollup == nil
        let sparesInState = work.fetchRequest.predicate.sparesKeptRows && (listed.isEmpty || !isPlain)
        return try sparesInState && !table.isDistributed || holds.needOneState(reach)
    }

    /// The body of a batch that deletes or changes referring rows as the request says, whatever the schema declares.
    private func overrideRules(_ part: inout ArchivePart?) throws -> BatchDeleteResult {
        guard work.rollup == nil else {
            throw StoreError(
                .unsupported, store: session.name,
                message: "rows of \(work.fetchRequest.entity) become candles only if no other rows refer to them")
        }
        let result = try guarded(&part, deleteOverriding)
        try part?.checkAll(result)
        if result.deletedCount > 0 { try session.requireRest(of: table, by: work.mustLeave) }
        return result
    }

    private func deleteBatch(_ part: inout ArchivePart?, isOneState: Bool) throws -> BatchDeleteResult {
        let predicted = isPredicted ? try foreseenCounts() : nil
        let before = try reach.keys.isEmpty || isPredicted ? nil : changeCounts()
        if denies, work.method == .whole { try refusePointing() }
        var result = try guarded(&part) { part in
            var batch = try BatchDelete(
                work, session, part, checking: isOneState ? [] : listed, firesTriggers: firesTriggers)
            let continuation = try batch.run()
            var result = BatchDeleteResult(deletedCount: batch.deletedCount, continuation: continuation)
            result.candles = batch.request.candles
            return result
        }
        if let allowed = work.allowedRows, result.deletedCount > allowed {
            // Another session has added rows between the search for the end of the batch and the delete. The next try sees them.
            throw StoreError(
                .busy, store: session.name,
                message:
                    "another session adds expired rows: a batch would delete \(result.deletedCount.counted("row")) where "
                    + "max_rows allows \(allowed)",
                engineCode: "SQLSTATE 40001", hint: "nothing of this batch is deleted; run again")
        }
        if let predicted {
            result.cascadedCount = predicted.cascaded
            result.nullifiedCount = predicted.nullified
        } else if let before {
            let after = try changeCounts()
            result.cascadedCount = after.deleted - before.deleted
            result.nullifiedCount = after.updated - before.updated
        }
        // The effects of the keys include rows that others have added at any time before.
        let pointing = result.cascadedCount + result.nullifiedCount
        if denies, work.method != .whole, pointing > 0 {
            let sources = table.entity.incomingRelationships.map(\.text).joined(separator: " or ")
            throw StoreError.referenced(
                work.fetchRequest.entity, by: [(pointing, sources)], store: session.name)
        }
        try part?.checkAll(result)
        return result
    }

    /// Runs a delete inside its transaction, with its rows in the archive. The transaction fails if it touches held rows, rows without a
    /// copy, or a schema that differs from the plan's.
    private func guarded(
        _ part: inout ArchivePart?, _ body: (ArchivePart?) throws -> BatchDeleteResult
    ) throws -> BatchDeleteResult {
        part = nil
        if let rule = work.archiveRule {
            guard let archiver = session.archiver else {
                throw StoreError(
                    .unsupported, store: session.name, message: "rows must be archived, but no archive was started")
            }
            guard !firesTriggers else {
                throw StoreError(
                    .unsupported, store: session.name,
                    message:
                        "rows of \(table.name) are not archived, because triggers or rules of the store act on the delete"
                )
            }
            // Rows that are reported as archived must be on disk. The servers of a cluster commit one after the other, so each commit is
            // synchronous.
            try session.execute("SET LOCAL synchronous_commit = on")
            part = try archiver.part(of: rule, reach, session)
        }
        let before = try part?.changes() ?? []
        var result = try body(part)
        try reach.requireSchema()
        if let part {
            try part.check(zip(part.changes(), before).map(-), ownCount: result.deletedCount)
            try part.finish()
            result.archivedCount = part.rowCount
        }
        return result
    }

    private func foreseenCounts() throws -> RemovedCounts {
        var removed = RemovedRows(session)
        try removed.add(work.asDeclared)
        return try removed.counts()
    }

    /// Throws if rows refer to rows to be deleted and the deletion never deletes the referring rows.
    private func refusePointing() throws {
        var removed = RemovedRows(session)
        try removed.add(work.asDeclared)
        let scope = RowScope(table)
        let named = try work.allRows.map { try session.condition($0, scope) }
        let obstacles = try table.entity.incomingRelationships.map { key in
            var query = SQLFragment("SELECT DISTINCT child.tableoid, child.ctid\(try removed.references(key, in: [0]))")
            if let named, key.source == table.name {
                query +=
                    " AND NOT EXISTS (SELECT 1 FROM \(scope.from) WHERE \(RowScope.alias).tableoid = child.tableoid "
                    + "AND \(RowScope.alias).ctid = child.ctid AND (" + named + "))"
            } else if named == nil {
                query += " AND (child.tableoid, child.ctid) NOT IN (SELECT t, c FROM named_0)"
            }
            return (try session.count(removed.tables + " SELECT count(*) FROM (" + query + ") AS found"), key.text)
        }.filter { $0.0 > 0 }
        guard obstacles.isEmpty else {
            throw StoreError.referenced(work.fetchRequest.entity, by: obstacles, store: session.name)
        }
    }

    /// The deleted and updated rows of this session in the tables behind the foreign keys, as the server counts them.
    private func changeCounts() throws -> (deleted: Int, updated: Int) {
        let updated = try Set(reach.nullifying.map(\.source)).sorted().map { try session.requireTable($0) }
        let counts = try session.numbers(ofEach: [
            session.changeCount("deleted", Array(reach.losing.dropFirst())), session.changeCount("updated", updated),
        ])
        return (counts[0], counts[1])
    }
}

extension PostgresDatabase {
    /// The number of rows of tables and their partitions that this transaction has `deleted`, `updated` or `inserted`, in SQL.
    func changeCount(_ change: String, _ tables: [PostgresTable]) -> String {
        guard !tables.isEmpty else { return "0" }
        let list = tables.map { "\($0.oid)" }.joined(separator: ", ")
        return "(\(Self.tree("unnest(ARRAY[\(list)]::oid[])")) "
            + "SELECT coalesce(sum(pg_stat_get_xact_tuples_\(change)(oid)), 0)::int8 FROM tree)"
    }
}

extension DeleteWork {
    fileprivate var what: String { "deleting rows of \(request.fetchRequest.entity)" }

    fileprivate var asDeclared: BatchDeleteRequest {
        var declared = request
        declared.relationships = declared.relationships.followed
        return declared
    }
}
