import PostgresCluster
import Testing

/// A row of a server whose date cannot be read is never deleted, whatever the type of its column.
struct PostgresUnreadableTests {
    /// A column, how its dates are read, a date of each age in days, and values that are no date of the format.
    struct Column: CustomTestStringConvertible {
        var type: String
        var format: String
        var date: String
        var unreadable: [String]
        /// Whether the format reads the values of the column at all.
        var isRead = true
        var testDescription: String { "\(type) \(format)" }
    }

    private static let asOf = "2026-03-01T00:00:00Z"
    /// Row `n` is half a day younger than so many days.
    private static let time = "timestamptz '\(asOf)' - (n - 0.5) * interval '1 day'"
    private static let at = "extract(epoch FROM \(time))"

    static let columns = [
        Column(
            type: "bigint", format: "unix_seconds", date: "floor(\(at))::bigint",
            unreadable: ["NULL", "0", "-1", "1700000000000", "1700000000000000", "-9223372036854775808"]),
        Column(
            type: "bigint", format: "unix_milliseconds", date: "floor((\(at)) * 1000)::bigint",
            unreadable: ["NULL", "0", "1500000000", "1700000000000000", "9223372036854775807"]),
        Column(
            type: "integer", format: "unix_seconds", date: "floor(\(at))::int",
            unreadable: ["NULL", "0", "-2147483648"]),
        Column(
            type: "numeric", format: "unix_seconds", date: at,
            unreadable: ["NULL", "0", "-1e30", "'NaN'", "'Infinity'", "'-Infinity'", "1700000000000", "1e300"]),
        Column(
            type: "double precision", format: "unix_seconds", date: at,
            unreadable: ["NULL", "0", "'NaN'", "'-Infinity'", "'Infinity'", "-1e300", "1700000000000"]),
        Column(
            type: "real", format: "unix_seconds", date: at, unreadable: ["NULL", "0", "'NaN'", "'-Infinity'", "1.7e12"]),
        Column(
            type: "text", format: "iso8601",
            date: "to_char((\(time)) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
            unreadable: [
                "NULL", "''", "'1700000000'", "'yesterday'", "'2020-13-01'", "'2020-02-30T00:00:00Z'", "'-infinity'",
            ]),
        Column(
            type: "text", format: "unix_seconds", date: "floor(\(at))::bigint::text",
            unreadable: ["NULL", "''", "'0'", "'x'", "'1700000000000'", "'2020-01-01T00:00:00Z'"],
            isRead: false),
        Column(
            type: "timestamptz", format: "native", date: time,
            unreadable: ["NULL", "'-infinity'", "'infinity'", "'0044-03-15 00:00:00+00 BC'"]),
        Column(
            type: "timestamp", format: "native", date: "(\(time)) AT TIME ZONE 'UTC'",
            unreadable: ["NULL", "'-infinity'", "'infinity'", "'0044-03-15 00:00:00 BC'"]),
        Column(
            type: "date", format: "native", date: "((\(time)) AT TIME ZONE 'UTC')::date",
            unreadable: ["NULL", "'-infinity'", "'infinity'", "'0044-03-15 BC'"]),
    ]

    @Test(.needsPostgres, arguments: columns, [true, false])
    func aRowWithoutAReadableDateStays(_ column: Column, hasIndex: Bool) throws {
        let cluster = try #require(PostgresCluster.shared)
        let bad = column.unreadable.enumerated().map { "(\(1001 + $0), \($1))" }.joined(separator: ", ")
        let url = try cluster.makeDatabase(
            """
            CREATE TABLE tick (id int PRIMARY KEY, at \(column.type));
            INSERT INTO tick SELECT n, \(column.date) FROM generate_series(1, 800) AS n;
            INSERT INTO tick VALUES \(bad);
            \(hasIndex ? "CREATE INDEX tick_at ON tick (at);" : "")
            """)
        let format = column.format == "native" ? "" : "date_format: \(column.format), "
        let job = try LaunchedJob(
            "",
            policy:
                "version: 1\nstore: \(url)\ntimezone: UTC\nrules:\n  - { name: ticks, entity: tick, date_attribute: at, \(format)max_age: 100d, "
                + "accept: [wrong_unit, mixed_formats, future_dates] }\n")
        let dry = try job.report("--dry-run", "--as-of", Self.asOf).rules[0]
        let run = try job.report("--as-of", Self.asOf).rules[0]
        let isThere = "SELECT string_agg(id::text, ',' ORDER BY id) FROM tick WHERE id > 1000"
        let ids = column.unreadable.indices.map { "\(1001 + $0)" }.joined(separator: ",")
        #expect(try cluster.run(isThere, url: url) == ids)
        #expect(run.outcome == "completed" && dry.expired == (column.isRead ? 700 : 0), "\(run)")
        #expect(run.deleted == dry.expired && run.residue == 0)
        #expect(try job.report("--as-of", Self.asOf).rules[0].deleted == 0)
    }
}
