import PriceStore
import RetentionPolicy

/// Refuses a rule whose delete would take candles, or rows that a rule with `thin` or `keep_last` keeps, by a cascade or by a trigger of
/// the store. Such a rule chooses its kept rows by dates and groups only, without regard to cascades and triggers.
struct KeptRowsCheck {
    let plan: Plan
    /// The instant at which ages are computed.
    let asOf: Instant
    let accepted: Set<RefusalCode>
    let reader: any RetentionReader

    /// The rule to refuse, by index, and why; nil: no kept row is deleted.
    ///
    /// All rules that keep rows count, even if `--rule` leaves them out or they are refused.
    func violation() throws -> (index: Int, refusal: Refusal)? {
        if let found = try lostCandles() { return found }
        let keepers = plan.keepers(asOf: asOf)
        guard !keepers.isEmpty else { return nil }
        for (index, step) in plan.steps.enumerated() {
            guard let request = step.request, step.survey.expiredAloneCount > 0,
                !accepted.union(step.rule.accept).contains(.keptRowsDeleted)
            else { continue }
            for keeper in keepers {
                guard let loss = try loss(of: keeper.request, keeper.rule, by: request, step.rule) else { continue }
                let refusal = Refusal(
                    .keptRowsDeleted, reason: "refusing to delete from \(step.rule.entity): \(loss)",
                    remedy: Refusal.acceptance(.keptRowsDeleted))
                return (index, refusal)
            }
        }
        return nil
    }

    /// A rule whose cascades lead to candles that another rule makes in the same run: those candles are still unknown.
    private func lostCandles() throws -> (index: Int, refusal: Refusal)? {
        let makers = plan.steps.filter { $0.request?.deleting.rollup != nil && $0.survey.expiredCount > 0 }
        for (index, step) in plan.steps.enumerated() where step.survey.expiredCount > 0 {
            guard let request = step.request else { continue }
            for maker in makers where maker.rule.name != step.rule.name {
                guard let target = maker.request?.deleting.rollup?.target,
                    let entity = try reader.entity(named: target)?.name,
                    entity != request.entity,
                    try reader.deletes(from: request.entity, request.relationships, canReach: entity, changing: [])
                else { continue }
                return (
                    index,
                    Refusals.unsupportedSchema(
                        rule: step.rule,
                        reason:
                            "its cascades lead to \(entity), into which '\(maker.rule.name)' writes candles in the same run",
                        remedy: Survey.aloneRemedy)
                )
            }
        }
        return nil
    }

    /// The kept rows of a rule that a delete would take, as a clause; nil: none.
    private func loss(
        of kept: SurveyRequest, _ keeper: Rule, by request: SurveyRequest, _ rule: Rule
    ) throws -> String? {
        let (entity, delete) = (kept.entity, BatchDeleteRequest(request))
        // What a trigger changes may also decide which rows are kept.
        let rows = kept.keptRows.reduce(.all) { $0 && $1 }
        let all = HeldRows(name: keeper.name, entity: entity, rows: rows)
        // Where no batch looks at these rows, each looks at those that are kept beside its own.
        if reader.looksAtRowsToKeep,
            let found = try reader.obstacle(to: [all], of: delete, writing: rule.rollup?.target)
        {
            return "\(found.reason), of which '\(keeper.name)' keeps some"
        }
        let groups = (keeper.keepLast?.per ?? []) + (keeper.thin?.per ?? [])
        if !groups.isEmpty,
            let attribute = try reader.clearedAttributes(
                groups, of: entity, byDeletesFrom: delete.fetchRequest.entity, delete.relationships
            ).first, try clearsReferences(request)
        {
            return
                "references to its rows would be cleared, and '\(keeper.name)' keeps rows of each value of such a reference, "
                + "\(attribute) of \(entity)"
        }
        guard try canReach(entity, delete) else { return nil }
        guard reader.looksAtRowsToKeep else {
            return
                "its cascades lead to \(entity), of which '\(keeper.name)' keeps rows, and no batch looks at what a cascade takes there"
        }
        for rows in kept.keptRows {
            func count(by deletes: [BatchDeleteRequest]) throws -> Int {
                try reader.countSpared(entity, date: kept.date, filter: rows, by: deletes, limit: nil)
            }
            let lost = try count(by: []) - count(by: [delete])
            guard lost > 0 else { continue }
            return
                "\(Figures.count(lost, "row")) of \(entity) that '\(keeper.name)' keeps would be deleted with its rows"
        }
        return nil
    }

    /// Whether rows lose a reference by a delete.
    private func clearsReferences(_ request: SurveyRequest) throws -> Bool {
        var request = request
        request.counts.related = true
        return try reader.survey(request).related.nullifiedCount > 0
    }

    /// Whether a delete may reach rows of an entity by more than their dates.
    private func canReach(_ entity: String, _ delete: BatchDeleteRequest) throws -> Bool {
        let own = delete.fetchRequest.entity
        guard own == entity else {
            return try reader.deletes(from: own, delete.relationships, canReach: entity, changing: [])
        }
        return try reader.entity(named: own).map { entity in
            // The cascades of a model may lead back, also through other entities.
            if let model = entity.model { return !model.relationships.isEmpty }
            // If the rows are counted next, a reference without a cascade does no harm.
            return try SchemaAdvice.incomingRelationships(of: entity, in: reader).contains {
                $0.source == own
                    && ($0.deleteRule == .cascade || delete.relationships == .cascade || reader.looksAtRowsToKeep)
            }
        } == true
    }
}
