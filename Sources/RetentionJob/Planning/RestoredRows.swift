import PriceStore
import RetentionPolicy

/// Rows that an undo has restored and that a rule would delete again.
///
/// A rule must not delete restored rows that it would also have deleted in the undone run, nor delete rows of a restored table by a cascade,
/// nor fire a trigger that may change them. Only the current meaning of the rule counts: not the bytes of the policy, rule names, or elapsed
/// time. A table of a pattern may be a restored one of that pattern with a new name, any table one that is gone, and a file of a pattern a
/// restored one, unless the restored rows are where they were.
package struct RestoredRows {
    /// What the undo has restored.
    package private(set) var restoration: RunMemory.Restored
    /// The rows that the rule itself would delete.
    package private(set) var rowCount: Int
    /// Restored tables that the rule reaches only by a cascade or a trigger; empty: it deletes the rows itself.
    package private(set) var reached: [String]
    /// Restored tables that the rule's entity may be, with a new name; empty: it is a restored one.
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
        let isNew = planner.former[[rule.name, entity.name.folded]] == nil
        for restored in planner.memory.restorations
        where !restored.accepted.contains(where: { planner.isRule($0, record) }) {
            let isHere = restored.store == nil
            let tables = restored.tables.sorted()
            let own = isHere ? try tables.filter { try entity.isIn($0, reader) } : []
            let cutoff = restored.asOf.map { rule.cutoff(asOf: $0, zone: planner.policy.timezone) }
            let old = DateRange(request.date, before: cutoff)
            var alone = request
            alone.preceding = []
            // There may be many undos, and usually no row is that old.
            let isOld = cutoff.flatMap { cutoff in step.survey.dates.oldest.map { $0 < cutoff } } != false
            let renamed =
                try isOld && own.isEmpty
                ? restored.tables(thatMayBe: entity, of: rule, isNew: isNew, old, reader) : []
            if isOld, !own.isEmpty || !renamed.isEmpty {
                let count = try alone.narrowed(to: cutoff == nil ? .all : .date(old), reader).expiredAloneCount
                if count > 0 {
                    return RestoredRows(
                        restoration: restored, rowCount: count, reached: [], renamed: renamed)
                }
            }
            guard isHere else { continue }
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

extension RunMemory.Restored {
    /// The restored tables that an entity may be, with a new name.
    ///
    /// - Parameters:
    ///   - isNew: whether no run has carried out the rule for the entity: then it may be a copy of a table that is still there.
    ///   - date: the dates of the restored rows.
    fileprivate func tables(
        thatMayBe entity: Entity, of rule: Rule, isNew: Bool, _ date: DateRange, _ reader: any RetentionReader
    ) throws -> [String] {
        let pattern = rule.family.flatMap { EntityPattern($0.entity) }?.matches(in: Array(tables)) ?? [:]
        let isHere = store == nil
        return try tables.sorted().filter { table in
            guard try pattern[table] != nil || (isHere ? !reader.hasTable(table) : entity.isIn(table, reader)) else {
                return false
            }
            return try isNew || (isHere ? !reader.hasRow(in: table, date) : !isInPlace)
        }
    }
}

extension Planner {
    /// Whether a rule of an earlier run is a rule of the policy: it has the same rows, and its name, or one that the policy has no more.
    fileprivate func isRule(_ earlier: RecordedRule, _ rule: RecordedRule) -> Bool {
        let name = earlier.rule.name
        return earlier.choosesRows(as: rule) && (name == rule.rule.name || !policy.rules.contains { $0.name == name })
    }
}

extension RetentionReader {
    /// Whether the store has a table with the name in an archive.
    fileprivate func hasTable(_ table: String) throws -> Bool {
        if try entity(named: table) != nil { return true }
        return try entityNames().contains { try entity(named: $0)?.model?.table.folded == table.folded }
    }

    /// Whether a table has a row with a date.
    func hasRow(in table: String, _ date: DateRange) throws -> Bool {
        guard let entity = try entity(named: table), entity.attribute(named: date.date.name) != nil else {
            return false
        }
        return try count(StoreFetchRequest(entity: entity.name, predicate: .date(date), fetchLimit: 1)) > 0
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
