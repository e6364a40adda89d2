import RetentionPolicy

/// The patterns of rules as last carried out, for tables that no run has met.
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

    /// What is wider in a rule's pattern since it was last carried out for other tables.
    func changes(of rule: Rule, to record: RecordedRule) -> [RuleChange] {
        guard let family = rule.family, let last = former(family) else { return [] }
        let pattern = family.isWider(than: last) ? [RuleChange(from: last, to: family)] : []
        let settings = newest[last.name].map { RuleChange.changes(from: $0.record, to: record) } ?? []
        return pattern + settings.filter(\.isWider)
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
