import PriceStore
import RetentionPolicy

/// Compares a rule with what is agreed, and its rows with those of past runs.
struct FormerRule {
    /// The rule as it is now; nil: it cannot be recorded.
    private(set) var record: RecordedRule?
    /// Why it deletes more than is agreed; nil: it does not, or nothing is agreed yet.
    private(set) var widened: WidenedRule?
    /// Expired rows that came back; nil: unknown.
    private(set) var late: LateRows?
    /// The newest date, if it is that of an earlier run; nil: there are newer rows, or no run is known.
    private(set) var stopped: RunMemory.CarriedOut.Feed?

    /// - Parameters:
    ///   - isHeld: whether the rule must not delete rows that an undo has restored; such rows are not late.
    ///   - choosesLate: whether rows of any age become rows of the rule when another rule clears a reference.
    init(
        _ step: Plan.Step, _ entity: Entity, holds: HoldPlan, hasTriggers: Bool, isHeld: Bool, choosesLate: Bool,
        planner: Planner, reader: any RetentionReader
    ) throws {
        guard let request = step.surveyRequest else { return }
        let (rule, memory) = (step.rule, planner.memory)
        let record = try RecordedRule(rule, of: entity, zone: planner.policy.timezone, reader)
        self.record = record
        if let unknownPast = memory.unknownPast {
            widened = try WidenedRule(wholeOf: step, reader)
            widened?.unknownPast = unknownPast
            return
        }
        let past = try planner.past[[rule.writtenName, entity.name.folded], default: []].filter { former in
            // Two tables of a server may differ only in case.
            let name = former.record.rule.entity
            return try name == entity.name || reader.entity(named: name)?.name == entity.name
        }
        stopped = past.feed(of: record, upTo: step.newest)
        // Old rows arrive in a table of candles when old source rows arrive.
        if !isHeld, !choosesLate, !planner.candleEntities.contains(rule.entity.folded) {
            let restored = try past.filter { former in
                try memory.restoredTables(since: former).contains { try entity.isIn($0, reader) }
            }
            let rules = past.filter { former in
                former.leftNone && !restored.contains(former) && !former.record.rule.rows.isDisjoint(from: rule.rows)
            }
            if !rules.isEmpty {
                late = try LateRows(rules, step, request, entity, asOf: planner.asOf, reader: reader)
            }
        }
        try compare(step, request, entity, holds, hasTriggers, planner, reader)
        guard widened == nil, past.isEmpty else { return }
        let doubt = try planner.formerName(of: rule) ?? planner.possibleOwner(of: step, request, holds, reader)
        if let doubt {
            widened = try WidenedRule(wholeOf: step, reader)
            widened?.doubt = doubt
        }
    }

    private mutating func compare(
        _ step: Plan.Step, _ request: SurveyRequest, _ entity: Entity, _ holds: HoldPlan, _ hasTriggers: Bool,
        _ planner: Planner, _ reader: any RetentionReader
    ) throws {
        guard let agreed = planner.agreed, let now = planner.agreeable[step.rule.writtenName] else { return }
        let former = agreed[now.name]
        var wider = (former.map(now.changes) ?? []).filter { step.rule.share?.isConcerned(by: $0) != false }
        // A store that the policy names only now waits; one that has carried out the rule does not, wherever it is.
        let isCarriedOut = planner.past.keys.contains { $0[0] == now.name }
        let otherStore = isCarriedOut ? nil : (former ?? agreed.values.first).flatMap(now.storeChange)
        if former != nil { wider += [otherStore].compactMap(\.self) }
        let formerHolds = former?.holds ?? Set(agreed.values.flatMap(\.holds)).sorted { $0.name < $1.name }
        let removed = try planner.removed(formerHolds, from: step.rule, entity, hasTriggers, reader)
        let ofTable = now.changedBeside(from: agreed, to: planner.agreeable)
        let beside = now.changedBeside(
            from: agreed, to: planner.agreeable, deletesOthers: !entity.incomingRelationships.isEmpty || hasTriggers)
        // A table of ages is data of the store: an age is wider if rows go by it.
        let formerAges =
            now.record.rule.ages?.source == nil
            ? []
            : planner.pastAges(of: step.rule).filter {
                !$0.rows.isDisjoint(from: step.rule.rows) && $0.maxAge.canonical != step.rule.maxAge.canonical
            }.map(\.maxAge.written)
        let isWider = former == nil || !wider.isEmpty || !removed.isEmpty || !ofTable.isEmpty
        guard isWider || !beside.isEmpty || step.rule.share != nil && !formerAges.isEmpty else { return }
        var allHolds = holds
        allHolds.inForce += removed.compactMap(\.found)
        let plan = try planner.formerPlan(allHolds, reader)
        var found = try WidenedRule(wider, former, step, request, plan, entity, reader)
        // Nothing is agreed for another store, and a hold that cannot be evaluated any more may have kept any row.
        if otherStore != nil || removed.contains(where: { $0.found == nil }) {
            try found.takeAll(of: step, reader)
        }
        found.removedHolds = removed.map(\.name).unique
        found.changedSiblings = beside
        if !isWider, beside.isEmpty { found.formerAges = formerAges.unique }
        if isWider || found.rowCount > 0 { widened = found }
    }
}

extension RecordedRule {
    /// Records a rule with names spelled as in the store.
    init(_ rule: Rule, of entity: Entity, zone: CalendarZone, _ reader: any RetentionReader) throws {
        func spelled(_ name: String) -> String { entity.attribute(named: name)?.name ?? name }
        var named = rule
        if let per = rule.keepLast?.per { named.keepLast?.per = per.map(spelled) }
        if let thin = rule.thin {
            named.thin?.per = thin.per.map(spelled)
            if let price = thin.pick.price { named.thin?.pick = .ohlc(price: spelled(price)) }
        }
        if let rollup = rule.rollup {
            named.rollup?.target = try reader.entity(named: rollup.target)?.name ?? rollup.target
            named.rollup?.per = rollup.per.map(spelled)
            named.rollup?.price = rollup.price.map(spelled)
            named.rollup?.volume = rollup.volume.map(spelled)
        }
        self.init(named, entity: entity.name, date: spelled(rule.dateName ?? rule.dateAttribute), zone: zone)
    }

    /// The request of the rule alone; nil: the entity lacks an attribute of the rule.
    ///
    /// - Parameter asOf: the instant at which the ages of tiers are computed.
    func request(in entity: Entity, asOf: Instant, before cutoff: Instant, holds: [HeldRows]) -> SurveyRequest? {
        let names =
            [rule.dateAttribute] + rule.rows.allAttributeNames + (rule.keepLast?.per ?? []) + (rule.thin?.names ?? [])
        guard let date = rule.date(zone: zone), names.allSatisfy({ entity.attribute(named: $0) != nil }) else {
            return nil
        }
        var request = SurveyRequest(
            entity: entity.name, date: date, cutoff: cutoff, filter: rule.considered,
            relationships: rule.relationships)
        request.keepRows(of: rule, asOf: asOf)
        request.keepers.holds = holds
        return request
    }
}

extension Planner {
    /// The clause that the rule's pattern was the name of a table when it was last carried out; nil: it was not.
    fileprivate func formerName(of rule: Rule) -> String? {
        guard let family = rule.family, past[[family.name, family.entity.folded]] != nil else { return nil }
        return "'\(family.entity)' was the name of a table, which is gone, and is a pattern now"
    }

    /// What may have kept the rows of a table that is new to a pattern and has rows from before the last run: a hold or a rule of another
    /// table of the pattern that has no row as old. The new table may be that one with a new name, or a part of it. Nil: nothing.
    fileprivate func possibleOwner(
        of step: Plan.Step, _ request: SurveyRequest, _ holds: HoldPlan, _ reader: any RetentionReader
    ) throws -> String? {
        guard let family = step.rule.family, let last = memory.lastRun, let oldest = step.survey.dates.oldest,
            oldest < last, agreed != nil
        else { return nil }
        var owners = holds.inForce.map { ("the hold \($0.hold.name)", $0.rows.entity, $0.rows.rows) }
        owners += policy.rulesAsWritten.map { ("the rule \($0.name)", $0.entity, .all) }
        // Of a disabled rule no run has seen the table.
        func isDisabled(_ name: String) -> Bool {
            policy.rulesAsWritten.contains { $0.entity == name && !$0.isEnabled }
        }
        return try owners.first { _, name, rows in
            guard family.mayMatch(name), name != family.entity, name.folded != step.rule.entity.folded else {
                return false
            }
            guard let entity = try reader.entity(named: name) else { return hadTable(name) || isDisabled(name) }
            guard entity.attribute(named: request.date.name) != nil else { return true }
            let areAsOld =
                StorePredicate.date(DateRange(request.date, before: step.asOld(before: request.cutoff))) && rows
            return try reader.count(StoreFetchRequest(entity: entity.name, predicate: areAsOld, fetchLimit: 1)) == 0
        }.map { "the table is new and has old rows, so it may be the one of \($0.0) with a new name" }
    }
}

extension WidenedRule {
    /// All of a rule's deletes are due to the change.
    fileprivate init(wholeOf step: Plan.Step, _ reader: any RetentionReader) throws {
        self.init(changes: [], removedHolds: [], run: nil, ended: nil)
        try takeAll(of: step, reader)
    }

    fileprivate mutating func takeAll(of step: Plan.Step, _ reader: any RetentionReader) throws {
        rowCount = try step.wholeCount(reader)
        (oldest, newest) = (step.survey.dates.oldest, step.survey.dates.newestExpired)
    }

    /// Counts what only the change deletes.
    ///
    /// - Parameters:
    ///   - former: the rule as agreed; nil: it is new.
    ///   - plan: what the agreed rules would delete.
    fileprivate init(
        _ changes: [RuleChange], _ former: AgreedRule?, _ step: Plan.Step, _ request: SurveyRequest, _ plan: FormerPlan,
        _ entity: Entity, _ reader: any RetentionReader
    ) throws {
        self.init(changes: changes, removedHolds: [], run: former?.run, ended: former?.ended)
        let survey = step.survey
        guard survey.unsupported == nil, survey.expiredCount > 0 else { return }
        // Kept rows may be older than all deleted rows.
        let before = try plan.rows(of: entity, reader)
        let more = try request.narrowed(
            to: before.reduce(request.notSpared ?? .all) { $0 && .notTrue($1) }, reader, related: true)
        if more.expiredCount > 0 {
            rowCount = more.expiredCount + more.related.cascadedCount
            (oldest, newest) = (more.dates.oldest, more.dates.newestExpired)
        }
        // Cascades that the former rule would not have, and rows that became candles and are no longer there for other rules.
        guard let old = plan.step(step.rule) else { return }
        let isRefused = old.disposition != .planned && more.expiredCount == survey.expiredCount
        if isRefused || changes.contains(where: { $0.key == "rollup" }) {
            try takeAll(of: step, reader)
        } else if old.rule.relationships != step.rule.relationships {
            rowCount = try max(rowCount, step.wholeCount(reader) - old.wholeCount(reader))
        }
    }
}

extension Plan.Step {
    /// The end of the dates that are as old, to the day, as the oldest row of the rule, at most a cutoff.
    func asOld(before cutoff: Instant) -> Instant {
        min(cutoff, survey.dates.oldest?.advanced(byMicroseconds: 86_400_000_001) ?? cutoff)
    }

    /// The rows that the rule would delete, with those of cascades, which a run does not always count.
    fileprivate func wholeCount(_ reader: any RetentionReader) throws -> Int {
        var found = survey
        if var request = surveyRequest, !request.counts.related, survey.unsupported == nil, survey.expiredCount > 0 {
            request.counts.related = true
            found = try reader.survey(request)
        }
        return found.expiredCount + found.related.cascadedCount
    }
}

extension SurveyRequest {
    /// The survey of these rows, limited to those that meet a condition.
    func narrowed(
        to condition: StorePredicate, _ reader: any RetentionReader, related: Bool = false
    ) throws(StoreError) -> Survey {
        var request = self
        request.filter = filter && condition
        request.counts = .init(all: false, kept: false, related: related)
        return try reader.survey(request)
    }
}
