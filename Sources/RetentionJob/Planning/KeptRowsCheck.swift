import PriceStore
import RetentionPolicy

/// Refuses a rule with `thin` or `keep_last` if a row that it keeps would be deleted with rows of another table, or with rows that
/// refer to each other: what it keeps is chosen by dates and groups, which say nothing of cascades.
struct KeptRowsCheck {
    let plan: Plan
    let accepted: Set<RefusalCode>
    let reader: any RetentionReader

    /// The rule to refuse, by its index, and why; nil if no kept row is deleted.
    func violation() throws -> (index: Int, refusal: Refusal)? {
        for (index, step) in plan.steps.enumerated() {
            guard let request = step.request, step.survey.expiredCount > 0, !request.ownKeepers.isEmpty,
                !accepted.union(step.rule.accept).contains(.keptRowsDeleted), try !takers(of: request).isEmpty
            else { continue }
            for kept in keptRows(of: request) {
                func count(by deletes: [BatchDeleteRequest]) throws -> Int {
                    try reader.countSpared(request.entity, date: request.date, filter: kept, by: deletes, limit: nil)
                }
                let lost = try count(by: []) - count(by: plan.steps.compactMap(\.wholeDelete))
                guard lost > 0 else { continue }
                return (index, refusal(step, lost, try takers(of: request)))
            }
        }
        return nil
    }

    /// The rows that a rule keeps, of each kind.
    private func keptRows(of request: SurveyRequest) -> [StorePredicate] {
        let newest = request.keepLast.map { $0.among && .notTrue(.notKept($0)) }
        let picks = request.thinningBeforeCutoff.map { $0.among && .notTrue(.notPicked($0)) }
        return [newest, picks].compactMap(\.self)
    }

    /// The rules whose deletes may reach rows of an entity by more than their dates.
    private func takers(of request: SurveyRequest) throws -> [Plan.Step] {
        try plan.steps.filter { other in
            guard let its = other.request, other.survey.expiredAloneCount > 0 else { return false }
            if its.entity == request.entity {
                let incoming = try reader.entity(named: its.entity).map {
                    try SchemaAdvice.incomingRelationships(of: $0, in: reader)
                }
                return incoming?.contains { $0.source == its.entity } ?? false
            }
            return try reader.deletes(from: its.entity, its.relationships, canReach: request.entity, changing: [])
        }
    }

    private func refusal(_ step: Plan.Step, _ lost: Int, _ takers: [Plan.Step]) -> Refusal {
        let names = takers.prefix(3).map { "'\($0.rule.name)'" }.joined(separator: ", ")
        let code = RefusalCode.keptRowsDeleted.rawValue
        return Refusal(
            .keptRowsDeleted,
            reason:
                "refusing to delete from \(step.rule.entity): \(Figures.count(lost, "row")) that '\(step.rule.name)' keeps would be "
                + "deleted together with other rows, by \(names)",
            wayPast:
                "run the other rules first (--rule), or, to accept it, write accept: [\(code)] in the rule, or pass "
                + "--accept \(code) for one run")
    }
}
