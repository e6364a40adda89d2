import Foundation
import PostgresCluster
import TestSupport
import Testing

/// `rollup` in the running program on a server: the dry run, the run and its reports, and the same candles as of a file.
@Suite(.needsPostgres)
struct PostgresRollupTests {
    private static let columns = """
        symbol, time, open, high, low, close, volume, count, open_time, close_time, price_volume
        """

    /// Random ticks of two symbols and of none, many of them at one time. Some have no price.
    private struct Feed {
        private var random: SeededRandom
        private let pricesAreWhole: Bool
        private var id = 0
        let session: String

        init(_ seed: Int) {
            random = SeededRandom(UInt64(seed))
            pricesAreWhole = seed % 2 == 0
            session = pricesAreWhole ? "Europe/London, start: \"09:30\"" : "America/New_York, start: \"17:00\""
        }

        var priceType: String { pricesAreWhole ? "bigint" : "double precision" }

        /// The table of the ticks.
        func table(id: String) -> String {
            "CREATE TABLE tick (id \(id), symbol text, at bigint NOT NULL, price \(priceType), volume bigint);\n"
        }

        /// More ticks from 2026-01-01T00:00Z on, as INSERT.
        mutating func ticks(_ count: Int, hours: Int) -> String {
            let rows = (0..<count).map { _ in
                id += 1
                let symbol = ["'XAUUSD'", "'EURUSD'", "NULL"].randomElement(using: &random) ?? ""
                let second = Int.random(in: 0..<hours * 3600 / 20, using: &random) * 20
                let at = 1_767_225_600_000 + second * 1000 + Int.random(in: 0...1, using: &random) * 500
                let number = Double.random(in: 1...1000, using: &random)
                let price =
                    Int.random(in: 0..<100, using: &random) == 0
                    ? ["NULL", "0", "-1"].randomElement(using: &random) ?? ""
                    : pricesAreWhole ? "\(Int(number))" : "\(number)"
                let volume = Int.random(in: -1..<9, using: &random)
                return "(\(id * 7919 % 100_003), \(symbol), \(at), \(price), \(volume < 0 ? "NULL" : "\(volume)"))"
            }
            return "INSERT INTO tick VALUES \(rows.joined(separator: ", "));\n"
        }
    }

    private static func policy(_ store: String, session: String = Feed(1).session) -> String {
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
            rollup: { into: candle_1h, every: 1h, from: candles, session: { zone: \(session) } }

        """
    }

    /// The same job on a file.
    private func fileJob(_ feed: Feed, _ rows: String) throws -> LaunchedJob {
        try LaunchedJob(
            feed.table(id: "INTEGER PRIMARY KEY") + "CREATE INDEX tick_at ON tick (at);" + rows,
            policy: Self.policy("prices.sqlite", session: feed.session))
    }

    private struct Server {
        let url: String
        let run: (String) throws -> String

        func lines(_ query: String) throws -> [String] { try run(query).split(separator: "\n").map(String.init) }
    }

    private func server(_ feed: Feed, _ rows: String) throws -> Server {
        try plain(feed.table(id: "bigint PRIMARY KEY") + "CREATE INDEX ON tick (at);" + rows)
    }

    private func plain(_ statements: String) throws -> Server {
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(statements)
        return Server(url: url) { try cluster.run($0, url: url) }
    }

    /// Three nights with late ticks: every report and every candle, bit for bit, is that of a file. Other kinds of tables are in
    /// PostgresCandleTests.
    @Test(arguments: [1, 2]) func aServerMakesTheCandlesOfAFile(_ seed: Int) throws {
        var feed = Feed(seed)
        let rows = feed.ticks(1500, hours: 24)
        let file = try fileJob(feed, rows)
        let server = try server(feed, rows)
        let job = try LaunchedJob("", policy: Self.policy(server.url, session: feed.session))
        let check = try job.retention("check")
        #expect(check.status == 0, "\(check)")
        for (night, asOf) in ["2026-01-02T05:00:30Z", "2026-01-02T09:10:00Z", "2026-01-02T09:10:00Z"].enumerated() {
            if night > 0 {
                let late = feed.ticks(60, hours: 9)
                try file.change(late)
                _ = try server.run(late)
            }
            let right = try file.report("--as-of", asOf).rules
            let dry = try job.report("--dry-run", "--as-of", asOf).rules
            let run = try job.report("--as-of", asOf).rules
            try #require(run.count == 2 && dry.count == 2)
            for (index, rule) in run.enumerated() {
                // Candles of this run may be expired.
                #expect(rule.outcome == "completed" && rule.residue == right[index].residue, "\(rule)")
                #expect(rule.deleted == right[index].deleted)
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
                if night > 0 { #expect(theirs.count > 10, "\(theirs)") }
            }
        }
        let (left, right) = try (server.lines("SELECT count(*) FROM tick"), file.rows("SELECT count(*) FROM tick"))
        #expect(left == right)
    }

    /// A local time says nothing of the first of two hours that clocks repeat.
    @Test(arguments: [("timestamp(3)", 78), ("timestamptz", 0)])
    func aRepeatedHourInWhichABucketBeginsIsRefused(_ type: String, _ status: Int32) throws {
        let server = try plain(
            "CREATE TABLE tick (id int PRIMARY KEY, at \(type), price int); INSERT INTO tick VALUES (1, '2025-10-26T01:30', 1)"
        )
        let job = try LaunchedJob(
            "",
            policy: """
                version: 1
                store: \(server.url)
                timezone: Europe/Berlin
                rules:
                  - name: ticks
                    entity: tick
                    date_attribute: at
                    max_age: 1d
                    allow_empty: true
                    rollup: { into: candle, every: 2h, price: price }

                """)
        for command in ["check", "run"] {
            let end = try job.perform([command])
            let text = (end.output + end.errors).split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(
                end.status == status && text.contains("the clocks of Europe/Berlin repeat") == (status == 78),
                "\(end)")
        }
    }

    private func numbers(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).map { value in
            Double(value).map { "\($0)" } ?? String(value)
        }
    }

    /// A run that is killed, or whose sessions end, while others write: each tick is a tick or a part of one candle, and the next run, or
    /// the same one, goes on.
    @Test(arguments: [true, false]) func aBrokenRunLosesNoTick(isKilled: Bool) throws {
        var feed = Feed(1)
        let server = try server(feed, feed.ticks(6000, hours: 24))
        let job = try LaunchedJob("", policy: Self.policy(server.url).replacing("rows: 100 }", with: "rows: 7 }"))
        _ = try server.run("CREATE TABLE every_tick AS SELECT * FROM tick")
        // It makes the tables of the candles.
        _ = try job.report("--as-of", "2026-01-01T12:00:00Z")
        let counts =
            "SELECT count(*), (SELECT coalesce(sum(count), 0) FROM candle_1m), (SELECT count(*) FROM every_tick) FROM tick"
        func start() throws -> RunningProgram {
            try RunningProgram(job, "run", "--as-of", "2026-01-02T12:00:30Z", "--rule", "ticks")
        }
        var run = try start()
        for round in 0..<4 {
            let before = try server.lines(counts)
            #expect(try eventually { try server.lines(counts) != before })
            let late = feed.ticks(20, hours: 12)
            _ = try server.run(
                """
                BEGIN; \(late); \(late.replacing("INTO tick", with: "INTO every_tick"));
                UPDATE tick SET volume = 1000 WHERE id % 50 = \(round);
                UPDATE every_tick SET volume = 1000 WHERE id IN (SELECT id FROM tick WHERE volume = 1000); COMMIT
                """)
            if isKilled {
                run.send(SIGKILL)
                _ = run.wait()
                run = try start()
            } else {
                let ended =
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = current_user "
                    + "AND datname = current_database() AND pid <> pg_backend_pid()"
                #expect(try server.lines(ended) != ["0"])
            }
            let left = try #require(try server.lines(counts).first).split(separator: "|").compactMap { Int($0) }
            #expect(left.count == 3 && left[0] + left[1] == left[2] && left[0] > 3100, "\(left)")
        }
        #expect(run.wait() == 0)
        // What came too late for it.
        _ = try job.report("--as-of", "2026-01-02T12:00:30Z", "--rule", "ticks")
        let judged = try server.lines(
            """
            SELECT symbol, time, min(price), max(price), sum(coalesce(volume, 0)), count(*) FROM (SELECT *, at / 60000 * 60000 AS time
            FROM every_tick WHERE price > 0 AND at < 1767268800000) AS ticks GROUP BY 1, 2 ORDER BY 1, 2
            """)
        #expect(
            try server.lines("SELECT symbol, time, low, high, volume, count FROM candle_1m ORDER BY 1, 2") == judged)
    }

    @Test(.needsCitus)
    func tablesOnSeveralServersAreRefused() throws {
        let cluster = try CitusCluster.shared.get()
        let table = Feed(1).table(id: "bigint PRIMARY KEY")
        for more in ["SELECT create_distributed_table('tick', 'id');", ""] {
            let url = try cluster.makeDatabase(
                table + more + (more.isEmpty ? Self.distributedCandles : ""))
            let job = try LaunchedJob("", policy: Self.policy(url))
            for arguments in [["check"], ["run", "--dry-run"], ["run"]] {
                let end = try job.perform(arguments)
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
