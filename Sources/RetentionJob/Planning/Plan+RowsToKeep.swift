import PriceStore
import RetentionPolicy

extension Plan {
    /// What no cascade of a rule's batches may take: rows under holds, rows that `thin` and `keep_last` keep, the rows of tables that an undo
    /// has restored, and the last readable row of an entity. What somebody has accepted for the rule is not among it.
    func rowsToKeep(from step: Step, _ planner: Planner, reader: any RetentionReader) throws -> RowsToKeep {
        var found = RowsToKeep()
        let accepted = planner.options.accept.union(step.rule.accept)
        found.rows = holds.inForce.filter(\.isThere).map { .init($0.rows, keeper: "the hold '\($0.hold.name)'") }
        if !accepted.contains(.keptRowsDeleted) {
            for keeper in together?.keepers(asOf: planner.asOf) ?? [] {
                for rows in keeper.request.keptRows {
                    // Not those of which it is unknown.
                    let held = HeldRows(
                        name: keeper.rule.name, entity: keeper.request.entity, rows: .notTrue(.notTrue(rows)))
                    found.rows.append(.init(held, keeper: "the rule '\(keeper.rule.name)'"))
                }
            }
        }
        if !accepted.contains(.restoredRows), let record = step.record {
            for restored in planner.memory.restorations where !restored.accepted.contains(where: record.choosesRows) {
                for table in restored.tables.sorted() {
                    let held = HeldRows(name: restored.undo, entity: table, rows: .all)
                    found.rows.append(.init(held, keeper: "the undo \(restored.undo)"))
                }
            }
        }
        if !accepted.contains(.wouldEmptyEntity) {
            let rules = planner.policy.rules.filter(\.isEnabled)
            for rule in rules {
                guard let date = rule.date(zone: planner.policy.timezone),
                    let entity = try reader.entity(named: rule.entity)?.name,
                    !found.entities.contains(where: { $0.entity == entity }),
                    !rules.contains(where: { $0.entity.folded == rule.entity.folded && $0.mayEmpty })
                else { continue }
                found.entities.append(.init(entity: entity, date: date))
            }
        }
        return found
    }
}

extension Rule {
    /// Whether it says that its entity may be emptied, of the cascades of other rules, too.
    var mayEmpty: Bool { allowEmpty || accept.contains(.wouldEmptyEntity) }
}

extension SurveyRequest {
    /// The rows that a rule with `thin` or `keep_last` keeps, of each kind. A row without a readable date is not among them.
    var keptRows: [StorePredicate] {
        let newest = keepLast.map { $0.among && .date(DateRange(date)) && .notTrue(.notKept($0)) }
        let picks = thinningBeforeCutoff.map {
            $0.among && .date(DateRange(date, before: cutoff)) && .notTrue(.notPicked($0))
        }
        return [newest, picks].compactMap(\.self)
    }
}
