import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport

@testable import PostgresStore

/// A database made of a seed: one table of prices, up to two that point at it, and their rows; and the same as plain
/// lists for the judge.
struct RandomDatabase: RandomRules {
    /// A table as it was made.
    struct Table {
        var name: String
        var columns: [Column]
        var constraints: [String] = []
        var rest = ""
        var indexes: [String] = []

        var sql: String {
            "CREATE TABLE \(name.quotedIdentifier) (\((columns.map(\.sql) + constraints).joined(separator: ", "))) \(rest)"
        }

        func column(_ role: Role) -> Column? { columns.first { $0.role == role } }
    }

    /// What a column is for.
    enum Role: Hashable { case number, key, date, symbol, volume, up, other }

    struct Column {
        var role: Role
        var name: String
        var type: String
        var rest = ""
        var isRequired = false

        var sql: String { "\(name.quotedIdentifier) \(type) \(rest)" }
        var kind: Attribute.Affinity {
            switch type {
            case "bigint", "integer", "smallint": .integer
            case "double precision", "real": .real
            case "numeric": .numeric
            case "text", "varchar(80)": .text
            default: .none
            }
        }
    }

    let seed: UInt64
    var random: SeededRandom
    var tables: [Table] = []
    var relationships: [Relationship] = []
    var main: Table { tables[0] }
    var encoding = DateEncoding.unixSeconds
    var zone = CalendarZone.utc
    let cutoff: Instant
    var layout: TableLayout?
    /// What compresses the chunks of the main table, once it has rows.
    var compression: [String] = []

    static let names = [
        "prices", "select", "gold \"spot\"", "a b", "what?", "ü€", "it's", "x;--", "Ticks", "span", "kept",
    ]
    static let dateNames = ["at", "update time", "order", "t?", "\"q\"", "s", "code", "threshold", "g0", "ctid2", "n2"]

    /// - Parameter layout: what the main table is to be; nil: anything that PostgreSQL itself has.
    init(seed: UInt64, layout: TableLayout? = nil) {
        self.seed = seed
        random = SeededRandom(seed &* 0x9E37_79B9)
        _ = random.next()
        cutoff = random.cutoff()
        zone = random.zone()
        encoding =
            Int.random(in: 0..<3, using: &random) == 0
            ? .native : DateEncoding.written.randomElement(using: &random) ?? .native
        makeMain()
        if let layout { take(layout) } else { makeChildren() }
    }

    private mutating func dateType() -> String {
        switch encoding {
        case .native: pick(["timestamptz", "timestamp", "date", "timestamptz", "timestamp"])
        case .iso8601, .pattern: pick(["text", "text", "varchar(80)", "bigint"])
        case .yyyymmdd, .yyyymmddhhmmss: pick(["bigint", "text", "numeric", "double precision"])
        default: pick(["bigint", "bigint", "integer", "double precision", "real", "numeric", "text"])
        }
    }

    private mutating func makeMain() {
        var table = Table(name: pick(Self.names), columns: [])
        var date = Column(role: .date, name: pick(Self.dateNames), type: dateType())
        var key = Column(
            role: .key, name: pick(["id", "k", "key", "Z_PK"]), type: pick(["bigint", "integer", "text"]))
        let number = Column(role: .number, name: "n", type: "bigint")
        let symbol = Column(role: .symbol, name: pick(["symbol", "sym bol", "group"]), type: "text")
        let volume = Column(
            role: .volume, name: pick(["volume", "limit", "v?"]), type: pick(["bigint", "double precision", "numeric"]))
        let isPartitioned = chance(30)
        if isPartitioned {
            // Partitions by symbol and a default one: rows of one date are in several real tables.
            table.rest = "PARTITION BY LIST (\(symbol.name.quotedIdentifier))"
            if chance(50) {
                table.constraints.append("UNIQUE (\(key.name.quotedIdentifier), \(symbol.name.quotedIdentifier))")
            }
            let name = table.name.quotedIdentifier
            table.indexes.append("CREATE TABLE part_a PARTITION OF \(name) FOR VALUES IN ('XAU', 'xau')")
            table.indexes.append("CREATE TABLE part_b PARTITION OF \(name) FOR VALUES IN ('EUR')")
            table.indexes.append("CREATE TABLE part_rest PARTITION OF \(name) DEFAULT")
        } else {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: key.rest = "UNIQUE"
            case 1:
                table.constraints.append("UNIQUE (\(key.name.quotedIdentifier))")
                table.constraints.append("PRIMARY KEY (\(date.name.quotedIdentifier), \(key.name.quotedIdentifier))")
                date.isRequired = true
            default: key.rest = "PRIMARY KEY"
            }
        }
        if !isPartitioned, encoding == .native, chance(50) {
            // Partitions by ranges of the date, around the cutoffs, with a hole for the default one.
            key.rest = ""
            table.constraints = []
            date.isRequired = false
            let (name, by) = (table.name.quotedIdentifier, date.name.quotedIdentifier)
            table.rest = "PARTITION BY RANGE (\(by))"
            table.indexes = [
                "CREATE TABLE old PARTITION OF \(name) FOR VALUES FROM (MINVALUE) TO ('1990-01-01')",
                "CREATE TABLE early PARTITION OF \(name) FOR VALUES FROM ('1990-01-01') TO ('2026-03-01')",
                "CREATE TABLE march PARTITION OF \(name) FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
                "CREATE TABLE late PARTITION OF \(name) FOR VALUES FROM ('2026-10-22') TO ('2026-10-25')",
                "CREATE TABLE last PARTITION OF \(name) FOR VALUES FROM ('2026-10-25') TO ('2100-01-01')",
                "CREATE TABLE rest PARTITION OF \(name) DEFAULT",
            ]
        }
        table.columns = [number, key, date, symbol, volume]
        table.columns.shuffle(using: &random)
        let (on, by) = (table.name.quotedIdentifier, date.name.quotedIdentifier)
        if chance(60) {
            table.indexes.append("CREATE INDEX ON \(on) (\(by)\(pick(["", "", " DESC", ", n"])))")
        }
        if chance(20) { table.indexes.append("CREATE INDEX ON \(on) (\(by)) WHERE n > 3") }
        if chance(20) { table.indexes.append("CREATE INDEX ON \(on) USING brin (\(by)) WITH (pages_per_range = 1)") }
        tables = [table]
        if !table.rest.isEmpty { return }
        if chance(20) {
            let action = pick(["CASCADE", "SET NULL", "NO ACTION"])
            let up = Column(role: .up, name: "up", type: key.type)
            tables[0].columns.append(up)
            tables[0].constraints.append(Self.reference(up.name, table.name, key.name, action))
            relationships.append(Relationship(table.name, "up", to: table.name, key.name, on: action))
        }
    }

    private mutating func makeChildren() {
        guard main.rest.isEmpty, let parentKey = main.column(.key) else { return }
        for number in 0..<pick([0, 0, 1, 1, 2]) {
            let parent = number == 1 && chance(40) ? tables[1] : tables[0]
            guard let target = parent.column(.key) else { continue }
            var table = Table(name: "child \(number)", columns: [])
            let action = pick(["CASCADE", "CASCADE", "SET NULL", "NO ACTION", "RESTRICT"])
            let reference = Column(role: .up, name: "p", type: target.type)
            table.columns = [
                Column(role: .number, name: "n", type: "bigint"),
                Column(role: .key, name: "id", type: "bigint", rest: "PRIMARY KEY"), reference,
                Column(role: .date, name: main.column(.date)?.name ?? "at", type: main.column(.date)?.type ?? "bigint"),
            ]
            table.constraints.append(Self.reference("p", parent.name, target.name, action))
            relationships.append(Relationship(table.name, "p", to: parent.name, target.name, on: action))
            if chance(25) {
                let second = pick(["CASCADE", "SET NULL", "NO ACTION"])
                table.columns.append(Column(role: .other, name: "q", type: parentKey.type))
                table.constraints.append(Self.reference("q", main.name, parentKey.name, second))
                relationships.append(Relationship(table.name, "q", to: main.name, parentKey.name, on: second))
            }
            if chance(50) { table.indexes.append("CREATE INDEX ON \(table.name.quotedIdentifier) (p)") }
            tables.append(table)
        }
    }

    private static func reference(_ column: String, _ table: String, _ key: String, _ action: String) -> String {
        "FOREIGN KEY (\(column.quotedIdentifier)) REFERENCES \(table.quotedIdentifier) (\(key.quotedIdentifier)) ON DELETE \(action)"
    }
}
