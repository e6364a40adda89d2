/// Reads as much of a stored `CREATE` statement as it takes to make a temporary table of the same form.
enum SchemaText {
    /// What follows the name in `CREATE TABLE name …`, from the opening parenthesis on.
    static func afterName(_ text: String, keyword: String) -> String? {
        var scanner = Scanner(text)
        while let token = scanner.next() {
            guard token.uppercased() == keyword else { continue }
            guard scanner.next() != nil else { return nil }
            return scanner.rest
        }
        return nil
    }

    /// What follows the table's name in `CREATE UNIQUE INDEX name ON table (…)`.
    static func afterTable(_ text: String) -> String? {
        var scanner = Scanner(text)
        _ = scanner.next()  // CREATE
        _ = scanner.next()  // UNIQUE
        _ = scanner.next()  // INDEX
        _ = scanner.next()  // the index's name
        guard scanner.next()?.uppercased() == "ON", scanner.next() != nil else { return nil }
        return scanner.rest
    }

    /// The condition in `(…) WHERE condition`, which follows the table of a partial index.
    static func afterColumns(_ text: String) -> String? {
        var scanner = Scanner(text)
        var depth = 0
        while let token = scanner.next() {
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            guard depth == 0 else { continue }
            return scanner.next()?.uppercased() == "WHERE" ? scanner.rest : nil
        }
        return nil
    }

    /// A table's definition with `CHECK (1)` in place of each foreign key: a temporary table would search the
    /// referenced table among the temporary ones, and not find it.
    static func withoutForeignKeys(_ definition: String) -> String {
        var scanner = Scanner(definition)
        var result = ""
        var copied = definition.startIndex
        // Both words are reserved: as names they are quoted.
        while let token = scanner.next()?.uppercased() {
            guard token == "FOREIGN" || token == "REFERENCES" else { continue }
            result += definition[copied..<scanner.start] + "CHECK (1)"
            if token == "FOREIGN" {
                scanner.skip(1)  // KEY
                scanner.skipParentheses()
                scanner.skip(1)  // REFERENCES
            }
            scanner.skip(1)  // the other table's name
            scanner.skipParentheses()
            scanner.skipForeignKeyActions()
            copied = scanner.index
        }
        return result + definition[copied...]
    }

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

    /// Words, quoted names and symbols, one by one; comments are skipped.
    private struct Scanner {
        private let text: String
        /// Where the last token began.
        private(set) var start: String.Index
        /// Where the last token ended.
        private(set) var index: String.Index

        init(_ text: String) {
            self.text = text
            start = text.startIndex
            index = text.startIndex
        }

        var rest: String { String(text[index...]) }

        mutating func next() -> String? {
            passOver()
            guard index < text.endIndex else { return nil }
            start = index
            let closing: [Character: Character] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]
            if let close = closing[text[index]] {
                index = text.index(after: index)
                while index < text.endIndex {
                    let character = text[index]
                    index = text.index(after: index)
                    guard character == close else { continue }
                    // A doubled quote is part of the name.
                    if close != "]", index < text.endIndex, text[index] == close {
                        index = text.index(after: index)
                        continue
                    }
                    break
                }
                return String(text[start..<index])
            }
            while index < text.endIndex, !text[index].isWhitespace, !"(),\"'`[".contains(text[index]), !isAtComment {
                index = text.index(after: index)
            }
            if start == index { index = text.index(after: index) }
            return String(text[start..<index])
        }

        mutating func skip(_ tokenCount: Int) {
            for _ in 0..<tokenCount { _ = next() }
        }

        /// Passes over what is in parentheses, if they open here.
        mutating func skipParentheses() {
            guard peek(1) == ["("] else { return }
            var depth = 0
            repeat {
                guard let token = next() else { return }
                depth += token == "(" ? 1 : token == ")" ? -1 : 0
            } while depth > 0
        }

        /// Passes over what may follow a foreign key: `ON DELETE …`, `MATCH …`, `[NOT] DEFERRABLE INITIALLY …`.
        mutating func skipForeignKeyActions() {
            while true {
                let words = peek(3)
                switch words.first {
                case "ON": skip(words.last == "SET" || words.last == "NO" ? 4 : 3)
                case "MATCH", "INITIALLY": skip(2)
                case "NOT" where words.dropFirst().first == "DEFERRABLE": skip(2)
                case "DEFERRABLE": skip(1)
                default: return
                }
            }
        }

        /// The next tokens in capitals, which stay the next ones.
        private func peek(_ count: Int) -> [String] {
            var ahead = self
            return (0..<count).compactMap { _ in ahead.next()?.uppercased() }
        }

        private var isAtComment: Bool { text[index...].hasPrefix("--") || text[index...].hasPrefix("/*") }

        /// Passes over white space and comments.
        private mutating func passOver() {
            while index < text.endIndex {
                if text[index].isWhitespace {
                    index = text.index(after: index)
                } else if text[index...].hasPrefix("--") {
                    index = text[index...].firstIndex(where: \.isNewline) ?? text.endIndex
                } else if isAtComment {
                    index = text[index...].firstRange(of: "*/")?.upperBound ?? text.endIndex
                } else {
                    return
                }
            }
        }
    }
}
