/// Reads of a stored `CREATE` statement what SQLite does not tell otherwise.
enum SchemaText {
    /// The conditions of a table's CHECK constraints, each in its parentheses.
    static func checks(_ definition: String) -> [String] {
        var scanner = Scanner(definition)
        var found: [String] = []
        while let token = scanner.next() {
            guard token.uppercased() == "CHECK" else { continue }
            let start = scanner.index
            scanner.skipParentheses()
            found.append(String(definition[start..<scanner.index]))
        }
        return found
    }

    /// Whether a table's definition contains `ON CONFLICT …`.
    static func solvesConflicts(_ definition: String) -> Bool {
        let words = words(definition)
        return zip(words, words.dropFirst()).contains { $0 == "ON" && $1 == "CONFLICT" }
    }

    /// Whether a table's definition has a constraint that deletes conflicting rows.
    static func replaces(_ definition: String) -> Bool {
        let words = words(definition)
        return zip(words, words.dropFirst()).contains { $0 == "CONFLICT" && $1 == "REPLACE" }
    }

    /// Whether `STRICT` is among the words after the columns.
    static func isStrict(_ definition: String) -> Bool {
        words(definition).reversed().prefix { $0 != ")" }.contains("STRICT")
    }

    /// A name without its quotes.
    static func name(_ token: String) -> String {
        // A quote and a combining mark after it are two characters in SQL.
        let scalars = token.unicodeScalars
        guard scalars.count > 1, let quote = scalars.first, "\"'`[".unicodeScalars.contains(quote) else { return token }
        var (name, isDoubled) = (String.UnicodeScalarView(), false)
        for scalar in scalars.dropFirst().dropLast() {
            isDoubled = scalar == quote && quote != "[" && !isDoubled
            if !isDoubled || scalar != quote { name.append(scalar) }
        }
        return String(name)
    }

    /// The tokens in upper case.
    static func words(_ text: String) -> [String] {
        var scanner = Scanner(text)
        var found: [String] = []
        while let token = scanner.next() { found.append(token.uppercased()) }
        return found
    }

    /// Splits a text into words, quoted names and symbols as SQLite does, and skips comments.
    struct Scanner {
        /// The Unicode scalars of the text; SQLite has no characters of several code points.
        private let scalars: String.UnicodeScalarView
        /// Where the last token ended.
        private(set) var index: String.Index

        init(_ text: String) {
            scalars = text.unicodeScalars
            index = scalars.startIndex
        }

        var rest: String { String(scalars[index...]) }

        mutating func next() -> String? {
            passOver()
            guard index < scalars.endIndex else { return nil }
            let start = index
            let closing: [Unicode.Scalar: Unicode.Scalar] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]
            if let close = closing[scalars[index]] {
                index = scalars.index(after: index)
                while index < scalars.endIndex {
                    let scalar = scalars[index]
                    index = scalars.index(after: index)
                    guard scalar == close else { continue }
                    // A doubled quote is part of the name.
                    if close != "]", index < scalars.endIndex, scalars[index] == close {
                        index = scalars.index(after: index)
                        continue
                    }
                    break
                }
                return String(scalars[start..<index])
            }
            while index < scalars.endIndex, isOfWord(scalars[index]) { index = scalars.index(after: index) }
            if start == index { index = scalars.index(after: index) }
            return String(scalars[start..<index])
        }

        private func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
            !isSpace(scalar)
                && (scalar.value >= 128 || scalar.properties.isAlphabetic
                    || "0123456789_$".unicodeScalars.contains(scalar))
        }

        private func isSpace(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar {
            case " ", "\t", "\n", "\r", "\u{B}", "\u{C}", "\u{FEFF}": true
            default: false
            }
        }

        mutating func skipParentheses() {
            var ahead = self
            guard ahead.next() == "(" else { return }
            var depth = 0
            repeat {
                guard let token = next() else { return }
                depth += token == "(" ? 1 : token == ")" ? -1 : 0
            } while depth > 0
        }

        private var isAtComment: Bool { scalars[index...].starts(with: "--".unicodeScalars) || isAtBlock }
        private var isAtBlock: Bool { scalars[index...].starts(with: "/*".unicodeScalars) }

        /// Skips white space and comments.
        private mutating func passOver() {
            while index < scalars.endIndex {
                if isSpace(scalars[index]) {
                    index = scalars.index(after: index)
                } else if isAtBlock {
                    let inner = scalars[index...].dropFirst(2)
                    var end = inner.startIndex
                    while end < inner.endIndex, !inner[end...].starts(with: "*/".unicodeScalars) {
                        end = inner.index(after: end)
                    }
                    index = end < inner.endIndex ? inner.index(end, offsetBy: 2) : end
                } else if isAtComment {
                    index = scalars[index...].firstIndex(of: "\n") ?? scalars.endIndex
                } else {
                    return
                }
            }
        }
    }
}
