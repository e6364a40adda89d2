import PostgresCluster
import Testing

/// Which entities are said to get no new rows on a server. What is said of a file is in the cases `no-row-matches` and
/// `no-new-rows*`.
struct ArrivalsTests {
    /// Whether `check`, a dry run, a run and the page say something, however their lines are broken.
    private func expect(
        _ phrase: String, _ isSaid: Bool, _ job: LaunchedJob, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for arguments in [["check"], ["run", "--dry-run"], ["run"], ["report", "--html", "-"]] {
            let words = try job.perform(arguments).words
            #expect(words.contains(phrase) == isSaid, "\(words)", sourceLocation: sourceLocation)
        }
    }

    @Test(.needsPostgres) func aServerSaysTheSame() throws {
        let url = try #require(PostgresCluster.shared).makeDatabase(
            """
            CREATE TABLE "Price" (id serial PRIMARY KEY, symbol text, at timestamptz);
            CREATE INDEX ON "Price" (at);
            INSERT INTO "Price" (symbol, at) SELECT 'BAD', now() - n * interval '1 day' FROM generate_series(100, 110) n;
            INSERT INTO "Price" (symbol, at) SELECT 'XAU', now() - n * interval '1 day' FROM generate_series(10, 29) n;
            INSERT INTO "Price" (symbol, at) VALUES ('XAU', '2130-01-01');
            """)
        func policy(_ symbol: String) -> String {
            """
            version: 1
            store: \(url)
            rules:
              - { name: gold, entity: Price, date_attribute: at, max_age: 30d, where: { symbol: \(symbol) }, accept: [future_dates] }
            """
        }
        let job = try LaunchedJob("", policy: policy("BAD"))
        try expect("the newest row of Price that is not in the future is dated", true, job)
        #expect(try job.report().totals.deleted == 0)
        try expect("gold deletes nothing, because no row of Price matches its `where`", false, job)
        try job.folder.write(policy("WORSE"), to: "retention.yaml")
        try expect("gold deletes nothing, because no row of Price matches its `where`", true, job)
    }
}
