import Foundation
@preconcurrency import Glibc
import PostgresCluster
import TestSupport
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
                case .lostWorker: try workers.first?.restart { #expect(run.waits(times: 3)) }
                }
            }
        }

        static let cases = TableLayout.installed.flatMap { layout in
            Fault.allCases
                .filter { $0 != .lostWorker || layout.isDistributed }
                .map { (layout, $0) }
        }

        private static func job(_ store: String, pause: String) throws -> LaunchedJob {
            try LaunchedJob(
                "",
                policy: """
                    version: 1
                    store: "\(store)"
                    rules:
                      - { name: gold, entity: ticks, date_attribute: at, max_age: 12d, batch: { rows: 40, pause: \(pause) } }
                    """)
        }

        private static let time = ["--as-of", "2026-03-02T12:00:00Z"]
        private static let remaining = "SELECT count(*), min(id), max(id), count(DISTINCT id) FROM ticks"
        private static let rest = "276|1164|1439|276"

        @Test(arguments: cases)
        func afterAFaultJustTheExpiredRowsAreGone(_ layout: TableLayout, _ fault: Fault) throws {
            let place = try Place(layout, hasStandby: fault == .failover)
            let job = try Self.job(place.store, pause: layout.pause)
            func count() throws -> Int { Int(try place.server.run("SELECT count(*) FROM ticks", url: place.url)) ?? -1 }
            let dry = try job.report(["--dry-run"] + Self.time)
            #expect(dry.rules.map(\.expired) == [1164])
            // Twice, because a run that was killed is gone on with. Rows of compressed chunks go in so few batches that the second run may
            // end before it is killed.
            for _ in 1...(fault == .kill && layout != .compressed ? 2 : 1) {
                let before = try count()
                let run = try RunningProgram(job, "run", "--no-progress", Self.time[0], Self.time[1])
                // Between two batches, or in one of them.
                #expect(try eventually { try count() < before })
                try place.cause(fault, run)
                let status = run.wait()
                let errors = try job.text("stderr.txt")
                #expect(status == (fault == .kill ? 128 + SIGKILL : 0), "\(errors)")
                // A commit that was sent before the signal is carried out.
                #expect(
                    try fault != .kill
                        || eventually {
                            try place.server.run(
                                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'retention %'",
                                url: place.url)
                                == "0"
                        })
            }
            if fault == .kill {
                let left = try count() - 276
                let next = try job.report(Self.time)
                #expect(next.rules.map(\.deleted) == [left], "\(next)")
            }
            // What was committed and not synced may be back after a failover: nothing that stays may be missing.
            let last = try job.report(Self.time)
            #expect(last.exitCode == 0 && last.rules.map(\.residue) == [0], "\(last)")
            #expect(
                try (place.standby ?? place.server).run(Self.remaining, database: place.database) == Self.rest)
        }

        @Test(.needsCitus) func aWorkerThatIsAwayAtFirstIsWaitedFor() throws {
            let cluster = try CitusCluster()
            let url = try cluster.makeDatabase(TableLayout.distributed.faultTable)
            let job = try Self.job(url, pause: "none")
            try cluster.workers[0].stop()
            let run = try RunningProgram(job, "run", "--no-progress", Self.time[0], Self.time[1])
            #expect(run.waits(times: 20))
            try cluster.workers[0].start()
            #expect(run.wait() == 0, "\((try? job.text("stderr.txt")) ?? "")")
            #expect(try cluster.coordinator.run(Self.remaining, url: url) == Self.rest)
        }

        /// What a coordinator's lost session has prepared keeps rows locked on a worker, as long as nobody ends it.
        @Test(.needsCitus)
        func rowsThatALostSessionHasPreparedAreReleased() throws {
            let cluster = try CitusCluster()
            let url = try cluster.makeDatabase(
                "ALTER SYSTEM SET citus.recover_2pc_interval = -1; SELECT pg_reload_conf(); "
                    + TableLayout.distributed.faultTable)
            let shard = try cluster.coordinator.run(
                "SELECT shard_name FROM citus_shards WHERE table_name = 'ticks'::regclass AND nodename = "
                    + "'\(cluster.workers[0].socketFolder)' LIMIT 1", url: url)
            try cluster.workers[0].run(
                "BEGIN; UPDATE \(shard) SET id = id; PREPARE TRANSACTION 'citus_0_99999_1_1'", url: url)
            let job = try Self.job(url, pause: "none")
            let end = try job.launch(["run", "--no-progress"] + Self.time)
            #expect(end.status == 0, "\(end)")
            #expect(try cluster.coordinator.run(Self.remaining, url: url) == Self.rest)
        }

        /// Names that differ by case alone are two tables, each with rules and advice of its own.
        @Test func namesInAnotherCaseAreOtherTables() throws {
            let server = try #require(PostgresCluster.shared)
            let url = try server.makeDatabase(
                """
                CREATE SCHEMA s2; CREATE TABLE "Ticks" (at timestamptz); CREATE TABLE ticks (at timestamptz);
                CREATE TABLE s2.old (at timestamptz);
                INSERT INTO "Ticks" SELECT timestamptz '2026-01-01Z' + n * interval '1 day' FROM generate_series(0, 9) n;
                INSERT INTO ticks SELECT timestamptz '2026-01-01Z' + n * interval '1 day' FROM generate_series(0, 99) n;
                """)
            let job = try LaunchedJob(
                "",
                policy: """
                    version: 1
                    store: \(url)
                    rules:
                      - { name: upper, entity: Ticks, date_attribute: at, max_age: 30d }
                      - { name: lower, entity: ticks, date_attribute: at, max_age: 30d }
                      - { name: other, entity: s2.old, date_attribute: at, max_age: 30d }
                    """)
            #expect(try job.retention("check").output.contains("CREATE INDEX \"old_at\" ON \"s2\".\"old\" (\"at\");"))
            let report = try job.report(["--as-of", "2026-02-25T00:00:00Z"])
            #expect(report.rules.map(\.outcome) == ["refused", "completed", "completed"])
            #expect(report.rules.map(\.deleted) == [0, 25, 0] && report.rules.map(\.residue) == [10, 0, 0])
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
