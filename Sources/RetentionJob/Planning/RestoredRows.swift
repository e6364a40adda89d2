import PriceStore
import RetentionPolicy

/// Rows that an undo has restored and a rule would delete again.
///
/// A rule must not delete restored rows that it would have deleted in the undone run, too. What counts is what the rule says now: not the
/// bytes of the policy, not the names of its rules, and not the time that has passed. If a restored table is not in the store any more, it
/// may have been renamed: then its rows may be in any table that the undone run had no rule for.
package struct RestoredRows {
    /// What the undo has restored.
    package private(set) var restored: RunMemory.Restored
    /// The rows that the rule itself would delete.
    package private(set) var rowCount: Int
    /// Tables with restored rows that the rule does not delete from itself, but by a cascade or a trigger; empty: it deletes the
    /// rows itself.
    package private(set) var reached: [String]
    /// Restored tables that are not in the store any more: the rule's may be one of them with another name; empty: the undone run had a rule
    /// for its entity.
    package private(set) var gone: [String]

    /// The newest undo whose rows a rule would delete again; nil: there is none, or somebody has accepted it since.
    ///
    /// - Parameter hasTriggers: whether the store's own triggers fire.
    static func find(
        _ step: Plan.Step, _ entity: Entity, hasTriggers: Bool, planner: Planner, reader: any RetentionReader
    ) throws -> RestoredRows? {
        guard let request = step.surveyRequest, step.survey.expiredAloneCount > 0 else { return nil }
        let rule = step.rule
        for restored in planner.memory.restorations where !restored.accepted.contains(rule.name) {
            let cutoff = restored.asOf.map { rule.cutoff(asOf: $0, zone: planner.policy.timezone) }
            // There may be many undos, and usually no row is that old any more.
            if let cutoff, let oldest = step.survey.oldest, oldest >= cutoff { continue }
            let tables = restored.tables.sorted()
            let gone = try tables.filter { try !reader.hasTable($0) }
            let isNew = !restored.entities.contains { $0.folded == rule.entity.folded }
            let isOwn = try !gone.isEmpty && isNew || tables.contains { try entity.isIn($0, reader) }
            let byTriggers = try tables.filter { table in
                try hasTriggers
                    && reader.triggersMayDelete(
                        from: table, afterDeletesFrom: entity.name, rule.relationships.request)
            }
            let reached = try tables.filter { table in
                try byTriggers.contains(table)
                    || reader.deletes(
                        from: entity.name, rule.relationships.request, canReach: table, changing: [])
            }
            guard isOwn || !reached.isEmpty else { continue }
            var then = request
            if let cutoff {
                then.filter = request.filter && .date(DateRange(request.date, before: cutoff))
            }
            then.preceding = []
            (then.countsAllRows, then.countsKeptRows, then.countsRelatedRows) = (false, false, !isOwn)
            let found = try reader.survey(then)
            guard found.expiredAloneCount > 0, isOwn || !byTriggers.isEmpty || found.cascadedCount > 0 else { continue }
            return RestoredRows(
                restored: restored, rowCount: found.expiredAloneCount, reached: isOwn ? [] : reached,
                gone: isNew ? gone : [])
        }
        return nil
    }
}

extension RetentionReader {
    /// Whether a table, as an archive names it, is in the store.
    fileprivate func hasTable(_ table: String) throws -> Bool {
        if try entity(named: table) != nil { return true }
        return try entityNames().contains { try entity(named: $0)?.model?.table.folded == table.folded }
    }
}

extension Entity {
    /// Whether its rows are in a table, as an archive names it.
    fileprivate func isIn(_ table: String, _ reader: any RetentionReader) throws -> Bool {
        if let own = model?.table, own.folded == table.folded { return true }
        return try name.folded == table.folded || reader.entity(named: table)?.name == name
    }
}
