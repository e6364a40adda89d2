package import PriceStore
import RetentionPolicy

/// Makes text of unknown origin safe for a terminal and a log: one line, without control characters, invisible characters and direction
/// marks.
package enum SafeText {
    /// The text on one line: control and formatting characters, line ends and direction marks become escapes (`\n`, `\u{202E}`).
    package static func line(_ text: String) -> String {
        guard !text.isPlainASCII, text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars { append(scalar, to: &safe) }
        return safe
    }

    /// A text on one line, as ``line(_:)`` writes it, in a form that can be read back.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return line(text) }
        let parts = text.unicodeScalars.split(separator: "\\", omittingEmptySubsequences: false)
        return parts.map { line(String($0)) }.joined(separator: "\\\\")
    }

    /// The text that ``escaped(_:)`` has written.
    static func unescaped(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
        var plain = String.UnicodeScalarView()
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let code = rest.popFirst() else {
                plain.append(scalar)
                continue
            }
            switch code {
            case "n": plain.append("\n")
            case "r": plain.append("\r")
            case "t": plain.append("\t")
            case "u":
                let digits = rest.dropFirst().prefix { $0 != "}" }
                rest = rest.dropFirst(digits.count + 2)
                if let value = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) { plain.append(value) }
            default: plain.append(code)
            }
        }
        return String(plain)
    }

    /// A store value as an example: text in double quotes, at most about `limit` characters, then `…`.
    package static func example(_ value: StoreValue, limit: Int = 40) -> String {
        switch value {
        case .null: return "NULL"
        case .integer(let number): return "\(number)"
        case .real(let number): return "\(number)"
        case .text(let text): return quoted(text, limit: limit)
        case .blob(let bytes):
            let more = bytes.count > 8 ? "…" : ""
            return "x'\(HexText.text(bytes.prefix(8)))\(more)' (\(Figures.count(bytes.count, "byte")))"
        }
    }

    /// The text in double quotes, with quotes and backslashes inside it escaped.
    ///
    /// - Parameter limit: the most characters (Unicode scalars) shown; nil: all.
    package static func quoted(_ text: String, limit: Int? = nil) -> String {
        var safe = "\""
        var shown = 0
        for scalar in text.unicodeScalars {
            if let limit, shown == limit { return safe + "…\"" }
            if scalar == "\"" || scalar == "\\" { safe += "\\" }
            append(scalar, to: &safe)
            shown += 1
        }
        return safe + "\""
    }

    /// The words of a command, quoted for a shell: characters that a terminal must not get are in the form `$'a\n'`.
    package static func command(_ words: [String]) -> String {
        words.map { word in
            let isPlain = word.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_./=:,+@%".utf8.contains(byte)
            }
            if word.unicodeScalars.contains(where: isUnsafe) {
                return "$'" + word.unicodeScalars.map(escapedForShell).joined() + "'"
            }
            return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }.joined(separator: " ")
    }

    private static func escapedForShell(_ scalar: Unicode.Scalar) -> String {
        guard isUnsafe(scalar) else { return (scalar == "'" || scalar == "\\" ? "\\" : "") + String(scalar) }
        return String(scalar).utf8.map { "\\x" + HexText.text([$0]) }.joined()
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar {
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        case _ where isUnsafe(scalar): text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        default: text.unicodeScalars.append(scalar)
        }
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: false
        }
    }
}
