import Foundation
import PostgresCluster
import Testing

/// `on_conflict: replace` of pending rows beside holds on a server, as the case `pending-replace-beside-a-hold` for a file.
struct HeldReplaceTests {
    private static let pending =
        "pending: [{ files: 'new/*.csv', entity: price, on_conflict: replace }]\n"
        + "holds: [{ name: audit, entity: price, where: { symbol: GOLD }, reason: audit }]"
    /// A held row, one that is not held, and a new one; the last two lines replace a row of this file, which is held then.
    private static let lines =
        "id,symbol,price,at\n1,X,9,%\n2,X,9,%\n3,GOLD,9,%\n3,X,8,%\n4,X,7,%\n4,X,8,%\n"
        // Equal to the held row of the file: it changes nothing.
        + "3,GOLD,9,%\n"

    @Test(
        .needsPostgres,
        arguments: [
            "CREATE TABLE price (id int PRIMARY KEY, symbol text, price int, at timestamptz)",
            "CREATE TABLE price (id int, symbol text, price int, at timestamptz, UNIQUE (id))",
        ])
    func aHeldRowOfAServerIsNotReplaced(table: String) throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(
            table + "; INSERT INTO price VALUES (1, 'GOLD', 1, now()), (2, 'SILVER', 1, now());")
        let job = try LaunchedJob(
            "",
            policy: "version: 1\nstore: \(url)\n\(Self.pending)\nrules:\n"
                + "  - { name: gold, entity: price, date_attribute: at, max_age: 30d }\n")
        try job.folder.write(Self.lines.replacing("%", with: "2026-01-01T00:00:00Z"), to: "new/a.csv")
        // The rule must not take the rows of the file.
        let policy = try job.text("retention.yaml").replacing("max_age: 30d", with: "max_age: 90y")
        try job.folder.write(policy, to: "retention.yaml")
        func rows() throws -> [String] {
            try cluster.run("SELECT id || '|' || symbol || '|' || price FROM price ORDER BY id", url: url)
                .split(separator: "\n").map(String.init)
        }
        let before = try rows()
        let dry = try job.report("--dry-run")
        let check = try job.retention("check")
        #expect(check.output.contains("2 bad lines in pending files"), "\(check)")
        #expect(try rows() == before)
        let run = try job.report()
        for report in [dry, run] {
            #expect(
                report.exitCode == 65 && report.pending.saved == 4 && report.pending.rejected == 2
                    && report.pending.ignored == 1, "\(report)")
        }
        #expect(try rows() == ["1|GOLD|1", "2|X|9", "3|GOLD|9", "4|X|8"])
        let rejected = try job.text("new/a.csv.rejected")
        #expect(rejected.contains("# line 2: the row with its key is under the hold audit"), "\(rejected)")
        #expect(rejected.contains("# line 5: the row with its key is under the hold audit"), "\(rejected)")
    }
}
