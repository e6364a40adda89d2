import Foundation
import TestSupport
import Testing

/// Files as data providers publish them, saved and expired.
struct GoldPricesInputTests {
    private static let asOf = "2026-11-21T00:00:00Z"

    /// Columns of a text and of a number, and their dates as text, written for this test alone. Other formats are in RowMappingTests
    /// and FormatOracleTests.
    @Test(
        arguments: [
            ("iso8601", "TEXT", "substr(at, 1, 10 * (at LIKE '____-__-01T00:00:00Z'))"),
            ("julian_day", "REAL", "date(at)"),
        ], [true, false])
    func fiftyYearsOfMonthlyGoldPricesStay(_ column: (format: String, type: String, asDate: String), isIndexed: Bool)
        throws
    {
        let job = try LaunchedJob(
            "CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at \(column.type));"
                + (isIndexed ? "CREATE INDEX Price_at ON Price(at);" : ""),
            policy: Sample.policy(
                Sample.rule("earliest: 1800-01-01", format: column.format, age: "50y"),
                head: """
                    pending:
                      - files: pending/*.csv
                        entity: Price
                        columns: { Date: at, Price: price }
                        constants: { symbol: XAUUSD }
                    """))
        let file = try String(contentsOf: RealData.gold, encoding: .utf8)
        try job.folder.write(file, to: "pending/gold-monthly.csv")

        let dry = try job.report("--dry-run", "--as-of", Self.asOf)
        #expect(dry.exitCode == 0, "\(dry)")
        #expect(dry.pending == Report.Pending(files: 1, saved: 2322, ignored: 0, rejected: 0))
        #expect(dry.rules[0].expired == 1727 && dry.rules[0].rows == 2322 && dry.rules[0].unreadable == 0)
        #expect(dry.rules[0].cutoff == "1976-11-21T00:00:00Z")
        #expect(dry.rules[0].oldest == "1833-01-01T00:00:00Z" && dry.rules[0].newest == "2026-06-01T00:00:00Z")
        #expect(try job.number("SELECT count(*) FROM Price") == 0)

        let run = try job.report("--as-of", Self.asOf)
        #expect(run.exitCode == 0 && run.pending == dry.pending, "\(run)")
        #expect(run.totals == Report.Totals(expired: 1727, deleted: 1727, residue: 0))
        let kept = try job.rows("SELECT \(column.asDate) FROM Price ORDER BY price, id")
        #expect(kept.count == 595 && kept.min() == "1976-12-01")
        // All that is in the file from then on, with its price, and nothing else.
        let expected = file.split(whereSeparator: \.isNewline).dropFirst().map { $0.split(separator: ",") }
            .filter { $0[0] >= "1976-12" }
        #expect(kept.sorted() == expected.map { $0[0] + "-01" })
        #expect(
            try job.rows("SELECT DISTINCT typeof(at), symbol FROM Price") == ["\(column.type.lowercased())|XAUUSD"])
        let sum = expected.reduce(0) { $0 + (Double($1[1]) ?? 0) }
        #expect(abs((Double(try job.rows("SELECT sum(price) FROM Price")[0]) ?? 0) - sum) < 0.01)

        let again = try job.report("--as-of", Self.asOf)
        #expect(again.exitCode == 0 && again.totals == Report.Totals(expired: 0, deleted: 0, residue: 0))
        #expect(again.pending.files == 0)
        #expect(try job.listing().contains("pending/done/gold-monthly.csv"))
    }

    @Test(.needsRealData("prices/sp500-index-daily.csv"))
    func dailyPricesAreCutAtTheBeginningOfAMonthButForTheLastOnes() throws {
        let job = try LaunchedJob(
            "CREATE TABLE IndexPoint(day TEXT PRIMARY KEY, close REAL) WITHOUT ROWID;",
            policy: Sample.policy(
                Sample.rule(
                    "align: month, keep_last: { count: 60 }", entity: "IndexPoint", date: "day", format: "iso8601",
                    age: "4y"),
                head: """
                    pending:
                      - { files: "*.csv", entity: IndexPoint, columns: { Date: day, SP500: close } }
                    """))
        let sample = try #require(RealData.more("prices/sp500-index-daily.csv"))
        let file = try String(contentsOf: sample, encoding: .utf8)
        try job.folder.write(file, to: "sp500.csv")
        let days = file.split(whereSeparator: \.isNewline).dropFirst().map { String($0.prefix(10)) }.sorted()
        try #require(days.count == 8313)
        // 2022-11-21 moved back to its month; fewer than 60 days are that new.
        let expired = days.filter { $0 < "2022-11-01" }
        let kept = days.suffix(60)
        try #require(kept.first ?? "" < "2022-11-01")

        let dry = try job.report("--dry-run", "--as-of", Self.asOf)
        #expect(dry.exitCode == 0 && dry.rules[0].cutoff == "2022-11-01T00:00:00Z", "\(dry)")
        #expect(dry.rules[0].expired == 8313 - 60 && dry.rules[0].keptByRule == expired.count - (8313 - 60))
        let run = try job.report("--as-of", Self.asOf)
        #expect(run.exitCode == 0 && run.rules[0].deleted == 8313 - 60, "\(run)")
        #expect(run.rules[0].keptByRule == dry.rules[0].keptByRule)
        #expect(try job.rows("SELECT day FROM IndexPoint ORDER BY day") == kept.map { $0 + "T00:00:00Z" })
        #expect(try job.report("--as-of", Self.asOf).totals.deleted == 0)
    }
}
