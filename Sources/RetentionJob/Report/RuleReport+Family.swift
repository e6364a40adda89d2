import PriceStore

extension [RunReport.RuleReport] {
    /// The most tables of a pattern that are shown.
    private static var mostShown: Int { 20 }

    /// The results as people read them: of the tables of a pattern the first that need attention, after one with their sums.
    package var inFamilies: [RunReport.RuleReport] {
        var found: [RunReport.RuleReport] = []
        for rules in Dictionary(grouping: indices, by: { self[$0].family ?? "rule \($0)" }).values.sorted(by: {
            $0[0] < $1[0]
        }) {
            let members = rules.map { self[$0] }
            // Rules for several ages have no common cutoff.
            guard let family = members[0].family, Set(members.map(\.entity)).count > 1 else {
                var told: Set<String> = []
                found += members.map { rule in
                    var rule = rule
                    rule.advice = rule.advice.filter { told.insert($0).inserted }
                    return rule
                }
                continue
            }
            var sum = members.sum(family)
            let shown = members.filter(\.needsAttention)
            let hidden = shown.count - Self.mostShown
            let troubles = [RunReport.Outcome.refused, .failed, .interrupted].compactMap { outcome in
                let count = members.count { $0.outcome == outcome }
                return count > 0 ? "\(outcome.rawValue) for \(Figures.grouped(count))" : nil
            }
            if !troubles.isEmpty { sum.message = "\(troubles.listed("and")) of \(sum.entity)" }
            if hidden > 0 { sum.advice = ["\(Figures.count(hidden, "other table")) need attention: see --format json"] }
            found += [sum] + shown.prefix(Self.mostShown)
        }
        return found
    }

    /// The sums of the results for the tables of a pattern, with the worst of their outcomes.
    private func sum(_ family: String) -> RunReport.RuleReport {
        let first = self[0]
        func total<Number: AdditiveArithmetic>(_ path: KeyPath<RunReport.RuleReport, Number?>) -> Number? {
            reduce(.zero) { sum, rule in sum.flatMap { sum in rule[keyPath: path].map { sum + $0 } } }
        }
        var sum = RunReport.RuleReport(
            name: family, entity: Figures.count(count, "table"), dateAttribute: first.dateAttribute,
            dateFormat: first.dateFormat, maxAge: first.maxAge, cutoff: first.cutoff, outcome: first.outcome)
        let order: [RunReport.Outcome] = [.failed, .interrupted, .refused, .completed, .planned]
        sum.outcome = order.first { outcome in contains { $0.outcome == outcome } } ?? first.outcome
        sum.planned.rows = total(\.planned.rows)
        sum.planned.isCounted = contains { $0.planned.isCounted }
        sum.planned.expired = reduce(0) { $0 + $1.planned.expired }
        sum.planned.unreadable = flatMap(\.planned.unreadable)
        sum.kept.heldCount = reduce(0) { $0 + $1.kept.heldCount }
        sum.remembered.late = total(\.remembered.late)
        sum.candles.unpriced = total(\.candles.unpriced)
        sum.candles.created = total(\.candles.created)
        sum.candles.changed = total(\.candles.changed)
        for rule in self { sum.done.byTriggers.merge(rule.done.byTriggers, uniquingKeysWith: +) }
        sum.done.deleted = reduce(0) { $0 + $1.done.deleted }
        sum.done.archived = total(\.done.archived)
        sum.done.cascaded = reduce(0) { $0 + $1.done.cascaded }
        sum.done.nullified = reduce(0) { $0 + $1.done.nullified }
        sum.done.batches = reduce(0) { $0 + $1.done.batches }
        sum.done.elapsed = reduce(.zero) { $0 + $1.done.elapsed }
        sum.left.expired = reduce(0) { $0 + $1.left.expired }
        return sum
    }
}

extension RunReport.RuleReport {
    /// Whether a result is not as usual: the rule was refused, failed or stopped, left expired rows, or cannot read all dates.
    fileprivate var needsAttention: Bool {
        ![.completed, .planned, .disabled].contains(outcome) || message != nil || !accepted.isEmpty
            || planned.unreadableCount > 0 || outcome == .completed && left.expired > 0 || (remembered.late ?? 0) > 0
    }
}
