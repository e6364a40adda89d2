/// URLs of databases without what must not be shown.
package enum SafeURL {
    /// The URL without the password in it, whether it stands before the host or among the parameters.
    package static func text(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let rest = url[scheme.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = String(rest[..<end])
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
            authority.removeSubrange(colon..<at)
        }
        var path = rest[end...]
        var query = ""
        if let mark = path.firstIndex(of: "?") {
            let kept = path[path.index(after: mark)...].split(separator: "&").filter { part in
                !["password", "sslpassword"].contains(part.prefix { $0 != "=" }.lowercased())
            }
            query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
            path = path[..<mark]
        }
        return url[..<scheme.upperBound] + authority + path + query
    }
}
