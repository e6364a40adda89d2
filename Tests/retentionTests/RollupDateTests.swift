import Testing

/// `rollup` in the running program, where formats and zones make it hard to say in which bucket a row is.
struct RollupDateTests {
    private static func rollup(_ settings: String, _ more: String = "") -> String {
        "allow_empty: true, \(more)rollup: { \(settings) }"
    }

    /// Ticks with a date in a column of some type, and an index on it.
    private static func ticks(_ type: String, _ values: String) -> String {
        """
        CREATE TABLE Tick(id INTEGER PRIMARY KEY, at \(type), price NUMERIC, volume NUMERIC);
        CREATE INDEX Tick_at ON Tick(at);
        INSERT INTO Tick \(values);
        """
    }

    // MARK: A bucket whose start another instant is written as

    @Test func aRepeatedHourInWhichABucketBeginsIsRefused() throws {
        let job = try LaunchedJob(
            Self.ticks("INTEGER", "VALUES (1, 20251026013000, 1, 1), (2, 20251026030000, 2, 1)"),
            policy: Sample.policy(
                Sample.rule(
                    Self.rollup("into: candle, every: 2h, price: price"), entity: "Tick", format: "yyyymmddhhmmss"),
                head: "timezone: Europe/Berlin"))
        for arguments in [["check"], ["run"]] {
            let end = try job.perform(arguments)
            let text = end.output + end.errors
            #expect(end.status == 78 && text.contains("the clocks of Europe/Berlin repeat"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Tick") == 2)
    }

    /// A bucket may begin in the second of two hours, which the local time represents.
    @Test func aBucketThatBeginsInTheLaterHourIsWritten() throws {
        let job = try LaunchedJob(
            Self.ticks("INTEGER", "VALUES (1, 20251102003000, 1, 1), (2, 20251102013000, 2, 1)"),
            policy: Sample.policy(
                Sample.rule(
                    Self.rollup("into: candle, every: 2h, price: price"), entity: "Tick", format: "yyyymmddhhmmss"),
                head: "timezone: America/New_York"))
        #expect(try job.report().rules[0].deleted == 2)
        #expect(
            try job.rows("SELECT time, count FROM candle ORDER BY 1") == ["20251102000000|1", "20251102010000|1"])
    }

    /// China set its clocks back until 1991, which is before the years that the check looks at.
    @Test func aStartThatIsReadAsAnotherInstantFailsTheRule() throws {
        let job = try LaunchedJob(
            Self.ticks("INTEGER", "VALUES (1, 19900916003000, 1, 1), (2, 19900916011500, 2, 1)"),
            policy: Sample.policy(
                Sample.rule(
                    Self.rollup("into: candle, every: 2h, price: price, session: { zone: UTC, start: \"00:00\" }"),
                    entity: "Tick", format: "yyyymmddhhmmss"), head: "timezone: Asia/Shanghai"))
        let run = try job.report()
        #expect(run.rules[0].outcome == "failed", "\(run)")
        #expect(
            run.rules[0].message?.contains(
                "the start of a candle, 1990-09-15T16:00:00Z, cannot be written as yyyymmddhhmmss") == true, "\(run)")
        #expect(try job.number("SELECT count(*) FROM Tick") == 2)
        #expect(try job.number("SELECT count(*) FROM candle") == 0)
    }

    // MARK: Candles that begin at 0, or before the earliest date

    @Test(arguments: [
        ("apple_seconds", 0, "", "00:00"), ("unix_seconds", 946_684_800, "earliest: 2000-01-01, ", "17:00"),
    ])
    func candlesThatBeginEarlierBecomeLongerOnes(_ format: String, first: Int, earliest: String, start: String) throws {
        func rule(_ name: String, _ entity: String, _ date: String, _ settings: String, age: String) -> String {
            Sample.rule(
                Self.rollup("\(settings), session: { start: \"\(start)\" }", earliest), name: name, entity: entity,
                date: date, format: format, age: age)
        }
        let job = try LaunchedJob(
            Self.ticks(
                "INTEGER",
                """
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
                SELECT i, \(first) + 3600 + 43200 * i, i + 1, 1 FROM n
                """),
            policy: Sample.policy(
                rule("ticks", "Tick", "at", "into: days, every: 1d, price: price", age: "1d"),
                rule("days", "days", "time", "into: years, every: 1y, from: candles", age: "2d")))
        // One day these dates read as new ones in another unit.
        let accept = ["--accept", "wrong_unit"]
        _ = try job.report(accept)
        let second = try job.report(accept)
        #expect(second.rules.allSatisfy { $0.unreadable == 0 }, "\(second)")
        #expect(try job.number("SELECT count(*) FROM days") == 0)
        let begin = first - (start == "00:00" ? 0 : 25_200)
        #expect(try job.rows("SELECT time, open, close, count FROM years") == ["\(begin)|1|6|6"])
    }

    // MARK: Sessions

    /// Until 1972 clocks in Liberia were 44 minutes and 30 seconds behind, which is before the years that the check looks at.
    @Test func aCandleOfTwoBucketsFailsTheRule() throws {
        let job = try LaunchedJob(
            Self.ticks(
                "INTEGER",
                """
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
                SELECT i, 44582400 + 900 * i, i + 1, 1 FROM n
                """),
            policy: Sample.policy(
                Sample.rule(Self.rollup("into: hours, every: 1h, price: price"), name: "ticks", entity: "Tick"),
                Sample.rule(
                    Self.rollup("into: days, every: 1d, from: candles, session: { zone: Africa/Monrovia }"),
                    name: "hours", entity: "hours", date: "time")))
        try job.report()
        let run = try job.report()
        #expect(run.rules[0].name == "hours" && run.rules[0].outcome == "failed", "\(run)")
        #expect(
            run.rules[0].message?.contains("a candle of 1971-06-01T00:00:00Z is not within one bucket") == true,
            "\(run)")
        #expect(try job.rows("SELECT count(*), sum(count) FROM hours") == ["25|100"])
        #expect(try job.number("SELECT count(*) FROM days") == 0)
    }

    // MARK: Text

    /// The close does not depend on where batches end.
    @Test(arguments: [1, 5000]) func rowsOfOneInstantThatAreSpeltDifferentlyGoTogether(rows: Int) throws {
        let job = try LaunchedJob(
            Self.ticks(
                "TEXT",
                """
                VALUES (9, '2025-01-01 00:00:00', 9, 1), (10, '2025-01-01 00:00:01', 1, 1),
                (20, '2025-01-01T00:00:01', 2, 1)
                """),
            policy: Sample.policy(
                Sample.rule(
                    Self.rollup("into: candle, every: 1h, price: price", "batch: { rows: \(rows) }, "), entity: "Tick",
                    format: "iso8601")))
        #expect(try job.report().rules[0].deleted == 3)
        #expect(try job.rows("SELECT open, close, count FROM candle") == ["9|2|3"])
    }

    /// A candle that is there is not found by another spelling of its time: a second one would be made.
    @Test(arguments: [
        ("iso8601", "TEXT", "2025-01-01 10:00:00"), ("iso8601", "TEXT", "2025-01-01T10:00:00.000Z"),
        ("yyyymmddhhmmss", "", "20250101100000"),
    ]) func timesThatAreSpeltDifferentlyFailTheRule(_ format: String, type: String, time: String) throws {
        let tick = format == "iso8601" ? "'2025-01-01 10:31:00'" : "20250101103100"
        let job = try LaunchedJob(
            Self.ticks(type, "VALUES (1, \(tick), 5, 1)")
                + """
                CREATE TABLE candle(time \(type) PRIMARY KEY, open, high, low, close, volume, count, open_time \(type),
                    close_time \(type), price_volume);
                INSERT INTO candle VALUES ('\(time)', 5, 9, 5, 6, 0, 7, '\(time)', '\(time)', 0);
                """,
            policy: Sample.policy(
                Sample.rule(Self.rollup("into: candle, every: 1h, price: price"), entity: "Tick", format: format)))
        let run = try job.report()
        #expect(run.rules[0].outcome == "failed" && run.rules[0].deleted == 0, "\(run)")
        let reason =
            "candle has a candle of 2025-01-01T10:00:00Z whose time is spelled in another way than a run spells it"
        #expect(run.rules[0].message?.contains(reason) == true, "\(run)")
        #expect(try job.report("--dry-run").failure?.contains(reason) == true)
        #expect(try job.rows("SELECT (SELECT count(*) FROM Tick), count(*) FROM candle") == ["1|1"])
    }

    // MARK: Sums

    @Test func volumesThatAreInfiniteTogetherAreNoFailure() throws {
        let job = try LaunchedJob(
            Self.ticks("INTEGER", "VALUES (1, 1700000000, 1e-3, 1e308), (2, 1700010000, 1e-3, 1e308)"),
            policy: Sample.policy(
                Sample.rule(Self.rollup("into: candle, every: 1h, price: price, volume: volume"), entity: "Tick")))
        #expect(try job.report().rules[0].deleted == 2)
        #expect(try job.rows("SELECT volume FROM candle") == ["1e+308", "1e+308"])
    }
}
