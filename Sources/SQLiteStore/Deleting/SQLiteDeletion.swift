import GRDB
package import PriceStore

/// The deletion of a surveyed rule's rows from a SQLite file.
final class SQLiteDeletion: Deletion {
    private let writer: SQLiteWriter
    private let request: SurveyRequest
    private let findings: Findings
    private var work: DeleteWork
    private var deletedCount = 0
    private(set) var outline: DeletionOutline

    init(_ request: SurveyRequest, after survey: Survey, _ writer: SQLiteWriter) throws(StoreError) {
        self.writer = writer
        self.request = request
        findings = try writer.findings(of: request, after: survey)
        if let reason = findings.unsupported {
            throw writer.failure(.unsupported, reason)
        }
        work = Self.work(request, findings)
        outline = DeletionOutline(findings, of: request)
        // If anything has changed since the survey, the rows that the rule keeps are found again now, while nobody waits for it.
        try writer.run("finding the rows that are kept") { db in
            // A delete ends when the counted number of rows is deleted, which may be before its last position.
            try writer.endDelete(db)
            _ = try writer.condition(request.expired, writer.scope(of: work.fetchRequest, db), db)
            for kept in writer.rowsToKeep.rows where kept.rows.entity != request.entity {
                guard try writer.catalog.table(kept.rows.entity, db) != nil else { continue }
                _ = try writer.condition(kept.rows.rows, writer.scope(kept.rows.entity, db), db)
            }
        }
    }

    private static func work(_ request: SurveyRequest, _ findings: Findings) -> DeleteWork {
        var work = DeleteWork(BatchDeleteRequest(request, resultType: .count))
        work.fetchRequest.sortDescriptors = [StoreSortDescriptor(request.date.name)]
        work.method = findings.method
        work.archiveRule = request.deleting.archiveRule
        work.rollup = request.deleting.rollup
        work.isPlanned = true
        work.mustLeave = request.deleting.mayEmpty ? nil : request.date
        if work.method == .windows { work.rowIDs = findings.expiredRowIDs }
        if work.method == .keys { work.groups = findings.groups }
        return work
    }

    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart {
        var part = work
        part.fetchRequest.fetchLimit = bounds.rows
        let allowed = min(request.deleting.maxRows ?? .max, findings.expiredCount) - deletedCount
        part.allowedRows = allowed
        if work.method == .whole { part.fetchRequest.fetchLimit = min(bounds.rows ?? .max, allowed) }
        if let only = bounds.only {
            part.method = .whole
            part.only = only
        }
        if part.method == .rebuild, try writer.isInUseByOthers() {
            throw writer.failure(
                .busy, "another program has the store open, and a rebuild would lock it until all rows are copied",
                hint: "stop the other programs, or run without --rebuild")
        }
        let waited = SQLiteFile.waited.withLock { $0 }
        let result = try writer.execute(part)
        deletedCount += result.deletedCount
        work.candles = result.candles
        // SQLite does not count a rebuild's rows as changes.
        if part.method != .rebuild { writer.changes.deletedCount += result.deletedCount }
        defer { work.continuation = result.continuation }
        var done = DeletionPart(result, from: work.continuation)
        done.waited = .milliseconds(SQLiteFile.waited.withLock { $0 } - waited)
        return done
    }

    func remainingCount(besides others: [StorePredicate]) throws(StoreError) -> Int {
        try writer.confirmIdentity()
        work.continuation = nil
        // Rows added since the survey may have any rowid.
        work.rowIDs = nil
        // If only these deletions changed the store, no surveyed row is left.
        if deletedCount == findings.expiredCount, let mark = findings.mark,
            try writer.changeMark().hasOnlyDeleted(since: mark)
        {
            return 0
        }
        return try writer.count(work.request.fetchRequest.besides(others))
    }
}

extension SQLiteWriter {
    /// The deletion of the rows that a request selects, as its survey has found them.
    package func deletion(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> any Deletion {
        try SQLiteDeletion(request, after: survey, self)
    }
}

extension SQLiteFile {
    /// How the rows of a request would be deleted, as its survey has found them.
    package func outline(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> DeletionOutline {
        DeletionOutline(try findings(of: request, after: survey), of: request)
    }

    /// The findings of a survey, with the method that its request asks for.
    func findings(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> Findings {
        var found = Findings(of: survey)
        // If nothing is deleted, nothing has to be copied.
        let isIdle = request.deleting.method == DeleteMethod.rebuild.rawValue && found.expiredCount == 0
        if !isIdle { try found.takeMethod(of: request, store: name) }
        return found
    }
}
