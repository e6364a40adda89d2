import RetentionPolicy

/// The rules and their patterns as last carried out, for tables that no run has met.
struct FormerPatterns {
    private let policy: Policy
    /// By the names of the rules.
    private let families: [String: Rule.Family]
    /// By the names of the rules, the records of all tables: those that are gone, then the others, each the oldest first. Of records that
    /// differ in the table only, the last.
    private let records: [String: [RunMemory.CarriedOut]]

    init(_ rules: [RunMemory.CarriedOut], _ policy: Policy) {
        self.policy = policy
        families = Self.families(rules)
        let present = Set(policy.rules.map(\.name))
        records = Dictionary(grouping: rules) { $0.record.rule.family?.name ?? $0.record.rule.name }.mapValues { all in
            all.inOrder { !present.contains($0.record.rule.name) }.reduce(into: []) { found, former in
                found.removeAll { $0.holds == former.holds && $0.record.differsInTableOnly(from: former.record) }
                found.append(former)
            }
        }
    }

    /// The patterns of some rules, by the names of the rules in the policy.
    static func families(_ rules: [RunMemory.CarriedOut]) -> [String: Rule.Family] {
        // The record of a removed table or of a missing one may have an older pattern.
        rules.inOrder { $0.state == .removed }.reduce(into: [:]) { found, former in
            let rule = former.record.rule
            // A rule may have named one table before, perhaps with a name that could be a pattern.
            let isPattern = EntityPattern(rule.entity) != nil
            let entity = isPattern ? "the table \(rule.entity)" : rule.entity
            let family = rule.family ?? Rule.Family(name: rule.name, entity: entity, except: [])
            found[family.name] = family
        }
    }

    /// What is wider in a rule than when it was last carried out for any other table of its pattern, or for the one that it named then.
    func changes(of rule: Rule, to record: RecordedRule) -> [RuleChange] {
        let pattern = rule.family.flatMap { family in
            former(family).flatMap { family.isWider(than: $0) ? RuleChange(from: $0, to: family) : nil }
        }
        return all(of: rule).reversed().reduce(into: [pattern].compactMap(\.self)) { found, former in
            let wider = RuleChange.changes(from: former.record, to: record).filter(\.isWider)
            found += wider.filter { change in !found.contains { $0.key == change.key } }
        }
    }

    /// The holds beside which the rule was carried out for these tables.
    func holds(of rule: Rule) -> [Hold] { Set(all(of: rule).flatMap(\.holds)).sorted { $0.name < $1.name } }

    /// The rule as last carried out for one of these tables; nil: it is new.
    func last(of rule: Rule) -> RunMemory.CarriedOut? { all(of: rule).last }

    private func all(of rule: Rule) -> [RunMemory.CarriedOut] {
        let all = records[rule.family.flatMap(former)?.name ?? rule.name] ?? []
        let ofValues = all.filter { rule.share?.isOfSameValues(as: $0.record.rule.share) == true }
        return ofValues.isEmpty ? all : ofValues
    }

    /// The pattern of a rule, also under a name that the policy has no more; nil: it is new.
    private func former(_ family: Rule.Family) -> Rule.Family? {
        if let last = families[family.name] { return last }
        let names = Set(policy.rules.map { $0.family?.name ?? $0.name })
        return families.values.filter { $0.entity == family.entity && !names.contains($0.name) }
            .min { $0.name < $1.name }
    }
}

extension Collection<RunMemory.CarriedOut> {
    /// Those that are gone, then the others; in each part the oldest first.
    fileprivate func inOrder(isGone: (RunMemory.CarriedOut) -> Bool) -> [RunMemory.CarriedOut] {
        sorted { (isGone($0) ? 0 : 1, $0.ended) < (isGone($1) ? 0 : 1, $1.ended) }
    }
}
