import Foundation
@preconcurrency import Glibc
import PostgresCluster
import Testing

extension PostgresJobTests {
    /// What happens to a run at work, on each kind of table: afterwards just the expired rows are gone.
    @Suite(.serialized)
    struct Layouts {
        enum Fault: String, CaseIterable, Sendable {
            /// The program is killed, and the next run goes on.
            case kill
            /// The server ends the run's session.
            case lostConnection
            /// The server ends at once and is started again.
            case restart
            /// A standby takes over; in a cluster that of the coordinator.
            case failover
            /// A worker of the cluster ends at once and is started again.
            case lostWorker
        }

        /// Where a table is: each test ends servers of its own.
        private struct Place {
            let server: PostgresCluster
            var workers: [PostgresCluster] = []
            var standby: PostgresCluster?
            let database: String
            let url: String

            init(_ layout: TableLayout, hasStandby: Bool) throws {
                if layout.isDistributed {
                    let cluster = try CitusCluster()
                    (server, workers) = (cluster.coordinator, cluster.workers)
                    url = try cluster.makeDatabase(layout.faultTable)
                    if hasStandby { standby = try cluster.makeStandby() }
                } else {
                    let settings = layout.isHypertable ? ["shared_preload_libraries = 'timescaledb'"] : []
                    server = try PostgresCluster(settings: settings)
                    url = try server.makeDatabase(
                        "SET client_min_messages = error; "
                            + (layout.isHypertable ? "CREATE EXTENSION timescaledb; " : "") + layout.faultTable)
                    if hasStandby { standby = try PostgresCluster(settings: settings, standbyOf: server) }
                }
                database = PostgresCluster.database(of: url)
            }

            /// Names both servers where there are two.
            var store: String {
                guard let standby else { return url }
                return "postgresql://retention@/\(database)?host=\(server.socketFolder),\(standby.socketFolder)"
                    + "&target_session_attrs=read-write"
            }

            func cause(_ fault: Fault, _ run: RunningProgram) throws {
                switch fault {
                case .kill: run.send(SIGKILL)
                case .lostConnection:
                    try server.run(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'retention %'",
                        database: "postgres")
                case .restart: try server.restart()
                case .failover:
                    try server.stop()
                    try standby?.promote()
                case .lostWorker: try workers.first?.restart(afterSeconds: 0.5)
                }
            }
        }

        static let cases = TableLayout.installed.flatMap { layout in
            Fault.allCases
                .filter { $0 != .lostWorker || layout.isDistributed }
                .map { (layout, $0) }
        }

        @Test(arguments: cases)
        func afterAFaultJustTheExpiredRowsAreGone(_ layout: TableLayout, _ fault: Fault) throws {
            let place = try Place(layout, hasStandby: fault == .failover)
            let job = try LaunchedJob(
                "",
                policy: """
                    version: 1
                    store: "\(place.store)"
                    rules:
                      - { name: gold, entity: ticks, date_attribute: at, max_age: 12d, batch: { rows: 40, pause: \(layout.pause) } }
                    """)
            let time = ["--as-of", "2026-03-02T12:00:00Z"]
            let dry = try job.report(["--dry-run"] + time)
            #expect(dry.rules.map(\.expired) == [1164])
            let run = try RunningProgram(job, "run", "--no-progress", time[0], time[1])
            // Between two batches, or in one of them.
            #expect(try eventually { try place.server.run("SELECT count(*) < 1440 FROM ticks", url: place.url) == "t" })
            try place.cause(fault, run)
            let status = run.wait()
            if fault == .kill {
                #expect(status == 128 + SIGKILL, "\(status)")
                // A commit that was sent before the signal is carried out.
                #expect(
                    try eventually {
                        try place.server.run(
                            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'retention %'",
                            url: place.url)
                            == "0"
                    })
                let left = try place.server.run("SELECT count(*) - 276 FROM ticks", url: place.url)
                let next = try job.report(time)
                #expect(next.rules.map { String($0.deleted) } == [left], "\(next)")
            } else {
                let errors = try job.text("stderr.txt")
                #expect(status == 0, "\(errors)")
            }
            // What was committed and not synced may be back after a failover: nothing that stays may be missing.
            let last = try job.report(time)
            #expect(last.exitCode == 0 && last.rules.map(\.residue) == [0], "\(last)")
            #expect(
                try (place.standby ?? place.server).run(
                    "SELECT count(*), min(id), max(id), count(DISTINCT id) FROM ticks", database: place.database)
                    == "276|1164|1439|276")
        }
    }
}

extension TableLayout {
    /// Long enough for a fault between two batches. Compressed chunks are deleted in few.
    fileprivate var pause: String { self == .compressed ? "1s" : "100ms" }

    /// A row each hour of 60 days; in parts of 14 days where the table has parts.
    fileprivate var faultTable: String {
        let head = "CREATE TABLE ticks (id int, symbol text, at timestamptz NOT NULL)"
        let parts = (0..<5).map {
            "CREATE TABLE ticks_\($0) PARTITION OF ticks FOR VALUES FROM (timestamptz '2026-01-01 00:00Z' + interval '\(14 * $0) days') "
                + "TO (timestamptz '2026-01-01 00:00Z' + interval '\(14 * $0 + 14) days');"
        }.joined(separator: "\n")
        let distribute = "SELECT create_distributed_table('ticks', 'symbol', shard_count => 4);"
        let chunks =
            "SELECT create_hypertable('ticks', by_range('at', interval '14 days'), create_default_indexes => false);"
        let rows = """
            CREATE INDEX ON ticks (at);
            INSERT INTO ticks SELECT n, 's' || n % 7, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour'
            FROM generate_series(0, 1439) n;

            """
        switch self {
        case .plain: return "\(head);\n\(rows)"
        case .partitioned: return "\(head) PARTITION BY RANGE (at);\n\(parts)\n\(rows)"
        case .hypertable: return "\(head);\n\(chunks)\n\(rows)"
        case .compressed:
            return "\(head);\n\(chunks)\n\(rows)"
                + "ALTER TABLE ticks SET (timescaledb.compress, timescaledb.compress_segmentby = 'symbol');\n"
                + "SELECT compress_chunk(c) FROM show_chunks('ticks') c;"
        case .distributed: return "\(head);\n\(distribute)\n\(rows)"
        case .distributedPartitioned: return "\(head) PARTITION BY RANGE (at);\n\(distribute)\n\(parts)\n\(rows)"
        }
    }
}
