import PriceStore
import RetentionPolicy

/// Rows that an undo has restored and that a rule would delete again.
///
/// A rule must not delete restored rows that it would also have deleted in the undone run, nor rows of a restored table by a cascade,
/// nor fire a trigger that may change them. Only the current meaning of the rule counts: not the bytes of the policy, rule names, or elapsed
/// time. Once the restored rows are not all where they were, they may be in any table.
package struct RestoredRows {
    /// What the undo has restored.
    package private(set) var restoration: RunMemory.Restored
    /// The rows that the rule itself would delete, and that were past its cutoff in the undone run: restored ones, and others of that age.
    package private(set) var rowCount: Int
    /// Restored tables that the rule reaches only by a cascade or a trigger; empty: it deletes the rows itself.
    package private(set) var reached: [String]
    /// Restored tables whose rows the entity may have now; empty: it is a restored one.
    package private(set) var moved: [String]

    /// Finds the newest undo whose rows a rule would delete again, if possible one that has restored rows and not found them all there; nil:
    /// there is none, or that has been accepted since.
    ///
    /// - Parameter hasTriggers: whether the store's own triggers fire.
    static func find(
        _ step: Plan.Step, _ entity: Entity, hasTriggers: Bool, planner: Planner, reader: any RetentionReader
    ) throws -> RestoredRows? {
        guard let request = step.surveyRequest, step.survey.expiredAloneCount > 0,
            !planner.memory.restorations.isEmpty
        else { return nil }
        let rule = step.rule
        let record = try RecordedRule(rule, of: entity, zone: planner.policy.timezone, reader)
        // A new table of a pattern, and a new file, may be a copy; a rule may follow its table to another name.
        let isNew = planner.former[[rule.name, entity.name.folded]] == nil
        let isMoved = isNew && (rule.family != nil || planner.formerPatterns.last(of: rule) != nil)
        let undos = planner.memory.restorations
        for restored in undos.filter({ !$0.foundAll }) + undos.filter(\.foundAll) {
            let accepted = restored.accepted.filter { planner.isRule($0, record) }
            let isHere = restored.store == nil
            if !accepted.isEmpty, restored.waiting.isEmpty { continue }
            guard isHere || isNew && planner.policy.isOneOfMany || !restored.isInPlace else { continue }
            let tables = restored.tables.sorted()
            let own = isHere ? try tables.filter { try entity.isIn($0, reader) } : []
            // What was accepted is gone: only rows of that age are others.
            let cutoff = restored.asOf.map { asOf in
                let zone = planner.policy.timezone
                let past = accepted.map { $0.rule.cutoff(asOf: asOf, zone: zone) }.max()
                // What a bound meant then is only known from the run.
                let bounded = rule.bound == nil ? nil : restored.cutoffs[entity.name.folded]
                return min(max(rule.cutoff(asOf: asOf, zone: zone), bounded ?? .distantPast), past ?? .distantFuture)
            }
            var alone = request
            alone.preceding = []
            // There may be many undos, and usually no row is that old.
            let isOld = cutoff.flatMap { cutoff in step.survey.dates.oldest.map { $0 < cutoff } } != false
            if isOld, cutoff != nil || !own.isEmpty {
                let old = cutoff.map { StorePredicate.date(DateRange(request.date, before: $0)) } ?? .all
                let count = try alone.narrowed(to: old, reader).expiredAloneCount
                let mayBeThem = accepted.isEmpty && (!own.isEmpty || isMoved)
                if count > 0, try !isHere || mayBeThem || !planner.isWhole(restored, reader) {
                    return RestoredRows(
                        restoration: restored, rowCount: count, reached: [], moved: own.isEmpty ? tables : [])
                }
            }
            guard isHere, accepted.isEmpty,
                let found = try reached(from: entity, alone, tables, own, hasTriggers, rule, reader)
            else { continue }
            return RestoredRows(restoration: restored, rowCount: found.rowCount, reached: found.tables, moved: [])
        }
        return nil
    }

    /// The restored tables that a rule reaches by a cascade or a trigger, and how many rows it deletes itself; nil: there are none. A restored
    /// row may be deleted or changed along with a row that had not expired then.
    private static func reached(
        from entity: Entity, _ alone: SurveyRequest, _ tables: [String], _ own: [String], _ hasTriggers: Bool,
        _ rule: Rule, _ reader: any RetentionReader
    ) throws -> (tables: [String], rowCount: Int)? {
        let request = rule.relationships.request
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
    /// Whether a rule of an earlier run is a rule of the policy: it has the same rows, and its name, or one that the policy has no more.
    fileprivate func isRule(_ earlier: RecordedRule, _ rule: RecordedRule) -> Bool {
        let name = earlier.rule.name
        return earlier.choosesRows(as: rule) && (name == rule.rule.name || !policy.rules.contains { $0.name == name })
    }

    /// Whether the tables have all rows that an undo has restored and nobody has accepted.
    fileprivate func isWhole(_ restored: RunMemory.Restored, _ reader: any RetentionReader) throws -> Bool {
        guard let counts = restored.rowCounts else { return false }
        let rules = try (policy.rules + memory.rules.map(\.record.rule)).compactMap { rule in
            try reader.entity(named: rule.entity).map { (rule: rule, entity: $0) }
        }
        let byName = Dictionary(rules.map { ($0.entity.name.folded, $0) }) { first, _ in first }
        return try restored.tables.allSatisfy { table in
            let own = try byName[table.folded] ?? rules.first { try $0.entity.isIn(table, reader) }
            // The table may have another rule now, or none.
            let owners = restored.owners[own?.entity.name.folded ?? table.folded, default: []]
            if !owners.isEmpty, owners.isSubset(of: restored.acceptedThere) { return true }
            guard let (rule, entity) = own, let date = rule.date(zone: policy.timezone) else {
                // Rows that went along have no dates; those of a rule had some, which nobody can read any more.
                return try owners.isEmpty && reader.entity(named: table) != nil
            }
            guard
                let cutoff = restored.cutoffs[entity.name.folded]
                    ?? restored.asOf.map({ rule.cutoff(asOf: $0, zone: policy.timezone) })
            else { return false }
            let (old, most) = (StorePredicate.date(DateRange(date, before: cutoff)), counts[table] ?? 0)
            return try most == 0
                || reader.count(StoreFetchRequest(entity: entity.name, predicate: old, fetchLimit: most)) == most
        }
    }
}

extension Entity {
    /// Whether the rows of the entity are in a table with the name in an archive.
    func isIn(_ table: String, _ reader: any RetentionReader) throws -> Bool {
        if let own = model?.table, own.folded == table.folded { return true }
        if name.folded == table.folded { return true }
        guard let other = try reader.entity(named: table) else { return false }
        return other.name == name || containers.contains(other.name) || other.containers.contains(name)
    }
}
