package import PriceStore

/// The ages of a rule's rows by the value of an attribute: `max_age: { by: symbol, default: 30d, XAUUSD: 5y, "BTC*": 90d }`.
package struct AgesSetting: Sendable {
    /// Where the store keeps ages: an entity, and its attributes for the value and for its age.
    package struct Source: Sendable {
        package var entity: String
        package var key: String
        package var age: String
    }

    package var attribute: String
    /// In file order, each a value, or the beginning of values with a star.
    package var ages: [(value: String, age: MaxAge)]
    package var source: Source?
    /// The age of all other rows, those without a value too; nil: each row needs an age of its own.
    package var standard: MaxAge?
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

    /// The name of the rule for all other rows.
    package static let standard = "default"

    package var rows: StorePredicate {
        let own: StorePredicate =
            !values.isEmpty
            ? .isIn(attribute, values) : beginning.isEmpty ? .all : .begins(attribute, with: beginning)
        return otherBeginnings.reduce(others.isEmpty ? own : own && .notTrue(.isIn(attribute, others))) {
            $0 && .notTrue(.begins(attribute, with: $1))
        }
    }

    /// Whether another share has the same values or beginning.
    package func isOfSameValues(as other: AgeShare?) -> Bool {
        guard let other else { return false }
        return attribute.utf8.elementsEqual(other.attribute.utf8) && beginning == other.beginning
            && Set(values) == Set(other.values)
    }

    /// The share with the values that it had before and that one of several other shares has now.
    package func keeping(_ former: AgeShare, in others: [AgeShare]) -> AgeShare {
        var share = self
        func isElsewhere(_ value: StoreValue) -> Bool { others.contains { $0.has(value) } }
        if values.isEmpty {
            share.others = self.others.filter { former.others.contains($0) || !isElsewhere($0) }
        } else {
            share.values += former.values.filter { !values.contains($0) && isElsewhere($0) }
        }
        return share
    }

    /// Whether rows with a value are rows of the share.
    private func has(_ value: StoreValue) -> Bool {
        guard values.isEmpty else { return values.contains(value) }
        func begins(_ beginning: String) -> Bool {
            if case .text(let text) = value { text.hasPrefix(beginning) } else { beginning.isEmpty }
        }
        return begins(beginning) && !others.contains(value) && !otherBeginnings.contains(where: begins)
    }

    /// Whether all rows of this share were rows of another one.
    func isWithin(_ other: AgeShare) -> Bool {
        attribute.utf8.elementsEqual(other.attribute.utf8) && beginning == other.beginning
            && values.isEmpty == other.values.isEmpty && Set(values).isSubset(of: other.values)
            && Set(other.others).isSubset(of: others) && Set(other.otherBeginnings).isSubset(of: otherBeginnings)
    }
}

extension AgeShare {
    /// The keys of a recorded share.
    static let keys = [
        PolicyKey("name", .text, ""), PolicyKey("by", .text, ""), PolicyKey("values", .list(.value, atLeast: 0), ""),
        PolicyKey("begins", .text, ""), PolicyKey("not", .list(.value, atLeast: 0), ""),
        PolicyKey("not_begins", .list(.text, atLeast: 0), ""),
    ]

    /// Reads a recorded share.
    init?(_ group: SettingGroup) {
        guard let name = group.text("name"), let attribute = group.text("by") else { return nil }
        func list(_ key: String) -> [StoreValue] {
            group.list(key).compactMap { if case .stored(let value, _) = $0.value { value } else { nil } }
        }
        self.init(name: name, attribute: attribute)
        (values, others) = (list("values"), list("not"))
        (beginning, otherBeginnings) = (group.text("begins") ?? "", group.texts("not_begins"))
    }

    /// The share as the ledger records it.
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
