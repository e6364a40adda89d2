@preconcurrency import Glibc
import PriceStore

/// Where a PostgreSQL database is: a URL, and a file with the password.
///
/// The URL has libpq's format. libpq takes missing parts from its own sources: the `PG…` environment, a service file, a password file.
/// Source: PostgreSQL manual, "Connection Strings".
public struct PostgresAddress: Hashable, Sendable {
    /// The URL as it was given. It may contain a password and must not be shown.
    let url: String
    /// A file whose first line is the password; nil for libpq's own sources.
    public var passwordFile: String?

    /// Creates an address from a `postgresql://` URL.
    public init(url: String, passwordFile: String? = nil) {
        self.url = url
        self.passwordFile = passwordFile
    }

    /// The URL without its password, for messages, reports and the ledger.
    public var displayName: String { Secrets.removed(fromURL: url) }

    /// The server and the database without user, password and options. Different spellings of a URL give the same name.
    public var databaseName: String {
        let parts = url.split(separator: "?", maxSplits: 1).map(String.init)
        let place = (parts.first ?? "").drop { $0 != "/" }.dropFirst(2).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = place.first.map(String.init) ?? ""
        let user = authority.lastIndex(of: "@").map { String(authority[..<$0]) } ?? ""
        var hosts = authority.split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        var database = place.count > 1 ? String(place[1]) : ""
        var port: String?
        for option in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard pair.count == 2 else { continue }
            switch pair[0] {
            case "host", "hostaddr": hosts = pair[1].replacing("%2F", with: "/").replacing("%2f", with: "/")
            case "port": port = pair[1]
            case "dbname": database = pair[1]
            default: break
            }
        }
        if let port { hosts = hosts.split(separator: ",").map { "\($0):\(port)" }.joined(separator: ",") }
        if database.isEmpty { database = String(user.prefix { $0 != ":" }) }
        let names = hosts.lowercased().split(separator: ",", omittingEmptySubsequences: false).map { host in
            var host = host.hasSuffix(":5432") ? String(host.dropLast(5)) : String(host)
            for name in ["127.0.0.1", "[::1]", "::1"] where host == name || host.hasPrefix(name + ":") {
                host = "localhost" + host.dropFirst(name.count)
            }
            return host
        }
        return "postgresql://\(names.joined(separator: ","))/\(database)"
    }

    /// A message of libpq without the passwords of the URL. libpq quotes parts of a URL that it cannot parse. If an `@` or `/` is not
    /// written as `%40` or `%2F`, it takes a part of the password for the host or the port.
    func withoutSecrets(_ message: String) -> String {
        let whole = Secrets.found(in: url)
        let parts = whole.flatMap { $0.split { "@/?:".contains($0) } }.map(String.init).filter { $0.count > 1 }
        return (whole + parts).sorted { $0.count > $1.count }.reduce(message) { text, secret in
            text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: Secrets.mask)
        }
    }

    /// The connection parameters for libpq. The first line of the password file overrides a password in the URL.
    ///
    /// What stands before the URL is overridden by it: each host has ten seconds to answer, and after a minute without a word from the
    /// server's host, the connection is lost.
    func parameters() throws(StoreError) -> [(name: String, value: String)] {
        var parameters = [
            (name: "keepalives_idle", value: "30"), (name: "keepalives_interval", value: "10"),
            (name: "keepalives_count", value: "3"), (name: "tcp_user_timeout", value: "60000"),
            (name: "connect_timeout", value: getenv("PGCONNECT_TIMEOUT").map { String(cString: $0) } ?? "10"),
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
        // libpq refuses such a password file, too.
        guard fstat(fileno(file), &status) == 0, status.st_mode & 0o007 == 0 else {
            throw StoreError(
                .permission, store: displayName, message: "the password file \(path) can be read by every user",
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
