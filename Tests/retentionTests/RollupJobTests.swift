import CoreDataSamples
import Foundation
import Testing

/// `rollup` in the running program: the dry run, the run, the reports and the ledger.
struct RollupJobTests {
    private static let candles = """
        symbol, time, open, high, low, close, volume, count, open_time, close_time, price_volume
        """

    /// 10,000 ticks from 2026-01-01T00:00Z on, two at a time, of two symbols and of none. Some have no price.
    private func job(_ rules: String, index: Bool = true) throws -> LaunchedJob {
        try LaunchedJob(
            """
            CREATE TABLE Tick (id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER, price NUMERIC, volume INTEGER);
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
            INSERT INTO Tick SELECT (i * 7919) % 10007, CASE i % 3 WHEN 0 THEN 'XAUUSD' WHEN 1 THEN 'EURUSD' END,
            1767225600000 + i / 6 * 41100,
            CASE WHEN i % 500 = 0 THEN 'n/a' WHEN i % 501 = 0 THEN -1 ELSE 100 + i * 7919 % 101 END,
            CASE WHEN i % 7 > 0 THEN i % 5 END FROM n;
            CREATE TABLE EveryTick AS SELECT * FROM Tick;
            \(index ? "CREATE INDEX tick_at ON Tick(at);" : "")
            """, policy: "version: 1\nstore: prices.sqlite\nmetrics: { textfile: figures.prom }\nrules:\n\(rules)")
    }

    private static func ticks(_ more: String = "") -> String {
        """
          - name: ticks
            entity: Tick
            date_attribute: at
            date_format: unix_milliseconds
            max_age: 1d
            allow_empty: true
            batch: { rows: 100 }
            rollup: { into: candle_1m, every: 1min, per: [symbol], price: price, volume: volume\(more) }

        """
    }

    /// The dates of candles have a known format.
    private static let minutes = """
          - name: minutes
            entity: candle_1m
            date_attribute: time
            max_age: 1d
            allow_empty: true
            rollup: { into: candle_1h, every: 1h, from: candles }

        """

    /// The candles of all ticks before an instant, by a query.
    private func judged(_ job: LaunchedJob, _ length: Int, before end: Int) throws -> [String] {
        try job.rows(
            """
            SELECT DISTINCT symbol, time, first_value(price) OVER bucket, max(price) OVER bucket, min(price) OVER bucket,
            last_value(price) OVER bucket, sum(coalesce(volume, 0)) OVER bucket, count(*) OVER bucket,
            first_value(at) OVER bucket, last_value(at) OVER bucket, sum(price * coalesce(volume, 0)) OVER bucket
            FROM (SELECT *, at / \(length) * \(length) AS time FROM EveryTick WHERE price > 0 AND price < 'a' AND at < \(end))
            WINDOW bucket AS (
                PARTITION BY symbol, time ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
            ORDER BY symbol, time
            """)
    }

    private func candles(_ job: LaunchedJob, _ table: String = "candle_1m") throws -> [String] {
        try job.rows("SELECT \(Self.candles) FROM \(table) ORDER BY symbol, time")
    }

    @Test(arguments: [true, false]) func ticksBecomeMinutes(index: Bool) throws {
        let job = try job(Self.ticks(), index: index)
        let asOf = ["--as-of", "2026-01-02T12:00:30Z"]
        let noon = 1_767_268_800_000
        let bytes = try job.rows("SELECT count(*) FROM sqlite_schema")
        let dry = try job.report(["--dry-run"] + asOf).rules[0]
        #expect(try job.rows("SELECT count(*) FROM sqlite_schema") == bytes)
        let run = try job.report(asOf).rules[0]
        let judged = try judged(job, 60_000, before: noon)
        #expect(run.outcome == "completed" && run.deleted == dry.expired && run.residue == 0, "\(run)")
        #expect(run.cutoff == "2026-01-01T12:00:00Z" && dry.cutoff == run.cutoff)
        #expect(try candles(job) == judged)
        #expect(run.candlesCreated == judged.count && run.candlesChanged == 0)
        #expect(dry.candlesCreated == judged.count && dry.candlesChanged == 0)
        let unpriced = try job.number("SELECT count(*) FROM Tick WHERE at < \(noon)")
        #expect(unpriced > 10 && run.unpriced == unpriced && dry.unpriced == unpriced)
        #expect(
            try job.number("SELECT (SELECT count(*) FROM Tick) + (SELECT sum(count) FROM candle_1m)") == 10_000)
        let text = try job.retention("run", "--dry-run", "--as-of", asOf[1]).output
        #expect(text.contains("\(unpriced) rows before the cutoff kept: no price"), "\(text)")
        #expect(try job.text("figures.prom").contains("rule=\"ticks\",entity=\"Tick\"} \(unpriced)\n"))
        #expect(
            try job.rows(
                "SELECT unpriced, candles_created, candles_changed FROM run_rule", in: "retention.ledger.sqlite")
                == ["\(unpriced)|\(judged.count)|0"])
        let again = try job.report(asOf).rules[0]
        #expect(again.deleted == 0 && again.candlesCreated == 0 && again.outcome == "completed")
        #expect(try candles(job) == judged)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test func minutesBecomeHoursAndLateTicksAreAdded() throws {
        let job = try job(Self.ticks() + Self.minutes)
        /// The rules of a run, which does to the row what its dry run says: candles, then ticks.
        func run(_ asOf: String) throws -> (minutes: Report.Rule, ticks: Report.Rule) {
            let dry = try job.report("--dry-run", "--as-of", asOf).rules
            let rules = try job.report("--as-of", asOf).rules
            #expect(rules.map(\.name) == ["minutes", "ticks"] && rules.allSatisfy { $0.outcome == "completed" })
            // Minutes that this run has made may be expired: they are left.
            #expect(
                rules.map { [$0.deleted, $0.candlesCreated, $0.candlesChanged] }
                    == dry.map { [$0.expired, $0.candlesCreated, $0.candlesChanged] }, "\(dry) \(rules)")
            return (rules[0], rules[1])
        }
        #expect(try run("2026-01-02T05:00:00Z").minutes.deleted == 0)
        // A late tick of a minute that goes first: it makes the minute again.
        let five = 1_767_225_600_000 + 5 * 3_600_000
        try job.change(
            """
            INSERT INTO Tick SELECT 20000, symbol, at + 1, 50, 1 FROM EveryTick WHERE at < \(five) AND price < 'a'
            ORDER BY at DESC, id LIMIT 1;
            INSERT INTO EveryTick SELECT * FROM Tick WHERE id = 20000;
            """)
        let second = try run("2026-01-02T05:30:00Z")
        #expect(second.minutes.deleted > 100 && second.minutes.candlesCreated == 15, "\(second)")
        // Both in one run: no candle of this run is among those that go.
        #expect(second.ticks.candlesCreated ?? 0 > 1 && second.ticks.candlesChanged == 0)
        #expect(try job.number("SELECT count(*) FROM candle_1m WHERE time < \(five)") == 1)
        // Two more: one before all others, one between.
        try job.change(
            """
            INSERT INTO Tick VALUES (20001, 'XAUUSD', 1767229199999, 7, 3), (20002, 'EURUSD', 1767226012345, 999, 1);
            INSERT INTO EveryTick SELECT * FROM Tick WHERE id > 20000;
            """)
        let late = try run("2026-01-02T05:30:00Z")
        #expect(late.ticks.deleted == 2 && late.ticks.candlesCreated == 2 && late.minutes.deleted == 1, "\(late)")
        _ = try run("2026-01-02T05:30:00Z")
        #expect(try candles(job, "candle_1h") == judged(job, 3_600_000, before: five))
        let counts =
            "(SELECT count(*) FROM Tick), (SELECT sum(count) FROM candle_1m), (SELECT sum(count) FROM candle_1h)"
        let all = try job.rows("SELECT \(counts)")[0].split(separator: "|").compactMap { Int($0) }.reduce(0, +)
        #expect(all == 10_003)
    }

    /// Two tables of ticks, and two rules for one of them, that make the same candles.
    @Test func severalRulesMakeCandlesInOneTable() throws {
        func rule(_ name: String, _ entity: String, _ condition: String) -> String {
            Self.ticks().replacing("name: ticks", with: "name: \(name)").replacing(
                "entity: Tick", with: "entity: \(entity)"
            )
            .replacing("    batch:", with: "    where: \(condition)\n    batch:")
        }
        let job = try job(
            rule("cheap", "Tick", "{ price: { lt: 150 } }") + rule("dear", "Tick", "{ price: { ge: 120 } }")
                + rule("others", "Other", "{ price: { gt: 0 } }"))
        try job.change(
            """
            CREATE TABLE Other AS SELECT id + 20000 AS id, symbol, at + 1 AS at, price, volume FROM Tick WHERE id % 3 > 0;
            INSERT INTO EveryTick SELECT * FROM Other;
            """)
        let asOf = ["--as-of", "2026-01-02T12:00:30Z"]
        let dry = try job.report(["--dry-run"] + asOf).rules
        let run = try job.report(asOf).rules
        #expect(run.map(\.deleted) == dry.map(\.expired) && run.allSatisfy { $0.deleted > 1000 }, "\(run)")
        #expect(run.map(\.candlesCreated) == dry.map(\.candlesCreated), "\(dry) \(run)")
        #expect(run.map(\.candlesChanged) == dry.map(\.candlesChanged), "\(dry) \(run)")
        #expect(run[0].candlesChanged == 0 && run[1].candlesChanged ?? 0 > 100 && run[2].candlesChanged ?? 0 > 100)
        let judged = try judged(job, 60_000, before: 1_767_268_800_000)
        #expect(try candles(job).count == judged.count)
        #expect(try job.number("SELECT sum(count) FROM candle_1m") == run.map(\.deleted).reduce(0, +))
        let sums = { (rows: [String]) in rows.map { $0.split(separator: "|", omittingEmptySubsequences: false)[3...7] }
        }
        #expect(
            try sums(candles(job)).map { [$0[3], $0[4], $0[6], $0[7]] }
                == sums(judged).map { [$0[3], $0[4], $0[6], $0[7]] })
    }

    // MARK: Other rules, holds and names

    private func write(_ rules: String, _ more: String = "", of job: LaunchedJob) throws {
        try job.folder.write("version: 1\nstore: prices.sqlite\n\(more)\nrules:\n\(rules)", to: "retention.yaml")
    }

    @Test func aDryRunKnowsPendingCandles() throws {
        let job = try job(Self.ticks())
        let asOf = ["--as-of", "2026-01-02T12:00:30Z", "--accept", "rows_came_back"]
        _ = try job.report(asOf)
        let candle = try candles(job)[40]
        let table = try job.rows("SELECT sql FROM sqlite_schema WHERE name = 'candle_1m'").joined(separator: "\n")
        try job.change("DROP TABLE candle_1m; DELETE FROM Tick; INSERT INTO Tick SELECT * FROM EveryTick")
        // A rule says how the dates of a pending file are written.
        let minutes = Self.minutes.replacing("allow_empty: true", with: "enabled: false")
        try write(Self.ticks() + minutes, "pending: [{ files: candles.csv, entity: candle_1m }]", of: job)
        try job.change(table)
        try job.folder.write(
            Self.candles.replacing(" ", with: "") + "\n" + candle.replacing("|", with: ",") + "\n", to: "candles.csv")
        let dry = try #require(try job.report(["--dry-run"] + asOf).rules.first { $0.name == "ticks" })
        let run = try #require(try job.report(asOf).rules.first { $0.name == "ticks" })
        #expect(run.candlesChanged == 1 && dry.candlesChanged == 1, "\(dry) \(run)")
        #expect(dry.candlesCreated == run.candlesCreated)
    }

    /// Objects that belong to a symbol become candles of it; those to which others belong do not.
    @Test func objectsBecomeCandles() throws {
        let folder = try TemporaryFolder()
        func goldPrices(_ shape: GoldObjects.Shape) throws {
            try? FileManager.default.removeItem(at: folder.url.appending(path: "prices.sqlite"))
            try GoldObjects(shape, rows: 3000, until: 1_767_398_400).write(
                to: folder.url.appending(path: "prices.sqlite").path)
        }
        try folder.write(
            """
            version: 1
            store: prices.sqlite
            rules:
              - name: gold
                entity: YahooGoldPricePoint
                date_attribute: updateTime
                max_age: 1d
                rollup: { into: candle, every: 1h, per: [symbol], price: price, volume: volume }

            """, to: "retention.yaml")
        func launch(_ arguments: String...) throws -> LaunchedProgram.Ending {
            try LaunchedProgram.perform(arguments, in: folder.url)
        }
        try goldPrices(.symbol)
        let run = try launch("run", "--as-of", "2026-01-03T00:30:00Z", "--format", "json")
        #expect(run.status == 0, "\(run)")
        let rule = try Report(json: run.output).rules[0]
        // From 2025-12-31T22:00Z to 2026-01-02T00:00Z.
        #expect(rule.cutoff == "2026-01-02T00:00:00Z" && rule.deleted == 1560 && rule.candlesCreated == 26, "\(rule)")
        let again = try launch("run", "--as-of", "2026-01-03T00:30:00Z", "--format", "json")
        #expect(try Report(json: again.output).rules[0].deleted == 0, "\(again)")
        try goldPrices(.detail)
        let detail = try launch("check")
        #expect(
            detail.status == 78
                && detail.output.contains("rows of PriceDetail refer to rows of YahooGoldPricePoint"), "\(detail)")
    }
}
