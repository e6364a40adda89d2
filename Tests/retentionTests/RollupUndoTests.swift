import Foundation
import TestSupport
import Testing

/// `retention undo` of runs whose rows became candles: each run is taken back as a whole, the last first.
struct RollupUndoTests {
    private static let start = 1_767_225_600_000

    private static func rule(_ name: String, _ entity: String, _ date: String, age: String, _ rollup: String) -> String
    {
        """
          - { name: \(name), entity: \(entity), date_attribute: \(date), date_format: unix_milliseconds, max_age: \(age),
              allow_empty: true, batch: { rows: 40, pause: none }, rollup: { \(rollup) } }

        """
    }

    private static let policy = """
        version: 1
        store: prices.sqlite
        archive: { folder: archive, keep: forever }
        rules:

        """
        + rule(
            "ticks", "Tick", "at", age: "1d",
            "into: candle_5m, every: 5min, per: [symbol], price: price, volume: volume")
        + rule("minutes", "candle_5m", "time", age: "2d", "into: candle_1h, every: 1h, from: candles")
        + rule("hours", "candle_1h", "time", age: "2d", "into: candle_1d, every: 1d, from: candles")

    private func job() throws -> LaunchedJob {
        let job = try LaunchedJob(
            """
            CREATE TABLE Tick (id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER, price NUMERIC, volume REAL);
            CREATE INDEX tick_at ON Tick(at);
            """, policy: Self.policy, inMemory: true)
        try job.makeFolder("archive")
        return job
    }

    /// Adds ticks between two hours after the start, some at one time.
    private func add(_ count: Int, from id: Int, hours: Range<Int>, to job: LaunchedJob, _ random: inout SeededRandom)
        throws
    {
        var rows: [String] = []
        for number in 0..<count {
            let at = Self.start + Int.random(in: hours.lowerBound * 900..<hours.upperBound * 900, using: &random) * 4000
            let symbol = ["'XAUUSD'", "'EURUSD'", "NULL"].randomElement(using: &random) ?? "NULL"
            let price =
                ["'n/a'", "\(Int.random(in: 1...99, using: &random))", "\(Double.random(in: 1...99, using: &random))"]
                .randomElement(using: &random) ?? "1"
            let volume = ["NULL", "\(Double.random(in: 0...9, using: &random))"].randomElement(using: &random) ?? "0"
            rows.append("(\(id + number), \(symbol), \(at), \(price), \(volume))")
        }
        try job.change("INSERT INTO Tick VALUES \(rows.joined(separator: ", "))")
    }

    /// All rows of all tables, with the types of their values.
    private func contents(_ job: LaunchedJob) throws -> [String] {
        let tables = ["Tick": "id, symbol, at, price, volume"].merging(
            Dictionary(
                uniqueKeysWithValues: ["candle_5m", "candle_1h", "candle_1d"].map {
                    ($0, "symbol, time, open, high, low, close, volume, count, open_time, close_time, price_volume")
                }), uniquingKeysWith: { $1 })
        let found = Set(try job.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"))
        return try tables.keys.sorted().filter(found.contains).flatMap { table in
            let columns = (tables[table] ?? "").split(separator: ", ").map { "typeof(\($0)) || quote(\($0))" }
            return try job.rows(
                "SELECT '\(table)', \(columns.joined(separator: ", ")) FROM \(table) ORDER BY 2, 3, 4, 5")
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func runsAreUndoneFromTheLastToTheFirst(_ seed: UInt64) throws {
        var random = SeededRandom(seed)
        let job = try job()
        try add(400, from: 1000, hours: 0..<50, to: job, &random)
        var runs: [(id: String, before: [String])] = []
        for (number, hour) in ["2026-01-02T20:00:00Z", "2026-01-03T09:00:00Z", "2026-01-04T00:00:00Z"].enumerated() {
            // Late ones, and new ones.
            if number > 0 {
                try add(60, from: 1000 + number * 1000, hours: 0..<20, to: job, &random)
                try add(60, from: 1500 + number * 1000, hours: 50..<60, to: job, &random)
            }
            let before = try contents(job)
            let run = try job.report("--as-of", hour)
            #expect(run.exitCode == 0 && run.totals.deleted ?? 0 > 50, "\(run)")
            runs.append((run.run, before))
        }
        let last = try contents(job)
        var restored = 0
        for arguments in [["undo", runs[0].id, "--dry-run"], ["undo", runs[0].id], ["undo", runs[1].id]] {
            let end = try job.perform(arguments)
            #expect(end.status == 65, "\(end)")
            #expect(
                end.errors.contains(
                    "changed or doubled after the run, so the rows that became these candles cannot be restored"),
                "\(end)")
            #expect(try contents(job) == last)
        }
        for (number, run) in runs.enumerated().reversed() {
            if number < 2 { try job.change("DELETE FROM Tick WHERE id >= \((number + 2) * 1000)") }
            let dry = try job.undo(run.id, "--dry-run")
            let done = try job.undo(run.id)
            #expect(dry.exitCode == 0 && done.exitCode == 0)
            #expect(done.undo.restored == done.undo.archived && done.undo.restored > 50 && done.undo.skipped == 0)
            #expect(dry.undo.restored == done.undo.restored && dry.undo.skipped == 0)
            #expect(done.undo.candlesDeleted > 0 && dry.undo.candlesDeleted == done.undo.candlesDeleted)
            #expect(dry.undo.candlesRestored == done.undo.candlesRestored)
            restored += done.undo.candlesRestored
            // The first run has made the tables, which stay.
            #expect(try contents(job) == run.before)
            let again = try job.undo(run.id)
            #expect(again.undo.archived == 0 && again.undo.restored + again.undo.candlesDeleted == 0)
            #expect(try contents(job) == run.before)
        }
        #expect(restored > 0)
        #expect(try job.retention("log", "--verify").status == 0)
        let text = try job.retention("log").words
        #expect(text.contains("former values of") && text.contains("and deleted"), "\(text)")
    }
}
