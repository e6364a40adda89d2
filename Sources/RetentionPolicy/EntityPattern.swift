/// The pattern of entity names in a rule: `ohlcv_*`.
///
/// `*` is any text, `?` one character, and `[ab]`, `[a-c]` or `[!a]` one character of a set. Letter case does not matter. Each `*` takes as
/// little text as possible.
package struct EntityPattern: Sendable {
    private let text: String
    /// The number of `*`; more than ``mostStars`` would make a search slow.
    package let starCount: Int
    package static let mostStars = 3

    /// Nil: the text has no wildcard. A `[` without its `]` is none.
    package init?(_ text: String) {
        guard text.contains(where: { "*?[".contains($0) }), Self.regex(text) != nil else { return nil }
        self.text = text
        starCount = text.count { $0 == "*" }
    }

    /// Whether the text has only `*`, so that the texts of the stars tell two names apart.
    var hasOnlyStars: Bool { !text.contains(where: { "?[".contains($0) }) }

    /// The texts of the stars in each name that matches.
    package func matches(in names: [String]) -> [String: [String]] {
        guard let regex = Self.regex(text) else { return [:] }
        return names.reduce(into: [:]) { found, name in
            guard let match = try? regex.wholeMatch(in: name) else { return }
            found[name] = match.output.dropFirst().compactMap { $0.substring.map(String.init) }
        }
    }

    private static func regex(_ text: String) -> Regex<AnyRegexOutput>? {
        var (result, isInSet) = ("", false)
        for character in text {
            switch character {
            case "]" where isInSet: (result, isInSet) = (result + "]", false)
            case "!" where isInSet && result.hasSuffix("["), "^" where isInSet && result.hasSuffix("["): result += "^"
            case "-" where isInSet: result += "-"
            case "[" where !isInSet: (result, isInSet) = (result + "[", true)
            case "*" where !isInSet: result += "(.*?)"
            case "?" where !isInSet: result += "."
            case _ where character.isLetter || character.isNumber || character == "_": result.append(character)
            default: result += "\\\(character)"
            }
        }
        return try? Regex(result).ignoresCase().dotMatchesNewlines()
    }
}

extension EntityPattern {
    /// The place of the text of a star in the name of the candles: `{1}` for the first one.
    package static func placeholder(_ star: Int) -> String { "{\(star)}" }

    /// A name with the texts of the stars in their places.
    package static func filled(_ name: String, _ stars: [String]) -> String {
        stars.enumerated().reduce(name) { $0.replacing(placeholder($1.offset + 1), with: $1.element) }
    }
}
