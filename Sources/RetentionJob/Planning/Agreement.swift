import PriceStore
import RetentionPolicy

/// What somebody has agreed to, before and after a run.
///
/// The first run of a policy agrees to all of its rules. After that a rule is compared with the one of its name that is agreed: it needs to
/// be accepted if it is new, or if it is wider, or the holds, or what the rules of its table keep from each other.
extension RunMemory {
    /// The rules of a policy that are agreed, by name; nil: there are none yet.
    ///
    /// If the ledger does not know the policy's file, it was moved or copied: the policy is then the one that was agreed last, if possible of
    /// those for its store, and of those with the name of a rule of this one. A ledger that knows neither the file nor the store knows nothing
    /// of them.
    func agreed(of policy: Policy) -> [String: AgreedRule]? {
        guard comparesPolicy else { return nil }
        let file = Self.file(of: policy)
        var own = agreed.filter { $0.file == file }
        if own.isEmpty, policy.isOneOfMany || lastRun != nil {
            let names = Set(policy.rulesAsWritten.map(\.name))
            let ofStore = agreed.filter { $0.store == AgreedRule.store(of: policy) }
            let known = ofStore.isEmpty ? agreed : ofStore
            let alike = known.filter { names.contains($0.name) }
            let last = (alike.isEmpty ? known : alike).max { $0.ended < $1.ended }
            own = agreed.filter { $0.file == last?.file }
        }
        // A ledger of an earlier version has runs, and nothing that is agreed.
        guard !own.isEmpty || unknownPast != nil || !rules.isEmpty else { return nil }
        return own.reduce(into: [:]) { $0[$1.name] = $1 }
    }

    /// The lines of the rules of a policy that are agreed after a run of it; nil: they are the same as before.
    ///
    /// - Parameter isForAll: whether the run is one of all stores; what is accepted for one of them is accepted for that run.
    func agreedLines(
        after run: String, _ plan: Plan, of policy: Policy, _ options: Planner.Options, isForAll: Bool, clock: Instant
    ) -> [String]? {
        let file = Self.file(of: policy)
        let holds = policy.holds.filter { !$0.hasEnded(at: clock) }
        let former = agreed(of: policy)
        // A run of some rules or stores has not had the policy, only its holds.
        if let former, !options.ruleNames.isEmpty || !isForAll {
            var found = agreed.filter { former[$0.name] == $0 }
            for index in found.indices { found[index].addHolds(holds, at: clock) }
            return found.allSatisfy { former[$0.name] == $0 } ? nil : found.map(\.line) + damagedAgreed
        }
        var now = policy.rulesAsWritten.map {
            AgreedRule($0, of: policy, holds: holds, file: file, run: run, ended: clock)
        }
        let byName = now.reduce(into: [:]) { $0[$1.name] = $1 }
        var waiting: Set<String> = []
        if former != nil, !options.accept.contains(.policyWidened) {
            let widened = Set(plan.steps.lazy.filter { $0.widened != nil }.map(\.rule.writtenName))
            for (index, rule) in now.enumerated() {
                guard let last = former?[rule.name], !widened.contains(rule.name),
                    rule.changes(since: last).isEmpty, rule.changedBeside(from: former, to: byName).isEmpty
                else {
                    waiting.insert(rule.name)
                    continue
                }
                // A store that no run has met may be another one.
                if policy.isOneOfMany || rules.isEmpty { now[index].store = last.store }
                now[index].addHolds(last.holds, at: clock)
            }
            // What has changed beside a rule that waits for it was not agreed.
            waiting.formUnion(plan.steps.flatMap { $0.widened?.changedSiblings ?? [] })
        }
        // What a rule keeps depends on the others of its table, so they are agreed together.
        while !waiting.isEmpty,
            let (rule, _) = now.lazy.flatMap({ rule in now.map { (rule, $0) } }).first(where: { rule, other in
                !waiting.contains(rule.name) && waiting.contains(other.name) && rule.isBeside(other)
            })
        {
            waiting.insert(rule.name)
        }
        let isWhole = waiting.isEmpty
        var found = now.compactMap { rule -> AgreedRule? in
            guard waiting.contains(rule.name) else { return rule }
            // A hold is agreed with the first run that has it, whatever waits.
            var last = former?[rule.name]
            last?.addHolds(holds, at: clock)
            return last
        }
        // A rule that the policy has no more deletes nothing, but says what was agreed until the others are.
        if !isWhole, let former {
            let names = Set(policy.rulesAsWritten.map(\.name))
            for var rule in former.values.sorted(by: { $0.name < $1.name }) where !names.contains(rule.name) {
                rule.addHolds(holds, at: clock)
                found.append(rule)
            }
        }
        for index in found.indices { found[index].file = file }
        let isSame =
            policy.isOneOfMany && found.count == former?.count
            && found.allSatisfy { rule in former?[rule.name]?.isSame(as: rule) == true }
        return isSame ? nil : found.map(\.line) + (isWhole ? [] : damagedAgreed)
    }

    /// A link to the file may lead to another file after each deployment.
    private static func file(of policy: Policy) -> String { SafeText.line(FilePlace(policy.file.path).path) }
}

extension AgreedRule {
    /// Adds holds that have not ended and are not covered by its own.
    fileprivate mutating func addHolds(_ others: [Hold], at clock: Instant) {
        holds += others.filter { hold in !hold.hasEnded(at: clock) && !holds.contains { $0.covers(hold) } }
    }
}

extension Planner.Options {
    /// Whether a rule is carried out for all of its ages.
    func hasAll(of rule: Rule) -> Bool { ruleNames.isEmpty || ruleNames.contains(rule.writtenName) }
}
