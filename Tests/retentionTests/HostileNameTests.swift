import Foundation
import Testing

/// Names that break programs which put SQL together carelessly: the right rows go and nothing is executed. Schemas that do are in the
/// case `tables-of-any-shape`.
struct HostileNameTests {
    static let names = [
        "gold prices", "it's", "\"quoted\"", "order", "select", "a[b]", "[c]", "`back`tick", "🪙", "what?", "?1", ":at",
        "a;b", "x\"; DROP TABLE Price; --", "'); DELETE FROM Price; --", "run", "run_rule", "main.Price",
        "temp", "100%s", "back\\slash", "line\nend", "\u{1B}[31mred", "\u{202E}drawkcab", "rows", "é", "stored",
    ]

    /// A text in double quotes, as YAML reads it.
    static func yaml(_ name: String) -> String {
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
                pending: [ { files: "*.csv", entity: \(Self.yaml(name)) } ]
                rules:
                  - name: hostile
                    entity: \(Self.yaml(name))
                    date_attribute: \(Self.yaml(name))
                    date_format: unix_seconds
                    max_age: 30d
                    where: { \(Self.yaml(name + " symbol")): A }
                    keep_last: { count: 2, per: [\(Self.yaml(name + " symbol"))] }
                    batch: { rows: 2 }
                """, inMemory: true)
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
}
