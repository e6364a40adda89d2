import PriceStore
import RetentionPolicy

/// The step of one rule.
extension Planner {
    /// The rules around the one that is planned.
    struct Surroundings {
        let hasRowsSinceLastRun: Bool
        let holds: HoldPlan
        let together: RulesTogether
        let reader: any RetentionReader
        /// By entity name, the rules whose rows become candles.
        let makers: [String: [Rule]]
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

    func step(for rule: Rule, _ around: Surroundings) throws -> Plan.Step {
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
        let triggers = try TriggerAdvice.names(of: entity, rule.relationships, in: reader)
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
    ) throws -> Set<BatchDeleteRequest.RelationshipRule> {
        guard survey.unsupported == nil, !survey.related.obstacles.isEmpty else { return [] }
        return try Set(
            [.nullify, .cascade, .asDeclared].filter { (setting: BatchDeleteRequest.RelationshipRule) in
                guard setting != request.relationships,
                    setting != .asDeclared || request.relationships == .deny
                else { return false }
                var other = request
                other.relationships = setting
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
        let earlier = policy.rules.inOrder.prefix { $0.name != rule.name }
        return makers.filter { maker in
            !around.planned.contains(maker.name) && !maker.rows.isDisjoint(from: rule.rows)
                && earlier.contains { $0.name == maker.name }
        }.map { maker in
            guard let date = maker.date(zone: policy.timezone) else { return maker.rows }
            let cutoff = maker.cutoff(asOf: asOf, zone: policy.timezone)
            return surveyRequest(for: maker, of: entity, date: date, cutoff: cutoff, preceding: []).expired
        }
    }

    /// By entity name, the enabled rules whose rows become candles. A rule that keeps rows already leaves alone what other rules delete.
    func makers(in reader: any RetentionReader) throws -> [String: [Rule]] {
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
            preceding: preceding, relationships: rule.relationships,
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
