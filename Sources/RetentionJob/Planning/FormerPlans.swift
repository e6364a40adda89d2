import PriceStore
import RetentionPolicy

/// What the former rules would delete today, computed once for all rules that are compared with them.
final class FormerPlans {
    struct Key: Hashable {
        var rules: [RecordedRule]
        var holds: [HeldRows]
    }

    var refused: [Key: Set<Int>] = [:]
}

extension Planner {
    /// The former rules of an entity that would be refused today and therefore delete nothing, by their places.
    ///
    /// - Parameter holds: the rows that would be kept from them.
    func refusedToday(
        _ rules: [RecordedRule], _ holds: HoldPlan, _ reader: any RetentionReader
    ) throws -> Set<Int> {
        let key = FormerPlans.Key(rules: rules, holds: holds.inForce.map(\.rows))
        if let known = formerPlans.refused[key] { return known }
        // Names may be equal where an entity inherits from another entity.
        let order = Dictionary(
            memory.rules.enumerated().map { ([$1.record.rule.name, $1.record.rule.entity], $0) },
            uniquingKeysWith: { first, _ in first })
        func place(_ index: Int) -> Int { order[[rules[index].rule.name, rules[index].rule.entity]] ?? .max }
        var refused: Set<Int> = []
        for (zone, its) in Dictionary(grouping: rules.indices, by: { rules[$0].zone }) {
            var policy = policy
            policy.timezone = zone
            policy.rules = its.sorted { (place($0), $0) < (place($1), $1) }.map { index in
                var rule = rules[index].rule
                rule.name = "\(index)"
                return rule
            }
            var memory = memory
            (memory.rules, memory.damagedRules) = ([], [])
            let options = Options(accept: options.accept)
            let plan = try Planner(
                policy: policy, asOf: asOf, clock: clock, memory: memory, options: options, countsAllRows: countsAllRows
            ).plan(reader: reader, holds: holds)
            refused.formUnion(
                plan.steps.compactMap { $0.disposition == .planned ? nil : Int($0.rule.name) })
        }
        formerPlans.refused[key] = refused
        return refused
    }

    /// Whether the policy still has an enabled rule of that name that `--rule` leaves out.
    func isLeftOut(_ former: Rule) -> Bool {
        policy.rules.contains {
            $0.name == former.name && $0.isEnabled && $0.entity.folded == former.entity.folded && !options.includes($0)
        }
    }
}
