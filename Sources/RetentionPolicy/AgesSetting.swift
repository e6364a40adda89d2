package import PriceStore

/// The ages of a rule's rows by the value of an attribute: `max_age: { by: symbol, default: 30d, XAUUSD: 5y, "BTC*": 90d }`.
package struct AgesSetting: Sendable {
    /// Where the store keeps ages: an entity, and its attributes for the value and for its age.
    package struct Source: Hashable, Sendable {
        package var entity: String
        package var key: String
        package var age: String

        var canonical: String {
            CanonicalText.object([("entity", entity), ("key", key), ("age", age)].map { ($0, CanonicalText.text($1)) })
        }
    }

    package var attribute: String
    /// In file order, each a value, or the beginning of values with a star.
    package var ages: [(value: String, age: MaxAge)]
    package var source: Source?
    /// Ages that values had by a table of the store; only of a former rule, and without ``source``.
    package var former: [(value: StoreValue, age: MaxAge)] = []
    /// The age of all other rows, those without a value too; nil: each row needs an age of its own.
    package var standard: MaxAge?

    /// The setting as the ledger records it, with the keys of a policy.
    var canonical: String {
        func text(_ age: MaxAge) -> String { CanonicalText.text(age.canonical) }
        var members = [("by", CanonicalText.text(attribute))]
        if let source { members.append(("from", source.canonical)) }
        if let standard { members.append(("default", text(standard))) }
        return CanonicalText.object(members + ages.map { ($0.value, text($0.age)) })
    }

    /// What is wider than in another setting. Beginnings are only compared one by one if they are the same.
    ///
    /// - Parameter isAny: whether a longer age is wider too.
    func changes(since old: AgesSetting, isUTC: Bool, isAny: Bool) -> [RuleChange] {
        var found: [RuleChange] = []
        func add(_ key: String, _ was: String?, _ now: String?) {
            if was != now { found.append(RuleChange(key: "max_age." + key, was: was, now: now)) }
        }
        func listed(_ setting: AgesSetting) -> String {
            CanonicalText.list(setting.beginnings.map { CanonicalText.text($0.value) })
        }
        func compare(_ key: String, _ was: MaxAge?, _ now: MaxAge?) {
            let isLonger = now.map { now in was.map { now.isAtLeast($0, isUTC: isUTC) } ?? false } ?? true
            guard isAny || !isLonger else { return }
            add(key, was.map { CanonicalText.text($0.canonical) }, now.map { CanonicalText.text($0.canonical) })
        }
        add("by", CanonicalText.text(old.attribute), CanonicalText.text(attribute))
        add("from", old.source?.canonical, source?.canonical)
        add("*", listed(old), listed(self))
        // A column may hold two spellings equal, and then the longer age counts for both.
        for former in old.ages where !ages.contains(where: { $0.value == former.value }) {
            let age = CanonicalText.text(former.age.canonical)
            found.append(RuleChange(key: "max_age", was: age, now: nil, noLonger: [former.value]))
        }
        for value in Set(ages.map(\.value)).sorted() { compare(value, old.age(of: value), age(of: value)) }
        compare(AgeShare.standard, old.standard, standard)
        return found
    }

    private var beginnings: [(value: String, age: MaxAge)] { ages.filter { $0.value.hasSuffix("*") } }

    /// The age of a value, without those of the store; nil: it has none.
    private func age(of value: String) -> MaxAge? {
        ages.first { $0.value == value }?.age ?? beginnings.first { value.hasPrefix($0.value.dropLast()) }?.age
            ?? standard
    }
}

/// The rows of a rule that have one of its ages. An age by a value precedes one by a beginning, and of several beginnings the first counts.
package struct AgeShare: Hashable, Sendable {
    /// What follows the rule's name and a colon: `5y`, `BTC*`, `default`.
    package var name: String
    package var attribute: String
    /// The values of the rows; empty: all values with the ``beginning``.
    package var values: [StoreValue] = []
    package var beginning = ""
    /// The values, and the beginnings of values, that have other ages and precede these: of two spellings that a column holds equal, the
    /// one with the longer age counts.
    package var others: [StoreValue] = []
    package var otherBeginnings: [String] = []

    package init(name: String, attribute: String) { (self.name, self.attribute) = (name, attribute) }

    package static let standard = "default"

    package var rows: StorePredicate {
        let own: StorePredicate =
            !values.isEmpty
            ? .isIn(attribute, values) : beginning.isEmpty ? .all : .begins(attribute, with: beginning)
        return otherBeginnings.reduce(others.isEmpty ? own : own && .notTrue(.isIn(attribute, others))) {
            $0 && .notTrue(.begins(attribute, with: $1))
        }
    }
}

extension AgeShare {
    /// Whether a change of a rule concerns the rows of the share: another age concerns those that have it.
    package func isConcerned(by change: RuleChange) -> Bool {
        guard let value = change.key.hasPrefix("max_age.") ? change.key.dropFirst(8) : nil,
            !["by", "from", "*"].contains(value)
        else { return true }
        if value == Self.standard || value.hasSuffix("*") { return value == name }
        let text = String(value)
        guard values.isEmpty else {
            return values.contains { $0 == .text(text) || $0 == Int64(text).map(StoreValue.integer) }
        }
        return text.hasPrefix(beginning) && !others.contains(.text(text))
            && !otherBeginnings.contains(where: text.hasPrefix)
    }

    static let keys = [
        PolicyKey("name", .text, ""), PolicyKey("by", .text, ""), PolicyKey("values", .list(.value, atLeast: 0), ""),
        PolicyKey("begins", .text, ""), PolicyKey("not", .list(.value, atLeast: 0), ""),
        PolicyKey("not_begins", .list(.text, atLeast: 0), ""),
    ]

    init?(_ group: SettingGroup) {
        guard let name = group.text("name"), let attribute = group.text("by") else { return nil }
        func list(_ key: String) -> [StoreValue] {
            group.list(key).compactMap { if case .stored(let value, _) = $0.value { value } else { nil } }
        }
        self.init(name: name, attribute: attribute)
        (values, others) = (list("values"), list("not"))
        (beginning, otherBeginnings) = (group.text("begins") ?? "", group.texts("not_begins"))
    }

    var canonical: String {
        func list(_ values: [StoreValue]) -> String { CanonicalText.list(values.map(CanonicalText.value).sorted()) }
        var members = [("name", CanonicalText.text(name)), ("by", CanonicalText.text(attribute))]
        if !values.isEmpty { members.append(("values", list(values))) }
        if !beginning.isEmpty { members.append(("begins", CanonicalText.text(beginning))) }
        if !others.isEmpty { members.append(("not", list(others))) }
        if !otherBeginnings.isEmpty { members.append(("not_begins", list(otherBeginnings.map(StoreValue.text)))) }
        return CanonicalText.object(members)
    }
}

extension PolicyBuilder {
    /// Reads the ages of a rule, and checks that the rule can have several.
    mutating func ages(_ group: SettingGroup) -> AgesSetting? {
        guard let attribute = group.text("by") else {
            if !group.misspelt.contains("by"), group["by"] == nil {
                reader.report(group.mark, "ages need the attribute that they depend on: by: symbol")
            }
            return nil
        }
        var setting = AgesSetting(attribute: attribute, ages: [], standard: group.age("default"))
        if let source = group.group("from"), let entity = source.text("entity"), let key = source.text("key"),
            let age = source.text("age")
        {
            setting.source = .init(entity: entity, key: key, age: age)
        }
        for key in group.keys where !PolicyKey.ages.contains(where: { $0.name == key }) {
            guard let age = group.age(key), let mark = group[key]?.keyMark else { continue }
            if key.dropLast().contains("*") || key == "*" {
                reader.report(
                    mark,
                    "'\(key)' is no value and no beginning of values: a star is the last character, as in BTC*; all others are 'default'"
                )
            }
            setting.ages.append((key, age))
        }
        if setting.ages.isEmpty, group["from"] == nil, !group.keys.contains(where: { group[$0]?.value == nil }) {
            reader.report(
                group.mark, "'max_age' has no age but 'default': name a value, as in XAUUSD: 5y, or a table in 'from'")
        }
        return setting
    }
}
