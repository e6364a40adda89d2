@preconcurrency import Glibc
import PriceStore

/// Where a PostgreSQL database is: a URL, and a file with the password.
///
/// The URL is libpq's, and what it leaves out comes from libpq's own places: the `PG…` environment, a service file, a
/// password file. Source: PostgreSQL manual, "Connection Strings".
public struct PostgresAddress: Hashable, Sendable {
    /// The URL as it was given; it may hold a password and must not be shown.
    let url: String
    /// A file whose first line is the password; nil: libpq's own ways.
    public var passwordFile: String?

    /// Makes an address of a `postgresql://` URL.
    public init(url: String, passwordFile: String? = nil) {
        self.url = url
        self.passwordFile = passwordFile
    }

    /// Whether a text is the URL of a PostgreSQL database.
    public static func isURL(_ text: String) -> Bool {
        let lowercased = text.lowercased()
        return lowercased.hasPrefix("postgresql://") || lowercased.hasPrefix("postgres://")
    }

    /// The URL without its password, for messages, reports and the ledger.
    public var displayName: String { Self.displayName(of: url) }

    /// A URL without the password in it.
    public static func displayName(of url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let rest = url[scheme.upperBound...]
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = String(rest[..<authorityEnd])
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
            authority.removeSubrange(colon..<at)
        }
        var tail = rest[authorityEnd...]
        var query = ""
        if let mark = tail.firstIndex(of: "?") {
            let kept = tail[tail.index(after: mark)...].split(separator: "&").filter { part in
                !["password", "sslpassword"].contains(part.prefix { $0 != "=" }.lowercased())
            }
            query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
            tail = tail[..<mark]
        }
        return url[..<scheme.upperBound] + authority + tail + query
    }

    /// A message of libpq without the passwords of the URL, which it quotes where it cannot take the URL apart.
    func withoutSecrets(_ message: String) -> String {
        let authority = url.firstRange(of: "://").map { url[$0.upperBound...].prefix { $0 != "/" && $0 != "?" } } ?? ""
        var secrets = url.split(separator: "?").dropFirst().joined().split(separator: "&").compactMap { part in
            part.lowercased().contains("password=")
                ? part.firstIndex(of: "=").map { part[part.index(after: $0)...] } : nil
        }
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
            // Where an @ was not written as %40, libpq takes what follows it for the host.
            secrets += authority[authority.index(after: colon)..<at].split(separator: "@")
        }
        return secrets.sorted { $0.count > $1.count }.reduce(message) { text, secret in
            text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "…")
        }
    }

    /// What libpq is told. The password file's first line goes over a password in the URL.
    func parameters() throws(StoreError) -> [(name: String, value: String)] {
        var parameters = [
            (name: "dbname", value: url), (name: "fallback_application_name", value: "retention \(getpid())"),
            (name: "client_encoding", value: "UTF8"),
        ]
        if let passwordFile { parameters.append((name: "password", value: try password(in: passwordFile))) }
        return parameters
    }

    private func password(in path: String) throws(StoreError) -> String {
        var status = stat()
        guard let file = fopen(path, "re") else {
            let kind: StoreError.Kind = errno == ENOENT ? .missing : .permission
            throw StoreError(
                kind, store: displayName,
                message: "the password file \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        // As libpq refuses such a file of its own.
        guard fstat(fileno(file), &status) == 0, status.st_mode & 0o007 == 0 else {
            throw StoreError(
                .permission, store: displayName, message: "the password file \(path) can be read by everybody",
                hint: "chmod o-rwx \(path)")
        }
        var line = [CChar](repeating: 0, count: 4096)
        guard fgets(&line, Int32(line.count), file) != nil else {
            throw StoreError(.permission, store: displayName, message: "the password file \(path) is empty")
        }
        let bytes = line.prefix { $0 != 0 && $0 != 10 && $0 != 13 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
