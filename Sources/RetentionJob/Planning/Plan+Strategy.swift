import PriceStore
import RetentionPolicy

extension Plan.Step {
    /// Makes the request that the rule's rows go by: what to repeat, oldest rows first, until no row is left.
    mutating func use(_ wanted: DeleteStrategy, asking survey: SurveyRequest) {
        // A partition goes as a whole: rows that arrived in it meanwhile could be more than `max_rows` allows.
        let strategy = wanted == .partitions && rule.limits.maxRows != nil ? .range : wanted
        batch = Self.batch(of: rule, strategy, survey, self.survey)
        request = BatchDeleteRequest(
            fetchRequest: FetchRequest(
                entity: rule.entity, predicate: survey.deletion,
                sortDescriptors: [SortDescriptor(survey.date.name, ascending: true)],
                fetchLimit: strategy.isInBatches ? batch.rows : nil),
            resultType: .count, strategy: strategy,
            // What `deny` forbids was looked for before; rows that arrive meanwhile follow the schema.
            relationships: survey.relationships == .deny ? .asDeclared : survey.relationships)
        request?.expectedCount = strategy.isRebuild ? self.survey.expiredCount : nil
        request?.stayingRows = strategy.isRebuild ? self.survey.stayingRows : nil
        request?.rowIDs = strategy == .windows ? self.survey.expiredRowIDs : nil
        request?.maxLock = survey.maxLock
    }

    /// Whether rows go in batches of a limited number.
    var isInBatches: Bool { request?.fetchRequest.fetchLimit != nil }

    /// Goes on in batches, since the strategy that was chosen does not fit; see ``hasBatchesToFallBackOn``.
    mutating func useBatches() {
        guard let surveyRequest, hasBatchesToFallBackOn else { return }
        let ignoresUnknownHistory = request?.ignoresUnknownHistory ?? false
        use(survey.batchStrategy, asking: surveyRequest)
        request?.ignoresUnknownHistory = ignoresUnknownHistory
    }

    /// Whether rows can go in batches where the strategy that was chosen does not fit. Batches never give way to anything.
    var hasBatchesToFallBackOn: Bool { !isInBatches && survey.batchStrategy.isInBatches }

    /// Sorted batches are large by their nature: each goes through most pages of the table. They are bounded by the time
    /// that the store may be locked, unless the rule says how large they are. Where each row may take others along, the
    /// first batch is a single row, and each one up to twice as large as the last.
    private static func batch(
        of rule: Rule, _ strategy: DeleteStrategy, _ request: SurveyRequest, _ survey: Survey
    ) -> Rule.BatchSetting {
        guard rule.batch == Rule.BatchSetting() else { return rule.batch }
        var batch = rule.batch
        guard strategy == .sorted else {
            batch.target = survey.batchTarget ?? batch.target
            if survey.followsRelationships { batch.rows = 1 }
            return batch
        }
        batch.rows = firstSortedRows
        batch.target = request.maxLock / 2
        return batch
    }

    private static let firstSortedRows = 100_000
}
