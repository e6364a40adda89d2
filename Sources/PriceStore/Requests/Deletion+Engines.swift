extension BatchDeleteRequest {
    /// All rows that a deletion deletes. What `deny` forbids was looked for by the survey: rows that arrive follow the
    /// schema.
    package init(_ request: SurveyRequest, resultType: ResultType = .statusOnly) {
        self.init(
            fetchRequest: FetchRequest(
                entity: request.entity, predicate: request.deletion,
                includesSubentities: request.includesSubentities),
            resultType: resultType,
            relationships: request.relationships == .deny ? .asDeclared : request.relationships)
    }
}

extension FetchRequest {
    /// The rows without those of other conditions, in any order.
    package func besides(_ others: [Predicate]) -> FetchRequest {
        var request = self
        request.sortDescriptors = []
        for other in others { request.predicate = request.predicate && .notTrue(other) }
        return request
    }
}

extension DeletionPart {
    /// Makes a part of what a batch did that began at a place; nil: at the beginning. Where neither rows nor the place
    /// moved, the next batch would do the same again.
    package init(_ result: BatchDeleteResult, from place: BatchContinuation?) {
        let hasMoved = result.deletedCount > 0 || result.cascadedCount > 0 || result.continuation != place
        self.init(result, hasMore: result.continuation != nil && hasMoved)
    }
}
