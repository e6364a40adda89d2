/// A value of a YAML document with its position: a scalar, a sequence or a mapping.
struct YAMLNode: Sendable {
    /// A scalar as it was written.
    struct Scalar: Hashable, Sendable {
        var text: String
        /// Whether it was written without quotes, so that its form determines its type.
        var isPlain: Bool
    }

    /// A key of a mapping with its value.
    struct Pair: Sendable {
        var key: String
        var keyMark: Mark
        var value: YAMLNode
    }

    enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In file order; every key once.
        case mapping([Pair])
    }

    var content: Content
    /// The position; for a value of several lines, the part on the first line.
    var mark: Mark
    /// How many nodes a walk through the value visits, with aliases followed.
    var nodeCount = 1
    /// How many levels the value has, with aliases followed; 1 for a scalar.
    var height = 1
}

extension YAMLNode.Scalar {
    /// The type of a scalar, according to its form.
    enum Kind: Hashable, Sendable {
        /// Blank, `null` or `~`.
        case null
        case flag(Bool)
        case integer(Int64)
        case real(Double)
        /// A number beyond 64 bits or beyond doubles, or `.inf` and `.nan`.
        case unusableNumber
        case text
    }

    /// The type of the scalar. Quoted scalars are text. Of plain ones, only `true` and `false` are booleans, and only numbers without
    /// leading zeros are numbers; `no`, `on`, `0644`, `0x1F` and `1:30` are text.
    var kind: Kind {
        guard isPlain else { return .text }
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true": return .flag(true)
        case "false": return .flag(false)
        default: break
        }
        let bytes = Array(text.utf8)
        let sign = bytes.first == UInt8(ascii: "-") || bytes.first == UInt8(ascii: "+") ? 1 : 0
        let digits = bytes.dropFirst(sign)
        let special = text.dropFirst(sign).lowercased()
        if special == ".inf" || special == ".nan" { return .unusableNumber }
        let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        if digits.count > 1, digits.first == UInt8(ascii: "0"), let second = digits.dropFirst().first, isDigit(second) {
            return .text
        }
        if !digits.isEmpty, digits.allSatisfy(isDigit) {
            return Int64(text).map(Kind.integer) ?? .unusableNumber
        }
        // The parser of numbers also reads words and hexadecimal digits.
        guard digits.allSatisfy({ isDigit($0) || ".eE+-".utf8.contains($0) }),
            digits.prefix(while: { !"eE".utf8.contains($0) }).contains(where: isDigit),
            let number = Double(text) ?? Double(text.completingFirstPoint())
        else { return .text }
        return number.isFinite ? .real(number) : .unusableNumber
    }

    /// The number in a form that all parsers of numbers accept; nil: it is not a number.
    var numeral: String? {
        switch kind {
        case .integer, .real: Double(text) == nil ? text.completingFirstPoint() : text
        default: nil
        }
    }

}

extension String {
    /// The text with a digit on both sides of its first point: not every parser of numbers accepts `.5` and `5.`.
    fileprivate func completingFirstPoint() -> String {
        guard let point = firstIndex(of: ".") else { return self }
        let before = String(self[..<point])
        let after = String(self[index(after: point)...])
        let head = before.last.map(\.isNumber) ?? false ? before : before + "0"
        return head + "." + (after.first.map(\.isNumber) ?? false ? after : "0" + after)
    }
}

extension YAMLNode {
    /// What the node is, for a message: `a list`, `the number 5`.
    var described: String {
        switch content {
        case .sequence: return "a list"
        case .mapping: return "a mapping"
        case .scalar(let scalar):
            switch scalar.kind {
            case .null: return "nothing"
            case .flag, .unusableNumber: return scalar.text
            case .integer, .real: return "the number \(scalar.text)"
            case .text: return "the text '\(scalar.text)'"
            }
        }
    }
}
