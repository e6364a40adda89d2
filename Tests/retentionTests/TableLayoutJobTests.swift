import Foundation
@preconcurrency import Glibc
import PostgresCluster
import Testing

extension TableLayout {
    /// 100,000 rows, one a minute from 2026-01-01 on, of ten symbols.
    var statements: String {
        let table = "CREATE TABLE price (n int, symbol text, at timestamptz NOT NULL)"
        let partitions = (0..<10).map {
            "CREATE TABLE price_\($0) PARTITION OF price FOR VALUES FROM (timestamptz '2026-01-01Z' + interval '\($0 * 7) days') "
                + "TO (timestamptz '2026-01-01Z' + interval '\($0 * 7 + 7) days');"
        }.joined(separator: "\n")
        let fill = """
            INSERT INTO price SELECT n, 's' || n % 10, timestamptz '2026-01-01Z' + n * interval '1 minute'
            FROM generate_series(0, 99999) n;
            """
        let distribute = "SELECT create_distributed_table('price', 'symbol', shard_count => 8);"
        switch self {
        case .plain: return "\(table); CREATE INDEX ON price (at); \(fill)"
        case .partitioned:
            return "\(table) PARTITION BY RANGE (at); \(partitions) CREATE INDEX ON price (at); \(fill)"
        case .hypertable:
            return "\(table); SELECT create_hypertable('price', by_range('at', interval '7 days')); \(fill)"
        case .compressed:
            return TableLayout.hypertable.statements
                + """
                ALTER TABLE price SET (timescaledb.compress, timescaledb.compress_segmentby = 'symbol');
                SELECT compress_chunk(c) FROM show_chunks('price') c;
                """
        case .distributed: return "\(table); \(distribute) CREATE INDEX ON price (at); \(fill)"
        case .distributedPartitioned:
            return
                "\(table) PARTITION BY RANGE (at); \(distribute) \(partitions) CREATE INDEX ON price (at); \(fill)"
        }
    }

    func make() throws -> (url: String, server: PostgresCluster) {
        switch self {
        case .plain, .partitioned:
            let server = try #require(PostgresCluster.shared)
            return (try server.makeDatabase(statements), server)
        case .hypertable, .compressed:
            return (try PostgresCluster.makeTimescaleDatabase(statements), try PostgresCluster.timescale.get())
        case .distributed, .distributedPartitioned:
            let cluster = try CitusCluster.shared.get()
            return (try cluster.makeDatabase(statements), cluster.coordinator)
        }
    }
}

/// The program on each kind of table that servers have, killed or cut off at its work.
@Suite(.serialized, .needsPostgres)
struct TableLayoutJobTests {
    private func job(_ url: String) throws -> LaunchedJob {
        try LaunchedJob(
            "",
            policy: """
                version: 1
                store: \(url)
                rules:
                  - { name: gold, entity: price, date_attribute: at, max_age: 10d, batch: { rows: 500, target: 5ms } }
                """)
    }

    /// The cutoff is in the seventh week: 64,800 rows are expired.
    private static let asOf = ["--as-of", "2026-02-25T00:00:00Z"]
    private static let expired = 64_800

    /// Whether nothing but expired rows is gone.
    private func keepsAllOthers(_ server: PostgresCluster, _ url: String) throws -> Bool {
        try server.run("SELECT count(*) FROM price WHERE n >= \(Self.expired)", url: url) == "\(100_000 - Self.expired)"
    }

    private static func count(_ server: PostgresCluster, _ url: String) throws -> Int {
        try #require(Int(try server.run("SELECT count(*) FROM price", url: url)))
    }

    @Test(arguments: TableLayout.installed) func aRunThatIsKilledIsFinishedByTheNext(layout: TableLayout) throws {
        let (url, server) = try layout.make()
        let job = try job(url)
        let dry = try job.report(["--dry-run"] + Self.asOf)
        #expect(dry.exitCode == 0 && dry.rules[0].expired == Self.expired)
        for _ in 1...3 {
            let before = try Self.count(server, url)
            let run = try RunningProgram(job, "run", "--no-progress", Self.asOf[0], Self.asOf[1])
            #expect(try eventually { try Self.count(server, url) < before || !run.isRunning })
            run.send(SIGKILL)
            _ = run.wait()
            #expect(try keepsAllOthers(server, url))
        }
        // The lock of a run that died is free as soon as the server notices.
        #expect(try eventually { try job.retention("run", Self.asOf[0], Self.asOf[1]).status == 0 })
        #expect(
            try server.run("SELECT count(*), min(n) FROM price", url: url)
                == "\(100_000 - Self.expired)|\(Self.expired)")
    }

    @Test(arguments: TableLayout.installed) func aSessionThatIsCutOffGoesOnInAnother(layout: TableLayout) throws {
        let (url, server) = try layout.make()
        let job = try job(url)
        let run = try RunningProgram(job, "run", "--no-progress", Self.asOf[0], Self.asOf[1])
        for _ in 0..<4 where run.isRunning {
            let before = try Self.count(server, url)
            #expect(try eventually { try Self.count(server, url) < before || !run.isRunning })
            try server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'retention %' "
                    + "AND datname = current_database()", url: url)
        }
        #expect(run.wait() == 0, "\((try? job.text("stderr.txt")) ?? "")")
        #expect(
            try server.run("SELECT count(*), min(n) FROM price", url: url)
                == "\(100_000 - Self.expired)|\(Self.expired)")
    }

    @Test(.needsCitus)
    func aWorkerThatIsLostIsWaitedFor() throws {
        let cluster = try CitusCluster()
        let url = try cluster.makeDatabase(TableLayout.distributed.statements)
        let job = try job(url)
        try cluster.workers[0].stop()
        let run = try RunningProgram(job, "run", "--no-progress", Self.asOf[0], Self.asOf[1])
        Thread.sleep(forTimeInterval: 3)
        try cluster.workers[0].start()
        #expect(run.wait() == 0, "\((try? job.text("stderr.txt")) ?? "")")
        #expect(
            try cluster.coordinator.run("SELECT count(*), min(n) FROM price", url: url)
                == "\(100_000 - Self.expired)|\(Self.expired)")
    }

    /// What a coordinator's lost session has prepared keeps rows locked on a worker, as long as nobody ends it.
    @Test(.needsCitus)
    func rowsThatALostSessionHasPreparedAreReleased() throws {
        let cluster = try CitusCluster()
        let url = try cluster.makeDatabase(
            "ALTER SYSTEM SET citus.recover_2pc_interval = -1; SELECT pg_reload_conf(); "
                + TableLayout.distributed.statements)
        let job = try job(url)
        let shard = try cluster.coordinator.run(
            "SELECT shard_name FROM citus_shards WHERE table_name = 'price'::regclass AND nodename = "
                + "'\(cluster.workers[0].socketFolder)' LIMIT 1", url: url)
        try cluster.workers[0].run(
            "BEGIN; UPDATE \(shard) SET n = n; PREPARE TRANSACTION 'citus_0_99999_1_1'", url: url)
        let run = try RunningProgram(job, "run", "--no-progress", Self.asOf[0], Self.asOf[1])
        #expect(run.wait() == 0, "\((try? job.text("stderr.txt")) ?? "")")
        #expect(
            try cluster.coordinator.run("SELECT count(*), min(n) FROM price", url: url)
                == "\(100_000 - Self.expired)|\(Self.expired)")
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
