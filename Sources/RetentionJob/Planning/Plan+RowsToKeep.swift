import PriceStore
import RetentionPolicy

extension Plan {
    /// The rules that keep rows at an instant, each with its request.
    func keepers(asOf: Instant) -> [(rule: Rule, request: SurveyRequest)] { together.keepers(asOf: asOf) }

    /// Notes the rows that no cascade of a rule's batches may take: held rows, rows that `thin` and `keep_last` keep, rows of tables that
    /// an undo has restored, and the last readable row of an entity. Refusals that are accepted for the rule are left out.
    mutating func noteRowsToKeep(_ planner: Planner, reader: any RetentionReader) throws {
        let held = holds.inForce.filter(\.isThere).map { (rows: $0.rows, keeper: "the hold '\($0.hold.name)'") }
        // What is a view now loses no rows of its own.
        let kept = try keepers(asOf: planner.asOf).filter {
            try reader.entity(named: $0.request.entity)?.kind == .table
        }.flatMap { keeper in
            keeper.request.keptRows.map { rows in
                // Rows for which that is unknown are not held.
                let held = HeldRows(
                    name: keeper.rule.name, entity: keeper.request.entity, rows: .notTrue(.notTrue(rows)))
                return (rows: held, keeper: "the rule '\(keeper.rule.name)'")
            }
        }
        let entities = try notEmptied(planner, reader: reader)
        for index in steps.indices where steps[index].disposition == .planned {
            let accepted = planner.options.accept.union(steps[index].rule.accept)
            steps[index].rowsToKeep.rows = held + (accepted.contains(.keptRowsDeleted) ? [] : kept)
            if !accepted.contains(.wouldEmptyEntity) { steps[index].rowsToKeep.entities = entities }
            guard !accepted.contains(.restoredRows), let record = steps[index].record else { continue }
            for restored in planner.memory.restorations where !planner.isAccepted(restored, record) {
                steps[index].rowsToKeep.rows += restored.tables.sorted().map {
                    (HeldRows(name: restored.undo, entity: $0, rows: .all), "the undo \(restored.undo)")
                }
            }
        }
    }

    /// The entities of enabled rules, carried out or not, for which no rule allows emptying. There may be thousands of rules.
    private func notEmptied(
        _ planner: Planner, reader: any RetentionReader
    ) throws -> [(entity: String, date: DateAttribute)] {
        let rules = planner.policy.rules.filter(\.isEnabled)
        var done = Set(rules.filter(\.mayEmpty).map { $0.entity.folded })
        return try rules.compactMap { rule in
            guard let date = rule.date(zone: planner.policy.timezone), !done.contains(rule.entity.folded),
                let entity = try reader.entity(named: rule.entity)?.name
            else { return nil }
            done.insert(rule.entity.folded)
            return (entity, date)
        }
    }
}

extension Rule {
    /// Whether the rule allows its entity to be emptied, also by cascades of other rules.
    var mayEmpty: Bool { allowEmpty || accept.contains(.wouldEmptyEntity) }
}

extension SurveyRequest {
    /// The rows that a rule with `thin` or `keep_last` keeps, of each kind. Rows without a readable date are not among them.
    var keptRows: [StorePredicate] {
        let newest = keepers.keepLast.map { $0.among && .date(DateRange(date)) && .notTrue(.notKept($0)) }
        let picks = thinningBeforeCutoff.map {
            $0.among && .date(DateRange(date, before: cutoff)) && .notTrue(.notPicked($0))
        }
        return [newest, picks].compactMap(\.self)
    }
}
