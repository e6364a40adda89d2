import GRDB
import GRDBSQLite
import PriceStore

/// Reads rows that become candles, and reads and writes the table of candles.
struct CandleTable {
    let rollup: Rollup
    private let connection: SQLiteFile
    private let db: Database
    /// The columns read of each row: its date, its numbers (for candles also their times), and its group.
    private let columns: [String]
    private let order: String
    private let target: Target?

    /// - Parameter removed: rows and candles that count as deleted, or nil.
    init(
        _ rollup: Rollup, of scope: RowScope, _ connection: SQLiteFile, _ db: Database,
        after removed: RemovedRows? = nil
    ) throws {
        self.rollup = rollup
        self.connection = connection
        self.db = db
        func column(_ name: String) throws -> String { try scope.column(name, store: connection.name) }
        let date = try connection.dateSQL(rollup.date, scope, db)
        var columns = [date.column]
        switch rollup.source {
        case .prices(let price, let volume):
            columns += [try column(price), try volume.map(column) ?? "0"]
        case .candles(let names):
            columns += try Candle.fields.map { try column(names[$0]) }
        }
        self.columns = columns + (try rollup.groupedBy.map(column))
        order = ([date.orderValue] + scope.key).list
        target = try connection.catalog.table(rollup.target, db).map { _ in
            let scope = try connection.scope(rollup.target, db)
            let isLeft = try removed.map { try connection.isLeft(scope, after: $0, db) } ?? .always
            return try Target(scope, rollup, isLeft, store: connection.name)
        }
    }

    /// Adds the rows of a FROM clause with its condition to candles, starting from those in the table.
    func candles(of rows: SQLFragment) throws -> CandleBuilder {
        var builder = CandleBuilder(rollup.buckets)
        try forEach(of: rows) { try builder.add($0, at: $1, group: $2, stored: stored) }
        return builder
    }

    /// Passes the candles of the rows of a FROM clause to a closure, those of some rows at a time, in the order of the rows' dates.
    func forEachBatch(of rows: SQLFragment, _ body: (CandleBuilder) throws -> Void) throws {
        try checkTimes()
        var batch = CandleBuilder(rollup.buckets)
        try forEach(of: rows) {
            try batch.add($0, at: $1, group: $2, stored: stored)
            // Candles of the past need not be kept.
            guard batch.changes.count >= 10_000 else { return }
            try body(batch)
            batch = CandleBuilder(rollup.buckets)
        }
        try body(batch)
    }

    /// Reads rows in order of date and key, each as a candle.
    private func forEach(of rows: SQLFragment, _ body: (Candle, Instant, [StoreValue]) throws -> Void) throws {
        let statement = try connection.statement("SELECT \(columns.list) FROM \(rows) ORDER BY \(order)", db)
        let row = statement.sqliteStatement
        defer { sqlite3_reset(row) }
        let groups = Int32(columns.count - rollup.groupedBy.count)..<Int32(columns.count)
        while try step(row) {
            let date = StoreValue(row, column: 0)
            guard let instant = instant(date), let candle = try candle(row, at: CandleTime(instant, date)) else {
                throw failure("a row has no date or no price")
            }
            try refusing { try body(candle, instant, groups.map { StoreValue(row, column: $0) }) }
        }
    }

    private func candle(_ row: OpaquePointer, at time: CandleTime) throws -> Candle? {
        func number(_ column: Int32) -> CandleNumber? { CandleNumber(StoreValue(row, column: column)) }
        guard case .prices = rollup.source else { return candle { StoreValue(row, column: Int32($0 + 1)) } }
        guard let price = number(1) else { return nil }
        let volume = StoreValue(row, column: 2)
        guard let volume = volume.isNull ? .integer(0) : CandleNumber(volume) else { return nil }
        return try refusing { try Candle(price: price, volume: volume, at: time) }
    }

    /// The candle in a row's columns of ``Candle/fields``, or nil if they do not form one.
    private func candle(_ value: (Int) -> StoreValue) -> Candle? {
        Candle {
            CandleNumber(value($0))
        } time: { place in
            instant(value(place)).map { CandleTime($0, value(place)) }
        }
    }

    private func instant(_ value: StoreValue) -> Instant? {
        rollup.date.encoding.read(value, zone: rollup.date.zone).start
    }

    private func stored(_ key: CandleBuilder.Key) throws -> Candle? {
        guard let target else { return nil }
        let row = try connection.unboundStatement(target.select, db).sqliteStatement
        defer { sqlite3_reset(row) }
        try bind(values(of: key), to: row)
        guard try step(row) else { return nil }
        guard let candle = candle({ StoreValue(row, column: Int32($0)) }) else {
            throw failure("a row of \(rollup.target) is not a candle, so new rows cannot be added to it")
        }
        // A column that ignores case or changes types would merge groups.
        let group = key.group.indices.map { StoreValue(row, column: Int32(Candle.fields.count + $0)).groupValue }
        guard group == key.group else {
            throw failure("\(rollup.target) has a candle of another group with the same key as one of these rows")
        }
        return candle
    }

    /// Throws if the table has a candle whose time is written in another form: it would not be found, and a second one would be inserted.
    func checkTimes() throws {
        guard let target else { return }
        let date = try connection.dateSQL(rollup.date.named(rollup.names[.time]), target.scope, db)
        let isOther: String
        switch (rollup.date.encoding, date.affinity) {
        case (.iso8601, _):
            let (two, four) = ("[0-9][0-9]", "[0-9][0-9][0-9][0-9]")
            isOther = "\(date.column) NOT GLOB '\(four)-\(two)-\(two)T\(two):\(two):\(two)Z'"
        case (.pattern(let pattern), _): isOther = "\(date.column) NOT GLOB '\(pattern.written)'"
        case (.yyyymmdd, .none), (.yyyymmddhhmmss, .none): isOther = "typeof(\(date.column)) = 'text'"
        default: return
        }
        let query: SQLFragment =
            "SELECT \(date.column) FROM \(target.scope.from()) WHERE \(isOther) AND \(date.orderValue) IS NOT NULL LIMIT 1"
        guard let time = try connection.row(query, db)?.first, let start = instant(time) else { return }
        throw failure(rollup.otherSpelling(of: start))
    }

    private func values(of key: CandleBuilder.Key) throws -> [StoreValue] {
        key.group + [try refusing { try rollup.time(of: key.bucket) }]
    }

    private func bind(_ values: [StoreValue], to statement: OpaquePointer) throws {
        for (index, value) in values.enumerated() {
            guard value.bind(statement, Int32(index + 1)) == SQLITE_OK else { throw databaseError }
        }
    }

    /// Whether a statement has another row.
    private func step(_ statement: OpaquePointer) throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        default: throw databaseError
        }
    }

    private var databaseError: DatabaseError {
        DatabaseError(resultCode: db.lastErrorCode, message: db.lastErrorMessage)
    }

    // MARK: Writing

    /// Writes the changed candles, reads them back, and compares them with the rows.
    func write(_ candles: CandleBuilder, deletedCount: Int) throws {
        guard let target else { throw failure("the store has no table \(rollup.target)") }
        // There may be as many candles as rows, so the statements are held.
        let insert = try connection.unboundStatement(target.insert, db)
        let update = try connection.unboundStatement(target.update, db)
        for change in candles.changes {
            let statement = (change.before == nil ? insert : update).sqliteStatement
            defer { sqlite3_reset(statement) }
            try bind(change.after.values + values(of: change.key), to: statement)
            guard try !step(statement), db.changesCount == 1 else { throw failure("a candle was not written") }
        }
        let written = try candles.changes.map { try stored($0.key) }
        try refusing { try candles.check(written: written, deletedCount: deletedCount) }
    }

    private func refusing<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch CandleError.notAsWritten {
            throw failure("a candle of \(rollup.target) differs from what was written")
        } catch let error as CandleError {
            throw failure(error.description)
        }
    }

    private func failure(_ message: String) -> StoreError {
        connection.failure(.constraint, message)
    }
}

/// The statements on a table of candles. Their values are those of the candle, then those of its key.
private struct Target {
    let scope: RowScope
    let select: String
    let insert: String
    let update: String

    /// - Parameter isRead: a condition on the rows that are read.
    init(_ scope: RowScope, _ rollup: Rollup, _ isRead: SQLFragment, store: String) throws {
        self.scope = scope
        func columns(_ names: [String]) throws -> [String] {
            try names.map { scope.table.columnSQL(try scope.attribute($0, store: store)) }
        }
        let fields = try columns(Candle.fields.map { rollup.names[$0] })
        let key = try columns(rollup.key)
        // IS is used because a group may be NULL, and OR ABORT because a constraint of the table may replace other candles.
        let isKey = key.map { "\($0) IS ?" }.joined(separator: " AND ")
        let table = scope.table.sql
        let all = (fields + key).list
        select = "SELECT \(all) FROM \(scope.from()) WHERE \(isKey) AND (\(isRead.text))"
        let marks = (fields + key).map { _ in "?" }.list
        insert = "INSERT OR ABORT INTO \(table) (\(all)) VALUES (\(marks))"
        update = "UPDATE OR ABORT \(table) SET \(fields.map { "\($0) = ?" }.list) WHERE \(isKey)"
    }
}
