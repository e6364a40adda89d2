package import Foundation
import GRDB
package import PriceStore
package import RetentionPolicy
package import SQLiteStore

/// A real SQLite file in a folder of its own in memory, with a table `price` (id, at in unix seconds, symbol) and whatever else a
/// test adds. The folder goes with the value.
package final class PriceFile {
    package let folder: URL
    package let path: String
    private let queue: DatabaseQueue

    /// 2026-11-21T00:00:00Z, the instant of every test.
    package static let now = Instant(unixSeconds: 1_795_219_200)

    package init(_ sql: String = "", indexed: Bool = true) throws {
        folder = .memory.appending(path: "price-file-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "prices.sqlite").path(percentEncoded: false)
        var configuration = Configuration()
        // A test may hold a transaction open to keep the store busy.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        queue = try DatabaseQueue(path: path, configuration: configuration)
        try execute("CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT)")
        if indexed { try execute("CREATE INDEX price_at ON price (at)") }
        if !sql.isEmpty { try execute(sql) }
    }

    /// A file with one row for each age in days.
    package convenience init(daysOld: some Sequence<Int>) throws {
        try self.init()
        try addPrices(daysOld: daysOld)
    }

    deinit {
        try? queue.close()
        try? FileManager.default.removeItem(at: folder)
    }

    package func close() throws { try queue.close() }

    package func execute(_ sql: String) throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    /// Adds one row for each age in days.
    package func addPrices(daysOld: some Sequence<Int>, symbol: String = "XAU") throws {
        try queue.write { db in
            for days in daysOld {
                try db.execute(
                    sql: "INSERT INTO price (at, symbol) VALUES (?, ?)",
                    arguments: [1_795_219_200 - days * 86_400, symbol])
            }
        }
    }

    package func count(_ condition: String = "1", of table: String = "price") throws -> Int {
        try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table) WHERE \(condition)") ?? 0 }
    }

    package func reader() throws -> SQLiteReader { try SQLiteReader(path: path) }
    package func writer() throws -> SQLiteWriter { try SQLiteWriter(path: path, busyTimeout: .milliseconds(50)) }

    package func policy(_ rules: Rule...) -> Policy {
        Policy(
            file: PolicySource(path: "retention.yaml", sha256: String(repeating: "0", count: 64), lines: []),
            store: Policy.StoreLocation(
                .file(path), written: "prices.sqlite", mark: Mark(line: 2, column: 8)), rules: rules)
    }
}

extension Rule {
    /// A rule that keeps `price` for 30 days, in batches of ten rows; its line in the file tells it from others.
    package static func prices(_ name: String = "prices", line: Int = 4, _ change: (inout Rule) -> Void = { _ in })
        -> Rule
    {
        var age = MaxAge(written: "30d")
        age.days = 30
        let places = ["name", "entity", "date_attribute", "keep_last.per", "where.symbl"]
        let marks = Dictionary(
            uniqueKeysWithValues: places.enumerated().map { ($1, Mark(line: line + $0, column: 7)) })
        var rule = Rule(
            name: name, entity: "price", dateAttribute: "at", maxAge: age,
            marks: Marks(whole: Mark(line: line, column: 5), keys: marks, values: marks))
        rule.dateFormat = .unixSeconds
        rule.batch = .fixed(rows: 10)
        change(&rule)
        return rule
    }
}
