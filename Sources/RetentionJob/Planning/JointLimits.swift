import PriceStore
import RetentionPolicy

/// Checks what the rules of a plan delete together: each may be harmless alone.
///
/// An entity loses rows to its own rules and to cascades from others. If no readable row would remain, or a rule's `max_fraction` would be
/// exceeded, all rules that delete its rows are refused, and the plan is made again without them.
struct JointLimits {
    let plan: Plan
    let policy: Policy
    let accepted: Set<RefusalCode>
    let reader: any RetentionReader

    /// The rules to refuse, by index, and why; empty if the rules pass together.
    func violations() throws -> [Int: Refusal] {
        let deleting = try plan.steps.indices.filter {
            plan.steps[$0].disposition == .planned && plan.steps[$0].survey.expiredCount > 0
        }.map { (index: $0, table: try tableName(plan.steps[$0].rule.entity)) }
        guard !deleting.isEmpty else { return [:] }
        var seen: Set<String> = []
        // A cascade may empty the entity of a rule that `--rule` leaves out.
        let names = Set(plan.steps.map(\.rule.name))
        let others = policy.rules.filter { $0.isEnabled && !names.contains($0.name) }.map {
            Plan.Step(rule: $0, cutoff: .distantPast, disposition: .disabled)
        }
        for step in plan.steps.filter({ $0.surveyRequest != nil }) + others {
            let table = try tableName(step.rule.entity)
            guard seen.insert(table).inserted else { continue }
            let takers = takers(of: table, among: deleting)
            // The survey of the single rule has already checked its expired rows.
            guard takers.count > 1 || takers.contains(where: { $0.cascaded > 0 }) else { continue }
            let found = try emptied(step, table, takers) + tooLargeFraction(table, takers)
            if !found.isEmpty { return Dictionary(firstOf: found) }
        }
        return [:]
    }

    /// A rule that deletes rows of an entity: how many by their dates, and how many by cascades.
    private struct Taker {
        var index: Int
        /// Whether it is a rule for the entity itself.
        var isOwn: Bool
        var expired: Int
        var cascaded: Int
        var count: Int { expired + cascaded }
    }

    private func takers(of table: String, among deleting: [(index: Int, table: String)]) -> [Taker] {
        deleting.compactMap { index, own in
            let taker = Taker(
                index: index, isOwn: own == table, expired: own == table ? plan.steps[index].survey.expiredCount : 0,
                cascaded: plan.steps[index].survey.related.cascadedCount(of: table))
            return taker.count > 0 ? taker : nil
        }
    }

    private func tableName(_ entity: String) throws -> String {
        let found = try reader.entity(named: entity)
        return found?.model?.table ?? found?.name ?? entity
    }

    // MARK: would_empty_entity

    private func emptied(_ first: Plan.Step, _ table: String, _ takers: [Taker]) throws -> [(Int, Refusal)] {
        // Only a rule of the entity itself can allow that it is emptied, also by cascades of other rules.
        let own = try policy.rules.filter { try $0.isEnabled && tableName($0.entity) == table }
        let refused = takers.filter { taker in
            !(taker.isOwn ? [plan.steps[taker.index].rule] : own).contains {
                $0.allowEmpty || accepts(.wouldEmptyEntity, $0)
            }
        }
        guard !accepted.contains(.wouldEmptyEntity), !refused.isEmpty, !newerRowStays(first, takers),
            let entity = try reader.entity(named: first.rule.entity)?.name
        else { return [] }
        let deletes = plan.steps.compactMap(\.wholeDelete)
        // Each rule reads dates in its own way, and its batches check for a row that it can read.
        var known: [DateAttribute: Bool] = [:]
        func isEmptied(_ rule: Rule) throws -> Bool {
            guard let date = rule.date(zone: policy.timezone) else { return false }
            if let found = known[date] { return found }
            func hasRow(_ deletes: [BatchDeleteRequest]) throws -> Bool {
                try reader.countSpared(entity, date: date, filter: .all, by: deletes, limit: 1) > 0
            }
            let isEmptied = try !hasRow(deletes) && hasRow([])
            known[date] = isEmptied
            return isEmptied
        }
        return try refused.filter { taker in
            try (taker.isOwn ? [plan.steps[taker.index].rule] : own).contains(where: isEmptied)
        }.map { taker in
            (
                taker.index,
                Refusal(
                    .wouldEmptyEntity,
                    reason:
                        "refusing to delete from \(plan.steps[taker.index].rule.entity): no readable row of \(entity) "
                        + "would be left, because \(shares(takers)). Do new rows still arrive?",
                    remedy: Refusal.acceptance(
                        .wouldEmptyEntity, if: "if \(entity) may be emptied",
                        by: "allow_empty: true in \(taker.isOwn ? "the rule" : "a rule for \(entity)")"))
            )
        }
    }

    /// Whether a row newer than every cutoff remains: the surveys show it, unless a cascade may delete that row.
    private func newerRowStays(_ first: Plan.Step, _ takers: [Taker]) -> Bool {
        guard takers.allSatisfy({ $0.isOwn && $0.cascaded == 0 }),
            let newest = first.survey.dates.newestOfEntity
        else {
            return false
        }
        return takers.allSatisfy {
            let step = plan.steps[$0.index]
            return step.cutoff <= newest && step.surveyRequest?.entity == first.surveyRequest?.entity
                && step.rule.dateAttribute.folded == first.rule.dateAttribute.folded
                && step.rule.dateFormat == first.rule.dateFormat && step.rule.latest == first.rule.latest
        }
    }

    // MARK: max_fraction

    /// Rules that accept this refusal are neither counted nor refused.
    private func tooLargeFraction(_ table: String, _ takers: [Taker]) throws -> [(Int, Refusal)] {
        let takers = takers.filter { !accepts(.tooLargeFraction, plan.steps[$0.index].rule) }
        let deletes = takers.compactMap { plan.steps[$0.index].wholeDelete }
        for step in plan.steps {
            guard case .planned = step.disposition, let request = step.surveyRequest,
                let limit = step.rule.limits.maxFraction,
                !accepts(.tooLargeFraction, step.rule), try tableName(step.rule.entity) == table,
                // A run does not count the rows of a rule that expires none, and the dry run must judge as the run does.
                step.survey.expiredAloneCount > 0, let readable = step.survey.readableCount, readable > 0,
                // Counts of the plan are cheap, and usually suffice.
                Double(takers.reduce(0) { $0 + $1.count }) / Double(readable) > limit
            else { continue }
            let deletedCount =
                try readable
                - reader.countSpared(
                    request.entity, date: request.date, filter: request.filter, by: deletes, limit: nil)
            guard Double(deletedCount) / Double(readable) > limit else { continue }
            let refused = takers.filter { taker in
                taker.cascaded > 0 || !plan.steps[taker.index].rule.rows.isDisjoint(from: step.rule.rows)
            }
            let share = Figures.share(deletedCount, of: readable)
            return refused.map { taker in
                (
                    taker.index,
                    Refusal(
                        .tooLargeFraction,
                        reason: "refusing to delete from \(plan.steps[taker.index].rule.entity): "
                            + "\(Figures.grouped(deletedCount)) of \(Figures.count(readable, "readable row"))\(share) of "
                            + "\(step.rule.entity) would be deleted, more than max_fraction of \(step.rule.name) allows "
                            + "(\(limit)), because \(shares(refused))",
                        remedy: Refusal.acceptance(.tooLargeFraction))
                )
            }
        }
        return []
    }

    // MARK: Words

    private func accepts(_ code: RefusalCode, _ rule: Rule) -> Bool {
        accepted.contains(code) || rule.accept.contains(code)
    }

    /// `gold deletes 30 rows and silver deletes 70 rows (5 by cascades)`.
    private func shares(_ takers: [Taker]) -> String {
        let most = 5
        var parts = takers.prefix(most).map { taker in
            let cascaded = taker.cascaded > 0 ? " (\(Figures.grouped(taker.cascaded)) by cascades)" : ""
            return "\(plan.steps[taker.index].rule.name) deletes \(Figures.count(taker.count, "row"))" + cascaded
        }
        if takers.count > most {
            let rest = takers.dropFirst(most)
            parts.append(
                "\(Figures.count(rest.count, "other rule", "deletes", "delete")) "
                    + Figures.count(rest.reduce(0) { $0 + $1.count }, "row"))
        }
        return parts.listed("and")
    }
}
