import GRDB
import GRDBSQLite
import PriceStore

/// The last (or first) date and the number of rows of each group in each cell, collected while a query reads the rows.
///
/// SQLite would sort all rows to group them. Consecutive rows mostly belong to few cells, so each group has one open cell, which is written
/// to a table when the group reaches another cell. The table can contain a cell more than once, and SQLite then groups it. Groups are
/// compared by their bytes, which is at least as strict as any collation. Stores in UTF-16 cannot use this: a text that is bound again
/// loses a leading byte order mark and would not match its group.
final class CellEnds {
    /// The cell of a group that is not written yet.
    private struct OpenCell {
        var cell: Int
        var date: DateKey
        var size: Int64
        /// Copies of the group's values.
        let group: [OpaquePointer?]
    }

    /// The most groups in memory. Beyond them, all cells are written.
    private static let mostGroups = 10_000

    private let cells: CellFunction
    private let isLast: Bool
    private let insert: Statement
    private var open: [OpenCell] = []
    private var places: [[UInt8]: Int] = [:]
    private var key: [UInt8] = []

    /// - Parameters:
    ///   - table: a table with the columns of the group, the date and the row count.
    ///   - groupCount: the number of columns of a group.
    private init(
        _ cells: CellFunction, _ pick: Thinning.Pick, into table: String, groupCount: Int, _ db: Database
    ) throws {
        self.cells = cells
        isLast = pick == .last
        let places = Array(repeating: "?", count: groupCount + 2).list
        insert = try db.makeStatement(sql: "INSERT INTO temp.\(table) VALUES (\(places))")
    }

    deinit { closeAll() }

    /// Whether groups of that many columns can be collected: an SQL function takes up to 127 arguments (sqlite.org/limits.html), and the
    /// texts must be in UTF-8.
    static func canGather(groupCount: Int, _ db: Database) throws -> Bool {
        try groupCount < 127 && String.fetchOne(db, sql: "PRAGMA encoding") == "UTF-8"
    }

    /// Writes the ends of the rows of a query to a table.
    ///
    /// - Parameter query: runs the query with an aggregate function of this name, which takes the date and the group of a row.
    static func gather(
        _ cells: CellFunction, _ pick: Thinning.Pick, into table: String, groupCount: Int, _ db: Database,
        query: (_ function: String) throws -> Void
    ) throws {
        let ends = try CellEnds(cells, pick, into: table, groupCount: groupCount, db)
        let name = "\(table)_add"
        try db.addFunctions(of: ends, isAggregate: true, [(name, Int32(groupCount + 1), addRow)])
        defer {
            sqlite3_create_function_v2(
                db.sqliteConnection, name, Int32(groupCount + 1), SQLITE_UTF8, nil, nil, nil, nil, nil)
        }
        try query(name)
        try ends.writeAll()
    }

    fileprivate func add(_ values: SQLValues) throws(DatabaseError) {
        guard let value = values[0], let cell = cells.cell(of: value), let date = DateKey(StoreValue(value)) else {
            return
        }
        key.removeAll(keepingCapacity: true)
        for value in values.dropFirst() { if let value { addToKey(value) } }
        guard let place = places[key] else {
            if open.count == Self.mostGroups { try writeAll() }
            places[key] = open.count
            open.append(OpenCell(cell: cell, date: date, size: 1, group: values.dropFirst().map(sqlite3_value_dup)))
            return
        }
        if open[place].cell == cell {
            open[place].size += 1
            if isLast ? open[place].date < date : date < open[place].date { open[place].date = date }
        } else {
            try write(open[place])
            (open[place].cell, open[place].date, open[place].size) = (cell, date, 1)
        }
    }

    private func addToKey(_ value: OpaquePointer) {
        let type = sqlite3_value_type(value)
        key.append(UInt8(truncatingIfNeeded: type))
        switch type {
        case SQLITE_INTEGER: withUnsafeBytes(of: sqlite3_value_int64(value)) { key.append(contentsOf: $0) }
        case SQLITE_FLOAT: withUnsafeBytes(of: sqlite3_value_double(value)) { key.append(contentsOf: $0) }
        case SQLITE_TEXT, SQLITE_BLOB:
            let bytes = sqlite3_value_blob(value)
            let count = sqlite3_value_bytes(value)
            withUnsafeBytes(of: count) { key.append(contentsOf: $0) }
            key.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        default: break
        }
    }

    private func write(_ cell: OpenCell) throws(DatabaseError) {
        let statement = insert.sqliteStatement
        var place: Int32 = 0
        for value in cell.group {
            place += 1
            sqlite3_bind_value(statement, place, value)
        }
        _ = cell.date.storeValue.bind(statement, place + 1)
        sqlite3_bind_int64(statement, place + 2, cell.size)
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        try requireResult(code, is: SQLITE_DONE)
    }

    private func writeAll() throws(DatabaseError) {
        for cell in open { try write(cell) }
        closeAll()
    }

    private func closeAll() {
        for cell in open { cell.group.forEach(sqlite3_value_free) }
        open.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }
}

private func addRow(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    do throws(DatabaseError) {
        try functionObject(context, CellEnds.self)?.add(SQLValues(start: values, count: Int(count)))
    } catch {
        sqlite3_result_error_code(context, error.extendedResultCode.rawValue)
    }
}
