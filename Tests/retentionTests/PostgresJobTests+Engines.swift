import Foundation
import PostgresCluster
import Testing

extension PostgresJobTests {
    /// The program on TimescaleDB and on Citus, where these are installed.
    struct RealEngines {
        private static let rows = """
            CREATE TABLE %@ (id int, at timestamptz, PRIMARY KEY (id, at));
            %@
            INSERT INTO %@ SELECT n, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' FROM generate_series(0, 719) n;

            """

        private static func table(_ name: String, _ make: String = "") -> String {
            String(format: rows, name, make, name)
        }

        /// A dry run and a run of a rule on each table. 480 of 720 rows are expired.
        private func run(_ url: String, _ tables: String...) throws -> [Report.Rule] {
            let rules = tables.map {
                "  - { name: \($0), entity: \($0), date_attribute: at, max_age: 11d }\n"
            }
            let job = try LaunchedJob("", policy: "version: 1\nstore: \(url)\nrules:\n\(rules.joined())")
            let time = ["--as-of", "2026-02-01T00:00:00Z"]
            #expect(try job.perform(["check"]).status == 0)
            let dry = try job.report(["--dry-run"] + time).rules
            let real = try job.report(time).rules
            #expect(dry.map(\.expired) == tables.map { _ in 480 } && real.map(\.deleted) == dry.map(\.expired))
            #expect(real.allSatisfy { $0.outcome == "completed" && $0.residue == 0 })
            for (rule, dry) in zip(real, dry) { #expect(rule.methodReason == dry.methodReason) }
            return real
        }

        private static let left = "SELECT count(*), min(id) FROM "

        @Test(.needsTimescale)
        func hypertablesLoseTheRowsThatATableLoses() throws {
            let url = try PostgresCluster.makeTimescaleDatabase(
                Self.table("plain")
                    + Self.table("chunked", "SELECT create_hypertable('chunked', by_range('at', interval '7 days'));"))
            let rules = try run(url, "plain", "chunked")
            let server = try PostgresCluster.timescale.get()
            for table in ["plain", "chunked"] { #expect(try server.run(Self.left + table, url: url) == "240|480") }
            #expect(rules[1].methodReason == "2 chunks are dropped, and rows outside them are deleted one by one")
            #expect(try server.run("SELECT count(*) FROM show_chunks('chunked')", url: url) == "3")
        }

        /// The cutoff is moved back to the start of a bucket, so that no bucket is deleted in two nights.
        @Test(.needsTimescale)
        func aNightFollowsAnotherBesideAnAggregate() throws {
            let server = try PostgresCluster.timescale.get()
            let url = try PostgresCluster.makeTimescaleDatabase(
                Self.table("chunked", "SELECT create_hypertable('chunked', by_range('at', interval '7 days'));")
                    + """
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

        @Test(.needsCitus)
        func distributedTablesLoseTheRowsThatATableLoses() throws {
            let cluster = try CitusCluster.shared.get()
            let url = try cluster.makeDatabase(
                Self.table("plain") + Self.table("spread", "SELECT create_distributed_table('spread', 'id');"))
            _ = try run(url, "plain", "spread")
            for table in ["plain", "spread"] {
                #expect(try cluster.coordinator.run(Self.left + table, url: url) == "240|480")
            }
        }
    }
}
