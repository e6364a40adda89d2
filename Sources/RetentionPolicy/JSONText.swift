import PriceStore

/// A JSON value whose members keep the order in which they are written, and its text.
package indirect enum JSONText: Hashable, Sendable, CustomStringConvertible {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number by its text, which must be JSON's form of a number.
    case number(String)
    case string(String)
    case array([JSONText])
    case object([Member])

    /// A name and its value.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONText

        package init(_ name: String, _ value: JSONText) {
            self.name = name
            self.value = value
        }
    }

    var members: [Member] { if case .object(let members) = self { members } else { [] } }

    func adding(_ more: [Member]) -> JSONText { .object(members + more) }

    package static func strings(_ texts: [String]) -> JSONText { .array(texts.map { .string($0) }) }

    /// A text or a number as it is, everything else as JSON on one line: what a log has.
    package var description: String { if case .string(let text) = self { text } else { line } }

    package var line: String {
        var text = ""
        write(to: &text, indent: nil)
        return text
    }

    /// The value on several lines, indented by two spaces a level; without a line end after the last.
    package var document: String {
        var text = ""
        write(to: &text, indent: 0)
        return text
    }

    private func write(to text: inout String, indent: Int?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value
        case .string(let value): Self.write(value, to: &text)
        case .array(let elements): Self.write(elements.map { (nil, $0) }, in: ("[", "]"), to: &text, indent: indent)
        case .object(let members):
            Self.write(members.map { ($0.name, $0.value) }, in: ("{", "}"), to: &text, indent: indent)
        }
    }

    private static func write(
        _ list: [(name: String?, value: JSONText)], in brackets: (String, String), to text: inout String, indent: Int?
    ) {
        text += brackets.0
        for (index, (name, value)) in list.enumerated() {
            if index > 0 { text += "," }
            if let indent { text += "\n" + String(repeating: "  ", count: indent + 1) }
            if let name {
                write(name, to: &text)
                text += indent == nil ? ":" : ": "
            }
            value.write(to: &text, indent: indent.map { $0 + 1 })
        }
        if let indent, !list.isEmpty { text += "\n" + String(repeating: "  ", count: indent) }
        text += brackets.1
    }

    /// Writes a string in quotes. Beside what JSON asks for, every character is escaped that a line reader could take
    /// for a line end (U+0085, U+2028, U+2029), that a terminal obeys (DEL, C1), or that turns or hides a line.
    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where needsEscape(scalar):
                for unit in String(scalar).utf16 {
                    text += "\\u" + unit.padded(4, radix: 16)
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension JSONText: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .string(value) }
}

extension JSONText: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONText...) { self = .array(elements) }

    package init(dictionaryLiteral elements: (String, JSONText)...) { self = .object(elements.map(Member.init)) }
}
