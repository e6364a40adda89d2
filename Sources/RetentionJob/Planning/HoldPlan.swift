package import PriceStore
package import RetentionPolicy

/// The holds of a policy in a store: which of them keep rows, and which cannot be evaluated.
package struct HoldPlan: Sendable {
    /// A hold that keeps rows, in the form for the engine.
    package struct InForce: Sendable {
        package var hold: Hold
        package var rows: HeldRows
        /// Whether the store has a row that it covers.
        package var hasRows: Bool
        /// Whether the store has the entity; false: a run creates it.
        package var isThere = true
    }

    /// A hold that cannot be evaluated.
    package struct Unusable: Error {
        package var hold: Hold
        /// Its entity; nil: the store has no such entity, so the hold may concern any.
        package var entity: String?
        /// Why, as a clause.
        package var reason: String
    }

    package internal(set) var inForce: [InForce] = []
    package private(set) var unusable: [Unusable] = []
    /// Holds that have ended.
    package private(set) var ended: [Hold] = []
    /// Warnings for the operator: each with its hold, a title and a sentence without a full stop.
    package private(set) var warnings: [(hold: Hold, title: String, text: String)] = []

    /// How many days before its end a hold is announced, each time once.
    private static let notices: [Int64] = [30, 7, 1]

    package init() {}

    /// Finds the holds of a policy in its store.
    ///
    /// - Parameters:
    ///   - clock: the system clock; `--as-of` ends no hold.
    ///   - lastRun: when the last run ended, which has announced what was due then; nil: everything is announced.
    package init(
        _ policy: Policy, clock: Instant, lastRun: Instant? = nil, reader: any RetentionReader
    ) throws(StoreError) {
        for hold in policy.holds {
            func warn(_ title: String, _ text: String) {
                warnings.append((hold, title, "the hold '\(hold.name)' \(text)"))
            }
            if hold.hasEnded(at: clock), let expires = hold.expires {
                ended.append(hold)
                warn("hold ended", "ended at \(Figures.instant(expires)) and keeps nothing; remove it from the policy")
                continue
            }
            let dues = Self.notices.compactMap { hold.expires?.advanced(byMicroseconds: -$0 * 86_400_000_000) }
            if let expires = hold.expires, dues.contains(where: { $0 <= clock && lastRun ?? .distantPast < $0 }) {
                warn(
                    "hold ends soon",
                    "ends at \(Figures.instant(expires)); after that the rules delete what it keeps")
            }
            switch try Self.look(for: hold, policy, reader) {
            case .failure(let found): unusable.append(found)
            case .success(let found):
                inForce.append(found)
                if !found.hasRows { warn("hold matches nothing", "matches no row of \(found.rows.entity)") }
            }
        }
    }

    /// The rows that no pending row may replace or change through a trigger; for a hold that cannot be evaluated, all rows that it may
    /// concern.
    package static func rowsToSpare(
        _ policy: Policy, clock: Instant, reader: any RetentionReader
    ) throws(StoreError) -> [HeldRows] {
        let entities = policy.pending.map(\.entity)
        guard !entities.isEmpty, !policy.holds.isEmpty else { return [] }
        let plan = try HoldPlan(policy, clock: clock, reader: reader)
        var rows = plan.inForce.filter(\.isThere).map(\.rows)
        for unusable in plan.unusable {
            for name in unusable.entity.map({ [$0] }) ?? entities {
                guard let entity = try reader.entity(named: name) else { continue }
                rows.append(HeldRows(name: unusable.hold.name, entity: entity.name, rows: .all))
            }
        }
        return rows
    }

    /// Says of each hold that has ended since a run how many of its rows the steps of a plan expire, apart from cascades.
    mutating func noteReleased(
        by steps: [Plan.Step], of policy: Policy, since lastRun: Instant?, reader: any RetentionReader
    ) throws {
        guard let lastRun else { return }
        for index in warnings.indices where warnings[index].title == "hold ended" {
            let hold = warnings[index].hold
            guard let expires = hold.expires, lastRun < expires, let found = try Self.find(hold, policy, reader),
                found.isThere
            else { continue }
            let rows = StorePredicate.notTrue(.not(found.rows.rows))
            let expired = steps.filter { $0.survey.unsupported == nil }.compactMap(\.surveyRequest)
                .filter { $0.entity == found.rows.entity }.map(\.expired)
            let count = try expired.enumerated().reduce(0) { sum, rule in
                let request = StoreFetchRequest(entity: found.rows.entity, predicate: rows && rule.element)
                return try sum + reader.count(request.besides(Array(expired.prefix(rule.offset))))
            }
            guard count > 0 else { continue }
            warnings[index].text += "; \(Figures.count(count, "expired row", "is", "are")) free by that"
        }
    }

    // MARK: One hold

    private static func look(
        for hold: Hold, _ policy: Policy, _ reader: any RetentionReader
    ) throws(StoreError) -> Result<InForce, Unusable> {
        let stored = try reader.entity(named: hold.entity)
        guard let entity = if let stored { stored } else { try policy.candles(hold.entity, reader) } else {
            if hold.skipsMissing {
                let held = HeldRows(name: hold.name, entity: hold.entity, rows: hold.filter)
                return .success(InForce(hold: hold, rows: held, hasRows: policy.isOneOfMany, isThere: false))
            }
            let hint = NearestName.suggestion(for: hold.entity, in: try reader.entityNames(), otherwise: "")
            let skip = policy.isOneOfMany ? "; with missing: skip the hold is only for stores that have it" : ""
            return .failure(Unusable(hold: hold, reason: "the store has no entity '\(hold.entity)'\(hint)\(skip)"))
        }
        func unusable(_ reason: String) -> Result<InForce, Unusable> {
            .failure(Unusable(hold: hold, entity: entity.name, reason: reason))
        }
        guard entity.kind == .table else {
            // It is unknown from which tables its rows come.
            return .failure(Unusable(hold: hold, reason: "\(entity.name) is \(entity.kind.phrase)"))
        }
        if let name = hold.filter.allAttributeNames.first(where: { entity.attribute(named: $0) == nil }) {
            let hint = NearestName.suggestion(for: name, in: entity.attributes.map(\.name), otherwise: "")
            return unusable("\(entity.name) has no attribute '\(name)'\(hint)")
        }
        if let trouble = entity.textTrouble(of: hold.filter) { return unusable(trouble.reason) }
        var rows = hold.filter
        if hold.from != nil || hold.until != nil {
            let dates = try dates(of: entity, policy, reader)
            guard !dates.isEmpty else {
                return unusable(
                    "'from' and 'until' need the date attribute of a rule, and no rule names one of \(entity.name)")
            }
            let parts = dates.map { StorePredicate.mayBeDated($0, from: hold.from, until: hold.until) }
            rows = rows && (parts.count == 1 ? parts[0] : .or(parts))
        }
        let held = HeldRows(name: hold.name, entity: entity.name, rows: rows)
        if stored == nil { return .success(InForce(hold: hold, rows: held, hasRows: false, isThere: false)) }
        do {
            // A row is also held if it is unknown whether it matches.
            let covered = StorePredicate.notTrue(.not(rows))
            let found = try reader.count(StoreFetchRequest(entity: entity.name, predicate: covered, fetchLimit: 1))
            return .success(InForce(hold: hold, rows: held, hasRows: found > 0))
        } catch  where error.kind == .unsupported || error.kind == .unknownName {
            return unusable(error.message)
        }
    }

    /// The date attributes by which rules delete rows of an entity, each as its rule reads it.
    private static func dates(
        of entity: Entity, _ policy: Policy, _ reader: any RetentionReader
    ) throws(StoreError) -> [DateAttribute] {
        var found: [DateAttribute] = []
        for rule in policy.rules {
            guard let date = rule.date(zone: policy.timezone), entity.attribute(named: date.name) != nil,
                !found.contains(date)
            else { continue }
            guard let own = try reader.entity(named: rule.entity) else {
                // No run has made these candles yet.
                if rule.entity.folded == entity.name.folded { found.append(date) }
                continue
            }
            // Sub-entities inherit attributes, and so do the parts of a table that are tables themselves.
            let isOwn =
                try entity.model != nil
                ? own.name == entity.name || own.model?.subentities.contains(entity.name) == true
                : reader.deletes(from: own.name, .nullify, canReach: entity.name, changing: [])
            if isOwn { found.append(date) }
        }
        return found
    }

    /// The rows that a hold of another policy covers, with dates read as in this policy's rules; nil: it cannot be evaluated.
    static func find(
        _ hold: Hold, _ policy: Policy, _ reader: any RetentionReader
    ) throws(StoreError) -> InForce? {
        guard case .success(let found) = try look(for: hold, policy, reader) else { return nil }
        return found
    }

    // MARK: One rule

    /// Why a rule cannot run, if a hold that may concern it cannot be evaluated.
    ///
    /// - Parameter preceding: what the rules before it delete.
    package func refusal(
        of rule: Rule, _ entity: Entity, preceding: [BatchDeleteRequest] = [], in reader: any RetentionReader
    ) throws(StoreError) -> Refusal? {
        func refusal(_ reason: String, instead: String) -> Refusal {
            Refusal(unacceptable: .holdUnusable, of: rule.entity, reason, instead: instead)
        }
        if let setting = rule.rollup {
            let target = try reader.entity(named: setting.target)?.name ?? setting.target
            for found in inForce where found.rows.entity == target {
                let others = Set(found.rows.rows.allAttributeNames.map(\.folded)).subtracting(setting.key.map(\.folded))
                guard let name = others.min() else { continue }
                return refusal(
                    "the hold '\(found.hold.name)' keeps candles of \(target) by \(name), which the rule may change",
                    instead: "hold candles by \(setting.key.joined(separator: ", ")) only")
            }
        }
        let own = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: entity.name), relationships: rule.relationships)
        for found in inForce where found.isThere {
            guard let (name, parent) = try clearedAttribute(of: found.rows, by: own, preceding, reader) else {
                continue
            }
            return refusal(
                "the hold '\(found.hold.name)' keeps rows of \(found.rows.entity) by \(name), which a delete from \(parent) "
                    + "may clear; then it is unknown which of them this rule may delete",
                instead: "name other attributes of \(found.rows.entity) in the hold")
        }
        let held = inForce.filter(\.isThere).map(\.rows)
        if let found = try reader.obstacle(to: held, of: own, writing: rule.rollup?.target) {
            return refusal(found.text, instead: "remove the trigger or the hold")
        }
        for found in unusable {
            if let other = found.entity,
                try !reader.deletes(
                    from: entity.name, rule.relationships, canReach: other,
                    changing: found.hold.filter.allAttributeNames)
            {
                continue
            }
            return refusal(
                "the hold '\(found.hold.name)' cannot be evaluated, and may keep rows that the rule would delete: "
                    + found.reason, instead: "correct the hold, or remove it from the policy")
        }
        return nil
    }

    /// An attribute of a hold that a delete clears before it takes rows of the hold's entity, with the entity whose delete clears it; nil:
    /// there is none.
    private func clearedAttribute(
        of held: HeldRows, by own: BatchDeleteRequest, _ preceding: [BatchDeleteRequest], _ reader: any RetentionReader
    ) throws(StoreError) -> (name: String, parent: String)? {
        let names = held.rows.allAttributeNames
        guard !names.isEmpty,
            try reader.deletes(
                from: own.fetchRequest.entity, own.relationships, canReach: held.entity, changing: [])
        else { return nil }
        for delete in preceding + [own] {
            let parent = delete.fetchRequest.entity
            if let name = try reader.clearedAttributes(
                names, of: held.entity, byDeletesFrom: parent, delete.relationships
            ).first {
                return (name, parent)
            }
        }
        return nil
    }

    /// The holds that may keep rows deleted by a rule or by its cascades.
    ///
    /// - Parameter hasTriggers: whether the store's own triggers fire; they may delete rows of any entity.
    package func holds(
        on rule: Rule, _ entity: Entity, hasTriggers: Bool, in reader: any RetentionReader
    ) throws(StoreError) -> [HeldRows] {
        try reachable(inForce.filter(\.isThere).map(\.rows), from: rule, entity, hasTriggers, in: reader)
    }

    /// The holds among some that may keep rows from a rule.
    func reachable(
        _ holds: [HeldRows], from rule: Rule, _ entity: Entity, _ hasTriggers: Bool, in reader: any RetentionReader
    ) throws(StoreError) -> [HeldRows] {
        var found: [HeldRows] = []
        for held in holds {
            if !hasTriggers,
                try !reader.deletes(
                    from: entity.name, rule.relationships, canReach: held.entity,
                    changing: held.rows.allAttributeNames)
            {
                continue
            }
            found.append(held)
        }
        return found
    }
}

extension Policy {
    /// The entity of the candles that a run creates; nil: no rule creates it.
    fileprivate func candles(_ name: String, _ reader: any RetentionReader) throws(StoreError) -> Entity? {
        for rule in rules where rule.isEnabled && rule.makes(name) {
            guard let date = rule.date(zone: timezone), let source = try reader.entity(named: rule.entity) else {
                continue
            }
            return rule.rollupRequest(date)?.table(for: source)
        }
        return nil
    }
}

extension Plan {
    var holdReports: [(hold: Hold, report: RunReport.HoldReport)] {
        let states: [(hold: Hold, state: RunReport.HoldReport.State)] =
            holds.inForce.map { ($0.hold, .inForce) } + holds.unusable.map { ($0.hold, .unusable) }
            + holds.ended.map { ($0, .ended) }
        return states.map { hold, state in
            let report = RunReport.HoldReport(
                name: hold.name, entity: hold.entity, reason: hold.reason, expires: hold.expires, state: state)
            return (hold, report)
        }
    }
}

extension RunReport {
    mutating func takeHolds(of plan: Plan) {
        holds = plan.holdReports.sorted { $0.hold.marks.whole < $1.hold.marks.whole }.map(\.report)
    }
}
