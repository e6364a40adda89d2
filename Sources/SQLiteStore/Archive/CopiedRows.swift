import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// Rows of one table of the store that are being copied to the archive. One statement writes several, which is faster.
final class CopiedRows {
    let table: ArchiveTable
    /// Whether counts of deleted rows include them.
    var areCounted = true
    /// The last row of the archive's table from an earlier transaction of the store.
    private(set) var lastRow: Int64 = 0
    /// What the current transaction has copied.
    private(set) var copies = ValueChecksum()
    /// The rowids of these rows, if the table has them.
    private(set) var rowIDs = RowIDChecksum()

    private let insert: Statement
    private let read: Statement
    private let width: Int
    private let mostWaiting: Int
    /// The rows that are bound to the statement, and the size of their texts and blobs.
    private var waitingCount = 0
    private var waitingBytes = 0

    /// The most rows of a statement; more are hardly faster.
    private static let mostRows = 16
    /// Rows that are larger are written at once.
    private static let mostBytes = 1 << 20
    /// The most values that one call passes. Every build of SQLite accepts as many arguments; a row with more values needs several calls.
    private static let mostArguments = 90
    /// The number of the function's arguments before the values.
    static let leadingArguments = 2

    /// Creates the table in the archive.
    init(_ table: ArchiveTable, number: Int, _ db: Database) throws {
        self.table = table
        let columns = table.archiveColumns
        width = columns.count
        // One more parameter holds the number of rows.
        let mostParameters = Int(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_VARIABLE_NUMBER, -1)) - 1
        mostWaiting = max(1, min(Self.mostRows, mostParameters / width))
        try db.inTransaction(.immediate) {
            try db.execute(sql: table.creation)
            try db.execute(
                sql: "INSERT INTO retention_tables VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    number, table.kind.rawValue, table.storeTable, table.name, try Self.jsonArray(table.key),
                    try Self.jsonArray(table.columns), table.definition,
                ])
            return .commit
        }
        insert = try db.makeStatement(sql: table.insertion(ofAtMost: mostWaiting))
        let pieces = Self.calls(of: ReadBack.function, number: number, columns.map(\.quotedIdentifier))
        read = try db.makeStatement(
            sql:
                "SELECT \(pieces.list) FROM \(table.name.quotedIdentifier) WHERE \(table.rowNumber) > ?"
        )
    }

    /// The calls of a function that together pass the values of a row: the table's number, the index of the first value's column, values.
    static func calls(of function: String, number: Int, _ values: [String]) -> [String] {
        stride(from: 0, to: values.count, by: mostArguments).map { start in
            let piece = values[start..<min(start + mostArguments, values.count)]
            return "\(function)(\(number), \(start), \(piece.list))"
        }
    }

    private static func jsonArray(_ names: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(names), as: UTF8.self)
    }

    /// Takes values of a row. A final ``flush()`` must follow.
    func take(_ values: SQLValues, from start: Int) throws(DatabaseError) {
        let statement = insert.sqliteStatement
        // SQLite counts parameters from 1.
        var parameter = Int32(waitingCount * width + start)
        for value in values {
            parameter += 1
            let code = sqlite3_bind_value(statement, parameter, value)
            try requireResult(code)
        }
        waitingBytes += copies.add(values, from: start, width: width)
        if let column = table.rowIDColumn, (start..<start + values.count).contains(column) {
            rowIDs.add(sqlite3_value_int64(values[column - start]))
        }
        guard start + values.count == width else { return }
        waitingCount += 1
        if waitingCount == mostWaiting || waitingBytes > Self.mostBytes { try flush() }
    }

    /// Writes the rows that are bound to the statement.
    func flush() throws(DatabaseError) {
        guard waitingCount > 0 else { return }
        let statement = insert.sqliteStatement
        sqlite3_bind_int64(statement, Int32(mostWaiting * width + 1), Int64(waitingCount))
        waitingCount = 0
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        // Otherwise large values stay in memory until others replace them.
        if waitingBytes > Self.mostBytes { sqlite3_clear_bindings(statement) }
        waitingBytes = 0
        try requireResult(code, is: SQLITE_DONE)
    }

    /// Throws unless the archive returns the copies as they were written.
    func verify(_ readBack: ReadBack, archive: String) throws {
        guard copies.rowCount > 0 else { return }
        readBack.begin(width: width)
        try read.execute(arguments: [lastRow])
        guard readBack.checksum == copies else {
            throw StoreError(
                .unsupported, store: archive,
                message:
                    "the copies of rows of \(table.storeTable) are not equal to the rows: a value does not fit "
                    + "the declared type of its column",
                hint: "nothing of this transaction is deleted; set `archive: none` for the rule")
        }
    }

    /// Notes that the store has committed the transaction.
    func finish() {
        lastRow += Int64(copies.rowCount)
        forget()
    }

    func forget() {
        copies = ValueChecksum()
        rowIDs = RowIDChecksum()
        waitingCount = 0
        waitingBytes = 0
    }
}

/// Computes the checksum of rows that are read from an archive.
final class ReadBack {
    static let function = "retention_read_back"
    private(set) var checksum = ValueChecksum()
    private var width = 0

    /// Adds the SQL function that receives the values of each row.
    func addFunction(_ db: Database) throws {
        try db.addFunctions(of: self, isAggregate: true, [(Self.function, -1, readBack)])
    }

    fileprivate func begin(width: Int) {
        checksum = ValueChecksum()
        self.width = width
    }

    fileprivate func take(_ values: SQLValues, from start: Int) {
        _ = checksum.add(values, from: start, width: width)
    }
}

private func readBack(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    let values = SQLValues(start: values, count: Int(count))
    functionObject(context, ReadBack.self)?.take(
        SQLValues(rebasing: values.dropFirst(CopiedRows.leadingArguments)), from: Int(sqlite3_value_int64(values[1])))
}

/// A checksum of rowids in any order.
struct RowIDChecksum: Equatable {
    private var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ rowID: Int64) {
        count += 1
        var word = UInt64(bitPattern: rowID) &* 0x9E37_79B9_7F4A_7C15
        word ^= word >> 32
        sum &+= word &* 0x9E37_79B9_7F4A_7C15
    }
}
