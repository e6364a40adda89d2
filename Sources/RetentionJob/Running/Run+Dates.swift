import PriceStore
import RetentionPolicy

extension Run {
    /// The date of the oldest row that a rule is about to delete; nil: unknown without reading all rows.
    func oldest(of step: Plan.Step, preceding: ArraySlice<Plan.Step>) throws(StoreError) -> Instant? {
        let isAlone = !preceding.contains { $0.request != nil && $0.request?.entity == step.request?.entity }
        // The oldest readable row is the oldest deleted one, unless another rule, `keep_last`, `thin` or a hold affects it.
        if isAlone, step.isByDateAlone { return step.survey.dates.oldest }
        if let oldest = step.survey.dates.oldestExpired { return oldest }
        return try step.wholeDelete.flatMap { delete throws(StoreError) in try oldest(delete.fetchRequest, of: step) }
    }

    /// Notes the dates of the deleted rows after a rule has ended, and the age of the oldest remaining expired row.
    func noteDates(_ index: Int, _ step: Plan.Step, isOldestFirst: Bool, residue: StoreFetchRequest) {
        let rule = report.rules[index]
        if rule.outcome == .completed, rule.done.deleted > 0, rule.left.expired == 0 {
            report.rules[index].done.newest = rule.planned.newestExpired
        } else if rule.done.deleted == 0 || !isOldestFirst {
            // If it stopped, only the oldest date of the deleted rows is known.
            report.rules[index].done.oldest = nil
        }
        report.rules[index].left.oldest = nil
        guard rule.left.expired > 0 else { return }
        guard !isOver else {
            // The store may not answer any more, but what the rule was about to delete is known.
            if rule.done.deleted == 0 { report.rules[index].left.oldest = rule.done.oldest }
            return
        }
        // A failure here is a warning, not an error.
        report.rules[index].left.oldest = try? oldest(residue, of: step)
    }

    /// Notes the age of the oldest expired row of each refused rule.
    func noteDatesOfRefused(_ plan: Plan) {
        for (index, step) in plan.steps.enumerated() where report.rules[index].left.expired > 0 {
            guard case .refused = step.disposition, let survey = step.surveyRequest, !isOver else { continue }
            let isUntouched = !plan.steps.indices.contains {
                report.rules[$0].done.deleted > 0 && plan.steps[$0].surveyRequest?.entity == survey.entity
            }
            // The plan already contains it.
            if isUntouched, step.isByDateAlone { continue }
            let request = StoreFetchRequest(entity: survey.entity, predicate: survey.expired)
            report.rules[index].left.oldest = try? oldest(request, of: step)
        }
    }

    /// The first date of some rows. Text of different shapes is not in date order, so it is not read.
    func oldest(_ rows: StoreFetchRequest, of step: Plan.Step) throws(StoreError) -> Instant? {
        guard let date = step.rule.date(zone: setup.policy.timezone), date.encoding.isNumeric else { return nil }
        return try writer.firstDate(date, of: rows)
    }
}
