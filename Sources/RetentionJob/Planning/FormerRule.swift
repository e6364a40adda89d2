import PriceStore
import RetentionPolicy

/// Compares a rule with its past runs: whether it has become wider, and whether deleted rows came back.
struct FormerRule {
    /// The rule as it is now; nil: it cannot be recorded.
    private(set) var record: RecordedRule?
    /// Why it deletes more than before; nil: it does not, or no run is known.
    private(set) var widened: WidenedRule?
    /// Changes that do not make it wider.
    private(set) var narrowed: [RuleChange] = []
    /// Expired rows that came back; nil: unknown.
    private(set) var late: LateRows?
    /// The newest date, if it is that of an earlier run; nil: there are newer rows, or no run is known.
    private(set) var stopped: RunMemory.CarriedOut.Feed?

    /// Compares a rule with the past.
    ///
    /// - Parameters:
    ///   - together: the other rules of its entity.
    ///   - holds: the rows that the policy keeps from all rules.
    ///   - hasTriggers: whether the store's own triggers fire; they may delete rows of any entity.
    ///   - isHeld: whether the rule must not delete rows that an undo has restored; such rows are not late.
    ///   - choosesLate: whether rows of any age become rows of the rule when another rule clears a reference.
    init(
        _ step: Plan.Step, _ entity: Entity, together: RulesTogether, holds: HoldPlan, hasTriggers: Bool, isHeld: Bool,
        choosesLate: Bool, planner: Planner, reader: any RetentionReader
    ) throws {
        guard let request = step.surveyRequest else { return }
        let record = try RecordedRule(step.rule, of: entity, zone: planner.policy.timezone, reader)
        self.record = record
        guard planner.memory.damagedRules.isEmpty else {
            widened = try WidenedRule(unreadableFor: step, reader)
            return
        }
        let comparison = Comparison(
            step: step, request: request, entity: entity, record: record, holds: holds, hasTriggers: hasTriggers,
            planner: planner, reader: reader)
        guard try planner.recordedRules(near: entity).contains(where: { try $0.concerns(entity, reader) }) else {
            widened = try comparison.widenedWithoutPast()
            return
        }
        let past = try PastRule(step.rule, record, entity, planner, reader)
        stopped = past.feed(upTo: step.newest)
        // Old rows arrive in a table of candles when old source rows arrive.
        if !isHeld, !choosesLate, !planner.candleEntities.contains(step.rule.entity.folded) {
            late = try comparison.late(since: past)
        }
        let changes = past.changes
        narrowed = changes.narrowed
        widened = try comparison.widened(from: past, changes.wider, together, late)
    }
}

/// What is known of a rule from its last run.
private struct PastRule {
    let record: RecordedRule
    /// The rule of this name as last carried out; nil: it is new, or its values have another age, or may have had one since.
    let former: RunMemory.CarriedOut?
    /// All ages of a rule that is one of several, as last carried out.
    let ages: [RunMemory.CarriedOut]

    init(
        _ rule: Rule, _ record: RecordedRule, _ entity: Entity, _ planner: Planner, _ reader: any RetentionReader
    ) throws {
        self.record = record
        let own = try planner.former[[rule.name, entity.name.folded]].flatMap {
            try $0.isLive && $0.includes(entity, reader) ? $0 : nil
        }
        let ages = try planner.formerShares(of: rule, entity, reader)
        // While an age waits, its values may get another one, which is carried out, and lose it again.
        former = own.flatMap { own in ages.contains { $0.ended > own.ended } ? nil : own }
        self.ages = ages
    }

    /// The former ages of values that have another one now.
    var otherAges: [RunMemory.CarriedOut] { former == nil ? ages : [] }

    /// The other ages with which rows of the rule were last carried out; nil: the rule is none of several ages, or is compared with itself.
    var agesOfRows: [String]? {
        guard !otherAges.isEmpty else { return nil }
        let others = otherAges.map(\.record.rule).filter {
            $0.maxAge.canonical != record.rule.maxAge.canonical && !$0.rows.isDisjoint(from: record.rule.rows)
        }
        return others.map(\.maxAge.written).unique
    }

    /// The record of the same rows, with this age or another one.
    private var same: RunMemory.CarriedOut? {
        former ?? otherAges.first { $0.record.rule.share?.isOfSameValues(as: record.rule.share) == true }
    }

    /// The feed of the same rows, if their newest date is no newer than it was.
    func feed(upTo newest: Instant?) -> RunMemory.CarriedOut.Feed? {
        let choosesSame = former == nil ? RecordedRule.choosesRowsOfValues : RecordedRule.choosesRows
        guard let same, choosesSame(same.record)(record), let feed = same.feed, let newest, newest <= feed.newest else {
            return nil
        }
        return feed
    }

    /// The changes that make the rule wider, and, if there are none, the others.
    var changes: (wider: [RuleChange], narrowed: [RuleChange]) {
        let changes = former.map { RuleChange.changes(from: $0.record, to: record) } ?? []
        var wider = changes.filter(\.isWider)
        for age in otherAges {
            let found = RuleChange.changes(from: age.record, to: record).filter { $0.isWider && $0.key != "share" }
            // The age of a value may change, but not unseen beside other changes.
            guard found.contains(where: { $0.key != "max_age" }) else { continue }
            wider += found.filter { !wider.contains($0) && ($0.key != "max_age" || age.record == same?.record) }
        }
        return (wider, wider.isEmpty ? changes : [])
    }
}

/// A rule beside its past.
private struct Comparison {
    let step: Plan.Step
    let request: SurveyRequest
    let entity: Entity
    let record: RecordedRule
    let holds: HoldPlan
    let hasTriggers: Bool
    let planner: Planner
    let reader: any RetentionReader
    private var rule: Rule { step.rule }

    /// Why a rule must be accepted though no run has carried out a rule for its entity; nil: it need not.
    func widenedWithoutPast() throws -> WidenedRule? {
        let patterns = planner.formerPatterns
        let changes = patterns.changes(of: rule, to: record)
        let removed = try planner.removed(patterns.holds(of: rule), from: rule, entity, hasTriggers, reader)
        // In a pattern the table may also be a copy.
        let hold = try planner.holdsOfOthers(than: rule, holds).first {
            try planner.hasRowsOfLastRun(step)
                && (rule.family?.mayMatch($0.entity) == true || planner.hasLostRows($0, reader))
        }
        let mayBeAnother = hold == nil && step.survey.expiredCount > 0
        let other = try mayBeAnother ? planner.emptiedRule(besides: rule, record, request.cutoff, reader) : nil
        let owner = hold.map { "the hold \($0.name)" } ?? other.map { "the rule \($0.name)" }
        guard
            try patterns.last(of: rule)?.state == .disabled || !changes.isEmpty || !removed.isEmpty || owner != nil
                || reachesOtherRules()
        else {
            return nil
        }
        var found = try WidenedRule(wholeOf: step, reader)
        (found.changes, found.removedHolds, found.ownerOfAnother) = (changes, removed.map(\.name).unique, owner)
        return found
    }

    /// Whether a cascade or a trigger may delete rows that another rule kept.
    private func reachesOtherRules() throws -> Bool {
        let request = rule.relationships.request
        return try Set(planner.memory.rules.map(\.record.rule.entity)).contains { other in
            try hasTriggers && reader.triggersMayTouch(other, afterDeletesFrom: entity.name, request)
                || reader.deletes(from: entity.name, request, canReach: other, changing: [])
        }
    }

    /// Why a rule deletes more than in its last run; nil: it does not.
    ///
    /// - Parameters:
    ///   - together: the other rules of its entity.
    ///   - late: the rows that came back.
    func widened(
        from past: PastRule, _ wider: [RuleChange], _ together: RulesTogether, _ late: LateRows?
    ) throws -> WidenedRule? {
        let former = past.former
        // The list may be long: thousands of rules.
        func ofEntity() throws -> [RunMemory.CarriedOut] {
            try planner.former.values.filter { try $0.concerns(entity, reader) }
                .sorted { $0.record.rule.name < $1.record.rule.name }
        }
        let formerHolds = try former?.holds ?? ofEntity().flatMap(\.holds)
        let removed = try planner.removed(formerHolds, from: rule, entity, hasTriggers, reader)
        let isWider = former == nil || !wider.isEmpty || !removed.isEmpty
        // What a rule keeps was chosen beside the rules of the run that last carried it out, whatever has run since.
        let changedSiblings =
            try former.map { try planner.changedSiblings(of: rule, entity, together, former: $0.beside, reader) } ?? []
        guard isWider || !changedSiblings.isEmpty else { return nil }
        let rules: [(record: RecordedRule, ended: Instant)] =
            if let former, !isWider { ([former.record] + former.beside).map { ($0, former.ended) } } else {
                try ofEntity().filter { try $0.isLive && $0.includes(entity, reader) }.map { ($0.record, $0.ended) }
            }
        let waiting = waits(past, late) ? former?.record : nil
        let before = try deletes(of: rules, isWider: isWider, waiting: waiting, removed.compactMap(\.found))
        var found = try WidenedRule(
            former: former, changes: wider, removedHolds: removed.map(\.name).unique, changedSiblings: changedSiblings,
            step, request, before: before.rows, isRefused: former.map { before.refused.contains($0.record) } ?? false,
            reader)
        found.formerAges = past.agesOfRows
        // Other rules affect only what this rule keeps. A value with an age of its own is new every day, but not the rule.
        let isKnown = former != nil || !past.otherAges.isEmpty
        let isByRows =
            !isWider || rule.share != nil && isKnown && removed.isEmpty && wider.allSatisfy { $0.key == "share" }
        return !isByRows || found.rowCount > 0 ? found : nil
    }

    /// What former rules would delete now, without those that would be refused, and these. Rows of a value are those of the age with which
    /// it was last carried out.
    ///
    /// - Parameters:
    ///   - waiting: one of them that would be refused because of earlier runs; nil: none would be.
    ///   - removed: the holds that the policy has no more.
    private func deletes(
        of rules: [(record: RecordedRule, ended: Instant)], isWider: Bool, waiting: RecordedRule?,
        _ removed: [HoldPlan.InForce]
    ) throws -> (rows: [StorePredicate], refused: [RecordedRule]) {
        let kept = request.keepers.holds + removed.map(\.rows)
        let requests = try rules.compactMap { rule, ended in
            try rule.request(in: entity, asOf: planner.asOf, holds: kept, reader).map { (rule, $0, ended) }
        }
        var rows = requests.indices.map { index in
            var (own, its, ended) = requests[index]
            its.keepApart(from: (requests[..<index] + requests[(index + 1)...]).map(\.1))
            let newer = requests.filter { $0.2 > ended && $0.0.rule.family?.name == own.rule.family?.name }
            return newer.compactMap(\.0.rule.share).reduce(its.expired) { $0 && .notTrue($1.rows) }
        }
        guard !rows.isEmpty, step.survey.unsupported == nil, step.survey.expiredCount > 0 else { return (rows, []) }
        var holds = holds
        holds.inForce += removed
        let idle = try planner.refusedToday(requests.map(\.0), holds, reader).union(
            requests.indices.filter { requests[$0].0 == waiting })
        rows = rows.indices.filter {
            !idle.contains($0) && !(isWider && planner.isLeftOut(requests[$0].0.rule))
        }.map { rows[$0] }
        return (rows, idle.map { requests[$0].0 })
    }

    /// Whether the rule as last carried out would be refused today because its feed has stopped or rows came back.
    private func waits(_ past: PastRule, _ late: LateRows?) -> Bool {
        guard let former = past.former?.record.rule else { return false }
        if let feed = past.feed(upTo: step.newest), !former.accept.contains(.feedStopped),
            feed.since < planner.memory.silence(former, clock: planner.clock, zone: planner.policy.timezone).since
        {
            return true
        }
        return late.map { $0.rowCount > former.limits.maxLateRows ?? $0.standardLimit ?? .max } ?? false
    }

    /// The expired rows that an earlier run had left none of; nil: no such run is known. Each row had the age of one of the former rules.
    func late(since past: PastRule) throws -> LateRows? {
        let rules = try (rule.share == nil ? [past.former].compactMap(\.self) : past.ages).filter {
            try $0.state == .none && !$0.record.rule.rows.isDisjoint(from: record.rule.rows)
                && !planner.memory.restoredTables(since: $0).contains { try entity.isIn($0, reader) }
        }
        guard !rules.isEmpty else { return nil }
        func hold() throws -> String? {
            try planner.holdsOfOthers(than: rule, holds).first { try planner.hasLostRows($0, reader) }?.name
        }
        return try LateRows(rules, step, request, entity, hold: hold, asOf: planner.asOf, reader: reader)
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
}

extension Planner {
    /// The recorded rules that may concern an entity. Only an entity of a model inherits from another one.
    fileprivate func recordedRules(near entity: Entity) -> [RunMemory.CarriedOut] {
        entity.model == nil ? recordedRules[entity.name.folded] ?? [] : memory.rules
    }

    /// The rules with ages of one rule as last carried out, or that rule when it had one age; empty: it is new, or has a new name.
    fileprivate func formerShares(
        of rule: Rule, _ entity: Entity, _ reader: any RetentionReader
    ) throws -> [RunMemory.CarriedOut] {
        guard rule.share != nil, let name = rule.family?.name else { return [] }
        return try former.values.filter {
            try ($0.record.rule.family?.name ?? $0.record.rule.name) == name && $0.isLive && $0.includes(entity, reader)
        }.sorted { $0.record.rule.name < $1.record.rule.name }
    }

    /// Whether rows of a rule are older than the last run.
    fileprivate func hasRowsOfLastRun(_ step: Plan.Step) -> Bool {
        memory.lastRun.map { last in step.survey.dates.oldest.map { $0 < last } ?? false } ?? false
    }

    /// The holds, also those of the last run, on other tables than that of a rule.
    fileprivate func holdsOfOthers(than rule: Rule, _ holds: HoldPlan) -> [Hold] {
        (holds.inForce.map(\.hold) + formerHolds).filter {
            !$0.hasEnded(at: clock) && $0.entity.folded != rule.entity.folded
        }
    }

    /// A rule that keeps the rows of its table longer than a pattern that matches it too, if that table has no row any more that the pattern
    /// would delete: they may be in another one now.
    fileprivate func emptiedRule(
        besides rule: Rule, _ record: RecordedRule, _ cutoff: Instant, _ reader: any RetentionReader
    ) throws -> Rule? {
        guard let family = rule.family else { return nil }
        return try policy.rules.first { other in
            guard other.family == nil, family.mayMatch(other.entity),
                let last = former[[other.name, other.entity.folded]],
                RuleChange.changes(from: last.record, to: record).contains(where: \.isWider)
            else { return false }
            guard let entity = try reader.entity(named: other.entity), let date = other.date(zone: policy.timezone),
                entity.attribute(named: date.name) != nil
            else { return true }
            let isOld = StorePredicate.date(DateRange(date, before: cutoff))
            return try reader.count(StoreFetchRequest(entity: entity.name, predicate: isOld, fetchLimit: 1)) == 0
        }
    }

    /// Whether a table with a hold has fewer old rows of a rule than holds have kept of it: they may be in another table now.
    fileprivate func hasLostRows(_ hold: Hold, _ reader: any RetentionReader) throws -> Bool {
        let entity = try reader.entity(named: hold.entity)
        let rules = former.values.filter {
            $0.record.rule.entity.folded == hold.entity.folded && $0.isLive && $0.held != nil
        }
        guard !rules.isEmpty else { return entity == nil && !hold.skipsMissing }
        return try rules.contains { rule in
            guard let entity, let held = rule.held,
                let request = try rule.record.request(in: entity, asOf: asOf, before: held.cutoff, holds: [], reader)
            else { return true }
            let old = StorePredicate.date(DateRange(request.date, before: held.cutoff)) && request.filter
            return try reader.count(
                StoreFetchRequest(entity: entity.name, predicate: old, fetchLimit: held.count)) < held.count
        }
    }

    /// The names of the entity's other rules that have changed since they were carried out, if what this rule keeps depends on them.
    fileprivate func changedSiblings(
        of rule: Rule, _ entity: Entity, _ together: RulesTogether, former: [RecordedRule],
        _ reader: any RetentionReader
    ) throws -> [String] {
        guard rule.keepsRows else { return [] }
        let before: [String: String] = former.reduce(into: [:]) { $0[$1.rule.name] = $1.canonical }
        var now: [String: String] = [:]
        for other in together.enabled[entity.name] ?? [] {
            now[other.name] = try RecordedRule(other, of: entity, zone: policy.timezone, reader).canonical
        }
        return Set(before.keys).union(now.keys).subtracting([rule.name]).filter { before[$0] != now[$0] }.sorted()
    }
}

extension RunMemory.CarriedOut {
    /// Whether rows of the entity may be rows of the rule: its entity is the same, or one inherits from the other.
    fileprivate func concerns(_ entity: Entity, _ reader: any RetentionReader) throws -> Bool {
        try includes(entity, reader) || entity.model?.subentities.contains(record.rule.entity) == true
    }

    /// Whether every row of the entity is a row of the rule's entity.
    fileprivate func includes(_ entity: Entity, _ reader: any RetentionReader) throws -> Bool {
        let own = record.rule.entity
        if own == entity.name { return true }
        // Two tables of a server may differ only in case.
        if own.folded == entity.name.folded { return try reader.entity(named: own)?.name == entity.name }
        // A rule keeps other rows of a whole entity than of a part of it.
        guard entity.model != nil, record.rule.keepLast == nil, record.rule.thin == nil else { return false }
        return try reader.entity(named: own)?.model?.subentities.contains(entity.name) == true
    }
}

extension RecordedRule {
    /// The request of the rule alone at an instant; nil: the entity lacks an attribute of the rule.
    ///
    /// - Parameter cutoff: rows before it are expired; nil: the rule's cutoff at that instant.
    func request(
        in entity: Entity, asOf: Instant, before cutoff: Instant? = nil, holds: [HeldRows],
        _ reader: any RetentionReader
    ) throws(StoreError) -> SurveyRequest? {
        var rule = rule
        let names =
            [rule.dateAttribute] + rule.rows.allAttributeNames + (rule.keepLast?.per ?? []) + (rule.thin?.names ?? [])
        guard let date = rule.date(zone: zone), names.allSatisfy({ entity.attribute(named: $0) != nil }) else {
            return nil
        }
        if cutoff == nil { try rule.bound(asOf: asOf, zone: zone, in: reader) }
        var request = SurveyRequest(
            entity: entity.name, date: date, cutoff: cutoff ?? rule.cutoff(asOf: asOf, zone: zone),
            filter: rule.considered,
            relationships: rule.relationships.request)
        request.keepRows(of: rule, asOf: asOf)
        request.keepers.holds = holds
        return request
    }
}

extension WidenedRule {
    /// For a rule without a former rule: all of its deletes are due to the change.
    fileprivate init(wholeOf step: Plan.Step, _ reader: any RetentionReader) throws {
        self.init(changes: [], removedHolds: [], run: nil, ended: nil)
        rowCount = try step.wholeCount(reader)
        (oldest, newest) = (step.survey.dates.oldest, step.survey.dates.newestExpired)
    }

    fileprivate init(unreadableFor step: Plan.Step, _ reader: any RetentionReader) throws {
        try self.init(wholeOf: step, reader)
        isUnreadable = true
    }

    /// - Parameters:
    ///   - before: what the entity's former rules would delete now.
    ///   - isRefused: whether the former rule itself would be refused now.
    fileprivate init(
        former: RunMemory.CarriedOut?, changes: [RuleChange], removedHolds: [String], changedSiblings: [String],
        _ step: Plan.Step, _ request: SurveyRequest, before: [StorePredicate], isRefused: Bool,
        _ reader: any RetentionReader
    ) throws {
        self.init(changes: changes, removedHolds: removedHolds, run: former?.run, ended: former?.ended)
        self.changedSiblings = changedSiblings
        let survey = step.survey
        guard survey.unsupported == nil, survey.expiredCount > 0 else { return }
        // Kept rows may be older than all deleted rows.
        let more = try request.narrowed(to: before.reduce(request.notSpared ?? .all) { $0 && .notTrue($1) }, reader)
        if more.expiredCount > 0 {
            (rowCount, oldest, newest) = (more.expiredCount, more.dates.oldest, more.dates.newestExpired)
        }
        guard let old = former?.record.rule else { return }
        // If the former rule would be refused, its cascades are due to the change too. Rows that became candles would no longer be there
        // for other rules.
        var isAll = isRefused && rowCount == survey.expiredCount || changes.contains { $0.key == "rollup" }
        if old.relationships != step.rule.relationships {
            var asBefore = request
            asBefore.relationships = old.relationships.request
            asBefore.counts.related = true
            let found = try reader.survey(asBefore)
            if found.unsupported != nil || !found.related.obstacles.isEmpty {
                isAll = true
            } else {
                let deleted = found.expiredCount + found.related.cascadedCount
                rowCount = try max(rowCount, step.wholeCount(reader) - deleted)
            }
        }
        if isAll {
            (rowCount, oldest, newest) = (
                try step.wholeCount(reader), survey.dates.oldest, survey.dates.newestExpired
            )
        }
    }
}

extension Plan.Step {
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

extension [String] {
    /// Each text once, in the order of its first place.
    fileprivate var unique: [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
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
