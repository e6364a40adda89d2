import GRDB
import PriceStore

@testable import SQLiteStore

/// All rows of a Core Data store as plain values, read without any knowledge of a model.
struct ReferenceRows: Equatable {
    typealias Values = [String: StoreValue]

    /// The tables whose rows have a `Z_PK`, by name, and their rows by key.
    var objects: [String: [Int64: Values]] = [:]
    /// The other tables, by name: joins, and what Core Data keeps about the store.
    var others: [String: [Values]] = [:]

    /// The tables of a persistent history, which a delete writes to.
    private static let historyTables: Set = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]
    /// The numbers of Core Data's own entities begin here.
    private static let firstOwnEntity: Int64 = 16000

    init() {}

    /// Reads a file; the history and its keys are left out.
    init(path: String) throws {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        self = try queue.read(Self.init(reading:))
    }

    private init(reading db: Database) throws {
        let tables = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for table in tables where !Self.historyTables.contains(table) {
            var (keyed, plain): ([Int64: Values], [Values]) = ([:], [])
            let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(table.quotedDatabaseIdentifier)")
            for row in rows {
                var values: Values = [:]
                for (column, value) in row { values[column] = StoreValue(value) }
                if case .integer(let number) = values["Z_ENT"], number >= Self.firstOwnEntity { continue }
                if case .integer(let key) = values["Z_PK"] { keyed[key] = values } else { plain.append(values) }
            }
            let hasKeys = try db.columns(in: table).contains { $0.name == "Z_PK" }
            if hasKeys { objects[table] = keyed } else { others[table] = plain }
        }
    }

    /// What differs in `actual`, a line each; empty: nothing does. Of each table only the first few lines are told.
    func differences(in actual: ReferenceRows) -> [String] {
        var lines: [String] = []
        for table in Set(objects.keys).union(actual.objects.keys).sorted() {
            let (expected, found) = (objects[table] ?? [:], actual.objects[table] ?? [:])
            let keys = Set(expected.keys).union(found.keys).sorted().filter { expected[$0] != found[$0] }
            for key in keys.prefix(4) {
                lines.append("\(table) \(key): \(Self.difference(expected[key], found[key]))")
            }
            if keys.count > 4 { lines.append("\(table): \(keys.count) rows differ") }
        }
        for table in Set(others.keys).union(actual.others.keys).sorted() {
            let (expected, found) = (Self.counted(others[table] ?? []), Self.counted(actual.others[table] ?? []))
            for row in Set(expected.keys).union(found.keys) where expected[row] != found[row] {
                lines.append("\(table): \(found[row] ?? 0) of \(Self.text(row)), expected \(expected[row] ?? 0)")
            }
        }
        return lines
    }

    private static func counted(_ rows: [Values]) -> [Values: Int] {
        rows.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    private static func difference(_ expected: Values?, _ actual: Values?) -> String {
        guard let expected else { return "is there, but should have gone" }
        guard let actual else { return "has gone, but should be there" }
        let columns = Set(expected.keys).union(actual.keys).sorted().filter { expected[$0] != actual[$0] }
        return columns.map { "\($0) is \(actual[$0] ?? .null), expected \(expected[$0] ?? .null)" }
            .joined(separator: "; ")
    }

    private static func text(_ row: Values) -> String {
        row.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
