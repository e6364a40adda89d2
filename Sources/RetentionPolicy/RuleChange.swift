import PriceStore

/// A setting of a rule that differs from the rule as it was carried out before.
package struct RuleChange: Hashable, Sendable {
    /// The key in the policy: `max_age`, `limits.max_rows`, `timezone`.
    package var key: String
    /// The setting before and now, as JSON; nil: the default.
    package var was: String?
    package var now: String?
    /// Whether the change alone can make more rows expire, or takes a limit or an archive away.
    package var isWider: Bool

    /// All differences, in the order of the keys in a policy. A name is not a difference.
    ///
    /// Where it is not plain that a change makes no more rows expire, it is wider.
    package static func changes(from old: RecordedRule, to new: RecordedRule) -> [RuleChange] {
        let was = Dictionary(old.settings.map { ($0.key, $0.text) }) { first, _ in first }
        let now = Dictionary(new.settings.map { ($0.key, $0.text) }) { first, _ in first }
        var found: [RuleChange] = keys.compactMap { key in
            // Not ==, for which texts of other bytes may be equal.
            guard was[key].map({ Array($0.utf8) }) != now[key].map({ Array($0.utf8) }) else { return nil }
            return RuleChange(
                key: key, was: was[key], now: now[key], isWider: !isNoWider(key, new.rule, old.rule, new.zone))
        }
        if old.zone != new.zone {
            found.append(
                RuleChange(
                    key: "timezone", was: CanonicalText.text(old.zone.identifier),
                    now: CanonicalText.text(new.zone.identifier), isWider: true))
        }
        return found
    }

    private static let keys = [
        "entity", "date_attribute", "date_format", "max_age", "where", "keep_last", "thin", "rollup", "earliest",
        "latest", "align",
        "relationships", "allow_empty", "accept", "limits.max_rows", "limits.max_fraction", "limits.max_late_rows",
        "archive",
    ]

    private static func isNoWider(_ key: String, _ new: Rule, _ old: Rule, _ zone: CalendarZone) -> Bool {
        switch key {
        case "max_age": new.maxAge.isAtLeast(old.maxAge, isUTC: zone.isUTC)
        case "where": new.filter.implies(old.filter)
        case "keep_last": keepsMore(new.keepLast, old.keepLast)
        case "thin": keepsMore(new.thin, old.thin, zone)
        // Rows that become other candles are lost for the former ones.
        case "rollup": old.rollup == nil
        case "earliest": trustsLess(new, old, zone)
        case "latest": new.latest.map { latest in old.latest.map { latest <= $0 } ?? true } ?? false
        case "align": isCoarser(new.align, old.align)
        // Another way to treat related rows may take a hold on them, or a constraint, out of the way.
        case "relationships": new.relationships == .deny && !new.accept.contains(.relationshipDenied)
        case "allow_empty": !new.allowEmpty
        case "accept": new.accept.intersection(RefusalCode.acceptable).isSubset(of: old.accept)
        case "limits.max_rows": isLower(new.limits.maxRows, old.limits.maxRows)
        case "limits.max_fraction": isLower(new.limits.maxFraction, old.limits.maxFraction)
        case "limits.max_late_rows": isLower(new.limits.maxLateRows, old.limits.maxLateRows ?? Rule.Limits.lateRows)
        case "archive": new.isArchived
        default: false
        }
    }

    private static func isLower<Limit: Comparable>(_ new: Limit?, _ old: Limit?) -> Bool {
        new.map { new in old.map { new <= $0 } ?? true } ?? false
    }

    private static func keepsMore(_ new: Rule.KeepLastSetting?, _ old: Rule.KeepLastSetting?) -> Bool {
        guard let old else { return true }
        return new.map { $0.count >= old.count && Set($0.per) == Set(old.per) } ?? false
    }

    private static func keepsMore(_ new: Rule.ThinSetting?, _ old: Rule.ThinSetting?, _ zone: CalendarZone) -> Bool {
        guard let old else { return true }
        guard let new, new.pick == old.pick, Set(new.per) == Set(old.per) else { return false }
        return old.tiers.allSatisfy { tier in
            new.tiers.contains { $0.unit == tier.unit && $0.isAtLeast(tier, isUTC: zone.isUTC) }
        }
    }

    /// Whether no value becomes a valid date. A rule with `earliest` takes a stored 0 for a date.
    private static func trustsLess(_ new: Rule, _ old: Rule, _ zone: CalendarZone) -> Bool {
        guard let earliest = new.earliest else { return false }
        if let old = old.earliest { return earliest >= old }
        let zero = new.dateFormat?.read(.integer(0), zone: zone).start
        return earliest >= Rule.defaultEarliest(zone) && (zero.map { $0 < earliest } ?? true)
    }

    private static func isCoarser(_ new: Rule.Alignment?, _ old: Rule.Alignment?) -> Bool {
        switch (old, new) {
        case (nil, _): true
        case (.hour, .day), (.hour, .week), (.hour, .month), (.day, .week), (.day, .month): true
        default: false
        }
    }
}
