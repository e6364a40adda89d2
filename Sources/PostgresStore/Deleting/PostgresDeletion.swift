package import PriceStore

/// A running deletion of a surveyed rule's rows on a server.
final class PostgresDeletion: Deletion {
    private let writer: PostgresWriter
    private var work: DeleteWork
    private let maxRows: Int?
    private let plannedCount: Int
    private var deletedCount = 0
    private(set) var outline: DeletionOutline

    init(_ request: SurveyRequest, after survey: Survey, _ writer: PostgresWriter) throws(StoreError) {
        self.writer = writer
        let findings = try writer.findings(of: request, after: survey)
        if let reason = findings.unsupported {
            throw StoreError(.unsupported, store: writer.name, message: reason)
        }
        if let rollup = request.deleting.rollup, let source = try writer.entity(named: request.entity) {
            if let reason = try writer.candleObstacle(rollup, of: source, into: writer.entity(named: rollup.target)) {
                throw StoreError(.unsupported, store: writer.name, message: reason)
            }
            try writer.run("looking at the candles") { try CandleTable(rollup, writer).checkTimes() }
        }
        work = DeleteWork(BatchDeleteRequest(request, resultType: .count))
        work.allRows = work.fetchRequest.predicate
        work.fetchRequest.sortDescriptors = [StoreSortDescriptor(request.date.name)]
        work.method = findings.method
        // A drop of partitions changes the first and the last date.
        if findings.method == .range { work.ends = findings.ends }
        // What the plan refuses is deleted only if it was accepted.
        if findings.losses.aggregates == nil, request.cutoff > .distantPast { work.materializedBefore = request.cutoff }
        work.archiveRule = request.deleting.archiveRule
        work.rollup = request.deleting.rollup
        work.mustLeave = request.deleting.mayEmpty ? nil : request.date
        maxRows = request.deleting.maxRows
        plannedCount = findings.expiredCount
        outline = findings.outline
    }

    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart {
        var part = work
        part.fetchRequest.fetchLimit = bounds.rows
        part.allowedRows = maxRows.map { $0 - deletedCount }
        // More rows may have expired for the rule than its plan counted.
        let planned = plannedCount - deletedCount
        part.plannedRows = planned
        switch work.method {
        case .range: part.fetchRequest.fetchLimit = bounds.rows.map { min($0, planned, part.allowedRows ?? .max) }
        case .windows: part.allowedRows = min(part.allowedRows ?? .max, planned)
        case .whole: part.fetchRequest.fetchLimit = [bounds.rows, part.allowedRows].compactMap(\.self).min()
        case .partitions: break
        }
        if let only = bounds.only {
            part.method = .whole
            part.fetchRequest.fetchLimit = nil
            part.fetchRequest.predicate = work.fetchRequest.predicate && only
        }
        writer.waited = .zero
        let result = try execute(part)
        deletedCount += result.deletedCount
        work.candles = result.candles
        if let trouble = writer.dropTrouble {
            writer.dropTrouble = nil
            outline.method = DeleteMethod.range.phrase
            outline.reason = trouble
            work.method = .range
            work.continuation = nil
            return DeletionPart(result, hasMore: true)
        }
        var done = DeletionPart(result, from: work.continuation)
        done.waited = writer.waited
        work.continuation = result.continuation
        return done
    }

    /// Runs a batch. If it cannot have the locks of rows, it and all later batches skip them.
    private func execute(_ part: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        do {
            return try writer.execute(part)
        } catch {
            guard error.isLockUnavailable, !part.skipsLocked, let locker = try writer.lockerToSkip(part) else {
                throw error
            }
            outline.locker = locker
            work.skipsLocked = true
            var skipping = part
            skipping.skipsLocked = true
            return try writer.execute(skipping)
        }
    }

    func remainingCount(besides others: [StorePredicate]) throws(StoreError) -> Int {
        (work.continuation, work.ends) = (nil, nil)
        return try writer.countRest(work.request.fetchRequest.besides(others))
    }
}

extension PostgresWriter {
    /// The number of rows that are left after a delete.
    ///
    /// An index has the entries of deleted rows until a vacuum. An index-only scan looks up the page of each entry and then its row; to look
    /// up only the row takes half the time.
    fileprivate func countRest(_ request: StoreFetchRequest) throws(StoreError) -> Int {
        try run("counting what is left of \(request.entity)") {
            try transaction(.normal) {
                try execute("SET LOCAL enable_indexonlyscan = off")
                return try count(request)
            }
        }
    }

    /// The deletion of the rows that a request names, as its survey has found them.
    package func deletion(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> any Deletion {
        try PostgresDeletion(request, after: survey, self)
    }
}

extension PostgresDatabase {
    /// The way in which the rows of a request would be deleted, as its survey has found them.
    package func outline(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> DeletionOutline {
        let findings = try findings(of: request, after: survey)
        if let lacking = try lackingPrivileges(on: [request.entity])[request.entity] { throw lacking }
        return findings.outline
    }

    package func lackingPrivileges(on entities: [String]) throws(StoreError) -> [String: StoreError] {
        try run("looking for the user's privileges") {
            let tables = Dictionary(firstOf: try entities.map { ($0, try requireTable($0)) })
            let list = tables.values.map { String($0.oid) }.joined(separator: ",")
            let denied = try texts(
                "SELECT oid FROM unnest(" + .bound("{\(list)}", "oid[]")
                    + ") oid WHERE NOT has_table_privilege(oid, 'DELETE') OR NOT has_table_privilege(oid, 'SELECT')")
            guard !denied.isEmpty, let user = try texts("SELECT current_user").first else { return [:] }
            return tables.filter { denied.contains("\($0.value.oid)") }.mapValues { table in
                StoreError(
                    .permission, store: name, message: "the user \(user) may not delete rows of \(table.name)",
                    engineCode: "SQLSTATE 42501",
                    hint: "GRANT SELECT, DELETE ON \(table.sql) TO \(user.quotedIdentifier)")
            }
        }
    }

    /// The findings of a survey, with the method that its request asks for.
    func findings(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> Findings {
        var found = Findings(of: survey)
        try found.takeMethod(of: request, store: name)
        return found
    }
}
