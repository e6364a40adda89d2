package import PriceStore
import RetentionPolicy

extension Policy {
    /// The rules for the ages of a rule, in the order of the policy; the rule itself if it has one age, or if it does not fit the store.
    func shares(
        of rule: Rule, in reader: any RetentionReader, _ problems: inout [Diagnostic]
    ) throws(StoreError) -> [Rule] {
        guard let setting = rule.ages, let entity = try reader.entity(named: rule.entity) else { return [rule] }
        guard let attribute = entity.attribute(named: setting.attribute) else {
            problems.append(
                Diagnostic(
                    at: rule.marks.value("max_age.by"), "\(entity.name) has no attribute '\(setting.attribute)'"))
            return [rule]
        }
        do throws(StoreError) {
            if attribute.affinity != .text, let (beginning, _) = setting.ages.first(where: { $0.value.hasSuffix("*") })
            {
                throw reader.unsupported(
                    "only values of text have beginnings such as '\(beginning)', and \(entity.name).\(attribute.name) is declared as "
                        + "'\(attribute.declaredType)': name each value")
            }
            var ages = AgeList(attribute, setting.ages)
            if let source = setting.source { try ages.read(source, of: setting, in: reader) }
            ages.add(setting.former)
            let parts = ages.shares(standard: setting.standard)
            guard parts.count <= AgeList.mostAges else {
                throw reader.unsupported(
                    "there are \(Figures.count(parts.count, "different age")); at most \(AgeList.mostAges) can be told apart: "
                        + "round them")
            }
            if setting.standard == nil, rule.isEnabled, let value = try ages.valueWithoutAge(of: rule, in: reader) {
                throw reader.unsupported(
                    "\(value.isNull ? "a row without a value" : SafeText.example(value)) in "
                        + "\(entity.name).\(attribute.name) has no age: name it, or write a 'default'")
            }
            let family = Rule.Family(name: rule.name, entity: rule.entity)
            return parts.map { share, age in
                var part = rule
                (part.name, part.family) = (family.member(share.name), family)
                (part.ages, part.share, part.maxAge) = (nil, share, age)
                problems += part.thinMistakes(with: age, zone: timezone)
                return part
            }
        } catch  where error.kind == .unsupported {
            problems.append(Diagnostic(at: rule.marks.value("max_age"), error.message))
            return [rule]
        }
    }
}

/// The ages of a rule by value.
private struct AgeList {
    /// The most different ages. Each is a rule of its own.
    static let mostAges = 100
    private let attribute: Attribute
    /// Each value, with all forms in which the column may hold it.
    private var ages: [(value: StoreValue, forms: [StoreValue], age: MaxAge)] = []
    private var beginnings: [(text: String, age: MaxAge)] = []

    init(_ attribute: Attribute, _ listed: [(value: String, age: MaxAge)]) {
        self.attribute = attribute
        for (value, age) in listed {
            if value.hasSuffix("*") {
                beginnings.append((String(value.dropLast()), age))
            } else {
                let own = attribute.value(of: value)
                ages.append((own, attribute.forms(ofWritten: own), age))
            }
        }
    }

    /// Adds ages of values that the policy does not name.
    mutating func add(_ former: [(value: StoreValue, age: MaxAge)]) {
        let named = Set(ages.flatMap(\.forms))
        ages += former.filter { !named.contains($0.value) }.map { ($0.value, [$0.value], $0.age) }
    }

    /// Adds the ages that a table of the store has. Values that the policy names keep the age of the policy.
    mutating func read(
        _ source: AgesSetting.Source, of setting: AgesSetting, in reader: any RetentionReader
    ) throws(StoreError) {
        guard let table = try reader.entity(named: source.entity) else {
            throw reader.unsupported("there is no entity \(source.entity)")
        }
        for name in [source.key, source.age] where table.attribute(named: name) == nil {
            throw reader.unsupported("\(table.name) has no attribute '\(name)'")
        }
        if let obstacle = try reader.hidingObstacle(of: table.name) { throw reader.unsupported(obstacle) }
        var found: [StoreValue: MaxAge] = [:]
        let named = Set(ages.map(\.value))
        let rows = try reader.fetch(StoreFetchRequest(entity: table.name), attributes: [source.key, source.age])
        for row in rows where !row[0].isNull && !named.contains(row[0]) {
            if row[1].isNull, setting.standard != nil { continue }
            if case .blob = row[0] {
                throw reader.unsupported(
                    "\(table.name).\(source.key) has \(SafeText.example(row[0])): only a text or a number has an age")
            }
            if case .text(let key) = row[0], key.hasPrefix(" ") || key.hasSuffix(" ") {
                throw reader.unsupported(
                    "\(table.name).\(source.key) has \(SafeText.example(row[0])), with a blank at an end, and values are compared as they "
                        + "are written: remove it; a column of type char(n) pads with blanks, one of type text does not"
                )
            }
            let place = "\(table.name).\(source.age) of \(SafeText.example(row[0]))"
            guard let age = MaxAge(stored: row[1]) else {
                throw reader.unsupported(
                    "\(place) is \(row[1].isNull ? "NULL" : SafeText.example(row[1])): expected a number of days, or a text such as 90d"
                )
            }
            if let other = found.updateValue(age, forKey: row[0]), other.canonical != age.canonical {
                throw reader.unsupported(
                    "\(place) is \(other.canonical) and \(age.canonical): each value has one age")
            }
        }
        ages += found.map { ($0.key, attribute.forms(of: $0.key), $0.value) }
    }

    /// The shares with their ages: one for all values of the same age, one for each beginning, and one for the rest.
    func shares(standard: MaxAge?) -> [(share: AgeShare, age: MaxAge)] {
        let byAge = Dictionary(grouping: ages) { $0.age.canonical }
        var found: [(share: AgeShare, age: MaxAge)] = []
        var longer: [StoreValue] = []
        for (name, members) in byAge.sorted(by: { $0.value[0].age.isLonger(than: $1.value[0].age) }) {
            var share = AgeShare(name: name, attribute: attribute.name)
            share.values = members.flatMap(\.forms).sorted { "\($0)" < "\($1)" }
            share.others = longer.sorted { "\($0)" < "\($1)" }
            found.append((share, members[0].age))
            longer += share.values
        }
        for (index, beginning) in beginnings.enumerated() {
            var share = rest(name: beginning.text + "*", after: beginnings[..<index].map(\.text))
            share.beginning = beginning.text
            found.append((share, beginning.age))
        }
        if let standard { found.append((rest(name: AgeShare.standard, after: beginnings.map(\.text)), standard)) }
        return found
    }

    private func rest(name: String, after earlier: [String]) -> AgeShare {
        var share = AgeShare(name: name, attribute: attribute.name)
        share.others = ages.flatMap(\.forms).sorted { "\($0)" < "\($1)" }
        share.otherBeginnings = earlier
        return share
    }

    /// A value of the rule's rows that has no age; nil: there is none.
    func valueWithoutAge(of rule: Rule, in reader: any RetentionReader) throws(StoreError) -> StoreValue? {
        let rows = rule.filter && rest(name: "", after: beginnings.map(\.text)).rows
        return try reader.fetch(
            StoreFetchRequest(entity: rule.entity, predicate: rows, fetchLimit: 1), attributes: [attribute.name]
        ).first?.first
    }
}

extension Attribute {
    /// The rows to which a key of `max_age` gives an age.
    func rows(ofAge key: String) -> StorePredicate {
        key.hasSuffix("*") ? .begins(name, with: String(key.dropLast())) : rows(writtenAs: key)
    }

    /// The rows with a value that a person has written.
    package func rows(writtenAs text: String) -> StorePredicate { .isIn(name, forms(ofWritten: value(of: text))) }

    /// A value in a policy is text; in a column of whole numbers it is a number.
    fileprivate func value(of key: String) -> StoreValue {
        let number = affinity == .integer ? Int64(key).map(StoreValue.integer) : nil
        return number ?? .text(key)
    }

    /// Whether a column without a type may hold a number as a text.
    private var isUntyped: Bool {
        let type = declaredType.lowercased()
        return affinity == .none && (type.isEmpty || type.contains("blob"))
    }

    /// A value that a person has written in all the forms in which the column may hold it: `true` and `false` are 1 and 0 in a column of
    /// numbers, as in `where`.
    fileprivate func forms(ofWritten value: StoreValue) -> [StoreValue] {
        guard isUntyped || [.integer, .real, .numeric].contains(affinity), case .text(let text) = value,
            let number: Int64 = ["true": 1, "false": 0][text]
        else { return forms(of: value) }
        return [value, .integer(number)]
    }

    /// A value in all the forms in which the column may hold it.
    fileprivate func forms(of value: StoreValue) -> [StoreValue] {
        guard isUntyped else { return [value] }
        switch value {
        case .integer(let number): return [value, .text(String(number))]
        case .real(let number): return [value, .text("\(number)")]
        case .text(let text):
            if let number = Int64(text) { return String(number) == text ? [value, .integer(number)] : [value] }
            let isNumber = text.utf8.allSatisfy { 48...57 ~= $0 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            return [value] + (isNumber ? Double(text).map { [.real($0)] } ?? [] : [])
        case .null, .blob: return [value]
        }
    }
}

extension MaxAge {
    /// Whether an age is longer than another one; of a month and days, by the mean length of a month.
    func isLonger(than other: MaxAge) -> Bool {
        func seconds(_ age: MaxAge) -> Int128 { age.months * 2_629_746 + age.days * 86_400 + age.seconds }
        return (seconds(self), other.canonical) > (seconds(other), canonical)
    }

    /// The age that a store holds: a number of days, or a text as in a policy; nil: it is neither.
    fileprivate init?(stored value: StoreValue) {
        switch value {
        case .integer(let days) where days > 0: try? self.init(parsing: "\(days)d")
        case .real(let days) where days > 0 && days < 4e6 && days == days.rounded():
            try? self.init(parsing: "\(Int(days))d")
        case .text(let text): try? self.init(parsing: text.allSatisfy(\.isWholeNumber) ? text + "d" : text)
        default: return nil
        }
    }
}
