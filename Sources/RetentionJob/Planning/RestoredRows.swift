import PriceStore
import RetentionPolicy

/// Rows that an undo has restored and that a rule would delete again.
///
/// A rule must not delete restored rows that it would also have deleted in the undone run, nor delete rows of a restored table by a cascade,
/// nor fire a trigger that may change them. Only the current meaning of the rule counts: not the bytes of the policy, rule names, or elapsed
/// time. A table for which the undone run had no rule may be the restored one with a new name, if that is no longer in the store or if the rule's
/// pattern matches both.
package struct RestoredRows {
    /// What the undo has restored.
    package private(set) var restoration: RunMemory.Restored
    /// The rows that the rule itself would delete.
    package private(set) var rowCount: Int
    /// Restored tables that the rule reaches only by a cascade or a trigger; empty: it deletes the rows itself.
    package private(set) var reached: [String]
    /// Restored tables that the rule's entity may be, with a new name; empty: the undone run had a rule for this entity.
    package private(set) var renamed: [String]

    /// Finds the newest undo whose rows a rule would delete again; nil: there is none, or that has been accepted since.
    ///
    /// - Parameter hasTriggers: whether the store's own triggers fire.
    static func find(
        _ step: Plan.Step, _ entity: Entity, hasTriggers: Bool, planner: Planner, reader: any RetentionReader
    ) throws -> RestoredRows? {
        guard let request = step.surveyRequest, step.survey.expiredAloneCount > 0 else { return nil }
        let rule = step.rule
        guard !planner.memory.restorations.isEmpty else { return nil }
        let record = try RecordedRule(rule, of: entity, zone: planner.policy.timezone, reader)
        for restored in planner.memory.restorations where !restored.accepted.contains(where: record.choosesRows) {
            let cutoff = restored.asOf.map { rule.cutoff(asOf: $0, zone: planner.policy.timezone) }
            let tables = restored.tables.sorted()
            let renamed = try tables.filter { try !reader.hasTable($0) || rule.family?.mayMatch($0) == true }
            let isNew = !restored.entities.contains { $0.folded == rule.entity.folded }
            let own = try tables.filter { try entity.isIn($0, reader) }
            var alone = request
            alone.preceding = []
            // There may be many undos, and usually no row is that old.
            let isOld = cutoff.flatMap { cutoff in step.survey.dates.oldest.map { $0 < cutoff } } != false
            if isOld, !own.isEmpty || !renamed.isEmpty && isNew {
                let old = cutoff.map { StorePredicate.date(DateRange(request.date, before: $0)) } ?? .all
                let count = try alone.narrowed(to: old, reader).expiredAloneCount
                if count > 0 {
                    return RestoredRows(
                        restoration: restored, rowCount: count, reached: [], renamed: isNew ? renamed : [])
                }
            }
            // A restored row may now be deleted or changed along with a row that had not expired then.
            let request = rule.relationships.request
            let byTriggers = try tables.filter {
                try hasTriggers && reader.triggersMayTouch($0, afterDeletesFrom: entity.name, request)
            }
            let reached = try tables.filter {
                try byTriggers.contains($0)
                    || !own.contains($0)
                        && reader.deletes(from: entity.name, request, canReach: $0, changing: [])
            }
            guard !reached.isEmpty else { continue }
            let found = try alone.narrowed(to: .all, reader, related: true)
            guard found.expiredAloneCount > 0,
                !byTriggers.isEmpty || reached.contains(where: { found.related.cascadedCount(of: $0) > 0 })
            else { continue }
            return RestoredRows(restoration: restored, rowCount: found.expiredAloneCount, reached: reached, renamed: [])
        }
        return nil
    }
}

extension RetentionReader {
    /// Whether the store has a table with the name in an archive.
    fileprivate func hasTable(_ table: String) throws -> Bool {
        if try entity(named: table) != nil { return true }
        return try entityNames().contains { try entity(named: $0)?.model?.table.folded == table.folded }
    }
}

extension Entity {
    /// Whether the rows of the entity are in a table with the name in an archive.
    fileprivate func isIn(_ table: String, _ reader: any RetentionReader) throws -> Bool {
        if let own = model?.table, own.folded == table.folded { return true }
        if name.folded == table.folded { return true }
        guard let other = try reader.entity(named: table) else { return false }
        return other.name == name || containers.contains(other.name) || other.containers.contains(name)
    }
}
