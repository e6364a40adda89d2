import PriceStore

extension PolicyBuilder {
    /// The rule of a group after defaults are applied; nil: too much is missing.
    mutating func rule(_ group: SettingGroup) -> Rule? {
        checkOrder(group, "earliest", "latest", otherwise: "no date is valid")
        guard let name = group.text("name"), let entity = group.text("entity"),
            let dateAttribute = group.text("date_attribute"), group["max_age"]?.value != nil
        else { return nil }
        let ages = group.group("max_age").flatMap { self.ages($0) }
        // The rules for the ages have their own.
        let maxAge = group.age("max_age") ?? ages?.standard ?? ages?.ages.first?.age ?? MaxAge(written: "by value")
        var rule = Rule(
            name: name, entity: entity, dateAttribute: dateAttribute, maxAge: maxAge, marks: group.marks)
        rule.except = group.texts("except")
        rule.skipsMissing = group["missing"] != nil
        rule.column = group.text("column")
        rule.dateFormat = dateFormat(group)
        rule.filter = group.group("where").map(Self.predicate) ?? .all
        if let keepLast = group.group("keep_last"), let count = keepLast.integer("count") {
            rule.keepLast = Rule.KeepLastSetting(count: count, per: keepLast.texts("per"))
        }
        rule.ages = ages
        rule.thin = group.group("thin").flatMap { thin($0) }
        rule.rollup = group.group("rollup").flatMap { rollup($0) }
        rule.earliest = group.instant("earliest")
        rule.latest = group.instant("latest")
        rule.align = group.word("align", as: CalendarUnit.self)
        rule.relationships = group.word("relationships", as: BatchDeleteRequest.RelationshipRule.self) ?? .asDeclared
        rule.allowEmpty = group.flag("allow_empty") ?? false
        let limits = group.group("limits")
        rule.limits = Rule.Limits(
            maxRows: limits?.integer("max_rows"), maxFraction: limits?.fraction("max_fraction"),
            maxLateRows: limits?.integer("max_late_rows"), maxSilence: limits?.age("max_silence"))
        rule.accept = Set(group.texts("accept").compactMap(RefusalCode.init(rawValue:)))
        if let batch = group.group("batch") { rule.batch = Self.batch(batch) }
        rule.reclaim = group.word("reclaim", as: ReclaimMode.self) ?? .auto
        rule.isEnabled = group.flag("enabled") ?? true
        rule.isArchived = group["archive"] == nil
        rule.bound = bound(group, rule)
        for age in ages.map({ $0.ages.map(\.age) + [$0.standard].compactMap(\.self) }) ?? [maxAge] {
            for mistake in rule.thinMistakes(with: age, zone: reader.zone) { reader.report(mistake) }
        }
        return rule
    }

    /// Checks that a rule with several ages has nothing that depends on one age.
    mutating func checkAges(_ rule: Rule) {
        guard rule.ages != nil else { return }
        if EntityPattern(rule.entity) != nil {
            reader.report(rule.marks.value("entity"), "a rule with several ages is for one table: write its name")
        }
        if rule.rollup != nil {
            reader.report(
                rule.marks.key("rollup"),
                "a candle is made of rows with one age: write a rule for each age, with 'where'")
        }
    }

    /// Checks the pattern of a rule. Each of its entities must have candles of its own.
    mutating func checkPattern(_ rule: Rule) {
        guard let pattern = EntityPattern(rule.entity) else {
            if !rule.except.isEmpty {
                reader.report(rule.marks.key("except"), "'except' is for an entity with a pattern, such as ohlcv_*")
            }
            return
        }
        for (key, text) in [("entity", rule.entity)] + rule.except.map({ ("except", $0) })
        where EntityPattern(text)?.starCount ?? 0 > EntityPattern.mostStars {
            reader.report(rule.marks.value(key), "'\(text)' has more than \(EntityPattern.mostStars) stars")
        }
        guard let rollup = rule.rollup else { return }
        let places = (1...max(1, pattern.starCount)).map(EntityPattern.placeholder)
        if rollup.isFromCandles {
            reader.report(
                rule.marks.key("rollup.from"), "'from: candles' is for the candles of one rule; name their table")
        } else if !pattern.hasOnlyStars || !places.allSatisfy(rollup.target.contains) {
            reader.report(
                rule.marks.value("rollup.into"),
                "each table needs candles of its own: write 'entity' with stars only, and \(places.listed("and")) in 'into', such as "
                    + "candle_\(places.joined(separator: "_"))")
        }
    }

    /// `rows` alone sets a fixed size. With a `target`, or without `rows`, the size follows the target.
    private static func batch(_ group: SettingGroup) -> Rule.BatchSetting {
        var setting = Rule.BatchSetting()
        let target = group.duration("target")
        if let rows = group.integer("rows") {
            setting = .fixed(rows: rows)
            setting.target = target
        } else if let target {
            setting.target = target
        }
        switch group["pause"]?.value {
        case .text("none"): setting.pause = .none
        case .duration(let length): setting.pause = .fixed(length)
        default: setting.pause = .auto
        }
        return setting
    }

    /// Reads the tiers. Each must be able to keep a row that nothing else keeps.
    private mutating func thin(_ group: SettingGroup) -> Rule.ThinSetting? {
        var setting = Rule.ThinSetting(per: group.texts("per"), pick: pick(group), tiers: [])
        var former: (key: String, tier: Rule.ThinSetting.Tier)?
        for unit in CalendarUnit.allCases {
            let key = unit.tierName
            guard let mark = group[key]?.mark, group[key]?.value != nil else { continue }
            let tier = Rule.ThinSetting.Tier(unit, age: group.age(key))
            setting.tiers.append(tier)
            if let former, former.tier.isAtLeast(tier, isUTC: reader.zone.isUTC) {
                reader.report(
                    mark,
                    "'\(key)' must be longer than '\(former.key)' (\(former.tier.age?.written ?? "forever")), which "
                        + "keeps more rows of the same time")
            }
            // Weeks do not divide a month, so the pick of a month need not be the pick of a week.
            if unit != .week { former = (key, tier) }
        }
        let keys = CalendarUnit.allCases.map(\.tierName)
        if setting.tiers.isEmpty, !keys.contains(where: { group[$0] != nil }), group.misspelt.isEmpty {
            reader.report(group.mark, "'thin' needs a tier: \(keys.listed("or"))")
        }
        return setting.tiers.isEmpty ? nil : setting
    }

    /// Reads which rows of a bucket are kept.
    private mutating func pick(_ group: SettingGroup) -> Thinning.Pick {
        let word = group.text("pick")
        guard word == "ohlc" else {
            if let mark = group["price"]?.keyMark { reader.report(mark, "'price' is for 'pick: ohlc'") }
            return word == "first" ? .first : .last
        }
        if group["price"] == nil, !group.misspelt.contains("price") {
            reader.report(group.mark, "'pick: ohlc' needs the attribute of the price, such as 'price: close'")
        }
        return .ohlc(price: group.text("price") ?? "")
    }

    private mutating func dateFormat(_ group: SettingGroup) -> DateEncoding? {
        guard let setting = group.group("date_format")?["pattern"], case .text(let text) = setting.value else {
            return group.text("date_format").flatMap(DateEncoding.init(rawValue:))
        }
        do throws(DatePattern.Mistake) {
            return .pattern(try DatePattern(checking: text))
        } catch {
            reader.report(setting.mark, error.message)
            return nil
        }
    }

    /// Checks that one date of a group is after another one.
    mutating func checkOrder(_ group: SettingGroup, _ first: String, _ last: String, otherwise: String) {
        guard let start = group.instant(first), let end = group.instant(last), end <= start,
            let mark = group[last]?.mark
        else { return }
        reader.report(mark, "'\(last)' must be after '\(first)'; otherwise \(otherwise)")
    }

    static func predicate(_ conditions: SettingGroup) -> StorePredicate {
        conditions.keys.reduce(StorePredicate.all) { predicate, attribute in
            predicate && condition(on: attribute, conditions[attribute]?.value)
        }
    }

    private static func condition(on attribute: String, _ value: Setting.Value?) -> StorePredicate {
        switch value {
        case .stored(let value, _): return .compare(attribute, .equal, value)
        case .list(let items):
            return .isIn(
                attribute, items.compactMap { if case .stored(let value, _) = $0.value { value } else { nil } })
        case .group(let operators):
            return operators.keys.reduce(StorePredicate.all) { predicate, name in
                predicate && comparison(of: attribute, name, operators[name]?.value)
            }
        // The value could not be read: there is a diagnostic, and no policy is made.
        default: return .all
        }
    }

    private static func comparison(of attribute: String, _ name: String, _ value: Setting.Value?) -> StorePredicate {
        if case .flag(let isNull) = value { return isNull ? .isNull(attribute) : .isNotNull(attribute) }
        guard case .stored(let value, _) = value, let comparison = operators[name] else { return .all }
        return .compare(attribute, comparison, value)
    }

    static let operators: [String: StorePredicate.Operator] = [
        "lt": .less, "le": .lessOrEqual, "gt": .greater, "ge": .greaterOrEqual, "ne": .notEqual,
    ]
}
