import Foundation
import PostgresCluster
import PostgresStore
import TestSupport
import Testing

/// The program on a PostgreSQL database, beside a kill and another run. What rules do there is in the cases for both engines, and what the
/// engine refuses in GuardTests and FaultTests.
@Suite(.needsPostgres)
struct PostgresJobTests {
    private let cluster: PostgresCluster
    private let url: String
    /// Rows older than 30 days of 24 hours. Each row is half an hour away from an age of whole hours.
    private let expired = 1280

    init() throws {
        cluster = try #require(PostgresCluster.shared)
        url = try cluster.makeDatabase(
            """
            CREATE TABLE price (id bigserial PRIMARY KEY, symbol text, price float8, at timestamptz);
            CREATE INDEX price_at ON price (at);
            INSERT INTO price (symbol, price, at) SELECT 'XAUUSD', n, now() - (n + 0.5) * interval '1 hour' FROM generate_series(0, 1999) n;
            """)
    }

    private func job(head: String = "") throws -> LaunchedJob {
        try LaunchedJob(
            "",
            policy: """
                version: 1
                store: \(url)
                timezone: UTC
                \(head)
                rules:
                  - { name: gold, entity: price, date_attribute: at, max_age: 30d }
                """)
    }

    private func number(_ query: String) throws -> Int { Int(try cluster.run(query, url: url)) ?? -1 }

    @Test func aPendingFileOfAKilledRunIsContinued() throws {
        let job = try job(
            head: """
                pending:
                  - { files: "pending/*.csv", entity: price, constants: { symbol: XAUEUR } }
                """)
        try FileManager.default.createDirectory(atPath: job.path("pending"), withIntermediateDirectories: true)
        let rows = (1...40_000).map { "\(Sample.date(1)),\($0)\n" }.joined()
        try job.folder.write("at,price\n" + rows, to: "pending/a.csv")
        let saved = "SELECT count(*) FROM price WHERE symbol = 'XAUEUR'"
        let killed = try RunningProgram(job, "run")
        #expect(try eventually { try number(saved) > 0 })
        killed.send(SIGKILL)
        #expect(killed.wait() == 128 + SIGKILL)
        let before = try number(saved)
        #expect((1..<40_000).contains(before))
        let dry = try job.report("--dry-run")
        let run = try job.report()
        #expect(run.pending == dry.pending && run.pending.saved == 40_000 - before && run.pending.files == 1)
        #expect(try number(saved) == 40_000)
        #expect(try number("SELECT count(DISTINCT price) FROM price WHERE symbol = 'XAUEUR'") == 40_000)
        #expect(try number("SELECT count(*) FROM pg_class WHERE relname = 'retention_taken'") == 0)
    }

    @Test func aSecondRunIsRefusedAndNamesTheFirst() throws {
        let holder = try PostgresWriter(PostgresAddress(url: url))
        try holder.takeRunLock()
        let end = try job().retention("run")
        let process = "process \(ProcessInfo.processInfo.processIdentifier) on this host, server process "
        #expect(end.status == 75 && end.errors.contains("another run is using this store: \(process)"))
        #expect(try number("SELECT count(*) FROM price") == 2000)
        // A dry run takes no lock.
        #expect(try job().report("--dry-run").exitCode == 0)
    }

    @Test func initDraftsAPolicyThatCheckAndADryRunTake() throws {
        let job = try job()
        let draft = try job.retention("init", url)
        #expect(draft.status == 0 && draft.output.contains("entity: price"))
        #expect(draft.output.contains(url))
        let filled = draft.output.replacing(/max_age:[^\n]*/, with: "max_age: 30d")
            .replacingOccurrences(of: "enabled: false", with: "enabled: true")
        try job.folder.write(filled, to: "retention.yaml")
        let check = try job.retention("check")
        #expect(check.status == 0, "\(check.output)\(check.errors)\(filled)")
        #expect(try job.report("--dry-run").rules[0].expired == expired)
        let inspect = try job.retention("inspect", url)
        #expect(inspect.status == 0 && inspect.words.contains("price: 2,000 rows"), "\(inspect)")
        #expect(inspect.words.contains(" native ") && inspect.words.hasSuffix(" price_at"), "\(inspect)")
        // A store without dates, which the message names.
        let empty = try cluster.makeDatabase("CREATE TABLE a (b int);")
        let none = try job.retention("init", empty)
        #expect(none.status == 65 && none.errors.contains(empty))
    }
}
