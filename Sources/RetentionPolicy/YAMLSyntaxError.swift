import PriceStore

/// Says in plain words why a file is not YAML, at the line that must be changed. The parser often notices a mistake one or more lines
/// later.
struct YAMLSyntaxError {
    /// The message of the parser, and the construct that it was reading: `while scanning a simple key`.
    let problem: String
    let context: String?
    /// Where the parser found the problem, and where the construct begins.
    let place: Mark
    let contextPlace: Mark
    let lines: [String]

    /// The mistake; nil: the message of the parser is the best there is.
    var diagnostic: Diagnostic? {
        let last = min(place.line, lines.count)
        guard last > 0 else { return nil }
        let slips = (1...last).lazy.compactMap { Self.slip(lines[$0 - 1], line: $0) }
        return slips.first ?? missingColon ?? misplacedColon ?? unclosedBracket ?? badIndentation
    }

    // MARK: One line

    /// A mistake that one line shows: an open quote, a known key without a colon, a missing space.
    private static func slip(_ line: String, line number: Int) -> Diagnostic? {
        if let column = openQuote(in: line) {
            return Diagnostic(
                at: Mark(line: number, column: column), "this quote is not closed; the closing quote is missing")
        }
        let (start, text) = content(of: line)
        if text.first == "-", let next = text.dropFirst().first, next.isLetter {
            return Diagnostic(
                at: Mark(line: number, column: start),
                "a space is missing after the dash; write it as in '- name: gold'")
        }
        let word = text.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        guard PolicyKey.allNames.contains(String(word)) else { return nil }
        let mark = Mark(line: number, column: start, length: word.unicodeScalars.count)
        let rest = text.dropFirst(word.count)
        if PolicyKey.isMissingSpace(in: String(text)) {
            return Diagnostic(at: mark, PolicyKey.missingSpace(after: word))
        }
        guard !rest.drop(while: { $0 == " " }).hasPrefix(":") else { return nil }
        return Diagnostic(at: mark, "a colon is missing after '\(word)'; write '\(word): …'")
    }

    /// The column of a quote that begins a value and is not closed on its line.
    private static func openQuote(in line: String) -> Int? {
        let scalars = Array(line.unicodeScalars)
        var index = 0
        // A value may begin at the start, and after a colon, a dash, a comma or a bracket.
        var canBegin = true
        while index < scalars.count {
            let scalar = scalars[index]
            if scalar == "#", index == 0 || scalars[index - 1] == " " { return nil }
            if canBegin, scalar == "\"" || scalar == "'" {
                guard let end = closingQuote(of: index, scalars) else { return index + 1 }
                index = end
                canBegin = false
            } else if scalar != " ", scalar != "\t" {
                canBegin = ":-,[{".unicodeScalars.contains(scalar)
            }
            index += 1
        }
        return nil
    }

    private static func closingQuote(of start: Int, _ scalars: [Unicode.Scalar]) -> Int? {
        let quote = scalars[start]
        var index = start + 1
        while index < scalars.count {
            if quote == "\"", scalars[index] == "\\" {
                index += 1
            } else if scalars[index] == quote {
                guard quote == "'", index + 1 < scalars.count, scalars[index + 1] == quote else { return index }
                index += 1
            }
            index += 1
        }
        return nil
    }

    /// The text of a line after its indentation and the dash of a list, and the column at which it begins.
    private static func content(of line: String) -> (column: Int, text: Substring) {
        var text = line.drop { $0 == " " }
        while text.hasPrefix("- ") { text = text.dropFirst().drop { $0 == " " } }
        return (line.unicodeScalars.distance(from: line.startIndex, to: text.startIndex) + 1, text)
    }

    // MARK: What the parser noticed

    private var missingColon: Diagnostic? {
        guard problem.hasPrefix("could not find expected ':'"), lines.indices.contains(contextPlace.line - 1) else {
            return nil
        }
        let text = Self.content(of: lines[contextPlace.line - 1]).text
        return Diagnostic(
            at: Mark(line: contextPlace.line, column: contextPlace.column, length: max(1, text.unicodeScalars.count)),
            "this line has no key with a colon and a space after it, as in 'entity: Gold'")
    }

    private var misplacedColon: Diagnostic? {
        guard problem.hasPrefix("mapping values are not allowed") else { return nil }
        let line = lines[place.line - 1]
        let (start, text) = Self.content(of: line)
        let key = text.prefix { $0 != ":" }
        // The line has a second colon.
        if start + key.unicodeScalars.count != place.column {
            return Diagnostic(
                at: place,
                text.first.map("–—•*".contains) == true
                    ? "an entry of a list begins with '- '" : "a value that holds a colon and a space must be in quotes"
            )
        }
        return keyColumnAbove.map { start > $0 } == true ? misaligned(start) : nil
    }

    private func misaligned(_ start: Int) -> Diagnostic? {
        guard let above = keyColumnAbove, start != above else { return nil }
        return Diagnostic(
            at: Mark(line: place.line, column: start),
            "this line is indented by \((start - 1).counted("space")), the key above it by \((above - 1).counted("space")); "
                + "keys of one level must be aligned")
    }

    private var unclosedBracket: Diagnostic? {
        guard let context, context.contains("flow") else { return nil }
        let bracket = context.contains("sequence") ? "[" : "{"
        guard place.line > contextPlace.line || place.line > lines.count else { return nil }
        return Diagnostic(
            at: contextPlace, "this '\(bracket)' is not closed; the '\(bracket == "[" ? "]" : "}")' is missing")
    }

    private var badIndentation: Diagnostic? {
        guard problem.hasPrefix("did not find expected"), context?.contains("block") == true else { return nil }
        let start = Self.content(of: lines[min(place.line, lines.count) - 1]).column
        return start == place.column ? misaligned(start) : nil
    }

    /// The column at which the key on the nearest line above begins.
    private var keyColumnAbove: Int? {
        for line in lines.prefix(place.line - 1).reversed() {
            let (column, text) = Self.content(of: line)
            if !text.isEmpty, !text.hasPrefix("#") { return column }
        }
        return nil
    }
}

extension PolicyKey {
    static let allNames: Set<String> = Set(file.flatMap(\.names))

    /// The key's own name, and the names of the keys inside its value.
    private var names: [String] { [name] + shape.keys.flatMap(\.names) }

    /// Whether a text begins with a known key and a colon, without the space after it: `max_age:2y`.
    static func isMissingSpace(in text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let next = text[text.index(after: colon)...].first else {
            return false
        }
        return next != " " && next != "\t" && next != ":" && allNames.contains(String(text[..<colon]))
    }

    static func missingSpace(after key: some StringProtocol) -> String {
        "a space is missing after '\(key):'; write '\(key): …'"
    }
}
