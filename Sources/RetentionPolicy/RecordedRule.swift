package import PriceStore

/// A rule with everything that determines which rows it deletes, as the ledger records it when it is carried out.
package struct RecordedRule: Hashable, Sendable {
    /// The rule with the names and the date format of the store.
    package let rule: Rule
    package let zone: CalendarZone
    /// The settings as JSON, in the order of the keys of a policy. Settings at their defaults are missing.
    let settings: [(key: String, text: String)]
    /// The record as one line of JSON. Two rules with equal texts delete the same rows.
    package let canonical: String

    /// Records a rule with its entity and its date attribute as the store spells them.
    package init(_ rule: Rule, entity: String, date: String, zone: CalendarZone) {
        var rule = rule
        rule.entity = entity
        rule.dateAttribute = date
        rule.dateName = nil
        rule.column = nil
        self.rule = rule
        self.zone = zone
        settings = Self.settings(of: rule)
        canonical = Self.canonical(settings, zone)
    }

    /// The record of the same rule for another table of its pattern.
    package func of(_ entity: String) -> RecordedRule {
        var rule = rule
        rule.entity = entity
        if let family = rule.family { rule.name = family.member(rule.share?.name ?? entity) }
        return RecordedRule(rule, entity: entity, date: rule.dateAttribute, zone: zone)
    }

    private static func canonical(_ settings: [(key: String, text: String)], _ zone: CalendarZone) -> String {
        var members: [(String, String)] = []
        var limits: [(String, String)] = []
        for (key, text) in settings {
            if key.hasPrefix("limits.") {
                limits.append((String(key.dropFirst(7)), text))
            } else {
                members.append((key, text))
            }
        }
        if !limits.isEmpty { members.append(("limits", CanonicalText.object(limits))) }
        return CanonicalText.object([
            ("timezone", CanonicalText.text(zone.identifier)), ("rule", CanonicalText.object(members)),
        ])
    }

    /// Reads a rule from ``canonical``; nil: the line is damaged, or this version does not know it.
    package init?(canonical: String) {
        let found = CanonicalText.read(canonical) { builder, root -> (Rule, CalendarZone)? in
            guard case .mapping(let pairs) = root.content, pairs.map(\.key) == ["timezone", "rule"],
                case .scalar(let name) = pairs[0].value.content, let zone = CalendarZone(identifier: name.text)
            else { return nil }
            builder.reader.zone = zone
            let keys =
                PolicyKey.rule + [PolicyKey("pattern", .text, ""), PolicyKey("share", .group(AgeShare.keys), "")]
            guard let group = builder.reader.group(pairs[1].value, keys, name: nil), var rule = builder.rule(group)
            else { return nil }
            if let pattern = group.text("pattern") {
                let family = Rule.Family(name: rule.name, entity: pattern)
                rule.family = family
                rule.share = group.group("share").flatMap(AgeShare.init)
                rule.name = family.member(rule.share?.name ?? rule.entity)
            }
            return (rule, zone)
        }
        guard let (rule, zone) = found else { return nil }
        self.init(rule, entity: rule.entity, date: rule.dateAttribute, zone: zone)
    }

    /// Whether another rule chooses its rows in the same way, apart from their age. Names and limits do not matter.
    package func choosesRows(as other: RecordedRule) -> Bool {
        hasSame(as: other) { !Self.withoutChoice.contains($0) && !$0.hasPrefix("limits.") }
    }

    /// Whether another rule reads the dates of the same rows, whatever it does with them.
    package func readsRows(as other: RecordedRule) -> Bool { hasSame(as: other, where: Self.reading.contains) }

    private func hasSame(as other: RecordedRule, where isOne: (String) -> Bool) -> Bool {
        zone.identifier == other.zone.identifier
            && Self.areEqual(settings.filter { isOne($0.key) }, other.settings.filter { isOne($0.key) })
    }

    /// Whether settings have the same bytes; texts with different bytes may be equal.
    static func areEqual(_ some: [(key: String, text: String)], _ others: [(key: String, text: String)]) -> Bool {
        some.elementsEqual(others) { $0.key == $1.key && $0.text.utf8.elementsEqual($1.text.utf8) }
    }

    /// The settings that say which rows there are, and how their dates are read.
    private static let reading: Set<String> = ["entity", "date_attribute", "date_format", "where"]

    /// The settings that do not choose rows.
    private static let withoutChoice: Set<String> = [
        "name", "pattern", "except", "max_age", "newest_rows", "max_size", "never_younger_than", "accept", "archive",
        "allow_empty", "enabled",
    ]

    package static func == (a: RecordedRule, b: RecordedRule) -> Bool { a.canonical == b.canonical }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

    private static func settings(of rule: Rule) -> [(key: String, text: String)] {
        var settings: [(key: String, text: String)] = []
        func add(_ key: String, _ text: String?) { if let text { settings.append((key, text)) } }
        func add(_ key: String, word: String?) { add(key, word.map(CanonicalText.text)) }
        add("name", word: rule.family?.name ?? rule.name)
        add("entity", word: rule.entity)
        add("pattern", word: rule.family?.entity)
        add("except", rule.except.isEmpty ? nil : CanonicalText.list(rule.except.sorted().map(CanonicalText.text)))
        add("date_attribute", word: rule.dateAttribute)
        add(
            "date_format",
            rule.dateFormat.map { format in
                let name = CanonicalText.text(format.rawValue)
                return format.datePattern == nil ? name : CanonicalText.object([("pattern", name)])
            })
        add("max_age", rule.ages?.canonical ?? CanonicalText.text(rule.maxAge.canonical))
        if let bound = rule.bound {
            switch bound.measure {
            case .rows(let count): add(bound.key, "\(count)")
            case .bytes(let count): add(bound.key, word: "\(count)B")
            }
            add("never_younger_than", word: bound.neverYoungerThan.canonical)
        }
        add("share", rule.share?.canonical)
        add("where", rule.filter == .all ? nil : CanonicalText.conditions(rule.filter))
        add(
            "keep_last",
            rule.keepLast.map { CanonicalText.object([("count", "\($0.count)")] + CanonicalText.per($0.per)) })
        add("thin", rule.thin.map(thin))
        add("rollup", rule.rollup?.canonical)
        add("earliest", word: rule.earliest?.rfc3339)
        add("latest", word: rule.latest?.rfc3339)
        add("align", word: rule.align?.rawValue)
        add("relationships", word: rule.relationships == .asDeclared ? nil : rule.relationships.rawValue)
        add("allow_empty", rule.allowEmpty ? "true" : nil)
        let accepted = rule.accept.intersection(RefusalCode.acceptable).map { CanonicalText.text($0.rawValue) }.sorted()
        add("accept", accepted.isEmpty ? nil : CanonicalText.list(accepted))
        add("limits.max_rows", rule.limits.maxRows.map { "\($0)" })
        add("limits.max_fraction", rule.limits.maxFraction.map { "\($0)" })
        add("limits.max_late_rows", rule.limits.maxLateRows.map { "\($0)" })
        add("limits.max_silence", word: rule.limits.maxSilence?.canonical)
        add("enabled", rule.isEnabled ? nil : "false")
        add("archive", word: rule.isArchived ? nil : "none")
        return settings
    }
}

extension RecordedRule {
    private static func thin(_ thin: Rule.ThinSetting) -> String {
        var members = CanonicalText.per(thin.per)
        if thin.pick != .last { members.append(("pick", CanonicalText.text(thin.pick.word))) }
        if let price = thin.pick.price { members.append(("price", CanonicalText.text(price))) }
        members += thin.tiers.map { ($0.unit.tierName, CanonicalText.text($0.age?.canonical ?? "forever")) }
        return CanonicalText.object(members)
    }
}

extension MaxAge {
    /// The age in its largest units: years and months, days, and hours to seconds; `14d` for `2w`.
    package var canonical: String {
        let parts: [(Int128, String)] = [
            (months / 12, "y"), (months % 12, "mo"), (days, "d"), (seconds / 3600, "h"), (seconds / 60 % 60, "min"),
            (seconds % 60, "s"),
        ]
        return parts.filter { $0.0 != 0 }.map { "\($0.0)\($0.1)" }.joined()
    }

    /// Whether no row expires sooner by this age than by another one, whatever the date.
    func isAtLeast(_ other: MaxAge, isUTC: Bool) -> Bool {
        if months >= other.months, days >= other.days, seconds >= other.seconds { return true }
        // A year has 365 or 366 days, and a month 28 to 31. A day with a clock change has 22 to 26 hours.
        func bound(_ age: MaxAge, days year: Int128, _ month: Int128, hours: Int128) -> Int128 {
            let days = age.months / 12 * year + age.months % 12 * month + age.days
            return days * 86_400 + (days == 0 || isUTC ? 0 : (hours - 24) * 3600) + age.seconds
        }
        return bound(self, days: 365, 28, hours: 22) >= bound(other, days: 366, 31, hours: 26)
    }
}
