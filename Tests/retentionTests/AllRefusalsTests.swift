import Foundation
import Testing

/// All reasons to refuse a rule are reported, causes first, and `check` says what the next run does.
struct AllRefusalsTests {
    private func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static let child = """
        ALTER TABLE Price ADD COLUMN ref INTEGER; CREATE UNIQUE INDEX price_ref ON Price(ref); UPDATE Price SET ref = rowid;
        CREATE TABLE Child(ref INTEGER REFERENCES Price(ref) ON DELETE RESTRICT);
        CREATE INDEX child_ref ON Child(ref); INSERT INTO Child SELECT ref FROM Price;
        """

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

    // MARK: What is offered

    @Test(arguments: [
        ("price INTEGER NOT NULL REFERENCES Price(id)", "cascade"),
        ("price INTEGER NOT NULL DEFAULT 0 REFERENCES Price(id)", "cascade"),
        ("price INTEGER REFERENCES Price(id) ON DELETE RESTRICT", "nullify cascade"),
        ("price INTEGER UNIQUE REFERENCES Price(id)", "nullify cascade"),
        ("price INTEGER UNIQUE CHECK (price > 0) REFERENCES Price(id)", "cascade"),
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

    @Test(arguments: ["retention.yaml", "policy"])
    func aPolicyIsNoStore(_ policy: String) throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let text = Sample.policy(Sample.rule()).replacing("prices.sqlite", with: String(policy.dropLast()))
        try job.folder.write(text, to: policy)
        for command in ["run", "check"] {
            let end = try job.retention(command, "-c", policy)
            #expect(end.status == 66 && !end.errors.contains("did you mean"), "\(end)")
            #expect(end.errors.contains("contains prices.sqlite"), "\(end)")
        }
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
