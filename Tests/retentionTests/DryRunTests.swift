import Foundation
import Testing

/// A dry run's figures are the run's, in everything that makes them hard to predicts.
struct DryRunTests {
    /// What a rule does: in the dry run's report as in the run's.
    struct Figures: Equatable, CustomStringConvertible, Sendable {
        var expired: Int
        var cascaded = 0
        var nullified = 0
        var kept = 0
        var unreadable = 0
        var description: String {
            "expired \(expired), cascaded \(cascaded), nullified \(nullified), kept \(kept), unreadable \(unreadable)"
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql: String
        var policy: String
        /// Lines of a pending file.
        var pending: [String] = []
        var saved = 0, ignored = 0, rejected = 0
        var rules: [Figures]
        var status: Int32 = 0
    }

    /// Pending rows: 1 is there and expired, 2 is there and fresh, 3 and 4 are new, 4 twice; 5 is expired, 6 is no row.
    private static func pending(_ onConflict: String, saved: Int, ignored: Int, rejected: Int, expired: Int) -> Case {
        Case(
            testDescription: "pending rows with on_conflict: \(onConflict)",
            sql: """
                CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER, UNIQUE (symbol, at));
                CREATE INDEX Price_at ON Price(at);
                INSERT INTO Price VALUES (1, 'XAUUSD', 1, unixepoch() - 8640000), (2, 'XAUUSD', 2, unixepoch()),
                    (9, 'XAUUSD', 3, 1600000000), (10, 'XAGUSD', 3, 1600000001);
                """,
            policy: Sample.policy(
                Sample.rule(),
                head: "pending: [ { files: 'new/*.csv', entity: Price, on_conflict: \(onConflict) } ]"),
            pending: [
                "id,symbol,price,at", "1,XAUUSD,11,\(Sample.date(1))", "2,XAUUSD,12,2000-01-01",
                "3,XAUUSD,13,\(Sample.date(2))",
                "4,XAUUSD,14,\(Sample.date(3))", "4,XAUUSD,15,\(Sample.date(4))", "5,XAUUSD,16,2020-02-30",
                // The time of 9 under another key: to replace it takes both the row and its successor into account.
                "6,XAUUSD,17,1600000000", "7,XAUUSD,18,1999-12-31T23:59:59Z",
            ],
            saved: saved, ignored: ignored, rejected: rejected, rules: [Figures(expired: expired)], status: 65)
    }

    static let cases: [Case] = [
        // Saved: 3, 4 and 7. Expired: 1, 9 and 10 of the store, 7 of the file.
        pending("fail", saved: 3, ignored: 0, rejected: 5, expired: 4),
        pending("ignore", saved: 3, ignored: 4, rejected: 1, expired: 4),
        // 1 becomes fresh, 2 expires, 9 gives way to 6, 4 is replaced by its second line.
        pending("replace", saved: 7, ignored: 0, rejected: 1, expired: 4),
        Case(
            testDescription: "two rules that overlap",
            sql: Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(20, daysAgo: 50, symbol: "XAUEUR")
                + Sample.rows(40, daysAgo: 100, symbol: "XAUEUR") + Sample.rows(5, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule("where: { symbol: XAUEUR }", name: "euro"), Sample.rule(name: "all", age: "90d"),
                Sample.rule(name: "rest", age: "10d")),
            rules: [Figures(expired: 60), Figures(expired: 10), Figures(expired: 0)]),
        Case(
            testDescription: "a rule on children of a rule before it",
            sql: Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(3, daysAgo: 0)
                + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE, at INTEGER);
                CREATE TABLE Fill(id INTEGER PRIMARY KEY, quote INTEGER REFERENCES Quote(id) ON DELETE CASCADE);
                CREATE TABLE Remark(id INTEGER PRIMARY KEY, quote INTEGER REFERENCES Quote(id) ON DELETE SET NULL);
                INSERT INTO Quote SELECT id * 10 + half.n, id, at - 3600 FROM Price, (SELECT 0 AS n UNION SELECT 1) AS half;
                UPDATE Quote SET at = unixepoch() - 8640000 WHERE id IN (40, 41, 50);
                INSERT INTO Fill(quote) SELECT id FROM Quote;
                INSERT INTO Remark(quote) SELECT id FROM Quote WHERE id % 10 = 0;
                """,
            policy: Sample.policy(Sample.rule(), Sample.rule(name: "quotes", entity: "Quote")),
            // Quotes 10 to 31 and their fills go with their prices; of the others 40, 41 and 50 are old.
            rules: [
                Figures(expired: 3, cascaded: 12, nullified: 3), Figures(expired: 3, cascaded: 3, nullified: 2),
            ]),
        Case(
            testDescription: "keep_last per symbol, with ties",
            sql: Sample.price
                + """
                INSERT INTO Price(symbol, at) SELECT symbol, at FROM
                    (SELECT 'A' AS symbol UNION SELECT 'B' UNION SELECT NULL),
                    (SELECT 1600000000 AS at UNION ALL SELECT 1600000001 UNION ALL SELECT 1600000002
                     UNION ALL SELECT 1600000002 UNION ALL SELECT NULL);
                INSERT INTO Price(symbol, at) VALUES ('B', unixepoch());
                """,
            policy: Sample.policy(Sample.rule("keep_last: { count: 1, per: [symbol] }")),
            // A and NULL keep the two that are tied, B its fresh one.
            rules: [Figures(expired: 8, kept: 4, unreadable: 3)]),
        Case(
            testDescription: "where with NULL",
            sql: Sample.price + Sample.rows(1, daysAgo: 0)
                + """
                INSERT INTO Price(symbol, price, at) VALUES
                    (NULL, 1, 1600000000), ('A', NULL, 1600000000), ('A', 1, 1600000000), ('B', 2, 1600000000),
                    ('C', 3, 1600000000), (NULL, NULL, 1600000000), ('D', 9, NULL);
                """,
            policy: Sample.policy(
                Sample.rule("where: { symbol: { ne: A } }", name: "ne"),
                Sample.rule("where: { price: [1, 2] }", name: "list"),
                Sample.rule("where: { symbol: { null: true }, price: { null: true } }", name: "nothing")),
            rules: [Figures(expired: 2, unreadable: 1), Figures(expired: 2), Figures(expired: 1)]),
        Case(
            testDescription: "DELETE triggers",
            sql: Sample.price + Sample.rows(7, daysAgo: 100) + Sample.rows(2, daysAgo: 0)
                + """
                CREATE TABLE Gone(id, at);
                CREATE TABLE Quote(price INTEGER, at INTEGER);
                INSERT INTO Quote SELECT id, at FROM Price;
                CREATE TRIGGER Price_gone BEFORE DELETE ON Price BEGIN INSERT INTO Gone VALUES (OLD.id, OLD.at); END;
                CREATE TRIGGER Price_quote AFTER DELETE ON Price BEGIN DELETE FROM Quote WHERE price = OLD.id; END;
                """,
            policy: Sample.policy(Sample.rule("batch: { rows: 2 }")),
            // What a trigger removes is no row of the rule and no relationship.
            rules: [Figures(expired: 7)]),
        Case(
            testDescription: "rows that cannot be read",
            sql: Sample.price + Sample.rows(100, daysAgo: 100) + Sample.rows(100, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES (NULL), (0), (-5), (86400), ('2020-01-01'), (x'00');",
            policy: Sample.policy(Sample.rule()), rules: [Figures(expired: 100, unreadable: 6)]),
        Case(
            testDescription: "a rule that is refused between two others",
            sql: Sample.price + Sample.rows(4, daysAgo: 100) + Sample.rows(2, daysAgo: 50) + Sample.rows(1, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule("limits: { max_rows: 3 }", name: "much", age: "90d"), Sample.rule(name: "all", age: "60d"),
                Sample.rule(name: "more", age: "40d")),
            // All 4 are counted by the rule that does them, not by the one that is refused.
            rules: [Figures(expired: 4), Figures(expired: 4), Figures(expired: 2)], status: 65),
    ]

    private func figures(_ rule: Report.Rule, expired: Int) -> Figures {
        Figures(
            expired: expired, cascaded: rule.cascaded, nullified: rule.nullified, kept: rule.keptByRule,
            unreadable: rule.unreadable ?? 0)
    }

    @Test(arguments: cases + pendingCases)
    func predictsTheRun(_ test: Case) throws {
        let job = try LaunchedJob(test.sql, policy: test.policy)
        if !test.pending.isEmpty {
            try job.folder.write(test.pending.joined(separator: "\n") + "\n", to: "new/prices.csv")
        }
        let files = try job.listing()
        let dry = try job.report("--dry-run", "--as-of", Sample.midnight(0))
        #expect(try job.listing() == files)
        let run = try job.report("--as-of", Sample.midnight(0))
        #expect(dry.exitCode == test.status && run.exitCode == test.status, "\(run)")

        let pending = Report.Pending(
            files: test.pending.isEmpty ? 0 : 1, saved: test.saved, ignored: test.ignored, rejected: test.rejected)
        #expect(dry.pending == pending)
        #expect(run.pending == pending)
        // Nobody counts the rows of a disabled rule.
        func expired(_ rule: Report.Rule) -> Int { rule.outcome == "disabled" ? 0 : rule.expired ?? -1 }
        #expect(dry.rules.map { figures($0, expired: expired($0)) } == test.rules)
        #expect(run.rules.map { figures($0, expired: expired($0)) } == test.rules)
        for (predicted, done) in zip(dry.rules, run.rules) {
            #expect(done.deleted == (done.outcome == "refused" ? 0 : predicted.expired ?? 0), "\(done)")
            #expect(predicted.oldest == done.oldest && predicted.newestExpired == done.newestExpired)
            #expect(predicted.deleted == 0 && predicted.residue == predicted.expired)
        }
        #expect(dry.totals.expired == run.totals.expired)
        let again = try job.report("--as-of", Sample.midnight(0))
        #expect(again.totals.deleted == 0)
    }
}
