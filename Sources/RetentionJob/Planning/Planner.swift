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
        agreeable = Dictionary(now.map { ($0.name, $0) }) { first, _ in first }
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
        let places = Dictionary(policy.rules.inOrder.enumerated().map { ($1.name, $0) }) { first, _ in first }
        var plan = Plan(steps: [])
        plan.doubtsClock = memory.isMovedBack(clock) || memory.isJump(clock)
        plan.holds = try holds ?? HoldPlan(policy, clock: clock, lastRun: memory.lastRun, reader: reader)
        let rulesTogether = try RulesTogether(policy, reader: reader)
        plan.together = rulesTogether
        var around = Surroundings(
            hasRowsSinceLastRun: hasRowsSinceLastRun, holds: plan.holds, together: rulesTogether, reader: reader,
            makers: try makers(in: reader), places: places)
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
        guard !holds.isEmpty else { return [] }
        let current = policy.holds.filter { !$0.hasEnded(at: clock) }
        // The dates of a hold are those of the rules, so rules that are removed since the last run are included.
        var former = policy
        former.rules += (agreed ?? [:]).values.map(\.record.rule)
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

    // MARK: One rule

    /// The rules around the one that is planned.
    private struct Surroundings {
        let hasRowsSinceLastRun: Bool
        let holds: HoldPlan
        let together: RulesTogether
        let reader: any RetentionReader
        /// By entity name, the rules whose rows become candles.
        let makers: [String: [Rule]]
        /// The order of all rules of the policy, by their names.
        let places: [String: Int]
        /// What the rules before it delete.
        var preceding: [BatchDeleteRequest] = []
        /// Why it is refused because of what all rules delete together.
        var withheld: Refusal?
        /// Whether it chooses its rows after later rules.
        var choosesLate = false
        /// The names of the earlier rules that are carried out.
        var planned: Set<String> = []
    }

    /// What the store reports about a rule's rows.
    private struct Look {
        var request: SurveyRequest
        var survey: Survey
        /// Why an archived rule's rows cannot be archived; nil: they can, or the rule is not archived.
        var archiveObstacle: String?
        var outline: DeletionOutline?
    }

    private func step(for rule: Rule, _ around: Surroundings) throws -> Plan.Step {
        let reader = around.reader
        var step = Plan.Step(
            rule: rule, cutoff: rule.cutoff(asOf: asOf, zone: policy.timezone), disposition: .disabled)
        guard rule.isEnabled else { return step }
        if let lacking = rule.lacking {
            step.disposition = .refused(
                Refusals.unsupportedSchema(rule: rule, reason: lacking.message, remedy: lacking.hint))
            return step
        }
        guard let date = rule.date(zone: policy.timezone) else {
            step.disposition = .refused(
                Refusals.unsupportedSchema(
                    rule: rule, reason: "neither date_format nor the store says how \(rule.dateAttribute) is read"))
            return step
        }
        guard let entity = try reader.entity(named: rule.entity) else {
            // A run creates the tables of candles before it plans; until then there is nothing to delete.
            if candleEntities.contains(rule.entity.folded) {
                step.disposition = .planned
                step.unpriced = rule.rollup.map { _ in 0 }
                return step
            }
            throw StoreError(.unknownName, store: reader.name, message: "there is no entity \(rule.entity)")
        }
        if let refusal = try around.holds.refusal(of: rule, entity, preceding: around.preceding, in: reader) {
            step.disposition = .refused(refusal)
            return step
        }
        let triggers = try TriggerAdvice.names(of: entity, rule.relationships.request, in: reader)
        let request = try self.request(for: rule, entity, date, step.cutoff, hasTriggers: !triggers.isEmpty, around)
        var look = try self.look(at: request, reader)
        (step.surveyRequest, step.survey) = (look.request, look.survey)
        step.newest = try Arrivals.newest(look.survey, of: look.request, clock: clock, reader: reader)
        let (doubts, former) = try self.doubts(about: step, entity, date, look, hasTriggers: !triggers.isEmpty, around)
        var refusals = self.refusals(of: rule, date, step.cutoff, look, doubts, around)
        let accepted = rule.accept.union(options.accept)
        var passed: [RefusalCode] = []
        if request.relationships == .deny, look.survey.unsupported == nil, accepted.contains(.relationshipDenied) {
            // `deny` is waived, also for rows that arrive during the run. The schema applies instead, so its effects must be counted; what
            // it forbids stays forbidden.
            let isDenied = !look.survey.related.obstacles.isEmpty
            look.request.relationships = .asDeclared
            look = try self.look(at: look.request, reader)
            var waived = rule
            waived.relationships = .asDeclared
            refusals = self.refusals(of: waived, date, step.cutoff, look, doubts, around)
            if isDenied, !refusals.contains(where: { $0.code == .relationshipDenied }) {
                passed = [.relationshipDenied]
            }
        }
        passed += refusals.filter { $0.isAcceptable && accepted.contains($0.code) }.map(\.code)
        step.accepted = passed
        try note(look, former, entity, date, in: &step, reader)
        let standing =
            refusals.filter { !passed.contains($0.code) || !$0.isAcceptable } + [around.withheld].compactMap(\.self)
        if let first = standing.first {
            step.disposition = .refused(first)
            step.otherRefusals = Array(standing.dropFirst())
        } else if let failure = pendingFailures.first(where: { $0.key.folded == rule.entity.folded }) {
            step.disposition = .failed(
                "pending rows of \(rule.entity) cannot be imported: \(failure.value); the rule deletes nothing")
        } else {
            step.disposition = .planned
        }
        return step
    }

    /// The survey request for a rule.
    private func request(
        for rule: Rule, _ entity: Entity, _ date: DateAttribute, _ cutoff: Instant, hasTriggers: Bool,
        _ around: Surroundings
    ) throws -> SurveyRequest {
        let accepted = rule.accept.union(options.accept)
        var request = surveyRequest(for: rule, of: entity, date: date, cutoff: cutoff, preceding: around.preceding)
        around.together.keepRows(&request, of: rule, asOf: asOf)
        for rows in rowsWithoutCandles(besides: rule, entity, around) {
            request.filter = request.filter && .notTrue(rows)
        }
        request.deleting.mayEmpty = rule.allowEmpty || accepted.contains(.wouldEmptyEntity)
        if accepted.contains(.tooManyRows) { request.deleting.maxRows = nil }
        request.keepers.holds = try around.holds.holds(on: rule, entity, hasTriggers: hasTriggers, in: around.reader)
        return request
    }

    private func look(at request: SurveyRequest, _ reader: any RetentionReader) throws -> Look {
        let survey = try answer(request, reader)
        guard survey.unsupported == nil else { return Look(request: request, survey: survey) }
        return Look(
            request: request, survey: survey,
            archiveObstacle: request.deleting.archiveRule == nil ? nil : try reader.archiveObstacle(of: request),
            outline: try reader.outline(of: request, after: survey))
    }

    /// What raises doubts about a rule besides its rows, and how it compares with its past runs.
    private func doubts(
        about step: Plan.Step, _ entity: Entity, _ date: DateAttribute, _ look: Look, hasTriggers: Bool,
        _ around: Surroundings
    ) throws -> (Refusals.Doubts, FormerRule) {
        let (rule, reader) = (step.rule, around.reader)
        var doubts = Refusals.Doubts()
        // A wrong format deletes nothing if no row expires, but then a rule may delete nothing for years.
        if look.survey.expiredAloneCount > 0 || look.survey.canReadNoDate,
            let attribute = entity.attribute(named: date.name)
        {
            let samples = try DateRecognition.samples(rule: rule, date, entity, reader)
            doubts.recognition = DateRecognition(rule: rule, attribute, samples: samples, clock: clock)
            doubts.misread = try MisreadRows.find(
                rule: rule, look.request, byDate: look.survey.index.isInDateOrder, samples: samples, reader,
                clock: clock)
        }
        doubts.restored = try RestoredRows.find(step, entity, hasTriggers: hasTriggers, planner: self, reader: reader)
        let former = try FormerRule(
            step, entity, holds: around.holds, hasTriggers: hasTriggers, isHeld: doubts.restored != nil,
            choosesLate: around.choosesLate, planner: self, reader: reader)
        (doubts.widened, doubts.late, doubts.stopped) = (former.widened, former.late, former.stopped)
        doubts.settings = try settings(past: look.survey, of: look.request, reader)
        return (doubts, former)
    }

    private func refusals(
        of rule: Rule, _ date: DateAttribute, _ cutoff: Instant, _ look: Look, _ doubts: Refusals.Doubts,
        _ around: Surroundings
    ) -> [Refusal] {
        var found = Refusals(rule: rule, date: date, cutoff: cutoff, survey: look.survey, clock: clock)
        (found.memory, found.hasRowsSinceLastRun) = (memory, around.hasRowsSinceLastRun)
        found.sharesEntity =
            look.survey.losses.aggregates != nil
            && policy.rules.contains {
                $0.isEnabled && $0.name != rule.name && $0.entity.folded == rule.entity.folded
            }
        found.doubts = doubts
        found.doubts.archiveObstacle = look.archiveObstacle
        return found.all()
    }

    /// The settings of `relationships` with which no related row would prevent the delete. To accept `deny` is to delete as declared.
    private func settings(
        past survey: Survey, of request: SurveyRequest, _ reader: any RetentionReader
    ) throws -> Set<Rule.RelationshipSetting> {
        guard survey.unsupported == nil, !survey.related.obstacles.isEmpty else { return [] }
        return try Set(
            [.nullify, .cascade, .asDeclared].filter { (setting: Rule.RelationshipSetting) in
                guard setting.request != request.relationships,
                    setting != .asDeclared || request.relationships == .deny
                else { return false }
                var other = request
                other.relationships = setting.request
                other.counts = .init(all: false, kept: false)
                let survey = try answer(other, reader)
                return survey.unsupported == nil && survey.related.obstacles.isEmpty
            })
    }

    /// Notes what the run and its report need about a rule, refused or not.
    private func note(
        _ look: Look, _ former: FormerRule, _ entity: Entity, _ date: DateAttribute, in step: inout Plan.Step,
        _ reader: any RetentionReader
    ) throws {
        let (rule, request, survey) = (step.rule, look.request, look.survey)
        (step.surveyRequest, step.survey, step.outline) = (request, survey, look.outline)
        if let isPriced = rule.isPriced(date) {
            let expired = StorePredicate.date(DateRange(date, before: step.cutoff)) && rule.rows
            step.unpriced = try reader.count(
                StoreFetchRequest(entity: entity.name, predicate: expired && .notTrue(isPriced)))
        }
        (step.record, step.widened, step.late) = (former.record, former.widened, former.late)
        step.triggers = try TriggerAdvice.names(of: entity, request.relationships, in: reader)
        step.advice = try SchemaAdvice.sentences(
            entity: entity, date: date, survey: survey,
            incoming: SchemaAdvice.incomingRelationships(of: entity, in: reader), in: reader)
        step.advice =
            [rule.movedByBound, rule.movedCutoff].compactMap { $0(asOf, policy.timezone) } + step.advice
        if look.outline?.rebuildPays == true, let rowCount = survey.rowCount {
            step.advice.append(
                "\(Figures.grouped(survey.expiredCount)) of \(Figures.count(rowCount, "row")) expire: with all other programs stopped, "
                    + "retention run --rebuild is faster, and returns the space")
        }
        step.isMatched = try Arrivals.isMatched(rule, request, survey, reader: reader)
    }

    /// The rows of which earlier rules would make candles, if those rules are not carried out. A rule without `rollup` leaves these rows
    /// alone, so that none is deleted without its candle.
    private func rowsWithoutCandles(
        besides rule: Rule, _ entity: Entity, _ around: Surroundings
    ) -> [StorePredicate] {
        guard rule.rollup == nil, let makers = around.makers[entity.name] else { return [] }
        return makers.filter { maker in
            !around.planned.contains(maker.name) && !maker.rows.isDisjoint(from: rule.rows)
                && around.places[maker.name, default: 0] < around.places[rule.name, default: 0]
        }.map { maker in
            guard let date = maker.date(zone: policy.timezone) else { return maker.rows }
            let cutoff = maker.cutoff(asOf: asOf, zone: policy.timezone)
            return surveyRequest(for: maker, of: entity, date: date, cutoff: cutoff, preceding: []).expired
        }
    }

    /// By entity name, the enabled rules whose rows become candles. A rule that keeps rows already leaves alone what other rules delete.
    private func makers(in reader: any RetentionReader) throws -> [String: [Rule]] {
        try policy.rules.reduce(into: [:]) { found, rule in
            guard rule.isEnabled, rule.rollup != nil, !rule.keepsRows,
                let entity = try reader.entity(named: rule.entity)
            else { return }
            found[entity.name, default: []].append(rule)
        }
    }

    private func surveyRequest(
        for rule: Rule, of entity: Entity, date: DateAttribute, cutoff: Instant, preceding: [BatchDeleteRequest]
    ) -> SurveyRequest {
        let countsAll = countsAllRows || knownEntities?.contains(rule.entity.folded) == false
        // Spelled as in the store, so that names are equal exactly if the entities are.
        var request = SurveyRequest(
            entity: entity.name, date: date, cutoff: cutoff, filter: rule.considered,
            preceding: preceding, relationships: rule.relationships.request,
            counts: .init(
                all: countsAll, kept: countsAll || rule.limits.maxFraction != nil, related: countsAllRows))
        request.take(rule.rollupRequest(date))
        request.deleting.maxRows = rule.limits.maxRows
        request.deleting.method = options.method
        if rule.isArchived { request.deleting.archiveRule = rule.name }
        return request
    }

    /// An unsupported schema is an answer, not an error: the other rules run.
    func answer(_ request: SurveyRequest, _ reader: any RetentionReader) throws(StoreError) -> Survey {
        do {
            return try reader.survey(request)
        } catch  where error.kind == .unsupported {
            var survey = Survey()
            survey.unsupported = error.message
            return survey
        }
    }
}

extension Rule {
    /// The sentence that aggregates over the rows move the cutoff back; nil: they do not.
    func movedCutoff(asOf: Instant, zone: CalendarZone) -> String? {
        let former = cutoffWithoutAggregates(asOf: asOf, zone: zone)
        let cutoff = cutoff(asOf: asOf, zone: zone)
        guard former != cutoff else { return nil }
        let names = aggregates.map(\.name).joined(separator: ", ")
        return
            "the cutoff is moved from \(Figures.instant(former)) back to \(Figures.instant(cutoff)), the start of a bucket of \(names)"
    }
}

extension Rule.RelationshipSetting {
    /// The setting in the form of a request.
    var request: BatchDeleteRequest.RelationshipRule {
        switch self {
        case .asDeclared: .asDeclared
        case .deny: .deny
        case .cascade: .cascade
        case .nullify: .nullify
        }
    }
}
