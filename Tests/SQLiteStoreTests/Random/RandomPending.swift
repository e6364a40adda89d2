import GRDB
import PriceStore
import TestSupport

/// A table with many constraints and few values, and rows that want to get into it.
struct RandomPending: Choosing {
    var random: SeededRandom
    var statements: [String] = []
    var rows: [[String: StoreValue]] = []
    var policy = ConflictPolicy.fail

    static let names = ["id", "a", "b", "c", "p", "up", "at"]

    init(seed: UInt64) {
        random = SeededRandom(seed &* 0x2545_F491)
        _ = random.next()
        policy = pick(ConflictPolicy.allCases)
        makeSchema()
        for _ in 0..<pick([0, 2, 6, 10]) { statements.append(storedRow()) }
        // A row that some row of the store points at already, in vain, makes SQLite forgive a fault of its own.
        statements.append(
            "UPDATE t SET up = NULL WHERE NOT EXISTS (SELECT 1 FROM t AS other WHERE other.id = t.up)")
        let columns = Self.names.filter { _ in chance(75) }
        for _ in 0..<pick([1, 4, 12]) {
            var row: [String: StoreValue] = [:]
            // As a file does it, all rows bring the same columns; now and then one more or less.
            for name in columns where !chance(5) { row[name] = value(name) }
            if row.isEmpty { row["a"] = value("a") }
            rows.append(row)
        }
    }

    private mutating func makeSchema() {
        statements = ["CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE)"]
        statements.append("INSERT INTO parent VALUES (1, 'one'), (2, 'two'), (3, NULL)")
        var columns: [String] = []
        var constraints: [String] = []
        var options = ""
        let collation = pick(["", "", "COLLATE NOCASE", "COLLATE RTRIM"])
        let key = Int.random(in: 0..<10, using: &random)
        switch key {
        case 0, 1: columns.append("id INTEGER PRIMARY KEY")
        case 2: columns.append("id INTEGER PRIMARY KEY AUTOINCREMENT")
        case 3: columns.append("id TEXT \(collation) PRIMARY KEY")
        case 4: columns.append("id INTEGER PRIMARY KEY DESC")
        case 5:
            columns.append("id INTEGER PRIMARY KEY")
            options = "WITHOUT ROWID"
        case 6:
            columns.append("id")
            constraints.append("PRIMARY KEY (a, id)")
            options = "WITHOUT ROWID"
        case 7:
            columns.append("id INT")
            constraints.append("PRIMARY KEY (id, b)")
        default: columns.append("id INTEGER UNIQUE")
        }
        let type = pick(["INTEGER", "TEXT", "NUMERIC", "REAL", ""])
        columns.append(
            "a \(type) \(collation) \(pick(["", "", "DEFAULT 1", "DEFAULT 'x'", "NOT NULL", "NOT NULL DEFAULT 2", "UNIQUE", "DEFAULT 1 UNIQUE", "CHECK (a <> 3)"]))"
        )
        columns.append(
            "b \(pick(["INTEGER", "TEXT"])) \(pick(["", "", "DEFAULT 2", "CONSTRAINT odd UNIQUE ON CONFLICT REPLACE", "DEFAULT (1 + 1) UNIQUE ON CONFLICT IGNORE"]))"
        )
        columns.append(
            "c \(pick(["", "CHECK (c IS NULL OR length(c) < 3)", "DEFAULT 'one'", "NOT NULL ON CONFLICT REPLACE DEFAULT 7"]))"
        )
        // With AUTOINCREMENT a row that replaces another uses up two numbers then, which no dry run need know.
        let deferred = key == 2 ? "" : pick(["", "", " DEFERRABLE INITIALLY DEFERRED"])
        columns.append(
            "p "
                + pick([
                    "", "INTEGER REFERENCES parent\(deferred)", "INTEGER DEFAULT 9 REFERENCES parent\(deferred)",
                    "TEXT REFERENCES parent (name)\(deferred)",
                    "INTEGER /* a ( comment */ REFERENCES parent (id) ON DELETE CASCADE",
                ]))
        // SQLite takes a row that points at itself in another spelling for one that points at nothing.
        let selfKey = (0...5).contains(key) && (key != 3 || collation.isEmpty) || key >= 8
        columns.append(
            selfKey && chance(30) ? "up \(key == 3 ? "TEXT" : "INTEGER") REFERENCES t (id)\(deferred)" : "up")
        columns.append("at INTEGER")
        if chance(25) {
            columns.append(
                "g \(pick(["INTEGER", "TEXT", ""])) AS (\(pick(["a || b", "id * 10", "coalesce(b, 0) + 1"]))) \(pick(["STORED", "VIRTUAL", "STORED UNIQUE", "UNIQUE"]))"
            )
        }
        if chance(25) { constraints.append("UNIQUE (a, b)") }
        if chance(15) { constraints.append("UNIQUE (c, p)") }
        if chance(10) { constraints.append("CHECK (a IS NOT b)") }
        statements.append("CREATE TABLE t (\((columns + constraints).joined(separator: ", "))) \(options)")
        for number in 0..<pick([0, 0, 1, 2]) {
            statements.append(
                "CREATE \(pick(["UNIQUE ", "UNIQUE ", ""]))INDEX \"ix (\(number)\" ON t ("
                    + pick(["c", "a COLLATE NOCASE, c", "b DESC", "c, at", "p", "up"]) + ")"
                    + pick([
                        "", " WHERE a > 1", " WHERE \"c\" IS NOT NULL AND (at > 5 OR b = ')')", " WHERE a IN ('x', 1)",
                    ]))
        }
        if chance(4) { statements.append("CREATE UNIQUE INDEX expression ON t (lower(c))") }
        if chance(4) { statements.append("CREATE TRIGGER odd AFTER UPDATE ON t BEGIN SELECT 1; END") }
        if chance(3) { statements.append("CREATE TRIGGER odd2 AFTER INSERT ON t BEGIN SELECT 1; END") }
        if chance(10) { statements.append("CREATE TABLE child (t REFERENCES t (id) ON UPDATE CASCADE)") }
    }

    private mutating func storedRow() -> String {
        let columns = Self.names.filter { _ in chance(85) } + ["at"]
        let unique = columns.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let values = unique.map { literal(value($0)) }
        return "INSERT OR IGNORE INTO t (\(unique.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
    }

    private func literal(_ value: StoreValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .blob: "x'01'"
        }
    }

    private mutating func value(_ name: String) -> StoreValue {
        switch name {
        case "id":
            pick([
                .integer(1), .integer(2), .integer(3), .integer(4), .null, .text("2"), .text("k"), .text("K"), .real(3),
                .integer(12),
            ])
        case "at": pick([.integer(100), .integer(200), .integer(900), .null, .text("200")])
        case "p":
            pick([.null, .integer(1), .integer(2), .integer(9), .text("ONE"), .text("one"), .text("1"), .text("nine")])
        case "up": pick([.null, .null, .integer(1), .integer(2), .text("2"), .text("k"), .integer(12)])
        default:
            pick([
                .null, .integer(1), .integer(2), .integer(3), .text("x"), .text("X"), .text("x "), .text("1"), .real(1),
                .real(1.5), .text("abcd"), .blob([1]),
            ])
        }
    }
}
