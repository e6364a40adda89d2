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
