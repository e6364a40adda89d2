/// Finds passwords in text: those of URLs (`scheme://user:password@host`), and what follows `password=`.
///
/// A policy or a command line that contains one is refused, so that none can be shown later. Messages of servers and libraries are searched
/// too.
package enum Secrets {
    /// The replacement for a password of any length.
    package static let mask = "***"

    /// Whether a text contains a password.
    package static func areIn(_ text: String) -> Bool { !places(in: text).isEmpty }

    /// The text with ``mask`` in place of each password.
    package static func hidden(in text: String) -> String {
        let places = places(in: text)
        return places.isEmpty ? text : without(places, in: text, mask: mask)
    }

    /// The passwords in a text, longest first.
    package static func found(in text: String) -> [String] {
        places(in: text).map { String(text[$0]) }.sorted { $0.count > $1.count }
    }

    /// A URL without its password, before the host or in a parameter. Everything else is unchanged, because the ledger identifies a store
    /// by this name.
    package static func removed(fromURL url: String) -> String {
        let places = places(in: url).map { place in
            // Removes the colon before the password, or the parameter's name and one of the signs around the parameter.
            guard url[url.index(before: place.lowerBound)] == "=" else {
                return url.index(before: place.lowerBound)..<place.upperBound
            }
            let sign = url[..<place.lowerBound].lastIndex { $0 == "?" || $0 == "&" } ?? url.startIndex
            return place.upperBound == url.endIndex
                ? sign..<url.endIndex : url.index(after: sign)..<url.index(after: place.upperBound)
        }
        return without(places, in: url, mask: "")
    }

    private static func without(_ places: [Range<String.Index>], in text: String, mask: String) -> String {
        var result = ""
        var end = text.startIndex
        for place in places where place.lowerBound >= end {
            result += text[end..<place.lowerBound] + mask
            end = place.upperBound
        }
        return result + text[end...]
    }

    private static func places(in text: String) -> [Range<String.Index>] {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }) else { return [] }
        let places =
            text.ranges(of: "://").compactMap { password(inURL: text[$0.upperBound...]) }
            + mistyped(in: text) + named(in: text)
        return places.sorted { $0.lowerBound < $1.lowerBound }
    }

    private static func isEnd(_ character: Character) -> Bool {
        character.isWhitespace || "\"'`“”‘’".contains(character)
    }

    /// The passwords of addresses of servers, also where the `://` is mistyped.
    private static func mistyped(in text: String) -> [Range<String.Index>] {
        text.ranges(of: "postgres").compactMap { name in
            let rest = text[name.upperBound...].drop { "ql".contains($0) }.drop { ":/".contains($0) }
            return rest.prefix { !isEnd($0) && $0 != "/" }.contains("@") ? password(inURL: rest) : nil
        }
    }

    /// The password of a URL that begins after `://`: from the first colon to the `@` before the host. Without an `@` it is the part that
    /// cannot be a port.
    private static func password(inURL rest: Substring) -> Range<String.Index>? {
        let url = rest.prefix { !isEnd($0) }
        let authority = url.prefix { $0 != "/" && $0 != "?" }
        if let at = authority.lastIndex(of: "@") {
            guard let colon = authority[..<at].firstIndex(of: ":") else { return nil }
            return nonempty(url.index(after: colon)..<at)
        }
        for host in authority.split(separator: ",") where !host.hasSuffix("]") {
            guard let colon = host.lastIndex(of: ":"), let first = host.firstIndex(of: ":") else { continue }
            let port = host[host.index(after: colon)...].prefix { $0.isLetter || $0.isNumber }
            guard !port.allSatisfy(\.isNumber) else { continue }
            return nonempty(url.index(after: first)..<(url.lastIndex(of: "@") ?? url.endIndex))
        }
        return nil
    }

    /// The values after `password=`, `PGPASSWORD = ` and the like: a quoted text, or everything up to a space, a quote, a comma or `&`.
    private static func named(in text: String) -> [Range<String.Index>] {
        let lower = text.lowercased()
        // If letters have other lengths in lower case, the places differ.
        guard lower.utf8.count == text.utf8.count else { return [] }
        return lower.ranges(of: "password").compactMap { name in
            var rest = text[name.upperBound...].drop { $0 == " " }
            guard rest.first == "=" else { return nil }
            rest = rest.dropFirst().drop { $0 == " " }
            let quotes: [Character: Character] = ["\"": "\"", "'": "'", "“": "”", "‘": "’"]
            let quote = rest.first.flatMap { quotes[$0] }
            if quote != nil { rest = rest.dropFirst() }
            let value = rest.prefix { quote == nil ? !isEnd($0) && $0 != "&" && $0 != "," : $0 != quote }
            return nonempty(value.startIndex..<value.endIndex)
        }
    }

    private static func nonempty(_ range: Range<String.Index>) -> Range<String.Index>? { range.isEmpty ? nil : range }
}
