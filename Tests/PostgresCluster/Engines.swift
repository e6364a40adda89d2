import Foundation

extension PostgresCluster {
    /// An extension that makes another engine of PostgreSQL.
    package enum Engine: String, Sendable {
        case timescaledb
        case citus

        /// Whether it is installed for the PostgreSQL that the tests start.
        package var isInstalled: Bool {
            let version = PostgresCluster.programs?.split(separator: "/").dropLast().last ?? ""
            return FileManager.default.fileExists(
                atPath: "/usr/share/postgresql/\(version)/extension/\(rawValue).control")
        }
    }

    /// The server with TimescaleDB that the tests of this process share.
    package static let timescale = Result {
        try PostgresCluster(
            settings: ["shared_preload_libraries = 'timescaledb'", "timescaledb.telemetry_level = off"])
    }

    /// Makes a database with TimescaleDB on the shared server and returns its URL.
    package static func makeTimescaleDatabase(_ statements: String = "") throws -> String {
        try timescale.get().makeDatabase(
            "SET client_min_messages = error; CREATE EXTENSION timescaledb;\n" + statements)
    }
}

/// What a table is made as, by whichever engine.
package enum TableLayout: String, CaseIterable, Sendable {
    case plain, partitioned, hypertable, compressed, distributed, distributedPartitioned

    /// Those whose engine is installed.
    package static let installed = allCases.filter { layout in
        switch layout {
        case .plain, .partitioned: true
        case .hypertable, .compressed: PostgresCluster.Engine.timescaledb.isInstalled
        case .distributed, .distributedPartitioned: PostgresCluster.Engine.citus.isInstalled
        }
    }

    package var isPartitioned: Bool { [.partitioned, .distributedPartitioned].contains(self) }
    package var isHypertable: Bool { [.hypertable, .compressed].contains(self) }
    package var isDistributed: Bool { [.distributed, .distributedPartitioned].contains(self) }
}

/// A Citus cluster: a coordinator and two workers.
package final class CitusCluster: Sendable {
    package let coordinator: PostgresCluster
    package let workers: [PostgresCluster]
    /// Nodes are added to one database at a time: they change the same rows of catalogs that all databases share.
    private let making = NSLock()

    /// The cluster that the tests of this process share.
    package static let shared = Result { try CitusCluster() }

    /// The servers speak to each other through their sockets.
    private static let settings = [
        // Each session of the coordinator opens up to one for each shard.
        "shared_preload_libraries = 'citus'", "max_prepared_transactions = 200", "max_connections = 500",
        "citus.node_conninfo = 'sslmode=prefer'",
        "citus.enable_statistics_collection = off",
        // Each database has a daemon of its own, which ends what lost sessions have prepared.
        "max_worker_processes = 64",
    ]

    package init() throws {
        coordinator = try PostgresCluster(settings: Self.settings)
        workers = try (0..<2).map { _ in try PostgresCluster(settings: Self.settings) }
    }

    /// Makes a standby of the coordinator, as it is now.
    package func makeStandby() throws -> PostgresCluster {
        try PostgresCluster(settings: Self.settings, standbyOf: coordinator)
    }

    /// Makes a database on all servers, carries out statements on the coordinator and returns its URL there.
    package func makeDatabase(_ statements: String = "") throws -> String {
        try making.withLock { try make(statements) }
    }

    private func make(_ statements: String) throws -> String {
        let url = try coordinator.makeDatabase()
        let name = PostgresCluster.database(of: url)
        for worker in workers {
            try worker.run(
                "SET citus.enable_create_database_propagation = off; CREATE DATABASE \(name)", database: "postgres")
            try worker.run("CREATE EXTENSION citus", database: name)
        }
        func place(_ server: PostgresCluster) -> String { "'\(server.socketFolder)', \(server.port)" }
        try coordinator.run(
            """
            CREATE EXTENSION citus;
            SELECT citus_set_coordinator_host(\(place(coordinator)));
            \(workers.map { "SELECT citus_add_node(\(place($0)));" }.joined(separator: "\n"))
            \(statements)
            """, url: url)
        return url
    }
}
