import RetentionPolicy

/// The rules and their patterns as last carried out, for tables that no run has met.
struct FormerPatterns {
    private let policy: Policy
    /// By the names of the rules.
    private let families: [String: Rule.Family]
    /// By the names of the rules, the newest record of a table that is still there, or else of one that is gone.
    private let newest: [String: RunMemory.CarriedOut]

    init(_ rules: [[String]: RunMemory.CarriedOut], _ policy: Policy) {
        self.policy = policy
        families = Self.families(rules)
        let present = Set(policy.rules.map(\.name))
        newest = Dictionary(grouping: rules.values) { $0.record.rule.family?.name ?? $0.record.rule.name }
            .compactMapValues { $0.inOrder { !present.contains($0.record.rule.name) }.last }
    }

    /// The patterns of some rules, by the names of the rules in the policy.
    static func families(_ rules: [[String]: RunMemory.CarriedOut]) -> [String: Rule.Family] {
        // The record of a removed table or of a missing one may have an older pattern.
        rules.values.inOrder { $0.state == .removed }.reduce(into: [:]) { found, former in
            let rule = former.record.rule
            // A rule may have named one table before, perhaps with a name that could be a pattern.
            let isPattern = EntityPattern(rule.entity) != nil
            let entity = isPattern ? "the table \(rule.entity)" : rule.entity
            let family = rule.family ?? Rule.Family(name: rule.name, entity: entity, except: [])
            found[family.name] = family
        }
    }

    /// What is wider in a rule since it was last carried out for other tables: those of its pattern, or the one that it named then.
    func changes(of rule: Rule, to record: RecordedRule) -> [RuleChange] {
        let pattern = rule.family.flatMap { family in
            former(family).flatMap { family.isWider(than: $0) ? RuleChange(from: $0, to: family) : nil }
        }
        let settings = last(of: rule).map { RuleChange.changes(from: $0.record, to: record) } ?? []
        return [pattern].compactMap(\.self) + settings.filter(\.isWider)
    }

    /// The rule as last carried out for one of these tables; nil: it is new.
    func last(of rule: Rule) -> RunMemory.CarriedOut? { newest[rule.family.flatMap(former)?.name ?? rule.name] }

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
