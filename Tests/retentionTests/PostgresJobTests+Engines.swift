import Foundation
import PostgresCluster
import Testing

extension PostgresJobTests {
    /// The program on TimescaleDB, where it is installed. What it deletes from a table of each kind is in ``Layouts``.
    struct RealEngines {
        /// The cutoff is moved back to the start of a bucket, so that no bucket is deleted in two nights.
        @Test(.needsTimescale)
        func aNightFollowsAnotherBesideAnAggregate() throws {
            let server = try PostgresCluster.timescale.get()
            let url = try PostgresCluster.makeTimescaleDatabase(
                """
                CREATE TABLE chunked (id int, at timestamptz, PRIMARY KEY (id, at));
                SELECT create_hypertable('chunked', by_range('at', interval '7 days'));
                INSERT INTO chunked SELECT n, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
                CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at) AS at, count(*)
                FROM chunked GROUP BY 1 WITH NO DATA;
                CALL refresh_continuous_aggregate('days', NULL, NULL);
                """)
            let job = try LaunchedJob(
                "",
                policy: """
                    version: 1
                    store: \(url)
                    rules:
                      - { name: gold, entity: chunked, date_attribute: at, max_age: 11d }
                    """)
            for (day, deleted) in [("01-24", 288), ("01-25", 24), ("01-26", 24)] {
                let report = try job.report(["--as-of", "2026-\(day)T12:00:00Z"])
                #expect(report.rules.map(\.deleted) == [deleted] && report.exitCode == 0, "\(day)")
                try server.run("CALL refresh_continuous_aggregate('days', '2026-01-25', '2026-01-28')", url: url)
            }
            #expect(try job.perform(["check"]).output.contains("the start of a bucket of days"))
            // A row that comes late, from where nothing was deleted, and another.
            try server.run(
                "INSERT INTO chunked VALUES (-1, '2026-01-15 17:30Z'); "
                    + "CALL refresh_continuous_aggregate('days', '2026-01-25', '2026-01-28')", url: url)
            for dry in [["--dry-run"], []] {
                let report = try job.report(dry + ["--as-of", "2026-01-27T12:00:00Z"])
                #expect(report.rules.map(\.outcome) == ["refused"] && report.exitCode == 65)
                #expect(
                    report.rules[0].advice?.first
                        == "the cutoff is moved from 2026-01-16 12:00:00Z back to 2026-01-16 00:00:00Z, the start of a bucket of days"
                )
                #expect(report.rules[0].message?.contains("To materialize them: CALL refresh") == true)
            }
            #expect(
                try server.run("SELECT sum(count), (SELECT count(*) FROM chunked) FROM days", url: url) == "720|385")
            try server.run("INSERT INTO chunked VALUES (-2, '2026-01-14 17:30Z')", url: url)
            let report = try job.report(["--dry-run", "--as-of", "2026-01-27T12:00:00Z"])
            #expect(report.rules[0].message?.contains("Earlier runs may have deleted rows before 2026-01-15T") == true)
        }
    }
}
