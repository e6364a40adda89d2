public import PriceStore

/// The deletion of a surveyed rule's rows at work on a server.
final class PostgresDeletion: Deletion {
    private let writer: PostgresWriter
    private var work: DeleteWork
    let outline: DeletionOutline

    init(_ request: SurveyRequest, _ writer: PostgresWriter) throws(StoreError) {
        self.writer = writer
        let findings = try writer.knownFindings(of: request)
        if let reason = findings.unsupported {
            throw StoreError(.unsupported, store: writer.name, message: reason)
        }
        work = DeleteWork(BatchDeleteRequest(request, resultType: request.wantsObjectIDs ? .objectIDs : .count))
        work.fetchRequest.sortDescriptors = [SortDescriptor(request.date.name)]
        work.technique = findings.technique
        outline = findings.outline
    }

    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart {
        var part = work
        part.fetchRequest.fetchLimit = bounds.rows
        // Windows as small as the few rows that are left to delete would be very many.
        if bounds.isRest, bounds.rows != nil, work.technique == .windows { part.technique = .whole }
        let result = try writer.execute(part)
        defer { work.continuation = result.continuation }
        return DeletionPart(result, from: work.continuation)
    }

    func remainingCount(besides others: [Predicate]) throws(StoreError) -> Int {
        work.continuation = nil
        return try writer.count(work.request.fetchRequest.besides(others))
    }
}

extension PostgresWriter {
    /// The deletion of the rows that a request names.
    public func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion {
        try PostgresDeletion(request, self)
    }
}

extension PostgresStore {
    /// How the rows of a request would be deleted now.
    public func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline {
        try knownFindings(of: request).outline
    }

    /// What a survey of a request has found, with the technique that it asks for; the survey is made if there was none.
    func knownFindings(of request: SurveyRequest) throws(StoreError) -> Findings {
        var found: Findings
        if let known = surveys[request] {
            found = known
        } else {
            found = try run("counting the rows of \(request.entity)") { try findings(of: request) }
        }
        try found.take(request.technique, entity: request.entity, store: name)
        return found
    }
}
