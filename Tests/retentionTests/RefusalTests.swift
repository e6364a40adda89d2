import Foundation
import TestSupport
import Testing

/// Every refusal of docs/guards.md, as a user sees it: the rule deletes nothing, the others run, and it can be accepted.
@Suite(.tags(.clock)) struct RefusalTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var code: String
        /// Fills the store after `Price` and `Tick` are made.
        var sql: String
        var format = "unix_seconds"
        /// Further keys of the rule on `Price`.
        var keys = ""
        /// What the message contains; a query is replaced by its result.
        var figures: [String]
        /// The refusals to accept so that the rule is carried out.
        var accept: [String]
        /// The deleted rows.
        var deleted: Int
        var cascaded = 0
    }

    static let cases: [Case] = [
        Case(
            testDescription: "all readable rows would go", code: "would_empty_entity",
            sql: Sample.rows(3, daysAgo: 100) + "INSERT INTO Price(at) VALUES (NULL);", figures: ["all 3 "],
            accept: ["would_empty_entity"], deleted: 3),
        Case(
            testDescription: "one row more than max_rows", code: "too_many_rows",
            sql: Sample.rows(1001, daysAgo: 100) + Sample.rows(1, daysAgo: 0), keys: "limits: { max_rows: 1000 }",
            figures: ["1,001", "1,000"], accept: ["too_many_rows"], deleted: 1001),
        Case(
            testDescription: "more than max_fraction", code: "too_large_fraction",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(2, daysAgo: 0), keys: "limits: { max_fraction: 0.5 }",
            figures: ["3 of 5", "0.5"], accept: ["too_large_fraction"], deleted: 3),
        Case(
            testDescription: "the newest row is two days ahead", code: "future_dates",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: -2),
            figures: ["SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM Price"],
            accept: ["future_dates"], deleted: 3),
        Case(
            testDescription: "milliseconds declared as seconds", code: "wrong_unit",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 1) + "UPDATE Price SET at = at * 1000;",
            figures: ["unix_milliseconds", "SELECT date(max(at) / 1000, 'unixepoch') FROM Price"],
            accept: ["wrong_unit", "future_dates"], deleted: 0),
        Case(
            testDescription: "seconds declared as milliseconds", code: "wrong_unit",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 1), format: "unix_milliseconds",
            figures: [
                "SELECT date(max(at) / 1000, 'unixepoch') FROM Price", "unix_seconds",
                "SELECT date(max(at), 'unixepoch') FROM Price",
            ],
            accept: ["wrong_unit"], deleted: 0),
        Case(
            testDescription: "Core Data's seconds declared as those of 1970", code: "wrong_unit",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 1) + "UPDATE Price SET at = at - 978307200;",
            figures: ["apple_seconds", "SELECT date(max(at) + 978307200, 'unixepoch') FROM Price"],
            accept: ["wrong_unit", "would_empty_entity"], deleted: 4),
        Case(
            testDescription: "a little over one percent is text", code: "mixed_formats",
            sql: Sample.rows(100, daysAgo: 100) + Sample.rows(97, daysAgo: 0)
                + "INSERT INTO Price(at) VALUES ('soon'), ('later'), (NULL), (NULL), (0);",
            // 2 of 200 would be exactly one percent: NULL does not count, the stored 0 does, and is no bad format.
            keys: "where: { id: { ne: 150 } }", figures: ["2 of 199"], accept: ["mixed_formats"], deleted: 100),
        Case(
            testDescription: "relationships: deny where children would go", code: "relationship_denied",
            sql: Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
                INSERT INTO Quote(price) VALUES (1), (1), (2), (3), (4);
                """,
            keys: "relationships: deny", figures: ["4 rows of Quote"], accept: ["relationship_denied"], deleted: 3,
            cascaded: 4),
    ]

    /// A store for a case; the rule on `Tick` has nothing wrong with it.
    private func job(_ test: Case, keys: String = "") throws -> LaunchedJob {
        let tick = "CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
        let keys = [test.keys, keys].filter { !$0.isEmpty }.joined(separator: ", ")
        return try LaunchedJob(
            Sample.price + tick + Sample.rows(5, daysAgo: 100, in: "Tick") + Sample.rows(1, daysAgo: 0, in: "Tick")
                + test.sql,
            policy: Sample.policy(Sample.rule(keys, format: test.format), Sample.rule(name: "ticks", entity: "Tick")))
    }

    @Test(arguments: cases)
    func deletesNothingByTheRuleAndContinuesWithTheOthers(_ test: Case) throws {
        let job = try job(test)
        let before = try job.rows("SELECT * FROM Price")
        let dry = try job.report("--dry-run")
        let run = try job.report()
        let check = try job.retention("check").words
        #expect(check.contains("(\(test.code))"), "\(check)")
        for report in [dry, run] {
            #expect(report.exitCode == 65)
            let gold = try #require(report.rules.first)
            #expect(gold.outcome == "refused" && gold.refusal == test.code)
            #expect(gold.deleted == 0 && gold.cascaded == 0 && gold.accepted.isEmpty)
            let message = try #require(gold.message)
            #expect(message.hasPrefix("refusing to"))
            #expect(message.contains("--accept \(test.code)"))
            for figure in test.figures {
                let text = figure.hasPrefix("SELECT") ? try job.rows(figure).joined() : figure
                #expect(message.contains(text), "\(text) is not in: \(message)")
                #expect(check.contains(text), "\(text) is not in: \(check)")
            }
        }
        #expect(dry.rules[1].outcome == "planned" && dry.rules[1].expired == 5)
        #expect(run.rules[1].outcome == "completed" && run.rules[1].deleted == 5)
        #expect(run.rules[0].residue == run.rules[0].expired && run.rules[0].expired == dry.rules[0].expired)
        #expect(try job.rows("SELECT * FROM Price") == before)
        #expect(try job.number("SELECT count(*) FROM Tick") == 1)
    }

    @Test(arguments: cases, [false, true])
    func canBeAcceptedInTheRuleOrForOneRun(_ test: Case, inTheRule: Bool) throws {
        let job = try job(test, keys: inTheRule ? "accept: [\(test.accept.joined(separator: ", "))]" : "")
        let before = try job.number("SELECT count(*) FROM Price")
        let report = try job.report(inTheRule ? [] : test.accept.flatMap { ["--accept", $0] })
        let gold = try #require(report.rules.first)
        #expect(report.exitCode == 0 && gold.outcome == "completed" && gold.refusal == nil, "\(gold)")
        #expect(gold.deleted == test.deleted && gold.cascaded == test.cascaded)
        #expect(try job.number("SELECT count(*) FROM Price") == before - test.deleted)
        // The ledger records the use, and the rule that needed none has none.
        let recorded = try #require(try job.log().last)
        #expect(recorded.rules[0].accepted.sorted() == test.accept.sorted())
        #expect(recorded.rules[1].accepted.isEmpty)
    }

    struct Hopeless: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var code: String
        var sql: String
        var entity = "Price"
        var says: String
    }

    /// Accepting these would not help: SQLite itself would not do it.
    @Test(arguments: [
        Hopeless(
            testDescription: "SET NULL where there is no NULL", code: "relationship_denied",
            sql: """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER NOT NULL REFERENCES Price(id) ON DELETE SET NULL);
                INSERT INTO Quote(price) VALUES (1);
                """, says: "the key is declared ON DELETE SET NULL, but a column of it does not accept NULL"),
        Hopeless(
            testDescription: "SET DEFAULT with a default", code: "relationship_denied",
            sql: """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER DEFAULT 99 REFERENCES Price(id) ON DELETE SET DEFAULT);
                INSERT INTO Quote(price) VALUES (1);
                """, says: "the key is declared ON DELETE SET DEFAULT, which would make them refer to another row"),
        Hopeless(
            testDescription: "a view", code: "unsupported_schema",
            sql: """
                CREATE VIEW Dear AS SELECT * FROM Price WHERE price > 1;
                CREATE TRIGGER Dear_delete INSTEAD OF DELETE ON Dear BEGIN DELETE FROM Price WHERE id = OLD.id; END;
                """, entity: "Dear", says: "Dear is a view"),
        Hopeless(
            testDescription: "a virtual table", code: "unsupported_schema",
            sql: "CREATE VIRTUAL TABLE Box USING rtree(id, at, until); INSERT INTO Box VALUES (1, 86400000, 86400001);",
            entity: "Box", says: "Box is a virtual table"),
    ])
    func whatCannotBeDoneCannotBeAccepted(_ test: Hopeless) throws {
        let rows = Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0) + test.sql
        let accepting = Sample.policy(Sample.rule("accept: [\(test.code)]", entity: test.entity))
        var job = try LaunchedJob(rows, policy: accepting)
        var commands = [["--dry-run"], [], ["--accept", test.code]]
        if test.code == "unsupported_schema" {
            #expect(try job.perform(["run"]).errors.contains("'unsupported_schema' cannot be accepted"))
            job = try LaunchedJob(rows, policy: Sample.policy(Sample.rule(entity: test.entity)))
            #expect(try job.perform(["run"] + commands.removeLast()).status == 64)
        }
        for arguments in commands {
            let report = try job.report(arguments)
            #expect(report.exitCode == 65 && report.rules[0].refusal == test.code)
            let message = try #require(report.rules[0].message)
            #expect(message.hasPrefix("refusing to") && message.contains(test.says), "\(message)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }

    /// Nobody knows how many rows are left if none were counted.
    @Test(arguments: ["view", "hold", "unit"]) func whatWasNotCountedIsNotZero(_ reason: String) throws {
        let hold = "holds: [{ name: h, entity: Price, reason: r, where: { nothing: 1 } }]"
        let rule =
            switch reason {
            case "view": Sample.rule(entity: "Dear")
            case "hold": Sample.rule()
            default: Sample.rule(format: "unix_milliseconds")
            }
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
                + "CREATE VIEW Dear AS SELECT * FROM Price; CREATE TABLE Quote(id INTEGER PRIMARY KEY, at INTEGER);"
                + "INSERT INTO Quote(at) VALUES (unixepoch());",
            policy: Sample.policy(
                rule, Sample.rule(name: "quotes", entity: "Quote"),
                head: "metrics: { textfile: figures.prom }\n" + (reason == "hold" ? hold : "")))
        let code = ["view": "unsupported_schema", "hold": "hold_unusable", "unit": "wrong_unit"][reason]
        let report = try job.report()
        for rule in [report.rules[0], try job.report("--dry-run").rules[0], try job.log()[0].rules[0]] {
            #expect(rule.refusal == code && rule.residue == nil && rule.expired == nil, "\(rule)")
            #expect(rule.overdueSeconds == nil && rule.newestExpired == nil, "\(rule)")
        }
        for totals in [report.totals, try job.report("--dry-run").totals, try job.log()[0].totals] {
            #expect(totals == .init(expired: 0, deleted: 0, residue: 0))
        }
        #expect(report.rules[1].residue == 0 && report.rules[1].expired == 0)
        let metrics = try job.text("figures.prom")
        for name in ["residue_rows", "expired_rows", "oldest_overdue_seconds"] {
            let figures = metrics.split(separator: "\n").filter { $0.hasPrefix("retention_rule_\(name){") }
            #expect(figures.count == 1 && figures[0].contains(",rule=\"quotes\""), "\(metrics)")
        }
        #expect(try job.retention("log", "--verify").status == 0)
    }
}
