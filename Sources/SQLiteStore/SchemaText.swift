/// Reads as much of a stored `CREATE` statement as it takes to give the object another name.
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
            // A comment may hold quotes and parentheses that count for nothing; such texts are left alone.
            if token.contains("--") || token.contains("/*") { return nil }
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            guard depth == 0 else { continue }
            return scanner.next()?.uppercased() == "WHERE" ? scanner.rest : nil
        }
        return nil
    }

    /// Words, quoted names and parentheses, one by one. SQLite keeps no comments before the name of a table.
    private struct Scanner {
        private let text: String
        private var index: String.Index

        init(_ text: String) {
            self.text = text
            index = text.startIndex
        }

        var rest: String { String(text[index...]) }

        mutating func next() -> String? {
            while index < text.endIndex, text[index].isWhitespace { index = text.index(after: index) }
            guard index < text.endIndex else { return nil }
            let start = index
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
            while index < text.endIndex, !text[index].isWhitespace, !"()\"'`[".contains(text[index]) {
                index = text.index(after: index)
            }
            if start == index { index = text.index(after: index) }
            return String(text[start..<index])
        }
    }
}
