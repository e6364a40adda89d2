import PostgresCluster
import Testing

/// Which entities are said to get no new rows, and what a server says. The stories are in the cases `no-row-matches` and
/// `no-new-rows*`.
struct ArrivalsTests {
    private static let stale = "the newest row of Price"

    /// `check`, a dry run, a run and the page, each with white space made plain.
    private func everywhere(_ job: LaunchedJob) throws -> [String] {
        try [["check"], ["run", "--dry-run"], ["run"], ["report", "--html", "-"]].map {
            try job.perform($0).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    private func expect(
        _ phrase: String, _ isSaid: Bool, _ job: LaunchedJob, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for text in try everywhere(job) {
            #expect(text.contains(phrase) == isSaid, "\(text)", sourceLocation: sourceLocation)
        }
    }

    // MARK: Entities without new rows

    private static func store(_ days: [Int], index: Bool) -> String {
        Sample.price + (index ? "" : "DROP INDEX Price_at;")
            + days.map { "INSERT INTO Price(symbol, at) VALUES ('XAUUSD', \(Sample.unixSeconds($0) - $0));" }
            .joined()
    }

    /// Days of rows, the newest first; the usual gap is the longest of the newest nine.
    @Test(
        arguments: [
            ([10, 11, 12, 13], true), ([2, 3, 4], false), ([4, 5, 6], true), ([8, 11, 12], false),
            ([10, 13, 14], true),
            ([100, 101], false), ([100], false), ([0, 1, 2, 3], false), ([40, 70, 100], false),
            ([400, 430, 460], true),
            ([20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 60], true), ([20, 21, 22, 23, 24, 25, 26, 27, 28, 60], false),
        ] as [([Int], Bool)])
    func anEntityWithoutNewRowsIsAWarning(_ days: [Int], _ isStale: Bool) throws {
        for index in [true, false] {
            let job = try LaunchedJob(
                Self.store(days, index: index),
                policy: Sample.policy(Sample.rule("where: { symbol: XAUUSD }", age: "1000d")))
            for text in try everywhere(job) {
                #expect(text.contains(Self.stale) == isStale, "\(text)")
                #expect(
                    !isStale || text.contains("the newest row of Price is dated \(Sample.date(days[0] + 1))"), "\(text)"
                )
            }
            // Other rows arrive.
            try job.change("INSERT INTO Price(symbol, at) VALUES ('EUR', unixepoch())")
            try expect(Self.stale, false, job)
        }
    }

    /// What rules have left of old rows says nothing about the feed: 24 rows a day, until some days ago.
    @Test(
        arguments: [
            "thin: { monthly: forever }", "thin: { weekly: forever }", "thin: { daily: 20d, monthly: forever }",
            "keep_last: { count: 1 }", "",
        ])
    func aDeadFeedIsReportedWhateverItsRulesKeep(_ setting: String) throws {
        // The picks of days are exactly a day apart, so that their gaps are two days.
        for days in [0, 2, setting.contains("daily") ? 7 : 4, 12, 25] {
            // The nights before have thinned the rows, and one is under a hold.
            let job = try LaunchedJob(
                Sample.price + Sample.rows(1, daysAgo: 700, symbol: "HELD") + Sample.rows(1, daysAgo: 60)
                    + Sample.rows(1, daysAgo: 90)
                    + (days..<days + 30).map { Sample.rows(20, daysAgo: $0) }.joined(),
                policy: Sample.policy(
                    Sample.rule(setting, age: "10d"),
                    head: "holds: [{ name: h, entity: Price, where: { symbol: HELD }, reason: r }]"))
            try job.report("--accept", "would_empty_entity")
            let end = try job.retention("run", "--dry-run")
            #expect(end.words.contains(Self.stale) == (days > 3), "\(days) \(setting): \(end)")
            // The first run said it, and the next ones of the week do not.
            #expect(try job.report().warnings?.contains { $0.contains(Self.stale) } != true)
        }
    }

    // MARK: A server

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
