import ArgumentParser
import GRDB

/// The expired rows of a store, as a program without the library names them: a table, its key and its date.
struct ExpiredRows: ParsableArguments {
    @Argument(help: "The store.")
    var store: String

    @Argument(help: "Rows before this go; written as the column stores it.")
    var before: String

    @Option(help: "Their table.")
    var table = "YahooGoldPricePoint"

    @Option(help: "Its date column.")
    var date = "updateTime"

    @Option(help: ArgumentHelp("The columns of its key, with commas between them.", valueName: "list"))
    var key = "id"

    /// The columns of the key.
    var keyColumns: [String] { key.split(separator: ",").map { String($0).quotedDatabaseIdentifier } }
    var quotedTable: String { table.quotedDatabaseIdentifier }

    /// Which rows they are. A number that is bound as text is compared as a number, by the column's affinity.
    var condition: String { "\(date.quotedDatabaseIdentifier) < ?" }

    /// Opens the store; commits are not synced, as the job's are not.
    func queue() throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: store)
        try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        return queue
    }
}

/// Selects the keys of some rows and deletes these rows, each time in one transaction, until none is left; prints how
/// many. This is how Home Assistant's recorder clears its tables, with as many bound values.
struct DeleteInChunks: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Selects keys and deletes their rows, chunk by chunk.")

    @OptionGroup var rows: ExpiredRows

    @Option(help: "How many values a statement binds.")
    var values = 4000

    func run() throws {
        let queue = try rows.queue()
        var deletedCount = 0
        while true {
            let count = try queue.write { db in try deleteChunk(db) }
            guard count > 0 else { break }
            deletedCount += count
        }
        try queue.close()
        print(deletedCount)
    }

    private func deleteChunk(_ db: Database) throws -> Int {
        let columns = rows.keyColumns
        let select = try db.cachedStatement(
            sql: """
                SELECT \(columns.joined(separator: ", ")) FROM \(rows.quotedTable) WHERE \(rows.condition) \
                LIMIT \(values / columns.count)
                """)
        var keys: [DatabaseValue] = []
        let cursor = try Row.fetchCursor(select, arguments: [rows.before])
        while let row = try cursor.next() { keys += row.databaseValues }
        guard !keys.isEmpty else { return 0 }
        let delete = try db.cachedStatement(
            sql: "DELETE FROM \(rows.quotedTable) WHERE \(list(of: keys.count / columns.count))")
        try delete.execute(arguments: StatementArguments(keys))
        return db.changesCount
    }

    /// `key IN (?, ?, …)`, or the same with rows of values for a key of several columns.
    private func list(of count: Int) -> String {
        let columns = rows.keyColumns
        guard columns.count > 1 else {
            return "\(columns[0]) IN (\(Array(repeating: "?", count: count).joined(separator: ", ")))"
        }
        let row = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        return "(\(columns.joined(separator: ", "))) IN (VALUES "
            + Array(repeating: row, count: count).joined(separator: ", ") + ")"
    }
}

/// Loads every expired row as an object, then deletes one after the other, in one transaction; prints how many. This is
/// what a program does that knows its rows as objects only.
struct DeleteOneByOne: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Loads rows as objects and deletes them one by one.")

    @OptionGroup var rows: ExpiredRows

    /// A row in memory.
    private final class LoadedRow {
        let key: [DatabaseValue]
        let values: [DatabaseValue]

        init(key: [DatabaseValue], values: [DatabaseValue]) {
            self.key = key
            self.values = values
        }
    }

    func run() throws {
        let queue = try rows.queue()
        let deletedCount = try queue.write { db in
            let loaded = try load(db)
            let condition = rows.keyColumns.map { "\($0) = ?" }.joined(separator: " AND ")
            let delete = try db.makeStatement(sql: "DELETE FROM \(rows.quotedTable) WHERE \(condition)")
            for row in loaded { try delete.execute(arguments: StatementArguments(row.key)) }
            return loaded.count
        }
        try queue.close()
        print(deletedCount)
    }

    private func load(_ db: Database) throws -> [LoadedRow] {
        let keys = rows.keyColumns
        var loaded: [LoadedRow] = []
        let cursor = try Row.fetchCursor(
            db, sql: "SELECT \(keys.joined(separator: ", ")), * FROM \(rows.quotedTable) WHERE \(rows.condition)",
            arguments: [rows.before])
        while let row = try cursor.next() {
            let values = Array(row.databaseValues)
            loaded.append(LoadedRow(key: Array(values[..<keys.count]), values: Array(values[keys.count...])))
        }
        return loaded
    }
}
