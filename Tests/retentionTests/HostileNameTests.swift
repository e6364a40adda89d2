import Foundation
import Testing

/// Names and schemas that break programs which put SQL together carelessly: the right rows go and nothing is executed.
struct HostileNameTests {
    static let names = [
        "gold prices", "it's", "\"quoted\"", "order", "select", "a[b]", "[c]", "`back`tick", "🪙", "what?", "?1", ":at",
        "a;b", "x\"; DROP TABLE Price; --", "'); DELETE FROM Price; --", "run", "run_rule", "main.Price",
        "temp", "100%s", "back\\slash", "line\nend", "\u{1B}[31mred", "\u{202E}drawkcab", "rows", "é", "stored",
    ]

    /// A name for double quotes in YAML.
    private func yaml(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                text += "\\x" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    private func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    /// The table and its date column have the name; so have a unique index, a column of `where` and one of `keep_last`.
    @Test(arguments: names)
    func rowsOfATableOfAnyNameExpire(_ name: String) throws {
        let (table, at, symbol) = (quoted(name), quoted(name), quoted(name + " symbol"))
        let job = try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: 100)
                + """
                CREATE TABLE \(table)(\(at) INTEGER, \(symbol) TEXT);
                CREATE UNIQUE INDEX \(quoted(name + " index")) ON \(table)(\(at), \(symbol));
                INSERT INTO \(table) VALUES (1600000000, 'A'), (1600000001, 'A'), (1600000002, 'A'), (1600000000, 'B'),
                    (unixepoch(), 'A'), (NULL, 'A');
                """,
            policy: """
                version: 1
                store: prices.sqlite
                pending: [ { files: "*.csv", entity: \(yaml(name)) } ]
                rules:
                  - name: hostile
                    entity: \(yaml(name))
                    date_attribute: \(yaml(name))
                    date_format: unix_seconds
                    max_age: 30d
                    where: { \(yaml(name + " symbol")): A }
                    keep_last: { count: 2, per: [\(yaml(name + " symbol"))] }
                    batch: { rows: 2 }
                """)
        try job.folder.write("\(quoted(name)),\(quoted(name + " symbol"))\n1600000003,A\n", to: "new.csv")
        #expect(try job.retention("check").status == 0)
        let dry = try job.retention("run", "--dry-run", "--as-of", "2026-11-21")
        #expect(dry.status == 0 && dry.output.contains("A run would delete 3 rows"), "\(dry)")
        let run = try job.report("--as-of", "2026-11-21", "--verbose")
        #expect(run.exitCode == 0 && run.pending.saved == 1, "\(run)")
        #expect(run.rules[0].deleted == 3 && run.rules[0].keptByRule == 1 && run.rules[0].unreadable == 1)
        #expect(
            try job.rows("SELECT \(at) < 1700000000, \(symbol) FROM \(table) ORDER BY \(at)")
                == ["|A", "1|B", "1|A", "0|A"])
        // Nothing was executed, and nothing of ours is left.
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
        #expect(try job.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table'") == 2)
        #expect(try job.listing().contains("done/new.csv"))
        // What people read has no character that a terminal would obey.
        for text in [dry.output, dry.errors, try job.retention("log").output] {
            #expect(!text.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || $0.value == 0x202E) })
        }
    }

    /// The store's own table of the name under which the job remembers files is a table like any other, and is not taken
    /// for the job's.
    @Test func aTableWithTheNameOfOursIsLeftAlone() throws {
        let policy = Sample.policy(Sample.rule(entity: "retention_taken"))
        let job = try LaunchedJob(
            Sample.price + """
                CREATE TABLE retention_taken(at INTEGER, note TEXT);
                INSERT INTO retention_taken VALUES (1600000000, 'old'), (unixepoch(), 'new');
                """,
            policy: policy.replacing("rules:", with: "pending: [ { files: '*.csv', entity: retention_taken } ]\nrules:")
        )
        try job.folder.write("at,note\n\(Sample.date(1)),x\n", to: "new.csv")
        let end = try job.retention("run")
        #expect(end.status == 78 && end.errors.contains("retention_taken"), "\(end)")
        #expect(try job.rows("SELECT note FROM retention_taken") == ["old", "new"])
        #expect(try job.listing().contains("new.csv"))
        try job.folder.write(policy, to: "retention.yaml")
        #expect(try job.report().totals.deleted == 1)
        #expect(try job.rows("SELECT note FROM retention_taken") == ["new"])
    }

    struct Shape: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// The table `Price` with columns `symbol` and `at`.
        var sql: String
        /// Whether only whole numbers fit.
        var isStrict = false
        /// The date attribute.
        var at = "at"
    }

    static let shapes = [
        Shape(testDescription: "no key", sql: "CREATE TABLE Price(symbol TEXT, at INTEGER)"),
        Shape(testDescription: "text key", sql: "CREATE TABLE Price(symbol TEXT PRIMARY KEY, at INTEGER)"),
        Shape(
            testDescription: "composite key",
            sql: "CREATE TABLE Price(symbol TEXT, n INTEGER DEFAULT 1, at INTEGER, PRIMARY KEY (n, symbol))"),
        Shape(
            testDescription: "WITHOUT ROWID, key of two columns",
            sql:
                "CREATE TABLE Price(symbol TEXT, n INTEGER DEFAULT 1, at INTEGER, PRIMARY KEY (n, symbol DESC)) WITHOUT ROWID"
        ),
        Shape(
            testDescription: "WITHOUT ROWID, NOCASE key, index",
            sql: "CREATE TABLE Price(symbol TEXT COLLATE NOCASE PRIMARY KEY, at INTEGER) WITHOUT ROWID; "
                + "CREATE INDEX Price_at ON Price(at)"),
        Shape(
            testDescription: "STRICT",
            sql: "CREATE TABLE Price(symbol TEXT, at INTEGER) STRICT; "
                + "CREATE INDEX Price_at ON Price(at)", isStrict: true),
        Shape(
            testDescription: "STRICT, ANY",
            sql: "CREATE TABLE Price(symbol TEXT, at ANY) STRICT; "
                + "CREATE INDEX Price_at ON Price(at)"),
        Shape(
            testDescription: "no type",
            sql: "CREATE TABLE Price(symbol, at); CREATE INDEX Price_at ON Price(at, symbol)"),
        Shape(
            testDescription: "generated column, computed",
            sql:
                "CREATE TABLE Price(symbol TEXT, at, later INTEGER AS (at + 60)); CREATE INDEX Price_later ON Price(later)",
            at: "later"),
        Shape(
            testDescription: "generated column, stored",
            sql: "CREATE TABLE Price(symbol TEXT, at, later INTEGER AS (at) STORED)", at: "later"),
        Shape(
            testDescription: "DESC index",
            sql: "CREATE TABLE Price(symbol TEXT, at INTEGER); CREATE INDEX Price_at ON Price(at DESC)"),
        Shape(
            testDescription: "partial index",
            sql: "CREATE TABLE Price(symbol TEXT, at INTEGER); CREATE INDEX Price_at ON Price(at) WHERE at > 1700000000"
        ),
        Shape(
            testDescription: "unique index",
            sql: "CREATE TABLE Price(symbol TEXT, at INTEGER); CREATE UNIQUE INDEX Price_at ON Price(at, symbol)"),
        Shape(
            testDescription: "expression index",
            sql: "CREATE TABLE Price(symbol TEXT, at INTEGER); CREATE INDEX Price_at ON Price(at / 86400, -at)"),
        Shape(
            testDescription: "NOCASE index on the date",
            sql:
                "CREATE TABLE Price(symbol TEXT, at INTEGER COLLATE NOCASE); CREATE INDEX Price_at ON Price(at COLLATE BINARY)"
        ),
        Shape(
            testDescription: "key that is no rowid",
            sql:
                "CREATE TABLE Price(n INTEGER PRIMARY KEY DESC, symbol TEXT, at INTEGER); CREATE INDEX Price_at ON Price(at)"
        ),
        Shape(
            testDescription: "column named rowid",
            sql: "CREATE TABLE Price(rowid TEXT DEFAULT 'x', symbol TEXT, _rowid_ INTEGER, at INTEGER)"),
        Shape(
            testDescription: "the date is the rowid", sql: "CREATE TABLE Price(symbol TEXT, at INTEGER PRIMARY KEY)",
            isStrict: true),
        Shape(
            testDescription: "triggers with the names of ours",
            sql: """
                CREATE TABLE Price(symbol TEXT, at INTEGER);
                CREATE TABLE "retention_1"(n);
                CREATE TRIGGER "retention_delete" AFTER DELETE ON Price BEGIN INSERT INTO "retention_1" VALUES (1); END
                """),
    ]

    /// Dates around the cutoff and what is no date.
    private static let values =
        (0..<20).map { String(1_600_000_000 + $0 * 9_876_543) } + [
            // The cutoff, 2026-10-22, and what is next to it.
            "1792627200", "1792627199", "1792627201", "1792627140", "1792627139", "1792627199.5", "1792627200.5",
            "NULL", "0", "-1", "86400", "'2020-01-01'", "'1600000000x'", "x'00'", "9e999", "-9e999",
        ]

    @Test(arguments: shapes, [false, true])
    func exactlyTheExpiredRowsGoFromATableOfAnyShape(_ shape: Shape, isForced: Bool) throws {
        let job = try LaunchedJob(
            shape.sql + ";",
            policy: Sample.policy(Sample.rule("accept: [mixed_formats], batch: { rows: 3 }", date: shape.at)))
        let rows = Self.values.enumerated().filter { !shape.isStrict || Int($1) != nil }.map { "('S\($0)', \($1))" }
        try job.change("INSERT INTO Price(symbol, at) VALUES \(rows.joined(separator: ", "))")
        // Written once more in plain SQL: numbers from 1971 on and before the cutoff.
        let isExpired =
            "typeof(\(shape.at)) IN ('integer', 'real') AND \(shape.at) >= 31536000 AND \(shape.at) < 1792627200"
        let kept = try job.rows("SELECT symbol FROM Price WHERE (\(isExpired)) IS NOT TRUE ORDER BY symbol")
        let all = try job.number("SELECT count(*) FROM Price")
        try #require(kept.count > 4 && all - kept.count > 15)

        // The other way to find the rows, where there are two.
        let way = shape.sql.contains("WITHOUT ROWID") ? "keys" : "windows"
        let options = isForced ? ["--method", way] : []
        let dry = try job.report(["--dry-run", "--as-of", "2026-11-21"] + options)
        let run = try job.report(["--as-of", "2026-11-21"] + options)
        for report in [dry, run] {
            #expect(report.exitCode == 0 && report.rules[0].expired == all - kept.count, "\(report)")
        }
        #expect(run.rules[0].deleted == all - kept.count && run.rules[0].residue == 0)
        #expect(try job.rows("SELECT symbol FROM Price ORDER BY symbol") == kept)
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
        #expect(try job.report(["--as-of", "2026-11-21"]).totals.deleted == 0)
    }

    @Test func aTableWhoseColumnsHideTheRowidIsRefused() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE Price(rowid, _rowid_, oid, at INTEGER);
            INSERT INTO Price(at) VALUES (1600000000), (unixepoch());
            """, policy: Sample.policy(Sample.rule()))
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "unsupported_schema")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 2)
    }
}
