package import PriceStore

/// Writes parts of a policy as the ledger records them: JSON on one line, with the keys of the policy in a fixed order. Equal texts mean
/// the same.
enum CanonicalText {
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(text($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
    }

    /// A text in double quotes that both JSON and YAML read.
    static func text(_ text: String) -> String {
        if text.isPlainASCII, !text.utf8.contains(where: "\"\\".utf8.contains) { return "\"\(text)\"" }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _
            where scalar.value < 0x20 || (0x7F...0xA0).contains(scalar.value)
                || [0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value):
                quoted += "\\u" + scalar.value.padded(4, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// The member for the attributes of a group; none without any.
    static func per(_ names: [String]) -> [(String, String)] {
        names.isEmpty ? [] : [("per", list(names.sorted().map(text)))]
    }

    static func list(_ texts: [String]) -> String { "[" + texts.joined(separator: ", ") + "]" }

    /// A value as a policy writes it. A policy has no bytes.
    static func value(_ value: StoreValue) -> String {
        switch value {
        case .null, .blob: "null"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): self.text(text)
        }
    }

    /// The conditions of `where`, sorted by attribute.
    static func conditions(_ filter: StorePredicate) -> String {
        var found: [String: [(String, String)]] = [:]
        var whole: [String: String] = [:]
        for condition in filter.conjuncts {
            switch condition {
            case .compare(let name, .equal, let value): whole[name] = self.value(value)
            case .compare(let name, let comparison, let value):
                let word = PolicyBuilder.operators.first { $0.value == comparison }?.key ?? ""
                found[name, default: []].append((word, self.value(value)))
            case .isIn(let name, let values): whole[name] = list(values.map(value))
            case .isNull(let name): found[name, default: []].append(("null", "true"))
            case .isNotNull(let name): found[name, default: []].append(("null", "false"))
            default: break
            }
        }
        for (name, operators) in found { whole[name] = object(operators.sorted { $0.0 < $1.0 }) }
        return object(whole.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// Reads the part that a recorded text describes; nil: the text is damaged, or this version does not know it.
    static func read<Part>(_ record: String, _ part: (inout PolicyBuilder, YAMLNode) -> Part?) -> Part? {
        let text = PolicyText(bytes: Array(record.utf8), path: "")
        guard text.mistake == nil, let root = YAMLReader.read(text).root else { return nil }
        let reader = SettingReader(baseFolder: "/", isRecord: true)
        var builder = PolicyBuilder(reader: reader, source: text.source)
        let found = part(&builder, root)
        return builder.reader.diagnostics.isEmpty ? found : nil
    }
}

extension StorePredicate {
    /// The conditions that must all be true; ``all`` has none.
    var conjuncts: [StorePredicate] {
        switch self {
        case .all: []
        case .and(let parts): parts.flatMap(\.conjuncts)
        default: [self]
        }
    }

    /// Whether each row that meets the conditions of this `where` also meets those of another one; false if that is not certain.
    package func implies(_ other: StorePredicate) -> Bool {
        let own = conjuncts
        return other.conjuncts.allSatisfy { wanted in own.contains { $0.impliesCondition(wanted) } }
    }

    /// Bounds are not compared, because the order of values depends on the column.
    private func impliesCondition(_ other: StorePredicate) -> Bool {
        func bytes(_ values: [StoreValue]) -> Set<[UInt8]> { Set(values.map { Array(CanonicalText.value($0).utf8) }) }
        switch (self, other) {
        case (.compare(let name, .equal, let value), .isIn(let other, let values)):
            return name.utf8.elementsEqual(other.utf8) && bytes([value]).isSubset(of: bytes(values))
        case (.isIn(let name, let values), .isIn(let other, let others)):
            return name.utf8.elementsEqual(other.utf8) && bytes(values).isSubset(of: bytes(others))
        case (.isIn(let name, let values), .compare(let other, .equal, let value)):
            return name.utf8.elementsEqual(other.utf8) && bytes(values) == bytes([value])
        default:
            // Not ==, because texts with different bytes may be equal.
            let texts = [self, other].map(CanonicalText.conditions)
            // Other conditions than those of a `where` have no text.
            return texts[0] == "{}" ? self == other : texts[0].utf8.elementsEqual(texts[1].utf8)
        }
    }
}
