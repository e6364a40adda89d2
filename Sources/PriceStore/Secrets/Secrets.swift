import Foundation

/// Finds passwords in text: those of addresses (`scheme://user:password@host`, also without the scheme), what follows `password=`, and the
/// values of parameters of a server's address that libpq does not know, because such a name may be a password's in another spelling. Tokens
/// and keys count as passwords in a parameter of any address (`?token=`) or connection string, in a variable of an environment
/// (`API_KEY=`) and in a header (`Authorization: Bearer`).
///
/// A policy or a command line that contains one is refused, so that none can be shown later. Messages of servers and libraries are searched
/// too.
package enum Secrets {
    /// The replacement for a password of any length.
    package static let mask = "***"

    /// What a message about a password adds.
    package static let note =
        "so does a token or a key, and in the address of a server each parameter that libpq does not know"

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
            let sign = url[..<place.lowerBound].lastIndex(where: "?&;".contains) ?? url.startIndex
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
            + ofServers(in: text) + named(in: text) + withoutScheme(in: text)
            + inHeaders(of: text)
        return places.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// The values of `Authorization:` headers. A plain search comes first: a regular expression takes seconds for a large file.
    private static func inHeaders(of text: String) -> [Range<String.Index>] {
        guard text.mentions("AUTHORIZATION") else { return [] }
        return text.matches(of: #/(?i:authorization):\s*(?:\w+\s+)?([^\s"'`]+)/#).map {
            $0.1.startIndex..<$0.1.endIndex
        }
    }

    private static func isEnd(_ character: Character) -> Bool {
        character.isWhitespace || "\"'`“”‘’".contains(character)
    }

    /// The passwords of addresses of servers, also where the `://` is mistyped, and the values of parameters that libpq does not know.
    private static func ofServers(in text: String) -> [Range<String.Index>] {
        guard text.utf8.contains(where: "@?&".utf8.contains) else { return [] }
        let names = ["postgres", "POSTGRES", "Postgres"].flatMap { text.ranges(of: $0) }
        return names.flatMap { name -> [Range<String.Index>?] in
            let rest = text[name.upperBound...].drop { "qlQL".contains($0) }.drop { ":/".contains($0) }
            let isAddress = rest.prefix { !isEnd($0) && $0 != "/" }.contains("@")
            let secrets = rest.prefix { !isEnd($0) && $0 != "," }.split { "?&".contains($0) }.dropFirst().filter {
                !known.contains(where: decoded($0.prefix { $0 != "=" }).hasPrefix)
            }.map { $0.drop { $0 != "=" }.dropFirst() }
            return secrets.map { nonempty($0.startIndex..<$0.endIndex) } + [isAddress ? password(inURL: rest) : nil]
        }.compactMap(\.self)
    }

    /// The beginnings of the names of other parameters. Source: postgresql.org/docs/current/libpq-connect.html.
    private static let known = """
        host port dbname user passfile require channel_ connect_ client_ option application_ fallback_ tcp_ replication keepalives gss krb
        sslmode sslcert sslkey sslroot sslcrl sslsni sslneg sslcomp ssl_m service min_protocol max_protocol target_ load_balance
        """.split { $0.isWhitespace }.map(String.init)

    /// A name without percent signs, in lower case.
    private static func decoded(_ name: some StringProtocol) -> String {
        (name.removingPercentEncoding ?? String(name)).lowercased()
    }

    /// The passwords of addresses such as `user:password@host/database`.
    private static func withoutScheme(in text: String) -> [Range<String.Index>] {
        // An expression takes a millisecond to build, and most addresses are URLs without a password.
        guard text.contains("@"), text.replacing("://", with: "").contains(":") else { return [] }
        let address = #/(?:^|[\s"'`=\[{,(])(?!postgres)[^\s:/@"'`=\[{,(]+:([^\s/"'`][^\s"'`]*)@[\w.-]+(?:\/|:\d+\b)/#
        return text.matches(of: address).map { $0.1.startIndex..<$0.1.endIndex }
    }

    /// The password of a URL that begins after `://`: from the first colon to the `@` before the host. Without an `@` it is the part that
    /// cannot be a port.
    private static func password(inURL rest: Substring) -> Range<String.Index>? {
        let url = rest.prefix { !isEnd($0) }
        let authority = url.prefix { $0 != "/" && $0 != "?" }
        if let at = authority.lastIndex(of: "@") {
            let colons = [":", "%3A", "%3a"].compactMap { authority[..<at].firstRange(of: $0) }
            return colons.min { $0.lowerBound < $1.lowerBound }.flatMap { nonempty($0.upperBound..<at) }
        }
        for host in authority.split(separator: ",") where !host.hasSuffix("]") {
            guard let colon = host.lastIndex(of: ":"), let first = host.firstIndex(of: ":") else { continue }
            let port = host[host.index(after: colon)...].prefix { $0.isLetter || $0.isNumber }
            guard !port.allSatisfy(\.isNumber) else { continue }
            return nonempty(url.index(after: first)..<(url.lastIndex(of: "@") ?? url.endIndex))
        }
        return nil
    }

    /// The values after `password=`, `PGPASSWORD = `, `?token=`, `API_KEY=` and the like: a quoted text, or everything up to a space, a quote,
    /// a comma or `&`.
    private static func named(in text: String) -> [Range<String.Index>] {
        // A plain search, and only where a name is found: a large file has few.
        lazy var isConnection = ["host", "hostaddr", "dbname", "service"].contains { name in
            ["=", " ="].contains { !text.ranges(of: name + $0).isEmpty }
        }
        return text.indices.filter { text[$0] == "=" }.compactMap { sign in
            let before = text[..<sign].reversed().drop { $0 == " " }
            let word = String(before.prefix { $0.isLetter || $0.isNumber || "%_-".contains($0) }.reversed())
            let name = decoded(word)
            // libpq's `sslkey` is a file, and `require_auth` a method.
            let isKey = keys.contains(where: name.hasSuffix) && !["sslkey", "require_auth"].contains(name)
            let isParameter = before.dropFirst(word.count).first.map("?&;".contains) ?? false
            let isVariable = word.contains("_") && word == word.uppercased()
            guard passwords.contains(where: name.hasSuffix) || isKey && (isParameter || isVariable || isConnection)
            else { return nil }
            var rest = text[text.index(after: sign)...].drop { $0 == " " }
            let quotes: [Character: Character] = ["\"": "\"", "'": "'", "“": "”", "‘": "’"]
            let quote = rest.first.flatMap { quotes[$0] }
            if quote != nil { rest = rest.dropFirst() }
            let value = rest.prefix { quote == nil ? !isEnd($0) && $0 != "&" && $0 != "," : $0 != quote }
            return nonempty(value.startIndex..<value.endIndex)
        }
    }

    /// The ends of the names of passwords.
    private static let passwords = ["password", "passwort", "passwd", "passphrase"]

    /// The ends of the names of what counts as a password where no attribute can be meant.
    private static let keys = [
        "token", "secret", "key", "pwd", "pass", "auth", "credential", "credentials", "signature",
    ]

    private static func nonempty(_ range: Range<String.Index>) -> Range<String.Index>? { range.isEmpty ? nil : range }
}
