import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport

/// A store made of a seed: one table of prices, up to two that point at it, and their rows, in a real file; and the
/// same as plain lists for the judge.
struct RandomStore: RandomRules {
    /// A table as it was made.
    struct Table {
        var name: String
        var columns: [Column]
        /// What stands behind the columns in CREATE TABLE.
        var constraints: [String] = []
        var options = ""
        var indexes: [String] = []

        var sql: String {
            "CREATE TABLE \(quoted(name)) (\((columns.map(\.sql) + constraints).joined(separator: ", "))) \(options)"
        }

        func column(_ role: Role) -> Column? { columns.first { $0.role == role } }
    }

    /// What a column is for.
    enum Role: Hashable { case number, key, date, symbol, volume, generated, up, other }

    struct Column {
        var role: Role
        var name: String
        var type: String
        var rest = ""
        var affinity: Attribute.Affinity
        var collation: ReferenceCollation = .binary
        var isRequired = false
        var isGenerated = false
        var defaultValue: StoreValue?

        var sql: String { "\(quoted(name)) \(type) \(rest)" }
    }

    let seed: UInt64
    var random: SeededRandom
    var pragmas: [String] = []
    var tables: [Table] = []
    var relationships: [Relationship] = []
    /// The table whose rows the rules delete; the first.
    var main: Table { tables[0] }
    var encoding = DateEncoding.unixSeconds
    var zone = CalendarZone.utc
    var logsDeletes = false
    let cutoff: Instant

    static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    static let names = [
        "prices", "select", "gold \"spot\"", "a b", "what?", "ü€", "📈", "it's", "x;--", "rowid table", "b]c[", "at`t",
        "retention_row", "kept", "removed", "Ticks",
    ]
    static let dateNames = ["at", "update time", "order", "t?", "\"q\"", "Zeit 🕐", "k0", "threshold", "g0", "date'"]

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed &* 0x9E37_79B9)
        _ = random.next()
        cutoff = random.cutoff()
        zone = random.zone()
        encoding = DateEncoding.written.randomElement(using: &random) ?? .unixSeconds
        pragmas = [
            "PRAGMA page_size = \(pick([512, 1024, 4096, 65536]))",
            "PRAGMA encoding = '\(pick(["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"]))'",
            "PRAGMA auto_vacuum = \(pick([0, 1, 2]))",
            "PRAGMA journal_mode = \(pick(["DELETE", "TRUNCATE", "PERSIST", "WAL"]))",
        ]
        makeMain()
        makeChildren()
    }

    // MARK: The schema

    private mutating func makeMain() {
        var table = Table(name: pick(Self.names), columns: [])
        let isStrict = chance(8)
        let symbolIsNoCase = chance(30)
        let dateType =
            isStrict
            ? pick(["INTEGER", "REAL", "TEXT", "ANY"])
            : pick(["INTEGER", "REAL", "NUMERIC", "TEXT", "", "TIMESTAMP", "INT", "double precision"])
        var date = Column(
            role: .date, name: pick(Self.dateNames), type: dateType,
            affinity: Self.affinity(dateType, isStrict: isStrict))
        var key = Column(
            role: .key, name: pick(["id", "k", "key", "Z_PK", "_rowid_"]), type: "INTEGER", affinity: .integer)
        let number = Column(role: .number, name: "n", type: "INTEGER", affinity: .integer)
        let symbol = Column(
            role: .symbol, name: pick(["symbol", "sym bol", "group"]), type: "TEXT",
            rest: symbolIsNoCase ? "COLLATE NOCASE" : "", affinity: .text,
            collation: symbolIsNoCase ? .noCase : .binary)
        let volumeType = isStrict ? "INTEGER" : pick(["INTEGER", "REAL", "NUMERIC", ""])
        let volume = Column(
            role: .volume, name: pick(["volume", "limit", "v?"]), type: volumeType,
            affinity: Self.affinity(volumeType, isStrict: isStrict))
        var last: [Column] = []
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1, 2: key.rest = "PRIMARY KEY" + (chance(25) ? " AUTOINCREMENT" : "")
        case 3: key.rest = "PRIMARY KEY DESC"
        case 4: key.rest = "UNIQUE"
        case 5:
            key.type = "TEXT"
            key.affinity = .text
            if chance(40) {
                (key.rest, key.collation) = ("COLLATE NOCASE PRIMARY KEY", .noCase)
            } else {
                key.rest = "PRIMARY KEY"
            }
        case 6:
            key.rest = "PRIMARY KEY"
            table.options = "WITHOUT ROWID"
        case 7:
            table.constraints.append("UNIQUE (\(Self.quoted(key.name)))")
            table.constraints.append(
                "PRIMARY KEY (\(Self.quoted(date.name))\(pick(["", "", " DESC"])), \(Self.quoted(key.name)))")
            table.options = "WITHOUT ROWID"
            date.isRequired = true
        case 8:
            table.constraints.append("UNIQUE (\(Self.quoted(key.name)))")
            // Half of them have their rows by symbol and date.
            date.isRequired = chance(50)
            let middle = date.isRequired ? "\(Self.quoted(date.name))\(pick(["", " DESC"])), " : ""
            table.constraints.append(
                "PRIMARY KEY (\(Self.quoted(symbol.name)), \(middle)\(Self.quoted(key.name))\(pick(["", " DESC"])))")
            table.options = "WITHOUT ROWID"
        case 9:
            table.constraints.append("PRIMARY KEY (\(Self.quoted(symbol.name)), \(Self.quoted(key.name)))")
            table.constraints.append("UNIQUE (\(Self.quoted(key.name)))")
        case 10:
            // The date is the rowid itself.
            if encoding != .iso8601, encoding != .julianDay {
                date.type = "INTEGER"
                date.affinity = .integer
                date.rest = "PRIMARY KEY"
            }
            key.rest = "UNIQUE"
        default:
            key.rest = "UNIQUE"
            last.append(Column(role: .other, name: pick(["rowid", "oid"]), type: "", affinity: .none))
        }
        if isStrict { table.options += (table.options.isEmpty ? "" : ", ") + "STRICT"; last = [] }
        var columns = [number, key, date, symbol, volume]
        columns.shuffle(using: &random)
        if !isStrict, chance(20) {
            let name = Self.quoted(symbol.name)
            columns.append(
                Column(
                    role: .generated, name: "gen", type: "TEXT",
                    rest: "GENERATED ALWAYS AS (upper(\(name))) \(pick(["STORED", "VIRTUAL"]))", affinity: .text,
                    isGenerated: true))
        }
        table.columns = columns + last
        makeIndexes(&table, date: date, symbol: symbol, key: key)
        logsDeletes = chance(25)
        tables = [table]
    }

    private mutating func makeIndexes(_ table: inout Table, date: Column, symbol: Column, key: Column) {
        let (at, by, on) = (Self.quoted(date.name), Self.quoted(symbol.name), Self.quoted(table.name))
        for number in 0..<Int.random(in: 0...2, using: &random) {
            let name = Self.quoted("ix \(number)?")
            table.indexes.append(
                pick([
                    "CREATE INDEX \(name) ON \(on) (\(at))", "CREATE INDEX \(name) ON \(on) (\(at))",
                    "CREATE INDEX \(name) ON \(on) (\(at) DESC)",
                    "CREATE UNIQUE INDEX \(name) ON \(on) (\(at), \(Self.quoted(key.name)))",
                    "CREATE INDEX \(name) ON \(on) (\(at)) WHERE \(by) IS NOT NULL",
                    "CREATE INDEX \(name) ON \(on) (\(by), \(at))", "CREATE INDEX \(name) ON \(on) (\(by), \(at) DESC)",
                    "CREATE INDEX \(name) ON \(on) (\(at), \(by))",
                    "CREATE INDEX \(name) ON \(on) (coalesce(\(at), 7))",
                    "CREATE INDEX \(name) ON \(on) (\(at) COLLATE NOCASE)", "CREATE INDEX \(name) ON \(on) (\(by))",
                ]))
        }
    }

    private mutating func makeChildren() {
        guard chance(55) else { return }
        guard let key = main.column(.key) else { return }
        let actions = ["CASCADE", "CASCADE", "SET NULL", "NO ACTION", "RESTRICT", "SET DEFAULT", ""]
        if chance(25) {
            // A self reference.
            let action = pick(actions)
            var up = Column(role: .up, name: pick(["up", "previous"]), type: key.type, affinity: key.affinity)
            up.rest = Self.reference(main.name, key.name, action, deferred: chance(20))
            if action == "SET DEFAULT" { setDefault(&up) }
            tables[0].columns.insert(up, at: 0)
            relationships.append(Relationship(main.name, up.name, to: main.name, key.name, on: ruled(action, up)))
            if chance(50) {
                tables[0].indexes.append(
                    "CREATE INDEX \"up\" ON \(Self.quoted(main.name)) (\(Self.quoted(up.name)))")
            }
        }
        for number in 0..<Int.random(in: 0...2, using: &random) {
            let parent = number == 1 && chance(50) ? tables[tables.count - 1] : main
            guard let parentKey = parent.column(.key) else { continue }
            let action = pick(actions)
            var table = Table(name: pick(["child", "c\"d", "Notes?"]) + "\(number)", columns: [])
            var reference = Column(
                role: .up, name: pick(["p", "parent id", "ref'"]), type: parentKey.type, affinity: parentKey.affinity)
            reference.isRequired = chance(15)
            reference.rest =
                (reference.isRequired ? "NOT NULL " : "")
                + Self.reference(parent.name, parentKey.name, action, deferred: chance(20))
            if action == "SET DEFAULT" { setDefault(&reference) }
            relationships.append(
                Relationship(
                    table.name, reference.name, to: parent.name, parentKey.name, on: ruled(action, reference)))
            // Two tables with attributes of the same names are nothing special, and must not be taken for each other.
            let dayName = chance(50) ? main.column(.date)?.name ?? "day" : "day"
            table.columns = [
                Column(role: .number, name: "n", type: "INTEGER", affinity: .integer),
                Column(
                    role: .key, name: "id", type: "INTEGER", rest: pick(["PRIMARY KEY", "UNIQUE", "PRIMARY KEY"]),
                    affinity: .integer),
                reference,
                Column(role: .date, name: dayName, type: "", affinity: .none),
            ]
            if table.columns[1].rest == "PRIMARY KEY", chance(25) { table.options = "WITHOUT ROWID" }
            if chance(30) {
                // A second reference to the same table.
                let second = pick(["CASCADE", "SET NULL", "NO ACTION"])
                table.columns.append(
                    Column(
                        role: .other, name: "q", type: parentKey.type,
                        rest: Self.reference(parent.name, parentKey.name, second, deferred: false),
                        affinity: parentKey.affinity))
                relationships.append(Relationship(table.name, "q", to: parent.name, parentKey.name, on: second))
            }
            if chance(50) {
                table.indexes.append(
                    "CREATE INDEX \"by parent \(number)\" ON \(Self.quoted(table.name)) (\(Self.quoted(reference.name)))"
                )
            }
            tables.append(table)
        }
    }

    /// A default that is a key of a row, of none, or NULL.
    private mutating func setDefault(_ column: inout Column) {
        guard chance(70) else { return }
        let key = pick([11, 48, 85, 21, 999] as [Int64])
        let value: StoreValue = column.affinity == .text ? .text((key % 2 == 0 ? "k" : "K") + "\(key)") : .integer(key)
        column.defaultValue = value
        if case .text(let text) = value { column.rest = "DEFAULT '\(text)' " + column.rest }
        if case .integer(let number) = value { column.rest = "DEFAULT \(number) " + column.rest }
    }

    private static func reference(_ table: String, _ key: String, _ action: String, deferred: Bool) -> String {
        "REFERENCES \(quoted(table)) (\(quoted(key)))\(action.isEmpty ? "" : " ON DELETE " + action)"
            + (deferred ? " DEFERRABLE INITIALLY DEFERRED" : "")
    }

    /// A reference without a default is cleared.
    private func ruled(_ action: String, _ column: Column) -> String {
        action == "SET DEFAULT" && column.defaultValue == nil ? "SET NULL" : action
    }

    static func affinity(_ type: String, isStrict: Bool) -> Attribute.Affinity {
        switch type {
        case "INTEGER", "INT": .integer
        case "REAL", "double precision": .real
        case "TEXT": .text
        case "", "ANY": .none
        default: .numeric
        }
    }
}

private func quoted(_ name: String) -> String { RandomStore.quoted(name) }
