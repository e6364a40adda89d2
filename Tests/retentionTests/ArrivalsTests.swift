import PostgresCluster
import Testing

/// Warnings about rules that have never matched a row, and about entities that get no new ones.
struct ArrivalsTests {
    private static let stale = "the newest row of Price"

    /// `check`, a dry run, a run and the page, each with white space made plain.
    private func everywhere(_ job: LaunchedJob) throws -> [String] {
        try [["check"], ["run", "--dry-run"], ["run"], ["report", "--html", "-"]].map {
            try job.perform($0).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    /// A group of `keep_last` that gets no new rows loses its old ones, night after night, until it has only those that the rule keeps.
    @Test func silentGroupsAreNamed() throws {
        // Two rows of a group have its newest date.
        let tie =
            "INSERT INTO Price(symbol, price, at) "
            + "SELECT symbol, price, max(at) FROM Price WHERE symbol <> 'OLD' GROUP BY 1;"
        let symbols = ["XPT", "XPD", "XAG", "XCU"].enumerated().map { Sample.rows(5, daysAgo: 40 + $0, symbol: $1) }
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 40) + Sample.rows(5, daysAgo: 1)
                + Sample.rows(2, daysAgo: 80, symbol: "OLD"),
            policy: Sample.policy(Sample.rule("keep_last: { count: 2, per: [symbol] }")))
        #expect(try job.retention("run").status == 0)
        try job.change(symbols.joined() + tie)
        #expect(try job.retention("report").output.contains("no new rows of 4 groups of keep_last"))
        let words = try job.retention("run").output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("gold: no new row of symbol \"XPT\" since 20"), "\(words)")
        #expect(
            words.contains("symbol \"XPD\" since") && !words.contains("XCU") && !words.contains("XAUUSD")
                && !words.contains("OLD"), "\(words)")
        #expect(words.contains("gold: nor of 1 other group of keep_last"), "\(words)")
        // Of rows that the rule keeps none is lost.
        #expect(try !job.retention("report").output.contains("groups of keep_last"))
        #expect(try !job.retention("run").output.contains("no new row of"))
    }

    /// A clock that was wrong once does not hide it.
    @Test func aRowInTheFutureHidesNoSilentGroup() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 1) + Sample.rows(5, daysAgo: 40, symbol: "XPT")
                + Sample.rows(1, daysAgo: -900, symbol: "XPT"),
            policy: Sample.policy(Sample.rule("keep_last: { count: 2, per: [symbol] }, accept: [future_dates]")))
        #expect(try job.retention("run").status == 0)
        try job.change(Sample.rows(5, daysAgo: 41, symbol: "XPT"))
        let words = try job.retention("run").words
        #expect(words.contains("gold: no new row of symbol \"XPT\" since 20"), "\(words)")
    }

    private func expect(
        _ phrase: String, _ isSaid: Bool, _ job: LaunchedJob, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for text in try everywhere(job) {
            #expect(text.contains(phrase) == isSaid, "\(text)", sourceLocation: sourceLocation)
        }
    }

    // MARK: Rules that match no row

    private static let unmatched = "gold deletes nothing, because no row of Price matches its `where`"

    @Test func aWhereThatMatchesNoRowIsAWarning() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule("where: { symbol: XAUEUR }"),
                head: "holds: [{ name: h, entity: Price, where: { id: 1 }, reason: r }]"))
        for text in try everywhere(job) + everywhere(job) {
            #expect(text.contains(Self.unmatched), "\(text)")
            #expect(!text.contains("no new rows"), "\(text)")
        }
        try job.change("INSERT INTO Price(symbol) VALUES ('XAUEUR')")
        for text in try everywhere(job) { #expect(!text.contains("matches its `where`"), "\(text)") }
        let empty = try LaunchedJob(
            Sample.price, policy: Sample.policy(Sample.rule("where: { symbol: XAUEUR }")))
        for text in try everywhere(empty) { #expect(!text.contains("matches its `where`"), "\(text)") }
    }

    /// Bad ticks that were deleted and do not come back are no reason to send a mail each night.
    @Test func aRuleThatHasMatchedMayMatchNoRow() throws {
        let rows = Sample.price + Sample.rows(3, daysAgo: 100, symbol: "BAD") + Sample.rows(2, daysAgo: 0)
        func policy(_ symbol: String = "BAD", name: String = "gold", _ more: String = "", head: String = "") -> String {
            Sample.policy(Sample.rule("where: { symbol: \(symbol) }\(more)", name: name), head: head)
        }
        let job = try LaunchedJob(rows, policy: policy())
        try expect(Self.unmatched, false, job)
        #expect(try job.number("SELECT count(*) FROM Price") == 2)
        try expect(Self.unmatched, false, job)
        let end = try job.retention("run", "--quiet")
        #expect(end.output.isEmpty && end.errors.isEmpty, "\(end)")
        // By another name, and after it was disabled.
        try job.folder.write(policy(name: "bad"), to: "retention.yaml")
        try expect("deletes nothing", false, job)
        try job.folder.write(policy("BAD", ", enabled: false"), to: "retention.yaml")
        try job.report()
        try job.folder.write(policy(), to: "retention.yaml")
        try expect(Self.unmatched, false, job)
        // One of several values matched.
        try job.folder.write(policy("[BAD, WORSE]"), to: "retention.yaml")
        try expect(Self.unmatched, false, job)
        // What has changed has never matched.
        try job.folder.write(policy("WORSE"), to: "retention.yaml")
        try expect(Self.unmatched, true, job)
        // Without a ledger nobody knows.
        let other = try LaunchedJob(rows, policy: policy(head: "ledger: none"))
        try other.report()
        try expect(Self.unmatched, true, other)
    }

    @Test func aDisabledRuleHasNotMatched() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule("where: { symbol: BAD }, enabled: false")))
        try job.report()
        try job.folder.write(Sample.policy(Sample.rule("where: { symbol: BAD }")), to: "retention.yaml")
        try expect(Self.unmatched, true, job)
    }

    /// The rows that another rule deletes match all the same.
    @Test func rowsThatAnotherRuleDeletesMatch() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100, symbol: "BAD") + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule("where: { symbol: BAD }, keep_last: { count: 1 }"),
                Sample.rule("where: { symbol: BAD }", name: "bad")))
        try expect("deletes nothing", false, job)
        #expect(try job.number("SELECT count(*) FROM Price") == 3)
    }

    @Test func moreThanThreeRulesAreOneLine() throws {
        for count in [3, 4, 30] {
            let names = (0..<count).map { "r\($0)" }
            let job = try LaunchedJob(
                Sample.price + Sample.rows(3, daysAgo: 0),
                policy: "version: 1\nstore: prices.sqlite\nrules:\n"
                    + names.map { "  - \(Sample.rule("where: { symbol: \($0) }", name: $0))\n" }.joined())
            let found = try job.report("--dry-run").warnings ?? []
            if count == 3 {
                #expect(found.count == 3)
            } else {
                let ten = "\(names.prefix(10).joined(separator: ", "))\(count == 30 ? " and 20 more" : "")"
                #expect(
                    found == [
                        "no row matches: \(count) rules delete nothing, because no row matches their `where`: \(ten)"
                    ])
            }
        }
    }

    // MARK: Entities without new rows

    private static func store(_ days: [Int], in table: String = "Price", index: Bool = true) -> String {
        Sample.price.replacing("Price", with: table) + (index ? "" : "DROP INDEX \(table)_at;")
            + days.map { "INSERT INTO \(table)(symbol, at) VALUES ('XAUUSD', \(Sample.unixSeconds($0) - $0));" }
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

    /// A table that rarely changes is older than its rules keep rows, until the policy says that it may be.
    @Test func aTableThatRarelyChangesMayBeOld() throws {
        func policy(_ more: String) -> String {
            Sample.policy(Sample.rule("keep_last: { count: 1 }\(more)", age: "30d"))
        }
        let job = try LaunchedJob(Self.store([50, 200, 400]), policy: policy(""))
        try expect(
            "and gold keeps rows for 30d. If none has to come, write allow_empty: true in gold",
            true, job)
        try job.folder.write(policy(", allow_empty: true"), to: "retention.yaml")
        try expect(Self.stale, false, job)
        try job.folder.write(policy(", accept: [would_empty_entity]"), to: "retention.yaml")
        try expect(Self.stale, false, job)
        // A rule for some of the rows that keeps none of them says nothing about the others.
        try job.folder.write(
            Sample.policy(Sample.rule("where: { symbol: BAD }", age: "30d")), to: "retention.yaml")
        try expect(Self.stale, false, job)
        // All that is left is in the future.
        try job.change("UPDATE Price SET at = unixepoch('2130-01-01')")
        try job.folder.write(
            Sample.policy(Sample.rule("accept: [future_dates]", age: "30d")), to: "retention.yaml")
        try expect("all rows of Price are in the future. If none has to come", true, job)
        try job.folder.write(Sample.policy(Sample.rule(age: "30d")), to: "retention.yaml")
        try expect(Self.stale, false, job)
        try expect("all rows of Price", false, job)
    }

    /// A weekend, and a day after it, is no reason for a warning, however short rows are kept.
    @Test func aWeekendIsNoGap() throws {
        for setting in ["thin: { daily: forever }", "thin: { hourly: 10d, daily: forever }"] {
            let job = try LaunchedJob(
                Self.store([4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 18]),
                policy: Sample.policy(Sample.rule(setting, age: "3d")))
            try expect(Self.stale, false, job)
        }
    }

    /// Rows that are newer than an earlier instant of `--as-of` are not in the future.
    @Test func rowsAfterAnEarlierInstantHaveArrived() throws {
        let job = try LaunchedJob(Self.store([2, 3, 4]), policy: Sample.policy(Sample.rule(age: "30d")))
        let end = try job.retention("run", "--dry-run", "--as-of", "2020-01-01")
        #expect(end.status == 0 && !end.output.contains("no new rows"), "\(end)")
        // What lies ahead of the clock too does not hide them.
        try job.change("INSERT INTO Price(at) VALUES (unixepoch('2130-01-01'))")
        let other = try job.retention("run", "--dry-run", "--as-of", "2020-01-01", "--accept", "future_dates")
        #expect(!other.output.contains("no new rows"), "\(other)")
    }

    /// A row in the future, though accepted, does not hide that none arrives; one of tomorrow is no future date.
    @Test func rowsInTheFutureDoNotArrive() throws {
        for index in [true, false] {
            let job = try LaunchedJob(
                Self.store([10, 11, 12, 13], index: index)
                    + "INSERT INTO Price(at) VALUES (unixepoch('2130-01-01'));",
                policy: Sample.policy(Sample.rule("accept: [future_dates]", age: "1000d")))
            try expect(
                "the newest row of Price that is not in the future is dated \(Sample.date(11))", true, job)
            // A run says it once.
            try job.move("retention.ledger.sqlite", to: "former.sqlite")
            try job.change("INSERT INTO Price(at) VALUES (unixepoch() + 80000)")
            try expect("is dated \(Sample.date(11))", true, job)
            try job.change("DELETE FROM Price WHERE at > unixepoch() + 90000")
            try expect(Self.stale, false, job)
        }
    }

    /// All rules of an entity are one line, and so are many entities.
    @Test func manyRulesAndEntitiesAreOneLine() throws {
        for count in [3, 4, 12] {
            let tables = (0..<count).map { "t\($0)" }
            let job = try LaunchedJob(
                tables.map { Self.store([10, 11, 12, 13], in: $0) }.joined(),
                policy: "version: 1\nstore: prices.sqlite\nrules:\n"
                    + tables.flatMap { table in
                        ["a", "b"].map {
                            "  - \(Sample.rule("where: { symbol: XAUUSD }", name: "\(table)-\($0)", entity: table, age: "900d"))\n"
                        }
                    }.joined())
            let found = try job.report("--dry-run").warnings ?? []
            guard count > 3 else {
                #expect(found.count == 3 && found.allSatisfy { $0.hasPrefix("no new rows: ") }, "\(found)")
                continue
            }
            let begin =
                "no new rows: \(count) entities have had no new rows for more than three times their usual gap: "
            #expect(found.count == 1 && found[0].hasPrefix(begin + "t0 (newest \(Sample.date(11))"), "\(found)")
            #expect(found.last?.hasSuffix(count == 12 ? ") and 2 more" : ")") == true, "\(found)")
        }
    }

    /// A row may be old by one date and new by another.
    @Test func oneDateWithNewRowsIsEnough() throws {
        for (changed, isStale) in [("unixepoch()", false), ("at + 86400", true)] {
            let job = try LaunchedJob(
                Self.store([10, 11, 12, 13])
                    + "ALTER TABLE Price ADD COLUMN changed INTEGER; UPDATE Price SET changed = \(changed);",
                policy: Sample.policy(
                    Sample.rule(age: "900d"), Sample.rule(name: "changed", date: "changed", age: "900d")))
            try expect("the newest row of Price is dated \(Sample.date(10))", isStale, job)
            if !isStale { try expect(Self.stale, false, job) }
        }
    }

    @Test func candlesAreNotExpectedToArrive() throws {
        let job = try LaunchedJob(
            Sample.price + (40...60).map { Sample.rows(3, daysAgo: $0) }.joined() + Sample.rows(1, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule("rollup: { into: candle, every: 1h, price: price }"),
                Sample.rule(name: "candles", entity: "candle", date: "time", age: "900d")))
        _ = try job.report()
        for text in try everywhere(job) { #expect(!text.contains("newest row of"), "\(text)") }
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
        try expect(Self.unmatched, false, job)
        try job.folder.write(policy("WORSE"), to: "retention.yaml")
        try expect(Self.unmatched, true, job)
    }
}
