import GRDB
import PriceStore

/// The kept rows of all rules, carried over the time at which a connection is closed: they were read before the first
/// delete, and after it they would be others.
struct CarriedKeptRows {
    /// A temporary table of groups.
    private struct Table {
        var key: KeptRows.Key
        /// As the schema writes them, in parentheses.
        var columns: String
        var rows: [[StoreValue]]
    }

    /// How many groups are held in memory at most.
    static let largestGroupCount = 100_000

    private var thresholds: [KeptRows.Key: KeptRows]
    private var tables: [Table] = []

    /// Reads what a connection has noted.
    ///
    /// - Throws: `StoreError` of kind `strategyUnfit` if there are more than ``largestGroupCount`` groups.
    init(of connection: SQLiteConnection, _ db: Database) throws {
        thresholds = connection.temporaries.keptRows
        var groupCount = 0
        for (key, kept) in thresholds {
            guard case .groups(let name) = kept else { continue }
            let definition = try String.fetchOne(
                db, sql: "SELECT sql FROM temp.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [name])
            let columns = definition.flatMap { SchemaText.afterName($0, keyword: "TABLE") }
            let rows = try connection.rows(
                SQLFragment("SELECT * FROM temp.\(name)"), db, limit: Self.largestGroupCount - groupCount + 1)
            groupCount += rows.count
            guard let columns, groupCount <= Self.largestGroupCount else {
                throw StoreError(
                    .strategyUnfit, store: connection.name,
                    message:
                        "the rules keep the newest rows of more than \(Self.largestGroupCount) groups, too many to hold in "
                        + "memory while a new file takes the store's place")
            }
            thresholds[key] = nil
            tables.append(Table(key: key, columns: columns, rows: rows))
        }
    }

    /// Notes everything on a connection that was opened anew.
    func restore(on connection: SQLiteConnection, _ db: Database) throws {
        connection.temporaries.keptRows = thresholds
        for table in tables {
            let name = connection.temporaryName("kept")
            try db.execute(sql: "CREATE TEMP TABLE \(name) \(table.columns)")
            for row in table.rows {
                let marks = row.map { _ in "?" }.joined(separator: ", ")
                try connection.execute(
                    SQLFragment("INSERT INTO temp.\(name) VALUES (\(marks))", row.map(\.databaseValue)), db)
            }
            try KeptRows.addIndex(to: name, groupCount: table.key.keepLast.groupedBy.count, connection, db)
            connection.temporaries.keptRows[table.key] = .groups(table: name)
        }
    }
}
