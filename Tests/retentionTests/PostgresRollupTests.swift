import Foundation
import PostgresCluster
import PostgresStore
import Testing

/// `rollup` in the running program on a server: the dry run, the run and its reports, and the same candles as of a file.
@Suite(
    .enabled("PostgreSQL is not installed, or the package was built without the trait Postgres") {
        PostgresDatabase.isAvailable && PostgresCluster.shared != nil
    })
struct PostgresRollupTests {
    private static let columns = """
        symbol, time, open, high, low, close, volume, count, open_time, close_time, price_volume
        """

    /// Ticks from 2026-01-01T00:00Z on, two at a time, of two symbols and of none. Some have no price.
    private static let ticks = """
        CREATE TABLE tick (id bigint, symbol text, at bigint NOT NULL, price double precision, volume bigint%@);
        %@
        """
    private static let values = """
        SELECT (i * 7919) % 10007, CASE i % 3 WHEN 0 THEN 'XAUUSD' WHEN 1 THEN 'EURUSD' END, 1767225600000 + i / 6 * 41100,
        CASE WHEN i % 500 > 0 THEN CASE WHEN i % 501 = 0 THEN -1 ELSE 100 + i * 7919 % 101 / CAST(7 AS double precision) END END,
        CASE WHEN i % 7 > 0 THEN i % 5 END
        """
    private static let rows = "INSERT INTO tick \(values) FROM generate_series(0, 9999) AS i;"
    private static let rowsOfAFile = """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) INSERT INTO tick \(values) FROM n;
        """

    private static func policy(_ store: String) -> String {
        """
        version: 1
        store: \(store)
        rules:
          - name: ticks
            entity: tick
            date_attribute: at
            date_format: unix_milliseconds
            max_age: 1d
            allow_empty: true
            batch: { rows: 100 }
            rollup: { into: candle_1m, every: 1min, per: [symbol], price: price, volume: volume }
          - name: minutes
            entity: candle_1m
            date_attribute: time
            date_format: unix_milliseconds
            max_age: 1d
            allow_empty: true
            rollup: { into: candle_1h, every: 1h, from: candles, session: { zone: America/New_York, start: "17:00" } }

        """
    }

    /// The same job on a file.
    private func fileJob() throws -> LaunchedJob {
        let table = String(format: Self.ticks, "", "CREATE INDEX tick_at ON tick (at);")
            .replacing("id bigint", with: "id INTEGER PRIMARY KEY")
        return try LaunchedJob(table + Self.rowsOfAFile, policy: Self.policy("prices.sqlite"))
    }

    private struct Server {
        let url: String
        let run: (String) throws -> String

        func lines(_ query: String) throws -> [String] { try run(query).split(separator: "\n").map(String.init) }
    }

    private enum Kind: CaseIterable {
        case plain, withoutIndex, partitioned, hypertable
    }

    private func server(_ kind: Kind) throws -> Server {
        let key = ", PRIMARY KEY (id\(kind == .partitioned || kind == .hypertable ? ", at" : ""))"
        let index = "CREATE INDEX ON tick (at);"
        let parts = (0..<12).map {
            "CREATE TABLE tick_\($0) PARTITION OF tick FOR VALUES FROM (\(1_767_225_600_000 + $0 * 7_200_000)) TO (\(1_767_232_800_000 + $0 * 7_200_000));"
        }
        switch kind {
        case .plain, .withoutIndex:
            return try plain(String(format: Self.ticks, key, kind == .plain ? index : "") + Self.rows)
        case .partitioned:
            let table = String(format: Self.ticks, key, index).replacing(
                ");\n", with: ") PARTITION BY RANGE (at);\n", maxReplacements: 1)
            return try plain(table + parts.joined() + Self.rows)
        case .hypertable:
            let times =
                "time bigint NOT NULL, open float8, high float8, low float8, close float8, volume bigint, count bigint, open_time bigint, close_time bigint, price_volume float8"
            let candles = ["candle_1m", "candle_1h"].map {
                """
                CREATE TABLE \($0) (symbol text, \(times), UNIQUE NULLS NOT DISTINCT (symbol, time));
                SELECT create_hypertable('\($0)', by_range('time', 21600000));
                """
            }
            let url = try PostgresCluster.makeTimescaleDatabase(
                String(format: Self.ticks, key, "SELECT create_hypertable('tick', by_range('at', 7200000));")
                    + candles.joined() + Self.rows)
            let cluster = try PostgresCluster.timescale.get()
            return Server(url: url) { try cluster.run($0, url: url) }
        }
    }

    private func plain(_ statements: String) throws -> Server {
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(statements)
        return Server(url: url) { try cluster.run($0, url: url) }
    }

    /// Three nights with late ticks: every report and every candle, bit for bit, is that of a file.
    @Test(arguments: [0, 1, 2, 3]) func aServerMakesTheCandlesOfAFile(_ number: Int) throws {
        let kind = Kind.allCases[number]
        guard kind != .hypertable || PostgresCluster.Engine.timescaledb.isInstalled else { return }
        let file = try fileJob()
        let server = try server(kind)
        let job = try LaunchedJob("", policy: Self.policy(server.url))
        #expect(try job.retention("check").status == 0)
        for (night, asOf) in ["2026-01-02T05:00:30Z", "2026-01-02T09:10:00Z", "2026-01-02T09:10:00Z"].enumerated() {
            if night == 1 {
                let late = """
                    INSERT INTO tick VALUES (20001, 'XAUUSD', 1767229199999, 7, 3), (20002, 'EURUSD', 1767226012345, 999, 1)
                    """
                try file.change(late)
                _ = try server.run(late)
            }
            let right = try file.report("--as-of", asOf).rules
            let dry = try job.report("--dry-run", "--as-of", asOf).rules
            let run = try job.report("--as-of", asOf).rules
            try #require(run.count == 2 && dry.count == 2)
            for (index, rule) in run.enumerated() {
                #expect(
                    rule.outcome == "completed" && rule.residue == 0 && rule.deleted == right[index].deleted, "\(rule)")
                #expect(rule.unpriced == right[index].unpriced && rule.cutoff == right[index].cutoff)
                #expect(
                    rule.candlesCreated == right[index].candlesCreated
                        && rule.candlesChanged == right[index].candlesChanged)
                #expect(dry[index].expired == rule.deleted && dry[index].candlesCreated == rule.candlesCreated)
                #expect(dry[index].candlesChanged == rule.candlesChanged)
            }
            for table in ["candle_1m", "candle_1h"] {
                let order = "FROM \(table) ORDER BY coalesce(symbol, ''), time"
                // Both engines write the shortest text that is the number.
                let theirs = try server.lines("SELECT \(Self.columns) \(order)").map(numbers)
                let ours = try file.rows("SELECT \(Self.columns) \(order)").map(numbers)
                for (ours, theirs) in zip(ours, theirs) where ours != theirs {
                    Issue.record("\(table) \(ours) \(theirs)")
                    break
                }
                #expect(ours.count == theirs.count)
                #expect(night == 0 || theirs.count > 10, "\(theirs)")
            }
        }
        let (left, right) = try (server.lines("SELECT count(*) FROM tick"), file.rows("SELECT count(*) FROM tick"))
        #expect(left == right)
    }

    private func numbers(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).map { value in
            Double(value).map { "\($0)" } ?? String(value)
        }
    }

    /// A run that is killed: each tick is a tick or a part of one candle, and the next run goes on.
    @Test func aKilledRunLosesNoTick() throws {
        let server = try server(.plain)
        let job = try LaunchedJob("", policy: Self.policy(server.url).replacing("rows: 100 }", with: "rows: 7 }"))
        let judged = """
            SELECT symbol, time, min(price), max(price), sum(volume), count(*) FROM (SELECT *, at / 60000 * 60000 AS time FROM tick
            WHERE price > 0 AND at < 1767268800000) AS ticks GROUP BY 1, 2 ORDER BY 1, 2
            """
        let right = try server.lines(judged.replacing("sum(volume)", with: "sum(coalesce(volume, 0))"))
        let counts = "SELECT (SELECT count(*) FROM tick) || ' ' || coalesce(sum(count), 0) FROM candle_1m"
        var seen = 0
        for _ in 0..<4 {
            let before = (try? server.lines(counts))?.first ?? "10000 0"
            let run = try RunningProgram(job, "run", "--as-of", "2026-01-02T12:00:30Z", "--rule", "ticks")
            _ = eventually { (try? server.lines(counts).first != before) ?? false }
            run.send(SIGKILL)
            _ = run.wait()
            let after = try #require(try server.lines(counts).first).split(separator: " ").compactMap { Int($0) }
            #expect(after.reduce(0, +) == 10_000)
            if after[0] > 6000 { seen += 1 }
        }
        #expect(seen > 1)
        let end = try job.report("--as-of", "2026-01-02T12:00:30Z", "--rule", "ticks").rules[0]
        #expect(end.outcome == "completed" && end.residue == 0)
        #expect(try server.lines("SELECT symbol, time, low, high, volume, count FROM candle_1m ORDER BY 1, 2") == right)
    }

    @Test(.enabled("Citus is not installed") { PostgresCluster.Engine.citus.isInstalled })
    func tablesOnSeveralServersAreRefused() throws {
        let cluster = try CitusCluster.shared.get()
        let table = String(format: Self.ticks, ", PRIMARY KEY (id)", "")
        for more in ["SELECT create_distributed_table('tick', 'id');", ""] {
            let url = try cluster.makeDatabase(
                table + more + (more.isEmpty ? Self.distributedCandles : ""))
            let job = try LaunchedJob("", policy: Self.policy(url))
            for arguments in [["check"], ["run", "--dry-run"], ["run"]] {
                let end = try job.launch(arguments)
                #expect(
                    end.status == 78
                        && (end.output + end.errors).replacing(/\s+/, with: " ").contains(
                            "is on several servers (Citus)"),
                    "\(end)")
            }
        }
    }

    private static let distributedCandles = """
        CREATE TABLE candle_1m (symbol text, time bigint, open float8, high float8, low float8, close float8, volume bigint, count bigint,
        open_time bigint, close_time bigint, price_volume float8, UNIQUE NULLS NOT DISTINCT (symbol, time));
        SELECT create_distributed_table('candle_1m', 'symbol');
        """
}
