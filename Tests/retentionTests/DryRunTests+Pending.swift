import Foundation
import Testing

/// Pending rows that a dry run rehearses.
extension DryRunTests {
    private static func policy(_ rules: String..., onConflict: String = "fail", entity: String = "Price") -> String {
        "version: 1\nstore: prices.sqlite\n"
            + "pending: [ { files: 'new/*.csv', entity: \(entity), on_conflict: \(onConflict) } ]\nrules:\n"
            + rules.map { "  - \($0)\n" }.joined()
    }

    static let pendingCases: [Case] = [
        Case(
            testDescription: "rows that constraints reject",
            sql: """
                CREATE TABLE Symbol(name TEXT PRIMARY KEY);
                INSERT INTO Symbol VALUES ('XAUUSD'), ('XAUEUR');
                CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT NOT NULL REFERENCES Symbol,
                    price REAL CHECK (price > 0), at INTEGER, cents INTEGER AS (price * 100) STORED UNIQUE) STRICT;
                CREATE UNIQUE INDEX Price_dear ON Price(symbol, at) WHERE price > 10;
                INSERT INTO Price(symbol, price, at) VALUES ('XAUUSD', 20, 1600000000), ('XAUEUR', 5, 1600000000);
                """,
            policy: policy(Sample.rule("allow_empty: true")),
            pending: [
                "symbol,price,at", "XAUUSD,21,1600000000", "XAUUSD,6,1600000000", "XAGUSD,7,\(Sample.date(1))",
                "XAUUSD,-1,\(Sample.date(1))", ",8,\(Sample.date(1))", "XAUUSD,20,\(Sample.date(1))",
                "XAUUSD,nine,\(Sample.date(1))",
                "XAUUSD,9,\(Sample.date(1))", "XAUUSD,10,2020-01-01", "XAUUSD,9.001,\(Sample.date(1))",
            ],
            // By line: 2 the partial index, 4 the foreign key, 5 the check, 6 NOT NULL, 7 the generated column, 8 no
            // number, 11 the generated column of 9.
            saved: 3, rejected: 7, rules: [Figures(expired: 4)], status: 65),
        Case(
            testDescription: "keep_last counts pending rows",
            sql: Sample.price
                + """
                INSERT INTO Price(symbol, at) VALUES ('A', 1600000000), ('A', 1600000001), ('B', 1600000000),
                    ('C', unixepoch());
                """,
            policy: policy(Sample.rule("keep_last: { count: 1, per: [symbol] }")),
            pending: ["symbol,at", "A,1600000002", "A,1500000000", "B,\(Sample.date(1))"],
            saved: 3, rules: [Figures(expired: 4, kept: 1)]),
        Case(
            testDescription: "replacing a row whose children cascade",
            sql: """
                CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
                INSERT INTO Price VALUES (1, 1600000000), (2, 1600000000), (3, unixepoch());
                INSERT INTO Quote(price) VALUES (1), (1), (2), (3);
                """,
            policy: policy(Sample.rule(), onConflict: "replace"),
            pending: ["id,at", "1,1600000005", "3,1600000006", "4,\(Sample.date(1))"],
            saved: 3, rules: [Figures(expired: 3, cascaded: 4)]),
        Case(
            testDescription: "a table without rowid, and text keys without case",
            sql: """
                CREATE TABLE Price(symbol TEXT COLLATE NOCASE, at TEXT, price REAL, PRIMARY KEY (symbol, at)) WITHOUT ROWID;
                INSERT INTO Price VALUES ('xauusd', '2020-01-01T00:00:00Z', 1), ('xaueur', '\(Sample.date(1))', 2);
                """,
            policy: policy(Sample.rule(format: "iso8601"), onConflict: "ignore"),
            // Written as 2020-01-01T00:00:00Z, which is there; the second text is another one than the store's.
            pending: ["symbol,at,price", "XAUUSD,2020-01-01,9", "XAUEUR,\(Sample.date(1)),9", "XAUUSD,2020-01-02,9"],
            saved: 2, ignored: 1, rules: [Figures(expired: 2)]),
        Case(
            testDescription: "pending children of rows that go",
            sql: """
                CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE SET NULL, at INTEGER);
                INSERT INTO Price VALUES (1, 1600000000), (2, unixepoch());
                INSERT INTO Quote(price, at) VALUES (1, unixepoch()), (2, 1600000000);
                """,
            policy: policy(
                Sample.rule(), Sample.rule(name: "quotes", entity: "Quote"), entity: "Quote"),
            pending: ["price,at", "1,\(Sample.date(1))", "1,1600000000", "2,\(Sample.date(1))", "9,\(Sample.date(1))"],
            saved: 3, rejected: 1, rules: [Figures(expired: 1, nullified: 3), Figures(expired: 2)], status: 65),
        Case(
            testDescription: "pending rows that restrict",
            sql: """
                CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id), at INTEGER);
                INSERT INTO Price VALUES (1, 1600000000), (2, unixepoch());
                """,
            policy: policy(
                Sample.rule(), Sample.rule("enabled: false", name: "quotes", entity: "Quote"), entity: "Quote"),
            pending: ["price,at", "1,\(Sample.date(1))"], saved: 1, rules: [Figures(expired: 1), Figures(expired: 0)],
            status: 65),
    ]

    static let special: [(sql: String, conflict: String)] = [
        (
            """
            CREATE TRIGGER Price_new AFTER INSERT ON Price BEGIN
                INSERT INTO Price(symbol, at) SELECT 'twin', NEW.at WHERE NEW.symbol <> 'twin'; END;
            """, "fail"
        ),
        ("CREATE TRIGGER Price_no BEFORE INSERT ON Price BEGIN SELECT RAISE(ABORT, 'no'); END;", "fail"),
        ("CREATE UNIQUE INDEX u ON Price(lower(symbol), at);", "fail"),
        ("INSERT INTO Price(id, at) VALUES (9223372036854775807, unixepoch());", "fail"),
        (
            """
            CREATE UNIQUE INDEX u ON Price(symbol, at);
            CREATE TABLE Quote(price INTEGER REFERENCES Price(id) ON DELETE CASCADE ON UPDATE CASCADE);
            INSERT INTO Quote SELECT id FROM Price;
            """, "replace"
        ),
        (
            "CREATE TRIGGER Price_new AFTER UPDATE ON Price BEGIN UPDATE Price SET price = 7 WHERE id = NEW.id; END;",
            "replace"
        ),
    ]

    /// Whatever an insert sets off, the dry run sees it happen in a copy.
    @Test(arguments: special)
    func pendingRowsAreCountedAsTheRunSavesThem(_ test: (sql: String, conflict: String)) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(2, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + test.sql,
            policy: Self.policy(Sample.rule(), onConflict: test.conflict))
        let columns = test.conflict == "replace" ? "id,symbol,at\n1," : "symbol,at\n"
        try job.folder.write(columns + "XAUUSD,2020-01-01\n", to: "new/a.csv")
        let check = try job.retention("check")
        #expect(check.status == 0 && !check.output.contains("cannot count"), "\(check)")
        let dry = try job.report("--dry-run")
        let run = try job.report()
        #expect(dry.exitCode == run.exitCode && dry.pending.saved == run.pending.saved, "\(dry) \(run)")
        #expect(dry.pending.rejected == run.pending.rejected, "\(dry) \(run)")
        #expect(
            dry.totals.expired == run.totals.expired && dry.rules.map(\.cascaded) == run.rules.map(\.cascaded),
            "\(dry) \(run)")
        #expect(dry.rules.map(\.refusal) == run.rules.map(\.refusal))
    }

    /// Whether a rebuild is possible depends on the store, not on the copy that takes the pending rows.
    @Test(arguments: ["WAL", "DELETE"])
    func aRebuildWithPendingRowsIsPossibleInBothOrInNeither(_ journal: String) throws {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(20, daysAgo: 100)
                + Sample.rows(20, daysAgo: 0), policy: Self.policy(Sample.rule()))
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\nXAUUSD,2020-01-01\n", to: "new/a.csv")
        let dry = try job.report("--dry-run", "--rebuild")
        let run = try job.report("--rebuild")
        #expect(dry.exitCode == (journal == "WAL" ? 0 : 78) && run.exitCode == dry.exitCode, "\(dry) \(run)")
        #expect(dry.rules.map(\.expired) == run.rules.map(\.expired), "\(dry) \(run)")
        #expect([dry, run].allSatisfy { $0.failure?.contains("not in WAL mode") == (journal == "WAL" ? nil : true) })
    }

    /// Where the copy, or the copy with the new rows, does not fit, nothing is counted. The run needs no copy.
    @Test(.enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"), arguments: [100, 600])
    func withoutRoomForACopyNothingIsCounted(_ kilobytes: Int) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5000, daysAgo: 100) + Sample.rows(1, daysAgo: 0),
            policy: Self.policy(Sample.rule()))
        let lines = (0..<20_000).map { "\(String(repeating: "x", count: 50)),\(1_500_000_000 + $0)" }
        try job.folder.write("symbol,at\n" + lines.joined(separator: "\n") + "\n", to: "new/a.csv")
        let mounted = try LaunchedProgram.shell(
            "mkdir small && mount -t tmpfs -o size=\(kilobytes)k none small", in: job.folder.url)
        try #require(mounted.status == 0)
        defer { _ = try? LaunchedProgram.shell("umount -l small", in: job.folder.url) }
        let end = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention run --dry-run", in: job.folder.url)
        #expect(end.status == 65 && end.output.contains("Nothing was changed, and nothing was counted"), "\(end)")
        #expect((end.output + end.errors).contains("there is no room for a copy of the store in"), "\(end)")
        let check = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention check", in: job.folder.url)
        #expect(check.status == 0 && check.output.contains("there is no room for a copy"), "\(check)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: job.path("small")) == [])
        let run = try LaunchedProgram.shell("SQLITE_TMPDIR=$PWD/small retention run", in: job.folder.url)
        #expect(run.status == 0, "\(run)")
    }

    /// `check` judges a rule with the rows that are pending, as a run does.
    @Test func checkCountsPendingRows() throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(3, daysAgo: 100), policy: Self.policy(Sample.rule()))
        #expect(try job.retention("check").output.contains("1 rule will be refused"))
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\nXAUUSD,soon\n", to: "new/a.csv")
        let check = try job.retention("check")
        #expect(check.output.contains("prices.sqlite fits") && check.output.contains("1 bad line"), "\(check)")
        #expect(try job.report().totals.deleted == 3)
    }
}
