import PriceStore

/// Rules whose rows become candles, and the chains that these rules make: ticks to minutes, minutes to hours.
extension PolicyBuilder {
    mutating func rollup(_ group: SettingGroup) -> Rule.RollupSetting? {
        checkSource(group)
        guard let target = group.text("into"), let age = group.age("every") else { return nil }
        guard let length = CandleBuckets.Length(age) else {
            if let mark = group["every"]?.mark {
                reader.report(
                    mark,
                    "'every' must be minutes or hours that divide a day, such as 1min, 15min or 4h, or 1d, 1w, 1mo, 3mo or 1y"
                )
            }
            return nil
        }
        let session = group.group("session")
        var zone = reader.zone
        if case .zone(let own) = session?["zone"]?.value { zone = own }
        let buckets = CandleBuckets(length, zone: zone, sessionStart: session?.integer("start") ?? 0)
        var setting = Rule.RollupSetting(target: target, buckets: buckets, per: group.texts("per"))
        setting.price = group.text("price")
        setting.volume = group.text("volume")
        setting.allowsNonPositive = group.flag("allow_non_positive") ?? false
        if let columns = group.group("columns") {
            for key in columns.keys { setting.names.others[key] = columns.text(key) }
            checkColumns(columns, setting)
        }
        return setting
    }

    /// Checks that the rows either have a price or are candles.
    private mutating func checkSource(_ group: SettingGroup) {
        guard group["from"] == nil else {
            for key in ["price", "volume"] {
                guard let mark = group[key]?.keyMark else { continue }
                reader.report(mark, "'\(key)' is for rows with one price; remove it, or remove 'from: candles'")
            }
            return
        }
        guard group["price"] == nil, !group.misspelt.contains("price"), !group.misspelt.contains("from") else { return }
        reader.report(
            group.mark, "'rollup' needs the attribute of the price, such as 'price: close', or 'from: candles'")
    }

    private mutating func checkColumns(_ columns: SettingGroup, _ setting: Rule.RollupSetting) {
        // The columns of candles made from candles may be named in the rule that makes them.
        let parts = CandleField.allCases.map(\.rawValue) + (setting.isFromCandles ? columns.keys : setting.per)
        for (key, setting) in columns.pairs where !parts.contains(key) {
            let hint = NearestName.suggestion(
                for: key, in: parts, otherwise: "; expected one of \(parts.listed("or"))")
            reader.report(setting.keyMark, "'\(key)' is not a part of a candle\(hint)")
        }
    }

    private mutating func checkNames(of rule: Rule, _ setting: Rule.RollupSetting) {
        var seen: Set<String> = []
        let names = CandleField.allCases.map { setting.names[$0] } + setting.per.map { setting.names[group: $0] }
        for name in names where !seen.insert(name.folded).inserted {
            let key = setting.names.others.isEmpty ? "rollup.per" : "rollup.columns"
            reader.report(rule.marks.value(key), "two parts of a candle have the column '\(name)'")
        }
    }

    /// Rules whose rows are candles take the groups and the names of the rule that makes the candles.
    mutating func chainRollups(_ rules: inout [Rule]) {
        for index in rules.indices {
            guard let setting = rules[index].rollup, setting.isFromCandles,
                let maker = rules.first(where: { $0.rollup != nil && $0.makes(rules[index].entity) })?.rollup
            else { continue }
            let per = maker.per.map { maker.names[group: $0] }
            rules[index].rollup?.sourceNames = maker.names
            if setting.per.isEmpty { rules[index].rollup?.per = per }
        }
    }

    /// Checks what the rules with rollups require of each other, and what cannot be done.
    mutating func checkRollups(_ policy: Policy) {
        for (index, rule) in policy.rules.enumerated() {
            guard let setting = rule.rollup else { continue }
            if rule.thin != nil {
                reader.report(
                    rule.marks.key("rollup"),
                    "a rule cannot have both 'thin' and 'rollup': rows that become candles are not thinned")
            }
            if setting.target.folded == rule.entity.folded {
                reader.report(rule.marks.value("rollup.into"), "'into' must not be the entity of the rule")
                continue
            }
            // On a server the name may begin with a schema.
            let table = setting.target.folded.split(separator: ".").last
            if table?.hasPrefix("retention_") == true {
                reader.report(
                    rule.marks.value("rollup.into"),
                    "names that begin with 'retention_' are the program's own; give the candles another name")
                continue
            }
            if rule.dateFormat == .julianDay {
                reader.report(
                    rule.marks.value("date_format"),
                    "rows with julian_day cannot become candles: its doubles are 40 µs apart, so a row at the start of a "
                        + "candle may be read as earlier than the candle")
            }
            checkNames(of: rule, setting)
            for other in policy.rules[..<index] { checkTarget(of: rule, setting, after: other) }
            for other in policy.rules where other.isEnabled && other.name != rule.name && rule.mayMake(other) {
                checkChain(from: rule, setting, to: other)
            }
        }
    }

    /// Checks that two rules with one target make the same candles.
    private mutating func checkTarget(of rule: Rule, _ setting: Rule.RollupSetting, after other: Rule) {
        guard let others = other.rollup, other.makes(setting.target) else { return }
        if other.dateFormat != rule.dateFormat {
            reader.report(
                rule.marks.value("date_format"),
                "the rule '\(other.name)' makes candles in \(setting.target) too: both must have the same 'date_format'"
            )
        }
        guard others.buckets != setting.buckets || others.names != setting.names || others.groups != setting.groups
        else { return }
        reader.report(
            rule.marks.value("rollup.into"),
            "the rule '\(other.name)' makes other candles in \(setting.target): 'every', 'per', 'session' and 'columns' "
                + "must be the same")
    }

    /// Checks that the candles of a rule can be the rows of another one.
    private mutating func checkChain(from rule: Rule, _ setting: Rule.RollupSetting, to other: Rule) {
        var (least, written) = (rule.maxAge, rule.maxAge.written)
        if other.rollup == nil {
            // The time of a candle is the start of its bucket, and `align` keeps rows for up to one unit more.
            least.add(setting.buckets.length)
            written += " and 'every' (\(setting.buckets.length.written))"
            if let align = rule.align {
                least.add(.unit(align))
                written += " and 'align' (1 \(align.rawValue))"
            }
        }
        if !other.maxAge.isAtLeast(least, isUTC: reader.zone.isUTC) {
            reader.report(
                other.marks.value("max_age"),
                "candles of the rule '\(rule.name)' would be deleted sooner than its rows: 'max_age' must be at least "
                    + written)
        }
        guard let longer = other.rollup else { return }
        if !longer.isFromCandles {
            reader.report(
                other.marks.key("rollup.price"),
                "the rows of \(other.entity) are candles of the rule '\(rule.name)'; write 'from: candles'")
        } else if Set(longer.per.map(\.folded)) != Set(setting.groups) {
            reader.report(
                other.marks.value("rollup.per"),
                "the candles of the rule '\(rule.name)' have other groups; remove 'per'")
        }
        if other.dateAttribute.folded != setting.names[.time].folded {
            reader.report(
                other.marks.value("date_attribute"),
                "candles are merged by their start; 'date_attribute' must be \(setting.names[.time])")
        }
        if let format = rule.dateFormat, let others = other.dateFormat, others != format {
            reader.report(
                other.marks.value("date_format"),
                "the rule '\(rule.name)' writes the dates of its candles as \(format.rawValue)")
        }
        if !setting.buckets.divide(longer.buckets) {
            let reason =
                setting.buckets.length.divides(longer.buckets.length)
                ? "their sessions begin at different times"
                : setting.buckets.length == longer.buckets.length
                    ? "they are not longer" : "\(setting.buckets.length.written) does not divide it"
            reader.report(
                other.marks.value("rollup.every"),
                "candles of \(longer.buckets.length.written) cannot be made from those of the rule '\(rule.name)': \(reason)"
            )
        }
    }
}

extension Policy {
    /// The entities of candles that rows of the rules become, in lower case.
    package var candleEntities: Set<String> {
        Set(rules.lazy.filter(\.isEnabled).compactMap { $0.rollup?.target.folded })
    }
}

extension Rule {
    /// Whether the rule's rows become candles of an entity.
    package func makes(_ entity: String) -> Bool { rollup.map { $0.target.folded == entity.folded } ?? false }

    /// Whether rows of the rule may become rows of another one, as far as patterns tell.
    package func mayMake(_ other: Rule) -> Bool {
        guard let target = rollup?.target else { return false }
        if makes(other.entity) { return true }
        let stars = (1...EntityPattern.mostStars).map(EntityPattern.placeholder)
        let candles = stars.reduce(target) { $0.replacing($1, with: "*") }
        return EntityPattern(candles)?.matches(in: [other.entity]).isEmpty == false
            || EntityPattern(other.entity)?.matches(in: [candles]).isEmpty == false
    }
}

extension [Rule] {
    /// The rules in the order in which they are carried out. It is the order of the policy, except that a rule whose rows are candles comes
    /// before the rule that makes these candles. A run does not delete the candles that it makes; the next run does.
    package var inOrder: [Rule] { inOrder(first: [:]) }

    /// The same order, in which rules also come after certain others.
    ///
    /// - Parameter first: for the name of a rule, the names of the rules that come before it.
    package func inOrder(first: [String: Set<String>]) -> [Rule] {
        var order: [Int] = []
        var seen: Set<Int> = []
        let ofEntity = contains { $0.rollup != nil } ? Dictionary(grouping: indices) { self[$0].entity.folded } : [:]
        func add(_ index: Int) {
            guard seen.insert(index).inserted else { return }
            if let rollup = self[index].rollup { ofEntity[rollup.target.folded]?.forEach(add) }
            if let names = first[self[index].name] {
                for other in indices where names.contains(self[other].name) { add(other) }
            }
            order.append(index)
        }
        indices.forEach(add)
        return order.map { self[$0] }
    }
}

extension MaxAge {
    fileprivate mutating func add(_ length: CandleBuckets.Length) {
        switch length {
        case .minutes(let count): seconds += Int128(count) * 60
        case .unit(.hour): seconds += 3600
        case .unit(.day): days += 1
        case .unit(.week): days += 7
        case .unit(.month): months += 1
        case .unit(.quarter): months += 3
        case .unit(.year): months += 12
        }
    }
}

extension Rule.RollupSetting {
    fileprivate var groups: [String] { per.map { names[group: $0].folded } }
}
