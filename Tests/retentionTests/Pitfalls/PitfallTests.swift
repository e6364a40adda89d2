import Foundation
import Testing

/// The accidents that retention jobs are known for, each staged with the real program: it refuses, or the data survive.
/// Here those of dates and units; the extensions have those of policies, of the work itself and of damage.
struct PitfallTests {
    /// A store of `Price` with the given SQL, and one rule.
    func job(
        _ sql: String, _ keys: String = "", format: String = "unix_seconds", age: String = "30d", head: String = ""
    )
        throws -> LaunchedJob
    {
        try LaunchedJob(
            Sample.price + sql, policy: Sample.policy(Sample.rule(keys, format: format, age: age), head: head))
    }

    /// The rows of `Price`.
    func count(_ job: LaunchedJob) throws -> Int { try job.number("SELECT count(*) FROM Price") }

    static let children = """
        CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
        INSERT INTO Quote(price) SELECT id FROM Price;

        """

    /// Mail-Otter 179, OmniRoute 9625.
    @Test(arguments: ["unix_milliseconds", "unix_microseconds", "unix_nanoseconds", "apple_seconds"])
    func secondsDeclaredInAnotherUnitDeleteNothingWithTheirChildren(_ format: String) throws {
        let job = try job(Sample.rows(20, daysAgo: 100) + Sample.rows(20, daysAgo: 1) + Self.children, format: format)
        for _ in 1...2 {
            let report = try job.report()
            #expect(report.exitCode == 65 && report.rules[0].outcome == "refused", "\(report)")
            #expect(["wrong_unit", "future_dates"].contains(report.rules[0].refusal))
        }
        #expect(try count(job) == 40 && job.number("SELECT count(*) FROM Quote") == 40)
    }

    /// The reverse: such a rule would run every night and never delete anything.
    @Test func millisecondsDeclaredAsSecondsAreNotPassedOverInSilence() throws {
        let job = try job(
            Sample.rows(20, daysAgo: 100) + Sample.rows(20, daysAgo: 1) + "UPDATE Price SET at = at * 1000;")
        let report = try job.report()
        #expect(report.exitCode == 65 && report.rules[0].refusal == "wrong_unit")
        #expect(report.rules[0].message?.contains("unix_milliseconds") == true)
        #expect(try count(job) == 40)
    }

    /// ClickHouse 101763, Prometheus 5398, CASSANDRA-14092.
    @Test(
        arguments: [
            (0, "100y"), (0, "292y"), (0, "293y"), (0, "9999y"), (0, "36500d"), (0, "1000000d"), (78, "106751992d"),
            (78, "9223372036854775807d"), (78, "2562047788015h"), (78, "9223372036854775807s"),
            (78, "9223372036854775808s"), (78, "100000y"), (78, "1y9223372036854775807d"),
        ] as [(Int32, String)])
    func anAgeOfCenturiesDeletesNothing(_ status: Int32, _ age: String) throws {
        let job = try job(Sample.rows(20, daysAgo: 20_000) + Sample.rows(20, daysAgo: 0), "allow_empty: true", age: age)
        let end = try job.retention("run")
        // Too long for the calendar is a mistake; everything else is older than any row.
        #expect(end.status == status, "\(end)")
        #expect(try count(job) == 40)
    }

    /// QuestDB 6531.
    @Test func oneRowFarInTheFutureExpiresNothing() throws {
        let job = try job(
            Sample.rows(5, daysAgo: 100) + Sample.rows(20, daysAgo: 3)
                + "INSERT INTO Price(symbol, at) VALUES ('XAUUSD', unixepoch('2100-01-01'));")
        let report = try job.report()
        #expect(report.exitCode == 65 && report.rules[0].refusal == "future_dates")
        #expect(try count(job) == 26)
        // Whoever lets it pass loses what is old by the clock, not by that row.
        #expect(try job.report("--accept", "future_dates").rules[0].deleted == 5)
        #expect(try count(job) == 21)
    }

    struct Day: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var asOf: String
        var cutoff: String
    }

    /// pg_partman 334 and 865, dify 40998.
    @Test(arguments: [
        Day(testDescription: "spring", asOf: "2026-03-30T10:00:00Z", cutoff: "2026-03-28T23:00:00Z"),
        Day(testDescription: "autumn", asOf: "2026-10-26T10:00:00Z", cutoff: "2026-10-24T22:00:00Z"),
    ])
    func aChangeOfTheClocksMovesNoDay(_ day: Day) throws {
        let rows = [-1, 0, 1].map {
            "INSERT INTO Price(symbol, at) VALUES ('\($0)', unixepoch('\(day.cutoff)') + \($0));"
        }
        let job = try job(
            rows.joined(), "align: day, accept: [would_empty_entity]", age: "1d", head: "timezone: Europe/Berlin")
        let report = try job.report("--as-of", day.asOf)
        #expect(report.exitCode == 0 && report.rules[0].cutoff == day.cutoff, "\(report)")
        #expect(try job.rows("SELECT symbol FROM Price ORDER BY at") == ["0", "1"])
    }

    /// metapi-go 516: as text, a space comes before `T`.
    @Test(arguments: [true, false])
    func datesWithASpaceAreNotOlderThanThoseWithAT(_ isIndexed: Bool) throws {
        let job = try job(
            """
            INSERT INTO Price(symbol, at) VALUES
                ('old', '2026-10-21 23:59:59'), ('old', '2026-10-21T23:59:59'), ('old', '2026-10-22T01:00:00+02:00'),
                ('new', '2026-10-22 00:00:00'), ('new', '2026-10-22T00:00:00'), ('new', '2026-10-22 12:00'),
                ('new', '2026-10-21T23:30:00-01:00'), ('new', '2026-10-22');
            """ + (isIndexed ? "" : "DROP INDEX Price_at;"), format: "iso8601")
        let report = try job.report("--as-of", "2026-11-21")
        #expect(report.exitCode == 0 && report.rules[0].deleted == 3, "\(report)")
        #expect(try job.rows("SELECT DISTINCT symbol FROM Price") == ["new"])
    }

    /// Yuzu 2361: a clock that is weeks ahead, and that comes back.
    @Test(arguments: [(-40, "clock_jumped"), (40, "clock_moved_back")])
    func aClockThatJumpedExpiresNothing(_ lastRunInDays: Int, _ code: String) throws {
        let job = try job(Sample.rows(5, daysAgo: 20))
        #expect(try job.report().exitCode == 0)
        try job.change(
            "UPDATE run SET started_us = (unixepoch() + \(lastRunInDays * Sample.day)) * 1000000, "
                + "finished_us = (unixepoch() + \(lastRunInDays * Sample.day)) * 1000000",
            in: "retention.ledger.sqlite")
        try job.change("DELETE FROM Price; " + Sample.rows(10, daysAgo: 100) + Sample.rows(5, daysAgo: 50))
        let report = try job.report()
        #expect(report.exitCode == 65 && report.rules[0].refusal == code, "\(report)")
        #expect(try count(job) == 15)
    }
}
