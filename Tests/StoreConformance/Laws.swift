package import PriceStore

/// The laws that every engine obeys, as lists of sentences that say what is broken; empty lists are what tests want.
package enum Laws {
    /// Where a survey differs from what the judge says.
    package static func differences(_ survey: Survey, _ expected: Survey) -> [String] {
        var found: [String] = []
        func compare<T: Equatable>(_ name: String, _ said: T, _ right: T) {
            if said != right { found.append("\(name) is \(said), should be \(right)") }
        }
        // Rows may go uncounted where an index shows that none is expired; what is counted is exact.
        if let rowCount = survey.rowCount { compare("rowCount", rowCount, expected.rowCount ?? -1) }
        if let readableCount = survey.readableCount {
            compare("readableCount", readableCount, expected.readableCount ?? -1)
        }
        compare("expiredCount", survey.expiredCount, expected.expiredCount)
        compare("expiredAloneCount", survey.expiredAloneCount, expected.expiredAloneCount)
        compare("keptByRuleCount", survey.kept.byRuleCount, expected.kept.byRuleCount)
        compare("keptByTier", survey.kept.byTier, expected.kept.byTier)
        compare("heldCount", survey.kept.heldCount, expected.kept.heldCount)
        compare("keptByHold", survey.kept.byHold, expected.kept.byHold)
        compare("unreadable", counts(survey), counts(expected))
        compare("oldest", survey.dates.oldest, expected.dates.oldest)
        compare("newest", survey.dates.newest, expected.dates.newest)
        compare("newestOfEntity", survey.dates.newestOfEntity, expected.dates.newestOfEntity)
        compare("newestExpired", survey.dates.newestExpired, expected.dates.newestExpired)
        let (said, right) = (survey.dates.newestValue ?? .null, expected.dates.newestValue ?? .null)
        if !ReferenceValue.isSame(said, right) { found.append("newestValue is \(said), should be \(right)") }
        if expected.expiredAloneCount > 0 {
            compare("leavesReadableRows", survey.leavesReadableRows, expected.leavesReadableRows)
        }
        compare("obstacles", obstacles(survey), obstacles(expected))
        if expected.related.obstacles.isEmpty {
            // Of a delete that is refused nothing is carried out, so that it does not matter what it would reach.
            compare("cascadedCount", survey.related.cascadedCount, expected.related.cascadedCount)
            compare("nullifiedCount", survey.related.nullifiedCount, expected.related.nullifiedCount)
        }
        return found
    }

    private static func counts(_ survey: Survey) -> [Survey.Unreadable: Int] {
        Dictionary(survey.unreadable.map { ($0.reason, $0.rowCount) }, uniquingKeysWith: +)
    }

    private static func obstacles(_ survey: Survey) -> [String] {
        survey.related.obstacles.map {
            "\($0.relationship.source)(\($0.relationship.sourceAttributes)): \($0.rowCount)"
        }
        .sorted()
    }

    /// What a sequence of batches did.
    package struct Execution {
        package var total = BatchDeleteResult(deletedCount: 0)
        package var batchCounts: [Int] = []
        /// Whether the last batch was reached.
        package var isComplete = false
    }

    /// Carries out a rule's delete batch by batch.
    ///
    /// - Parameters:
    ///   - method: the engine's own name of how; nil: it chooses.
    ///   - batchRows: the limit of each batch; nil: none.
    ///   - batchCount: stop after so many batches; nil: go on to the end.
    ///   - meanwhile: what another program does after the first batch.
    package static func carryOut(
        _ request: SurveyRequest, after survey: Survey? = nil, method: String? = nil, batchRows: Int?,
        stopAfter batchCount: Int? = nil,
        meanwhile: () throws -> Void = {}, on writer: any RetentionWriter
    ) throws -> Execution {
        var execution = Execution()
        var request = request
        request.deleting.method = method
        let deletion = try writer.deletion(of: request, after: survey ?? writer.survey(request))
        while execution.batchCounts.count < batchCount ?? .max {
            let part = try deletion.deleteNext(DeletionBounds(rows: batchRows))
            execution.total.deletedCount += part.result.deletedCount
            execution.total.cascadedCount += part.result.cascadedCount
            execution.total.nullifiedCount += part.result.nullifiedCount
            execution.batchCounts.append(part.result.deletedCount)
            if execution.batchCounts.count == 1 { try meanwhile() }
            guard part.hasMore else {
                execution.isComplete = part.result.continuation == nil
                return execution
            }
        }
        return execution
    }

    /// Where batches did other than the judge says.
    ///
    /// - Parameter isBounded: whether no batch may delete more rows than its limit; not where cascades lead back to the
    ///   entity, whose rows then go whole families at a time.
    package static func differences(
        _ execution: Execution, _ verdict: ReferenceJudge.Verdict, batchRows: Int?, isBounded: Bool
    ) -> [String] {
        var found: [String] = []
        if !execution.isComplete { found.append("the batches do not come to their end") }
        func compare(_ name: String, _ said: Int, _ right: Int) {
            if said != right { found.append("batches: \(name) is \(said), should be \(right)") }
        }
        compare("deletedCount", execution.total.deletedCount, verdict.survey.expiredCount)
        compare("cascadedCount", execution.total.cascadedCount, verdict.survey.related.cascadedCount)
        compare("nullifiedCount", execution.total.nullifiedCount, verdict.survey.related.nullifiedCount)
        if isBounded, let batchRows, let most = execution.batchCounts.max(), most > batchRows {
            found.append("a batch of \(batchRows) deleted \(most) rows")
        }
        return found
    }

    /// Breaches of the order law: of the rows that a rule expires, every one that is left is at least as new as every
    /// one that is gone.
    package static func orderBreaches(
        _ request: SurveyRequest, _ table: ReferenceStore.Table, expired: Set<Int64>, left: Set<Int64>
    ) -> [String] {
        let readings = table.rows.filter { expired.contains($0.id) }.compactMap { row in
            ReferenceDate(row[request.date.name], request.date, cutoff: request.cutoff).reading
                .map { (id: row.id, reading: $0) }
        }
        var newestGone: ReferenceDate.Reading?
        for (_, reading) in readings.filter({ !left.contains($0.id) }) {
            if newestGone.map({ reading.isNewer(than: $0) }) ?? true { newestGone = reading }
        }
        guard let newestGone else { return [] }
        return readings.filter { left.contains($0.id) && newestGone.isNewer(than: $0.reading) }
            .map { "row \($0.id) of \($0.reading.start) is left, and one of \(newestGone.start) is gone" }
    }
}
