import PriceStore
import RetentionPolicy

/// What the agreed rules would delete today: their plan, made as any plan, with the same clock, holds and `--accept`.
struct FormerPlan {
    private var steps: [Plan.Step] = []

    /// Plans the agreed rules as far as the store still has what they name.
    ///
    /// - Parameter holds: the rows that are kept from them.
    init(_ agreed: [AgreedRule], _ planner: Planner, _ holds: HoldPlan, _ reader: any RetentionReader) throws {
        let live = agreed.filter(\.record.rule.isEnabled)
        for (zone, rules) in Dictionary(grouping: live, by: \.record.zone) {
            var policy = planner.policy
            (policy.timezone, policy.problems, policy.written) = (zone, [], nil)
            policy.rules = rules.map { $0.record.rule.withAges(of: planner) }
            policy = try policy.expanded(in: reader)
            policy.rules = try policy.rules.compactMap { rule in
                guard rule.ages == nil, let entity = try reader.entity(named: rule.entity), entity.kind == .table else {
                    return nil
                }
                var rule = rule
                if entity.attribute(named: rule.dateAttribute) == nil { rule.column = rule.dateAttribute }
                return rule.fits(entity) || rule.column.flatMap({ entity.attribute(column: $0) }) != nil ? rule : nil
            }
            var memory = planner.memory
            memory.comparesPolicy = false
            do {
                steps += try Planner(
                    policy: policy.completed(from: reader), asOf: planner.asOf, clock: planner.clock, memory: memory,
                    options: Planner.Options(accept: planner.options.accept), countsAllRows: true
                ).plan(reader: reader, holds: holds).steps
            } catch let error as StoreError where error.kind == .unsupported || error.kind == .unknownName {
                // The store does not fit these rules any more: they delete nothing.
            }
        }
    }

    /// The rows of an entity that they would delete.
    func rows(of entity: Entity, _ reader: any RetentionReader) throws -> [StorePredicate] {
        try steps.compactMap(\.request).filter { request in
            if request.entity == entity.name { return true }
            // A rule keeps other rows of a whole entity than of a part of it.
            guard entity.model != nil, request.keptRows.isEmpty else { return false }
            return try reader.entity(named: request.entity)?.model?.subentities.contains(entity.name) == true
        }.map(\.expired)
    }

    /// What a rule would do; nil: it was not agreed, or did not have this table or age.
    func step(_ rule: Rule) -> Plan.Step? {
        steps.first {
            let own = $0.rule
            return own.entity.folded == rule.entity.folded
                && (own.name == rule.name || own.writtenName == rule.writtenName && own.share == nil)
        }
    }
}

/// The plans of a planner, by the holds.
final class FormerPlans {
    var byHolds: [[HeldRows]: FormerPlan] = [:]
}

extension Rule {
    /// The rule with the ages that the table of ages in the store had when the rule was last carried out; the table as it is if no run has.
    fileprivate func withAges(of planner: Planner) -> Rule {
        guard var setting = ages, setting.source != nil else { return self }
        let past = planner.pastAges(of: self)
        guard !past.isEmpty else { return self }
        setting.source = nil
        // A value that is known with two ages, because one of them waits, had the longer one.
        for rule in past.sorted(by: { $0.maxAge.isLonger(than: $1.maxAge) }) {
            for value in [rule.share].compactMap(\.self).flatMap(\.values)
            where !setting.former.contains(where: { $0.value == value }) {
                setting.former.append((value, rule.maxAge))
            }
        }
        // What had no age was not deleted.
        setting.standard = setting.standard ?? (try? MaxAge(parsing: "9999y"))
        var rule = self
        rule.ages = setting
        return rule
    }
}

extension Planner {
    /// The rules for the ages of a rule as they were last carried out on the store.
    func pastAges(of rule: Rule) -> [Rule] {
        past[[rule.writtenName, rule.entity.folded], default: []].map(\.record.rule).filter { $0.share != nil }
    }
}
