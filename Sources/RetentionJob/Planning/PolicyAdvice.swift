package import PriceStore
package import RetentionPolicy

/// Advice about parts of a policy that are valid but probably not intended: rules without an effect, and ages shorter than the schedule.
/// Pure: the store is not read.
package enum PolicyAdvice {
    /// The advice, in the order of the file.
    ///
    /// - Parameter clock: the instant at which ages are compared.
    package static func diagnostics(_ policy: Policy, clock: Instant) -> [Diagnostic] {
        (overlaps(policy, clock: clock) + laterDeletes(policy, clock: clock) + lostCandles(policy, clock: clock)
            + schedule(policy, clock: clock)).sorted { $0.mark < $1.mark }
    }

    // MARK: Rules that do nothing of their own

    private static func overlaps(_ policy: Policy, clock: Instant) -> [Diagnostic] {
        let rules = policy.rules
        // Rows that a rule for candles loses are reported below.
        return rules.indices.filter { rules[$0].rollup == nil }.compactMap { index -> Diagnostic? in
            // Of two equal rules the later one is reported.
            let other = rules.indices.first { other in
                other != index && covers(rules[other], rules[index], policy, clock: clock)
                    && (other < index || !covers(rules[index], rules[other], policy, clock: clock))
            }
            guard let other else { return nil }
            let (name, covering) = (rules[index].name, rules[other].name)
            let keeping = [rules[index].keepLast.map { _ in "keep_last" }, rules[index].thin.map { _ in "thin" }]
                .compactMap(\.self)
            let loss =
                keeping.isEmpty ? "" : ", including the rows that its \(keeping.joined(separator: " and ")) keeps"
            return Diagnostic(
                .advice, at: rules[index].marks.value("name"),
                "every row that '\(name)' deletes is also deleted by '\(covering)'\(loss); remove '\(name)', or give "
                    + "'\(covering)' a `where` that excludes its rows")
        }
    }

    /// Whether two names mean one entity: tables of a server may differ only in case.
    private static func isSame(_ a: String, _ b: String, _ policy: Policy) -> Bool {
        if policy.store.kind.isServer { return a == b }
        return a.folded == b.folded
    }

    /// Whether a rule deletes every row that another rule does, whatever the store contains.
    private static func covers(_ a: Rule, _ b: Rule, _ policy: Policy, clock: Instant) -> Bool {
        guard a.isEnabled, b.isEnabled, isSame(a.entity, b.entity, policy), a.keepLast == nil, a.thin == nil,
            a.rollup == nil, a.dateAttribute.folded == b.dateAttribute.folded, a.dateFormat == b.dateFormat,
            a.column == b.column, a.rows == .all || a.rows == b.rows
        else { return false }
        if let latest = a.latest {
            guard let other = b.latest, other <= latest else { return false }
        }
        let zone = policy.timezone
        let isNoLater = (a.earliest ?? Rule.defaultEarliest(zone)) <= (b.earliest ?? Rule.defaultEarliest(zone))
        return isNoLater && (a.earliest != nil || b.earliest == nil)
            && a.cutoff(asOf: clock, zone: zone) >= b.cutoff(asOf: clock, zone: zone)
    }

    // MARK: Rows that are kept until another rule deletes them

    /// Rules with `where` and a longer age than a rule that keeps rows: a bucket may keep only a row of theirs.
    private static func laterDeletes(_ policy: Policy, clock: Instant) -> [Diagnostic] {
        policy.rules.compactMap { rule in
            guard rule.isEnabled, !rule.keepsRows, rule.rows != .all else { return nil }
            let cutoff = rule.cutoff(asOf: clock, zone: policy.timezone)
            let names = rule.rows.allAttributeNames.map(\.folded)
            let keeping = policy.rules.first { other in
                let groups = Set(((other.keepLast?.per ?? []) + (other.thin?.per ?? [])).map(\.folded))
                return other.isEnabled && other.keepsRows && isSame(other.entity, rule.entity, policy)
                    && !other.rows.isDisjoint(from: rule.rows) && !other.rows.implies(rule.rows)
                    // Then the rule has either all rows of a group or none.
                    && !groups.isSuperset(of: names)
                    && cutoff < other.cutoff(asOf: clock, zone: policy.timezone)
            }
            return keeping.map {
                Diagnostic(
                    .warning, at: rule.marks.value("max_age"),
                    "'\($0.name)' may keep a row that '\(rule.name)' deletes later, and then nothing is left of the rows for which "
                        + "it was kept; give '\(rule.name)' no longer max_age than '\($0.name)', or give '\($0.name)' a `where` that "
                        + "excludes its rows")
            }
        }
    }

    // MARK: Rows that become no candle

    /// Rules that delete rows before another rule can make candles of them: they reach younger rows, or come first.
    private static func lostCandles(_ policy: Policy, clock: Instant) -> [Diagnostic] {
        let rules = policy.rules.inOrder.filter(\.isEnabled)
        return rules.indices.flatMap { index in
            let rule = rules[index]
            return rules.indices.compactMap { other -> Diagnostic? in
                let maker = rules[other]
                guard rule.rollup == nil, let setting = maker.rollup, isSame(rule.entity, maker.entity, policy),
                    !rule.rows.isDisjoint(from: maker.rows), !setting.leavesOut(rule.rows),
                    index < other || isEverYounger(rule, than: maker, policy, clock: clock)
                else { return nil }
                return Diagnostic(
                    .warning, at: rule.marks.value("name"),
                    "'\(rule.name)' deletes rows of \(rule.entity) before '\(maker.name)' makes candles of them; write it after "
                        + "'\(maker.name)' and give it a longer max_age, or give it a `where` that excludes these rows")
            }
        }
    }

    /// Whether a rule reaches younger rows than another rule on some day of the following year. Candles are made of whole buckets, so the
    /// other cutoff does not move evenly.
    private static func isEverYounger(_ rule: Rule, than maker: Rule, _ policy: Policy, clock: Instant) -> Bool {
        // If the rules use different dates, a row may have any age.
        guard rule.dateAttribute.folded == maker.dateAttribute.folded else { return true }
        return (0...366).contains { day in
            let day = clock.advanced(byMicroseconds: Int64(day) * 86_400_000_000)
            return rule.cutoff(asOf: day, zone: policy.timezone) > maker.cutoff(asOf: day, zone: policy.timezone)
        }
    }

    // MARK: Ages that the schedule cannot keep

    private static func schedule(_ policy: Policy, clock: Instant) -> [Diagnostic] {
        guard let every = policy.expectedEvery else { return [] }
        return policy.rules.filter(\.isEnabled).compactMap { rule in
            func before(_ age: MaxAge) -> Instant {
                Cutoff.instant(asOf: clock, maxAge: age, align: nil, zone: policy.timezone)
            }
            guard before(rule.maxAge) > before(every) else { return nil }
            return Diagnostic(
                .advice, at: rule.marks.value("max_age"),
                "rows expire after \(rule.maxAge.written), but a run is expected every \(every.written): some stay up to "
                    + "\(every.written) longer; run the job more often, and set expected_every: \(rule.maxAge.written)")
        }
    }
}

extension Rule.RollupSetting {
    /// Whether a condition matches only rows without a usable price, which never become candles.
    fileprivate func leavesOut(_ filter: StorePredicate) -> Bool {
        guard let price else { return false }
        return switch filter {
        case .isNull(let name): name.folded == price.folded
        case .compare(let name, .less, let value), .compare(let name, .lessOrEqual, let value),
            .compare(let name, .equal, let value):
            name.folded == price.folded && !allowsNonPositive && value.isNotPositive
        case .and(let parts): parts.contains(where: leavesOut)
        default: false
        }
    }
}

extension StoreValue {
    fileprivate var isNotPositive: Bool {
        switch self {
        case .integer(let number): number <= 0
        case .real(let number): number <= 0
        default: false
        }
    }
}
