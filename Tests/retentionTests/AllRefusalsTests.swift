import Foundation
import Testing

/// All reasons to refuse a rule are reported, causes first, and `check` says what the next run does.
struct AllRefusalsTests {
    private func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// One row dated 2030 makes the format doubtful; that too many rows would go may only follow from it.
    @Test func aDoubtComesBeforeANumber() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(8, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES (unixepoch('2130-01-01'));",
            policy: Sample.policy(Sample.rule("limits: { max_fraction: 0.5, max_rows: 7 }")))
        for arguments in [["--dry-run"], []] {
            let rule = try job.report(arguments).rules[0]
            #expect(rule.refusal == "future_dates")
            #expect(rule.refusals.map(\.code) == ["future_dates", "too_many_rows", "too_large_fraction"])
            #expect(rule.refusals.map { $0.message.contains("--accept") } == [true, false, false])
            #expect(rule.refusals[0].message == rule.message && rule.refusals.allSatisfy(\.acceptable))
            let text = flat(try job.launch(["run"] + arguments).output)
            #expect(text.contains("gold: also refused (too_many_rows): 8 rows would be deleted"), "\(text)")
            #expect(!text.contains("--accept too_many_rows"), "\(text)")
        }
        let check = flat(try job.retention("check").output)
        #expect(check.contains("(future_dates)") && !check.contains("--accept too"), "\(check)")
        let log = try #require(try job.log().last)
        #expect(log.rules[0].refusals.map(\.code) == ["future_dates", "too_many_rows", "too_large_fraction"])
        let page = try job.retention("report", "--html", "-").output
        #expect(page.contains("refused: future_dates, too_many_rows, too_large_fraction"))
    }

    /// `check` names the same reasons in the same order, and none as the first if others are said above it.
    @Test func checkHasTheOrderOfTheRun() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(8, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES (unixepoch() * 1000), ('x'), ('y');",
            policy: Sample.policy(Sample.rule("limits: { max_rows: 7 }")))
        let codes = try job.report("--dry-run").rules[0].refusals.map(\.code)
        #expect(codes == ["wrong_unit", "mixed_formats", "future_dates", "too_many_rows"])
        let check = flat(try job.retention("check").output)
        let places = codes.compactMap { check.firstRange(of: "(\($0))")?.lowerBound }
        #expect(places.count == 4 && places == places.sorted(), "\(check)")
        #expect(check.contains("the rule will also be refused (too_many_rows)"), "\(check)")
        #expect(!check.contains("the rule will be refused"), "\(check)")
    }

    private static let child = """
        ALTER TABLE Price ADD COLUMN ref INTEGER; CREATE UNIQUE INDEX price_ref ON Price(ref); UPDATE Price SET ref = rowid;
        CREATE TABLE Child(ref INTEGER REFERENCES Price(ref) ON DELETE RESTRICT);
        CREATE INDEX child_ref ON Child(ref); INSERT INTO Child SELECT ref FROM Price;
        """

    /// Dates in doubt can be accepted, what the schema forbids cannot: both are said at once.
    @Test func aDoubtHidesNothing() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(8, daysAgo: 100) + Sample.rows(9, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES (unixepoch('2130-01-01'));" + Self.child,
            policy: Sample.policy(Sample.rule()))
        #expect(try job.report("--dry-run").rules[0].refusals.map(\.code) == ["future_dates", "relationship_denied"])
        let check = try job.retention("check")
        let text = flat(check.output)
        #expect(check.status == 78 && text.contains("the dates look wrong (future_dates)"), "\(text)")
        #expect(text.contains("(relationship_denied)"), "\(text)")
        #expect(text.ranges(of: "(future_dates)").count == 1, "\(text)")
    }

    /// Also where the first can be accepted and another one cannot.
    @Test func theFirstReasonComesFirst() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(8, daysAgo: 100) + Sample.rows(9, daysAgo: 0),
            policy: Sample.policy(Sample.rule(age: "300d")))
        #expect(try job.report().exitCode == 0)
        try job.change(Self.child)
        try job.folder.write(Sample.policy(Sample.rule()), to: "retention.yaml")
        let text = flat(try job.retention("check").output)
        let first = try #require(text.range(of: "the rule will be refused (policy_widened)"), "\(text)")
        let second = try #require(text.range(of: "the rule will also be refused (relationship_denied)"), "\(text)")
        #expect(first.upperBound < second.lowerBound, "\(text)")
    }

    @Test func severalNumbersAreAcceptedWithOneCommand() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(8, daysAgo: 100) + Sample.rows(1, daysAgo: 0),
            policy: Sample.policy(Sample.rule("limits: { max_fraction: 0.5, max_rows: 7 }")))
        let check = flat(try job.retention("check").output)
        #expect(check.contains("the rule will be refused (too_many_rows)"), "\(check)")
        #expect(check.contains("the rule will also be refused (too_large_fraction)"), "\(check)")
        #expect(check.contains("prices.sqlite was checked, and 1 rule will be refused"), "\(check)")
        let text = flat(try job.retention("run").output)
        let command = "pass --accept too_many_rows --accept too_large_fraction"
        #expect(text.contains("to accept all of that for one run, \(command)"), "\(text)")
        let rest = try job.report("--accept", "too_many_rows").rules[0]
        #expect(rest.refusals.map(\.code) == ["too_large_fraction"] && rest.accepted == ["too_many_rows"])
        #expect(try job.report("--accept", "too_many_rows", "--accept", "too_large_fraction").totals.deleted == 8)
    }

    @Test func aClockInDoubtBehindAnotherDoubtIsNotTrusted() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0),
            policy: Sample.policy(Sample.rule()))
        try job.report()
        try job.change("UPDATE Price SET at = at * 1000")
        try job.change(Sample.rows(2, daysAgo: 100))
        try job.change(
            "UPDATE run SET finished_us = finished_us + 864000000000, started_us = started_us + 864000000000",
            in: "retention.ledger.sqlite")
        let rule = try job.report().rules[0]
        #expect(rule.refusals.map(\.code).prefix(2) == ["wrong_unit", "clock_moved_back"])
        #expect(try job.number("SELECT min(clock_believed) FROM run", in: "retention.ledger.sqlite") == 0)
    }

    // MARK: check

    @Test func checkSaysWhatTheNextRunDoes() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(50, daysAgo: 20) + Sample.rows(2, daysAgo: 0),
            policy: Sample.policy(Sample.rule("limits: { max_late_rows: 1 }")))
        #expect(try job.report().exitCode == 0)
        #expect(try job.retention("check").output.contains("prices.sqlite fits"))
        try job.change(Sample.rows(9, daysAgo: 100))
        try expectRefused(job, "rows_came_back")
        try job.change("DELETE FROM Price WHERE at < unixepoch() - 90 * 86400")
        try job.folder.write(
            Sample.policy(Sample.rule("limits: { max_late_rows: 1 }", age: "10d")), to: "retention.yaml")
        try expectRefused(job, "policy_widened")
    }

    private func expectRefused(
        _ job: LaunchedJob, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let check = try job.retention("check")
        #expect(check.status == 0, sourceLocation: sourceLocation)
        let text = flat(check.output)
        #expect(text.contains("the rule will be refused (\(code))"), "\(text)", sourceLocation: sourceLocation)
        #expect(
            text.contains("prices.sqlite was checked, and 1 rule will be refused"), "\(text)",
            sourceLocation: sourceLocation)
        let run = try job.report()
        #expect(run.rules[0].refusal == code, sourceLocation: sourceLocation)
    }

    // MARK: What is offered

    @Test(arguments: [
        ("price INTEGER NOT NULL REFERENCES Price(id)", "cascade"),
        ("price INTEGER NOT NULL DEFAULT 0 REFERENCES Price(id)", "cascade"),
        ("price INTEGER REFERENCES Price(id) ON DELETE RESTRICT", "nullify cascade"),
        ("price INTEGER UNIQUE CHECK (price > 0) REFERENCES Price(id)", "nullify cascade"),
        ("price INTEGER CHECK (price IS NOT NULL) REFERENCES Price(id)", "cascade"),
    ])
    func onlyWhatWorksIsOffered(_ column: String, _ works: String) throws {
        let sql =
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
            + "CREATE TABLE Quote(id INTEGER PRIMARY KEY, \(column)); INSERT INTO Quote(price) VALUES (1), (4);"
        let job = try LaunchedJob(sql, policy: Sample.policy(Sample.rule()))
        let message = try #require(try job.report().rules[0].message)
        for setting in ["nullify", "cascade"] {
            #expect(message.contains(setting) == works.contains(setting), "\(message)")
            let other = try LaunchedJob(sql, policy: Sample.policy(Sample.rule("relationships: \(setting)")))
            #expect((try other.report().exitCode == 0) == works.contains(setting))
        }
    }

    @Test func noSettingIsOfferedIfNoneWorks() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER NOT NULL REFERENCES Price(id));
                CREATE TABLE Deal(id INTEGER PRIMARY KEY, quote INTEGER NOT NULL REFERENCES Quote(id) ON DELETE RESTRICT);
                INSERT INTO Quote(price) VALUES (1), (4); INSERT INTO Deal(quote) VALUES (1);
                """, policy: Sample.policy(Sample.rule()))
        let message = try #require(try job.report().rules[0].message)
        #expect(message.hasSuffix("; this cannot be accepted; delete those rows first"), "\(message)")
    }

    @Test(arguments: [
        "prices.sqlite.retention-lock", "prices.sqlite-wal", "prices.sqlite-shm", "prices.sqlite-journal",
    ])
    func filesBesideAStoreAreNoStores(_ file: String) throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try job.folder.write("x", to: file)
        for end in [
            try job.retention("run"), try job.retention("inspect", "prices.sqlite"), try job.retention("check"),
        ] {
            #expect(end.status == 66 && !end.errors.contains("did you mean"), "\(end)")
        }
        try job.change(Sample.price, in: "price.sqlite")
        #expect(try job.retention("check").errors.contains("did you mean 'price.sqlite'?"))
    }
}
