import Foundation
import PostgresCluster
import Testing

/// Numbers of pending files in the running program: every digit arrives, or the line is rejected.
struct PendingNumberTests {
    private static let pending = """
        pending:
          - { files: "new/*.csv", entity: n }
          - { files: "new/*.ndjson", entity: n }
        """

    private func write(_ files: [(String, String)], _ job: LaunchedJob) throws {
        for (name, text) in files { try job.folder.write(text, to: "new/" + name) }
    }

    @Test(.needsPostgres) func aServersNumericHoldsAllDigits() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(
            "CREATE TABLE n (id int PRIMARY KEY, t text, i bigint, f real, d numeric, at timestamptz)")
        let job = try LaunchedJob(
            "",
            policy: "version: 1\nstore: \(url)\n\(Self.pending)\nrules:\n"
                + "  - { name: n, entity: n, date_attribute: at, max_age: 90y }\n")
        let date = "2026-01-01T00:00:00Z"
        try write(
            [
                (
                    "a.csv",
                    "id,t,i,f,d,at\n1,007,1,0.1,12345678901234567890.123456789,\(date)\n"
                        + "2,,18446744073709551615,1,1,\(date)\n3,,1,16777217,1,\(date)\n"
                ),
                (
                    "b.ndjson",
                    "{\"id\":11,\"t\":12345678901234567890123,\"d\":12345678901234567890123,\"at\":\"\(date)\"}\n"
                        + "{\"id\":12,\"i\":18446744073709551615,\"at\":\"\(date)\"}\n"
                ),
            ], job)
        for report in [try job.report("--dry-run"), try job.report()] {
            #expect(report.pending.saved == 2 && report.pending.rejected == 3, "\(report)")
        }
        #expect(
            try cluster.run("SELECT id || ' ' || t || ' ' || d FROM n ORDER BY id", url: url)
                == "1 007 12345678901234567890.123456789\n11 12345678901234567890123 12345678901234567890123")
    }
}
