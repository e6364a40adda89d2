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

    /// Constants of the policy, as the numbers of a file.
    @Test func constantsKeepTheirDigits() throws {
        let date = Sample.date(1)
        let sql = "CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT, i INTEGER, r REAL, d DECIMAL(9,2), at INTEGER);"
        func job(_ constants: String) throws -> LaunchedJob {
            let job = try LaunchedJob(
                sql,
                policy: Sample.policy(
                    Sample.rule(entity: "n"),
                    head: "pending: [{ files: \"new/*.csv\", entity: n, constants: { \(constants) } }]"))
            try write([("a.csv", "id,at\n1,\(date)\n")], job)
            return job
        }
        for (constants, row) in [
            ("t: 1.50, i: 5, r: 1.50, d: 1.50", "1.50|5|1.5|1.5"),
            ("t: 0.10000000000000000556", "0.10000000000000000556|||"),
            ("t: 1e3, r: 1e3", "1e3||1000.0|"), ("t: 5., r: .5", "5.||0.5|"), ("t: true, i: true", "1|1||"),
        ] {
            let job = try job(constants)
            #expect(try job.report().pending.saved == 1)
            #expect(try job.rows("SELECT t, i, r, d FROM n") == [row], "\(constants)")
        }
        for constants in ["r: 0.10000000000000000001", "i: 1.5e300, r: 9007199254740993"] {
            let end = try job(constants).retention("check")
            #expect(end.status == 78 && end.output.contains("a number that the column cannot hold exactly"), "\(end)")
        }
    }

    /// A decimal number has other digits than the text that it is compared with.
    @Test func aDecimalIsNotComparedWithText() throws {
        let rows =
            "CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER, v TEXT, w REAL);"
            + (0..<4).map {
                "INSERT INTO Price VALUES (\($0), unixepoch() - \($0 < 2 ? 100 * 86400 : $0), '1.50', 1.5);"
            }.joined()
        for condition in ["1.50", "[a, 1.5]", "{ ne: 1.50 }"] {
            let job = try LaunchedJob(rows, policy: Sample.policy(Sample.rule("where: { v: \(condition) }")))
            let said = "Price.v is a column of text: put the number in quotes, with the digits that are stored"
            try job.expectEverywhere(78, said)
            #expect(try job.number("SELECT count(*) FROM Price") == 4)
        }
        let held = try LaunchedJob(
            rows,
            policy: Sample.policy(
                Sample.rule(), head: "holds: [{ name: h, entity: Price, where: { v: 1.50 }, reason: audit }]"))
        #expect(try held.report().rules[0].refusal == "hold_unusable")
        #expect(try held.number("SELECT count(*) FROM Price") == 4)
        let job = try LaunchedJob(rows, policy: Sample.policy(Sample.rule("where: { v: '1.50', w: 1.50 }")))
        #expect(try job.report().totals.deleted == 2)
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
