import PriceStore
import RetentionPolicy

/// Rows that an undo has restored and that a rule would delete again.
///
/// A rule must not delete rows of a restored table that it would also have deleted in the undone run, nor rows of it by a cascade, nor fire a
/// trigger that may change them. Only the current meaning of the rule counts: not the bytes of the policy, or elapsed time. A table for which
/// no run has carried the rule out, and that has older rows than a table of an undo, may be that one with a new name.
package struct RestoredRows {
    /// What the undo has restored.
    package private(set) var restoration: RunMemory.Restored
    /// The rows that the rule itself would delete, and that were past its cutoff in the undone run: restored ones, and others of that age.
    package private(set) var rowCount: Int
    /// Restored tables that the rule reaches only by a cascade or a trigger; empty: it deletes the rows itself.
    package private(set) var reached: [String] = []
    /// The restored table that has no row as old, and that the rule's table may be, with a new name; nil: the rule reaches the rows.
    package private(set) var formerTable: String?

    /// Finds the newest undo whose rows a rule would delete again, if possible one that has restored rows and not found them all there; nil:
    /// there is none, or that has been accepted since.
    static func find(
        _ step: Plan.Step, _ entity: Entity, hasTriggers: Bool, planner: Planner, reader: any RetentionReader
    ) throws -> RestoredRows? {
        guard let request = step.surveyRequest, step.survey.expiredAloneCount > 0,
            !planner.memory.restorations.isEmpty
        else { return nil }
        let rule = step.rule
        let record = try RecordedRule(rule, of: entity, zone: planner.policy.timezone, reader)
        let undos = planner.memory.restorations
        let isKnown = planner.past[[rule.writtenName, entity.name.folded], default: []].contains {
            !$0.record.rule.rows.isDisjoint(from: rule.rows)
        }
        for restored in undos.filter({ !$0.foundAll }) + undos.filter(\.foundAll)
        where !planner.isAccepted(restored, record) {
            let tables = restored.tables.sorted()
            let own = try tables.filter { try entity.isIn($0, reader) }
            let cutoff = restored.asOf.map { asOf in
                // What a bound meant then is only known from the run.
                let bounded = rule.bound == nil ? nil : restored.cutoffs[entity.name.folded]
                return max(rule.cutoff(asOf: asOf, zone: planner.policy.timezone), bounded ?? .distantPast)
            }
            var alone = request
            alone.preceding = []
            // There may be many undos, and usually no row is that old.
            if !own.isEmpty, cutoff.flatMap({ cutoff in step.survey.dates.oldest.map { $0 < cutoff } }) != false {
                let old = cutoff.map { StorePredicate.date(DateRange(request.date, before: $0)) } ?? .all
                let count = try alone.narrowed(to: old, reader).expiredAloneCount
                if count > 0 { return RestoredRows(restoration: restored, rowCount: count) }
            }
            if let found = try reached(from: entity, alone, tables, own, hasTriggers, rule, reader) {
                return RestoredRows(restoration: restored, rowCount: found.rowCount, reached: found.tables)
            }
            guard !isKnown, restored.protectsRows,
                let former = try tables.first(where: { table in
                    try !own.contains(table) && planner.mayHaveBecome(step, table, restored, reader)
                })
            else { continue }
            return RestoredRows(restoration: restored, rowCount: step.survey.expiredAloneCount, formerTable: former)
        }
        return nil
    }

    /// The restored tables that a rule reaches by a cascade or a trigger, and how many rows it deletes itself; nil: there are none. A restored
    /// row may be deleted or changed along with a row that had not expired then.
    private static func reached(
        from entity: Entity, _ alone: SurveyRequest, _ tables: [String], _ own: [String], _ hasTriggers: Bool,
        _ rule: Rule, _ reader: any RetentionReader
    ) throws -> (tables: [String], rowCount: Int)? {
        let request = rule.relationships
        let byTriggers = try tables.filter {
            try hasTriggers && reader.triggersMayTouch($0, afterDeletesFrom: entity.name, request)
        }
        let reached = try tables.filter {
            try byTriggers.contains($0)
                || !own.contains($0) && reader.deletes(from: entity.name, request, canReach: $0, changing: [])
        }
        guard !reached.isEmpty else { return nil }
        let found = try alone.narrowed(to: .all, reader, related: true)
        guard found.expiredAloneCount > 0,
            !byTriggers.isEmpty || reached.contains(where: { found.related.cascadedCount(of: $0) > 0 })
        else { return nil }
        return (reached, found.expiredAloneCount)
    }
}

extension Planner {
    /// Whether a run since an undo has deleted restored rows again by a rule, because somebody accepted that: by a rule that chooses the same
    /// rows and has its name, or one that the policy has no more.
    func isAccepted(_ restored: RunMemory.Restored, _ rule: RecordedRule) -> Bool {
        restored.accepted.contains { earlier in
            let name = earlier.rule.name
            return earlier.choosesRows(as: rule)
                && (name == rule.rule.name || !policy.rules.contains { $0.name == name })
        }
    }

    /// Whether the table of a rule may be another one, in which an undo has restored rows, with a new name: that one is gone, or has no row
    /// before the cutoff of the undone run that is as old as the oldest of the new one.
    fileprivate func mayHaveBecome(
        _ step: Plan.Step, _ table: String, _ restored: RunMemory.Restored, _ reader: any RetentionReader
    ) throws -> Bool {
        func isUndone(_ rule: Rule) -> Bool {
            rule.entity.folded == table.folded && restored.rules.contains(rule.name)
        }
        let rule = memory.rules.lazy.map(\.record.rule).first(where: isUndone) ?? policy.rules.first(where: isUndone)
        // An undo of rows that became candles deletes the candles.
        if rule == nil, candleEntities.contains(table.folded) { return false }
        guard let entity = try reader.entity(named: table), entity.kind == .table else { return true }
        var old = StorePredicate.all
        if let rule, let date = rule.date(zone: policy.timezone),
            let cutoff = restored.cutoffs[table.folded]
                ?? restored.asOf.map({ rule.cutoff(asOf: $0, zone: policy.timezone) })
        {
            guard entity.attribute(named: date.name) != nil else { return true }
            old = .date(DateRange(date, before: step.asOld(before: cutoff)))
        }
        return try reader.count(StoreFetchRequest(entity: entity.name, predicate: old, fetchLimit: 1)) == 0
    }
}

extension Entity {
    /// Whether the rows of the entity are in a table with the name in an archive.
    func isIn(_ table: String, _ reader: any RetentionReader) throws -> Bool {
        if [model?.table, name].contains(where: { $0?.folded == table.folded }) { return true }
        guard let other = try reader.entity(named: table) else { return false }
        return other.name == name || containers.contains(other.name) || other.containers.contains(name)
    }
}
