package import PriceStore
package import RetentionPolicy

/// Makes the plan of a run: what each rule would delete, and which rules are refused.
///
/// It deletes nothing and reads no clock. Rules are surveyed in the order of execution: the first rule that runs counts a row that two
/// rules expire, so each survey request contains the deletes of the rules before it.
package struct Planner {
    /// What the command line asks for.
    package struct Options: Hashable, Sendable {
        /// Refusals that are accepted for every rule.
        package var accept: Set<RefusalCode> = []
        /// The rules to carry out, by name; empty: all. Rules that are left out do not appear in the plan.
        package var ruleNames: [String] = []
        /// The engine's name of a method to use, for tests and measurements; nil: the engine chooses.
        package var method: String?
        /// The saved plan to carry out; nil: the policy alone decides.
        package var savedPlan: SavedPlan?

        package init(accept: Set<RefusalCode> = [], ruleNames: [String] = [], method: String? = nil) {
            self.accept = accept
            self.ruleNames = ruleNames
            self.method = method
        }

        /// The names, if they leave out an enabled rule of the policy.
        package func onlyRules(of policy: Policy) -> [String] {
            policy.rules.allSatisfy { !$0.isEnabled || includes($0) } ? [] : ruleNames
        }

        /// Whether a rule will be carried out.
        func includes(_ rule: Rule) -> Bool {
            ruleNames.isEmpty || ruleNames.contains(rule.name)
                || rule.family.map { ruleNames.contains($0.name) } == true
        }
    }

    package private(set) var policy: Policy
    /// The instant at which ages are computed.
    package var asOf: Instant
    /// The system clock, for the guards; `--as-of` does not move it.
    package var clock: Instant
    package let memory: RunMemory
    /// The rules of the policy that are agreed, by name; nil: there are none yet.
    let agreed: [String: AgreedRule]?
    /// The rules as they may be agreed now, by name.
    let agreeable: [String: AgreedRule]
    /// What past runs have left, by the names of rule and entity.
    let past: [[String]: [RunMemory.CarriedOut]]
    let candleEntities: Set<String>
    package var options: Options
    /// Whether rows are counted also for a rule that expires nothing.
    package var countsAllRows: Bool
    /// The entities, in lower case, but for which all rows are counted; nil: all of them.
    package var knownEntities: Set<String>?
    /// Why no rows of an entity can be imported, by entity name. What its rules may delete depends on them.
    package var pendingFailures: [String: String] = [:]
    /// What the agreed rules would do today, by the holds; made when a rule is wider.
    private let formerPlans = FormerPlans()

    package init(
        policy: Policy, asOf: Instant, clock: Instant, memory: RunMemory = RunMemory(), options: Options = Options(),
        countsAllRows: Bool
    ) {
        self.policy = policy
        self.asOf = asOf
        self.clock = clock
        self.memory = memory
        let agreed = memory.agreed(of: policy)
        self.agreed = agreed
        let holds = policy.holds.filter { !$0.hasEnded(at: clock) }
        let now = agreed == nil ? [] : policy.rulesAsWritten.map { AgreedRule($0, of: policy, holds: holds) }
        agreeable = now.reduce(into: [:]) { $0[$1.name] = $1 }
        past = Dictionary(grouping: memory.rules) { $0.tableKey }
        candleEntities = policy.candleEntities
        self.options = options
        // Whoever accepted that restored rows are deleted did not know of a later undo.
        if let made = options.savedPlan?.made, memory.restorations.contains(where: { $0.ended > made }) {
            self.options.accept.remove(.restoredRows)
        }
        self.countsAllRows = countsAllRows
    }

    /// Surveys the store and makes the plan. Each rule is surveyed once, and a second time only if `relationship_denied` is accepted, or if
    /// an earlier rule is refused because of what all rules delete together (see ``JointLimits``).
    ///
    /// - Parameter holds: the rows that are kept from all rules; nil: those of the policy's holds.
    /// - Throws: ``StoreError`` if the store cannot be read, or has no such method. Nothing is changed then.
    package func plan(
        reader: any RetentionReader, uptime: () -> Duration = { .zero }, holds: HoldPlan? = nil
    ) throws -> Plan {
        formerPlans.byHolds = [:]
        var bounded = self
        bounded.policy = try policy.bounded(asOf: asOf, in: reader)
        return try bounded.plan(reader, uptime, holds)
    }

    /// The plan, once the cutoffs are known.
    private func plan(_ reader: any RetentionReader, _ uptime: () -> Duration, _ holds: HoldPlan?) throws -> Plan {
        for name in options.ruleNames where name.contains(":") && !policy.rules.contains(where: { $0.name == name }) {
            throw StoreError(
                .unknownName, store: reader.name,
                message: "there is no rule \(name): the rule before the colon has no such table and no such age")
        }
        let order = try RuleOrder(policy.rules, reader: reader)
        let (late, rules) = (order.late, policy.rules.filter(options.includes).inOrder(first: order.choosing))
        let hasRowsSinceLastRun = try hasRowsSinceLastRun(of: rules, reader: reader)
        var plan = Plan(steps: [])
        plan.doubtsClock = memory.isMovedBack(clock) || memory.isJump(clock)
        plan.holds = try holds ?? HoldPlan(policy, clock: clock, lastRun: memory.lastRun, reader: reader)
        let rulesTogether = try RulesTogether(policy, reader: reader)
        plan.together = rulesTogether
        var around = Surroundings(
            hasRowsSinceLastRun: hasRowsSinceLastRun, holds: plan.holds, together: rulesTogether, reader: reader,
            makers: try makers(in: reader))
        var withheld: [Int: Refusal] = [:]
        while true {
            around.preceding = plan.steps.compactMap(\.wholeDelete)
            around.planned = Set(plan.steps.lazy.filter { $0.disposition == .planned }.map(\.rule.name))
            for (index, rule) in rules.enumerated().dropFirst(plan.steps.count) {
                let began = uptime()
                around.withheld = withheld[index]
                around.choosesLate = late.contains(rule.name)
                var step = try step(for: rule, around)
                step.elapsed = uptime() - began
                if let delete = step.wholeDelete { around.preceding.append(delete) }
                if step.disposition == .planned { around.planned.insert(rule.name) }
                plan.steps.append(step)
            }
            let together = JointLimits(plan: plan, policy: policy, accepted: options.accept, reader: reader)
            let kept = KeptRowsCheck(plan: plan, asOf: asOf, accepted: options.accept, reader: reader)
            let drift = { try options.savedPlan.flatMap { try plan.drift(from: $0, reader: reader) } }
            var refused = try together.violations()
            if refused.isEmpty, let (index, refusal) = try kept.violation() ?? drift() { refused = [index: refusal] }
            guard let first = refused.keys.min() else { break }
            for (index, refusal) in refused { withheld[index] = refusal }
            plan.steps.removeSubrange(first...)
        }
        try plan.noteRowsToKeep(self, reader: reader)
        try plan.holds.noteReleased(by: plan.steps, of: policy, since: memory.lastRun, reader: reader)
        if let saved = options.savedPlan { plan.limit(to: saved) }
        for index in plan.steps.indices {
            plan.steps[index].silent = try Arrivals.silentGroups(
                plan.steps[index], memory, now: min(asOf, clock), reader: reader)
        }
        plan.arrivals = policy.problems.filter { $0.severity == .warning }.map {
            Plan.Warning(title: "no table matches", text: $0.message)
        }
        for step in plan.steps {
            plan.arrivals += try step.excessOfBound(reader).map { Plan.Warning(title: "bound not met", text: $0) }
        }
        let names = Set(plan.steps.map(\.rule.name))
        for gone in options.savedPlan?.steps ?? [] where !names.contains(gone.name) {
            plan.arrivals.append(
                Plan.Warning(
                    title: "rule of the plan is gone",
                    text: "the plan has a rule \(gone.name), whose table or age is gone; its rows stay"))
        }
        plan.arrivals += try Arrivals.warnings(
            plan, policy, memory, now: min(asOf, clock), clock: clock, reader: reader)
        return plan
    }

    /// The holds with which a rule was carried out that now keep less, without having ended by date, and the rows that they covered; nil:
    /// that cannot be evaluated any more. Holds that cover no row, or no row of the rule, are left out.
    func removed(
        _ holds: [Hold], from rule: Rule, _ entity: Entity, _ hasTriggers: Bool, _ reader: any RetentionReader
    ) throws -> [(name: String, found: HoldPlan.InForce?)] {
        guard !holds.isEmpty, let agreed else { return [] }
        let current = policy.holds.filter { !$0.hasEnded(at: clock) }
        // The dates of a hold are those of the rules, so rules that are removed since the last run are included.
        var former = policy
        former.rules += agreed.values.map(\.record.rule)
        func dates(_ rules: [Rule], _ hold: Hold) -> Set<[String?]> {
            guard hold.from != nil || hold.until != nil else { return [] }
            return Set(
                rules.filter { $0.entity.folded == hold.entity.folded }.map {
                    [($0.dateName ?? $0.dateAttribute).folded, $0.dateFormat?.rawValue]
                })
        }
        return try holds.compactMap { hold in
            if hold.hasEnded(at: clock) { return nil }
            let hasItsDates = dates(former.rules, hold).isSubset(of: dates(policy.rules, hold))
            if hasItsDates, current.contains(where: { $0.covers(hold) }) { return nil }
            guard let found = try HoldPlan.find(hold, former, reader) else {
                // It may have kept any row of its table, or of one that this may be with a new name.
                guard let table = try reader.entity(named: hold.entity) else {
                    return hadTable(hold.entity) ? (hold.name, nil) : nil
                }
                let all = HeldRows(name: hold.name, entity: table.name, rows: .all)
                return try HoldPlan().reachable([all], from: rule, entity, hasTriggers, in: reader).isEmpty
                    ? nil : (hold.name, nil)
            }
            let reached = try HoldPlan().reachable([found.rows], from: rule, entity, hasTriggers, in: reader)
            return found.hasRows && !reached.isEmpty ? (hold.name, found) : nil
        }
    }

    /// Whether a run has carried out a rule for a table of the store.
    func hadTable(_ name: String) -> Bool { past.keys.contains { $0[1] == name.folded } }

    /// What the agreed rules would delete today beside some holds.
    func formerPlan(_ holds: HoldPlan, _ reader: any RetentionReader) throws -> FormerPlan {
        let key = holds.inForce.map(\.rows)
        if let known = formerPlans.byHolds[key] { return known }
        // In the order of their policy.
        let plan = try FormerPlan(memory.agreed.filter { agreed?[$0.name] == $0 }, self, holds, reader)
        formerPlans.byHolds[key] = plan
        return plan
    }
}
