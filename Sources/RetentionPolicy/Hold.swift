package import PriceStore

/// Rows that no rule deletes as long as the hold lasts, for an audit or a dispute.
package struct Hold: Hashable, Sendable {
    package var name: String
    package var entity: String
    /// Which rows of the entity; ``Predicate/all`` without `where`.
    package var filter: Predicate = .all
    /// The first date that is held, by the date attribute of the entity's rules; nil: no lower end.
    package var from: Instant?
    /// The end of the dates that are held, exclusive; nil: no upper end.
    package var until: Instant?
    /// Why the rows are held, for reports; blank where the hold was read from a ledger.
    package var reason: String
    /// From when on the hold keeps nothing; nil: it lasts until it is removed.
    package var expires: Instant?
    /// The positions of the hold's keys in the file.
    package var marks: Marks

    package init(name: String, entity: String, reason: String, marks: Marks) {
        self.name = name
        self.entity = entity
        self.reason = reason
        self.marks = marks
    }

    /// Whether the hold is over.
    package func hasEnded(at clock: Instant) -> Bool { expires.map { $0 <= clock } ?? false }

    /// What the hold covers, on one line: equal texts cover the same rows. It is JSON, and the keys are those of the policy.
    package var canonical: String {
        var members = [("name", name.jsonText), ("entity", entity.jsonText)]
        if filter != .all { members.append(("where", Self.object(conditions))) }
        if let from { members.append(("from", from.rfc3339.jsonText)) }
        if let until { members.append(("until", until.rfc3339.jsonText)) }
        return Self.object(members)
    }

    /// The hold that a line of ``canonical`` describes; nil: it is none.
    package init?(canonical: String) {
        let text = PolicyText(bytes: Array(canonical.utf8), path: "")
        guard text.mistake == nil, let root = YAMLReader.read(text).0 else { return nil }
        var builder = PolicyBuilder(reader: SettingReader(baseFolder: "/"), source: text.source)
        guard let group = builder.reader.group(root, PolicyKey.hold, name: nil), builder.reader.diagnostics.isEmpty,
            let hold = builder.hold(group)
        else { return nil }
        self = hold
    }

    /// The conditions of `where`, by attribute and in the order of their names.
    private var conditions: [(String, String)] {
        var found: [String: [(String, String)]] = [:]
        var whole: [String: String] = [:]
        func add(_ predicate: Predicate) {
            switch predicate {
            case .and(let parts): parts.forEach(add)
            case .compare(let name, .equal, let value): whole[name] = value.jsonText
            case .compare(let name, let comparison, let value):
                let word = PolicyBuilder.operators.first { $0.value == comparison }?.key ?? ""
                found[name, default: []].append((word, value.jsonText))
            case .isIn(let name, let values):
                whole[name] = "[" + values.map(\.jsonText).joined(separator: ", ") + "]"
            case .isNull(let name): found[name, default: []].append(("null", "true"))
            case .isNotNull(let name): found[name, default: []].append(("null", "false"))
            default: break
            }
        }
        add(filter)
        for (name, operators) in found { whole[name] = Self.object(operators.sorted { $0.0 < $1.0 }) }
        return whole.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\($0.0.jsonText): \($0.1)" }.joined(separator: ", ") + "}"
    }
}

extension StoreValue {
    /// The value as a policy has it. A policy has no bytes.
    fileprivate var jsonText: String {
        switch self {
        case .null, .blob: "null"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text.jsonText
        }
    }
}

extension String {
    /// The text in double quotes, as JSON and YAML both read it.
    fileprivate var jsonText: String {
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _
            where scalar.value < 0x20 || (0x7F...0xA0).contains(scalar.value) || scalar.value == 0x2028
                || scalar.value == 0x2029:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
