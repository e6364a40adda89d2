import GRDB
import PriceStore
import TestSupport
import StoreConformance

@testable import SQLiteStore

extension RandomStore {
    /// Makes the file with all its rows, and the lists that the judge looks at: what SQLite has really stored.
    mutating func make(_ store: TemporaryStore) throws -> ReferenceStore {
        let statements =
            pragmas + tables.map(\.sql) + tables.flatMap(\.indexes)
            + (logsDeletes
                ? [
                    "CREATE TABLE audit (n INTEGER)",
                    "CREATE TRIGGER \"log it\" AFTER DELETE ON \(Self.quoted(main.name)) BEGIN INSERT INTO audit VALUES (OLD.n); END",
                ] : [])
        return try store.change { db in
            for statement in statements { try db.execute(sql: statement) }
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.inTransaction(.immediate) {
                for index in tables.indices {
                    try fill(tables[index], rowCount: index == 0 ? pick([0, 1, 5, 20, 45]) : pick([0, 3, 25]), db)
                }
                return .commit
            }
            var reference = ReferenceStore(tables: [:], relationships: relationships)
            for table in tables { reference.tables[table.name] = try Self.read(table, db) }
            return reference
        }
    }

    private mutating func fill(_ table: Table, rowCount: Int, _ db: Database) throws {
        let columns = table.columns.filter { !$0.isGenerated }
        let list = columns.map { Self.quoted($0.name) }.joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let values = dateValues(count: rowCount)
        for number in 0..<rowCount {
            let row = try columns.map { try value($0, of: table, number: number, dates: values, db).databaseValue }
            // A row that a constraint or a STRICT type refuses is none of the store's.
            try? db.execute(
                sql: "INSERT OR IGNORE INTO \(Self.quoted(table.name)) (\(list)) VALUES (\(marks))",
                arguments: StatementArguments(row))
        }
    }

    private mutating func value(
        _ column: Column, of table: Table, number: Int, dates: [StoreValue], _ db: Database
    ) throws -> StoreValue {
        switch column.role {
        case .number: return .integer(Int64(number + 1))
        case .key:
            // Neither in the order of the rows nor without holes.
            let key = Int64((number * 37 + 11) % 101) - (chance(5) ? 60 : 0)
            return column.affinity == .text ? .text((key % 2 == 0 ? "k" : "K") + "\(key)") : .integer(key)
        case .date: return pick(dates)
        case .symbol: return pick([.text("XAU"), .text("xau"), .text("EUR"), .text("b?"), .null, .text("")])
        case .volume: return pick([.null, .integer(0), .integer(1), .integer(5), .real(2.5), .real(5), .integer(7)])
        case .up, .other:
            guard
                let key = relationships.first(where: { $0.source == table.name && $0.sourceAttributes == [column.name] }
                )
            else { return .integer(Int64(number)) }
            if !column.isRequired, chance(25) { return .null }
            if chance(4) { return column.affinity == .text ? .text("gone") : .integer(9_999) }
            let target = try DatabaseValue.fetchOne(
                db,
                sql: "SELECT \(Self.quoted(key.destinationAttributes[0])) FROM \(Self.quoted(key.destination)) "
                    + "ORDER BY n LIMIT 1 OFFSET \(Int.random(in: 0..<45, using: &random)) % max(1, (SELECT count(*) FROM \(Self.quoted(key.destination))))"
            )
            let value = target.map { StoreValue($0) } ?? .null
            // The parent's collation decides, so that another spelling is the same key.
            if case .text(let text) = value, chance(30),
                collation(key.destination, key.destinationAttributes[0]) == .noCase
            {
                return .text(text.lowercased())
            }
            return value
        case .generated: return .null
        }
    }

    private func collation(_ table: String, _ column: String) -> ReferenceCollation {
        tables.first { $0.name == table }?.columns.first { $0.name == column }?.collation ?? .binary
    }

    mutating func written(_ instant: Instant, _ value: StoreValue) -> StoreValue {
        switch value {
        case .integer(let number):
            switch encoding {
            case .yyyymmdd, .yyyymmddhhmmss: return pick([.text("\(number)"), .real(Double(number))])
            default: return pick([.real(Double(number)), .real(Double(number) + 0.5), .integer(number &+ 1)])
            }
        case .real(let number):
            return pick([.integer(Int64(number.rounded())), .real(number.nextUp), .real(number.nextDown)])
        case .text(let text): return spelling(instant, text)
        default: return value
        }
    }

    mutating func mess() -> StoreValue {
        pick(
            [
                .null, .null, .integer(0), .real(0), .text(""), .text("soon"), .text("2026-02-30"), .text("20261021"),
                .blob([1, 2, 3]), .real(.infinity), .real(-.infinity), .integer(.max), .integer(.min), .integer(-5),
                .integer(1), .real(1e300), .real(0.25), .text("1970-06-01"), .integer(20_261_399), .integer(19_700_601),
                .text("9999-12-31T23:59:59Z"), .integer(86_400 * 400), .text("0000-01-01"), .text("2026-10-22Z"),
            ] + encoding.sentinels)
    }

    /// The rows that are in a table, as the judge wants them.
    static func read(_ table: Table, _ db: Database) throws -> ReferenceStore.Table {
        let list = table.columns.map { quoted($0.name) }.joined(separator: ", ")
        let rows = try Row.fetchAll(db, sql: "SELECT n, \(list) FROM \(quoted(table.name)) ORDER BY n")
        // By the rowid, or the key of a table without one, whatever is named so.
        let names = table.columns.map { $0.name.lowercased() }
        let rowID = ["rowid", "oid", "_rowid_"].first { !names.contains($0) } ?? "rowid"
        let key = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table.name])
        let order = table.options.contains("WITHOUT ROWID") ? key.map(quoted).joined(separator: ", ") : rowID
        return ReferenceStore.Table(
            attributes: table.columns.map {
                Attribute(
                    name: $0.name, affinity: $0.affinity, isRequired: $0.isRequired, isGenerated: $0.isGenerated)
            },
            collations: Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, $0.collation) }),
            rows: rows.map { row in
                ReferenceStore.Row(
                    id: row[0],
                    values: Dictionary(
                        uniqueKeysWithValues: table.columns.enumerated().map { index, column in
                            (column.name, StoreValue(row[index + 1]))
                        }))
            },
            keyOrder: try Int64.fetchAll(db, sql: "SELECT n FROM \(quoted(table.name)) ORDER BY \(order)"))
    }
}
