import Foundation

/// A throw-away PostgreSQL cluster: its own folder, a Unix socket, nobody's data. It ends with the process that made it,
/// however that ends.
package final class PostgresCluster: Sendable {
    /// The folder of the socket.
    package let socketFolder: String
    /// The port, which the socket is named by; with TLS it is one of this host too.
    package let port: Int
    /// The certificate that the server shows, signed by itself; only there with TLS.
    package var certificate: String { folder + "/server.crt" }
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
    ///
    /// - Parameters:
    ///   - settings: lines of `postgresql.conf`.
    ///   - diskMegabytes: how large a disk of its own the server's files are on; nil: none. Only root can make one.
    ///   - primary: the server to be a standby of; nil: of none.
    ///   - hasTLS: whether it listens to this host too, and speaks TLS as `localhost`.
    package init(
        settings: [String] = [], diskMegabytes: Int? = nil, standbyOf primary: PostgresCluster? = nil,
        hasTLS: Bool = false
    ) throws {
        guard let programs = Self.programs else { throw CocoaError(.fileNoSuchFile) }
        self.programs = programs
        let folder = "/tmp/retention-pg-\(UUID().uuidString.prefix(8))"
        self.folder = folder
        socketFolder = folder
        port = hasTLS ? Int.random(in: 20_000..<32_000) : 5432
        let makeCertificate = """
            cd \(folder)/disk/data
            \(Self.prefix) openssl req -new -x509 -days 30 -nodes -subj /CN=localhost -out server.crt -keyout server.key 2>/dev/null
            \(Self.prefix) chmod 600 server.key
            cp server.crt \(folder)/server.crt
            """
        let settings =
            [
                "fsync = off", "unix_socket_directories = '\(folder)'", "port = \(port)",
                "ssl = \(hasTLS ? "on" : "off")",
                "listen_addresses = '\(hasTLS ? "127.0.0.1" : "")'",
            ] + settings
        let disk = diskMegabytes.map { "mount -t tmpfs -o size=\($0)m,mode=777 retention \(folder)/disk" } ?? "true"
        let make =
            primary.map {
                "pg_basebackup -D \(folder)/disk/data -h \($0.socketFolder) -U retention -R -X stream -c fast --no-sync"
            } ?? "initdb -D \(folder)/disk/data -U retention -A trust -E UTF8 --locale=C.UTF-8 -N"
            + (diskMegabytes == nil ? "" : " --wal-segsize=1")
        // What keeps the server is in the background: Foundation learns by an inherited socket that its own child has ended.
        let script = """
            keep() {
                set -e
                \(Self.closeInherited)
                \(Self.prefix) mkdir -p \(folder)/disk
                \(Self.prefix) chmod 755 \(folder)
                cd \(folder)
                \(disk)
                end() {
                    \(Self.prefix) \(programs)/pg_ctl -D \(folder)/disk/data -m immediate stop >/dev/null 2>&1 || true
                    cd /
                    for disk in $(grep -o ' \(folder)/disk[^ ]*' /proc/mounts); do umount $disk; done
                    rm -rf \(folder)
                }
                trap end EXIT
                \(Self.prefix) \(programs)/\(make) >/dev/null
                \(hasTLS ? makeCertificate : "")
                printf '%s\\n' "\(settings.joined(separator: "\" \""))" | \(Self.prefix) tee -a \(folder)/disk/data/postgresql.conf >/dev/null
                \(Self.prefix) \(programs)/pg_ctl -D \(folder)/disk/data -l \(folder)/log -w start >/dev/null
                echo started
                cat >/dev/null || true
            }
            keep <&0 &
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

    /// Closes what a subshell has inherited. Tests begin processes at the same moment: a server with an end of a pipe of another
    /// test would keep that test waiting for as long as it runs.
    private static let closeInherited =
        "self=$BASHPID; for n in $(ls /proc/$self/fd); do [ $n -le 2 ] || eval \"exec $n>&-\"; done"

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
        let number = port == 5432 ? "" : "&port=\(port)"
        return "postgresql://\(user)\(secret)@/\(database)?host=\(socketFolder)\(number)"
    }

    /// Carries out statements in the psql shell and returns what it prints: values divided by `|`, rows by line.
    @discardableResult
    package func run(_ statements: String, database: String) throws -> String {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: programs + "/psql")
        shell.arguments = [
            "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", socketFolder, "-p", "\(port)", "-U", "retention", "-d", database,
            "-f", "-",
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
    package func restart(mode: String = "immediate", meanwhile work: () throws -> Void = {}) throws {
        try control("stop -m \(mode)")
        try work()
        try control("start -l \(folder)/log")
    }

    /// Has the server ask every user but its own for a password.
    package func requirePasswords() throws {
        try shell(
            """
            printf '%s\\n' 'local all retention trust' 'local replication retention trust' 'local all all scram-sha-256' \
                'hostssl all all all scram-sha-256' | \(Self.prefix) tee \(folder)/disk/data/pg_hba.conf >/dev/null
            """)
        try control("reload")
    }

    /// A new folder on the server's disk that belongs to the server, for a tablespace: on a disk of its own.
    ///
    /// - Throws: where no disk can be made, as by anybody but root.
    package func makeDisk(megabytes: Int) throws -> String {
        let place = "\(folder)/disk-\(UUID().uuidString.prefix(4))"
        try shell(
            """
            mkdir \(place)
            mount -t tmpfs -o size=\(megabytes)m,mode=777 retention \(place)
            \(Self.prefix) mkdir \(place)/space
            """)
        return place + "/space"
    }

    /// Fills the server's own disk but for some room, or gives that room back.
    package func fillDisk(leavingKilobytes room: Int?) throws {
        let file = "\(folder)/disk/filler"
        guard let room else { return try shell("rm -f \(file)") }
        try shell(
            "fallocate -l $(( ($(df --output=avail -k \(folder)/disk | tail -n 1) - \(room)) * 1024 )) \(file)")
    }

    /// Stops the server.
    package func stop() throws { try control("stop -m immediate") }

    /// Starts the server that was stopped, or that stopped itself.
    package func start() throws { try control("start -l \(folder)/log") }

    /// Makes a standby the primary.
    package func promote() throws { try control("promote") }

    private func control(_ words: String) throws {
        try shell(
            """
            (
                \(Self.closeInherited)
                \(Self.prefix) \(programs)/pg_ctl -D \(folder)/disk/data -w \(words) >/dev/null 2>&1 || true
            )
            """)
    }

    private func shell(_ script: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "set -e\ncd /\n" + script]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CocoaError(.executableRuntimeMismatch, userInfo: [NSLocalizedDescriptionKey: script])
        }
    }
}
