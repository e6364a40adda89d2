import Foundation

/// A throw-away PostgreSQL cluster: its own folder, a Unix socket, nobody's data. It ends with the process that made it,
/// however that ends.
package final class PostgresCluster: Sendable {
    /// The folder of the socket.
    package let socketFolder: String
    private let folder: String
    private let programs: String
    private let keeper: Process

    /// The cluster that the tests of this process share; nil: PostgreSQL is not installed, or the cluster does not start.
    package static let shared: PostgresCluster? = try? PostgresCluster()

    /// Where the programs of the newest installed PostgreSQL are; nil: there is none.
    package static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    /// Makes and starts a cluster. Not as root, which the server refuses to be: then it is the user `postgres`.
    package init(settings: [String] = []) throws {
        guard let programs = Self.programs else { throw CocoaError(.fileNoSuchFile) }
        self.programs = programs
        folder = "/tmp/retention-pg-\(UUID().uuidString.prefix(8))"
        socketFolder = folder
        let settings = ["fsync = off", "listen_addresses = ''", "unix_socket_directories = '\(folder)'"] + settings
        let script = """
            set -e
            \(Self.prefix) mkdir -p \(folder)
            \(Self.prefix) \(programs)/initdb -D \(folder)/data -U retention -A trust -E UTF8 --locale=C.UTF-8 -N >/dev/null
            printf '%s\\n' "\(settings.joined(separator: "\" \""))" | \(Self.prefix) tee -a \(folder)/data/postgresql.conf >/dev/null
            \(Self.prefix) chmod 755 \(folder)
            \(Self.prefix) \(programs)/pg_ctl -D \(folder)/data -l \(folder)/log -w start >/dev/null
            echo started
            cat >/dev/null || true
            \(Self.prefix) \(programs)/pg_ctl -D \(folder)/data -m immediate stop >/dev/null 2>&1 || true
            rm -rf \(folder)
            """
        keeper = Process()
        keeper.executableURL = URL(fileURLWithPath: "/bin/bash")
        keeper.arguments = ["-c", script]
        // Ends when this process does: nobody holds the other end any more.
        keeper.standardInput = Pipe()
        let output = Pipe()
        keeper.standardOutput = output
        try keeper.run()
        guard !output.fileHandleForReading.availableData.isEmpty else { throw CocoaError(.executableLoad) }
    }

    private static let prefix = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""

    /// Makes an empty database and returns its URL.
    package func makeDatabase(_ statements: String = "") throws -> String {
        let name = "store_" + UUID().uuidString.filter { $0 != "-" }.lowercased()
        try run("CREATE DATABASE \(name)", database: "postgres")
        let url = self.url(database: name)
        if !statements.isEmpty { try run(statements, database: name) }
        return url
    }

    /// The URL of a database.
    package func url(database: String, user: String = "retention", password: String? = nil) -> String {
        let secret = password.map { ":\($0)" } ?? ""
        return "postgresql://\(user)\(secret)@/\(database)?host=\(socketFolder)"
    }

    /// Carries out statements in the psql shell and returns what it prints: values divided by `|`, rows by line.
    @discardableResult
    package func run(_ statements: String, database: String) throws -> String {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: programs + "/psql")
        shell.arguments = [
            "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", socketFolder, "-U", "retention", "-d", database, "-f", "-",
        ]
        let (input, output) = (Pipe(), Pipe())
        shell.standardInput = input
        shell.standardOutput = output
        try shell.run()
        input.fileHandleForWriting.write(Data(statements.utf8))
        try input.fileHandleForWriting.close()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        shell.waitUntilExit()
        guard shell.terminationStatus == 0 else {
            throw CocoaError(.executableRuntimeMismatch, userInfo: [NSLocalizedDescriptionKey: "psql failed"])
        }
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// Carries out statements in the database of a URL.
    @discardableResult
    package func run(_ statements: String, url: String) throws -> String {
        try run(statements, database: Self.database(of: url))
    }

    /// The name of the database of a URL.
    package static func database(of url: String) -> String {
        String(url.prefix { $0 != "?" }.split(separator: "/").last ?? "")
    }

    /// Stops the server and starts it again; what its sessions were doing is undone.
    package func restart(mode: String = "immediate", afterSeconds pause: Double = 0) throws {
        try control("stop -m \(mode)")
        Thread.sleep(forTimeInterval: pause)
        try control("start -l \(folder)/log")
    }

    /// Has the server ask every user but its own for a password.
    package func requirePasswords() throws {
        let file = "\(folder)/data/pg_hba.conf"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c",
            "printf 'local all retention trust\\nlocal all all scram-sha-256\\n' | \(Self.prefix) tee \(file) >/dev/null",
        ]
        try process.run()
        process.waitUntilExit()
        try control("reload")
    }

    /// Stops the server.
    package func stop() throws { try control("stop -m immediate") }

    private func control(_ words: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // What the server inherited would keep us waiting for it.
        let close = "for n in $(ls /proc/$$/fd); do [ $n -gt 2 ] && eval \"exec $n>&-\"; done; "
        process.arguments = [
            "-c", close + "\(Self.prefix) \(programs)/pg_ctl -D \(folder)/data -w \(words) >/dev/null 2>&1",
        ]
        try process.run()
        process.waitUntilExit()
    }
}
