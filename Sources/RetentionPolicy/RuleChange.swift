import PriceStore

/// A setting that makes a rule wider than the agreed one: it may make more rows expire, or removes a limit.
package struct RuleChange: Hashable, Sendable {
    /// The key in the policy: `max_age`, `limits.max_rows`, `timezone`.
    package var key: String
    /// The setting before and now, as JSON; nil: the default.
    package var was: String?
    package var now: String?
    /// What a pattern no longer leaves out, by `except` or because another rule names it, or a value whose age `max_age` no longer names.
    package var noLonger: [String]

    init(key: String, was: String?, now: String?, noLonger: [String] = []) {
        (self.key, self.was, self.now, self.noLonger) = (key, was, now, noLonger)
    }

    /// What makes a rule wider than an old one, in the order of the keys in a policy. The name is not compared.
    package static func changes(from old: RecordedRule, to new: RecordedRule) -> [RuleChange] {
        if old.zone == new.zone, RecordedRule.areEqual(old.settings, new.settings) { return [] }
        let was = Dictionary(firstOf: old.settings.map { ($0.key, $0.text) })
        let now = Dictionary(firstOf: new.settings.map { ($0.key, $0.text) })
        var found: [RuleChange] = comparators.flatMap { key, isNarrower -> [RuleChange] in
            // Not ==, because texts with different bytes may be equal.
            guard was[key].map({ Array($0.utf8) }) != now[key].map({ Array($0.utf8) }) else { return [] }
            if key == "max_age", let ages = new.rule.ages(like: old.rule), let former = old.rule.ages(like: new.rule) {
                let isSplit = [new.rule, old.rule].contains { $0.dependsOnSplit(by: ages.attribute) }
                return ages.changes(since: former, isUTC: new.zone.isUTC, isAny: isSplit).map { change in
                    guard isSplit else { return change }
                    // For all ages, whatever value has another one.
                    var change = change
                    change.key = change.key.replacing("max_age.", with: "max_age for ", maxReplacements: 1)
                    return change
                }
            }
            guard !isNarrower(new.rule, old.rule, new.zone) else { return [] }
            var change = RuleChange(key: key, was: was[key], now: now[key])
            if key == "except" { change.noLonger = old.rule.except.filter { !new.rule.except.contains($0) } }
            return [change]
        }
        if old.zone != new.zone {
            found.append(
                RuleChange(
                    key: "timezone", was: CanonicalText.text(old.zone.identifier),
                    now: CanonicalText.text(new.zone.identifier)))
        }
        return found
    }

    /// Whether the new rule is narrower than the old one in a key. It is called only if the key has changed.
    private typealias Comparator = @Sendable (_ new: Rule, _ old: Rule, CalendarZone) -> Bool

    private static let comparators: [(key: String, isNarrower: Comparator)] = [
        // One of the tables of the former pattern.
        ("entity", { new, old, _ in new.pattern == nil && old.isOfPattern(new.entity) }),
        ("except", { new, old, _ in new.pattern == nil || Set(old.except).isSubset(of: new.except) }),
        ("date_attribute", never), ("date_format", never),
        // Ages by value are compared by value.
        ("max_age", { $0.maxAge.isAtLeast($1.maxAge, isUTC: $2.isUTC) }),
        ("newest_rows", bound), ("max_size", bound), ("never_younger_than", bound),
        ("where", { new, old, _ in new.filter.implies(old.filter) }),
        (
            "keep_last",
            { new, old, _ in
                guard let before = old.keepLast else { return true }
                return new.keepLast.map { $0.count >= before.count && Set($0.per) == Set(before.per) } ?? false
            }
        ),
        ("thin", added(\.thin)),
        // Rows that become other candles are missing in the former ones.
        ("rollup", added(\.rollup)),
        // A rule with `earliest` reads a stored 0 as a date, so adding the key may make rows expire.
        ("earliest", { new, old, _ in old.earliest.map { new.earliest ?? .distantPast >= $0 } ?? false }),
        ("latest", smaller(\.latest)), ("align", added(\.align)), ("relationships", never),
        ("allow_empty", { new, _, _ in !new.allowEmpty }),
        ("accept", { new, old, _ in new.accept.intersection(RefusalCode.acceptable).isSubset(of: old.accept) }),
        ("limits.max_rows", smaller(\.limits.maxRows)), ("limits.max_fraction", smaller(\.limits.maxFraction)),
        ("limits.max_late_rows", smaller(\.limits.maxLateRows, unset: Rule.Limits.lateRows)),
        (
            "limits.max_silence",
            { new, old, zone in
                guard let before = old.limits.maxSilence else { return false }
                return new.limits.maxSilence.map { before.isAtLeast($0, isUTC: zone.isUTC) } == true
            }
        ),
        ("enabled", { new, _, _ in !new.isEnabled }), ("archive", { new, _, _ in new.isArchived }),
    ]

    /// Narrower if the bound is removed or allows more.
    private static let bound: Comparator = { new, old, zone in
        guard let now = new.bound else { return true }
        return old.bound.map { now.isWithin($0, isUTC: zone.isUTC) } ?? false
    }

    /// The change must always be accepted.
    private static let never: Comparator = { _, _, _ in false }

    /// Narrower if a restriction is added.
    private static func added<Value>(_ path: any KeyPath<Rule, Value?> & Sendable) -> Comparator {
        { _, old, _ in old[keyPath: path] == nil }
    }

    /// Narrower if a limit is added or lowered.
    ///
    /// - Parameter unset: the limit of a rule without one; nil: none.
    private static func smaller<Value: Comparable & Sendable>(
        _ path: any KeyPath<Rule, Value?> & Sendable, unset: Value? = nil
    ) -> Comparator {
        { new, old, _ in
            guard let now = new[keyPath: path] else { return false }
            return (old[keyPath: path] ?? unset).map { now <= $0 } ?? true
        }
    }
}

extension Rule {
    fileprivate var pattern: EntityPattern? { EntityPattern(entity) }

    /// Whether a table is one of those that the rule names by its pattern.
    fileprivate func isOfPattern(_ name: String) -> Bool {
        let isExcepted = except.contains {
            $0.lowercased() == name.lowercased() || EntityPattern($0)?.matches(in: [name]).isEmpty == false
        }
        return pattern?.matches(in: [name]).isEmpty == false && !isExcepted
    }

    /// Whether other ages by the value of an attribute may let more rows go, whatever the ages are: each age is a rule of its own, with limits
    /// of its own, and with rows of its own to keep.
    fileprivate func dependsOnSplit(by attribute: String) -> Bool {
        func isMixed(_ per: [String]?) -> Bool { per.map { !$0.map(\.folded).contains(attribute.folded) } ?? false }
        return isMixed(keepLast?.per) || isMixed(thin?.per) || limits.maxRows != nil || limits.maxFraction != nil
    }

    /// The ages by value; of a rule with one age, that age for the values of another rule; nil: the other one has one age too.
    fileprivate func ages(like other: Rule) -> AgesSetting? {
        ages ?? other.ages.map { AgesSetting(attribute: $0.attribute, ages: [], standard: maxAge) }
    }
}
