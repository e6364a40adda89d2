public import PriceObjects
import GRDB
import GRDBSQLite
public import PriceStore

extension SQLiteWriter {
    /// Inserts rows in one transaction.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult {
        if case .objects(let objects) = request.source, objects.isEmpty { return BatchInsertResult(insertedCount: 0) }
        return try run("saving rows of \(request.entity)") { db in
            let scope = try tableScope(request.entity, db)
            return try transaction(.normal) {
                var insert = BatchInsert(request: request, scope: scope, connection: self, db: db)
                switch request.source {
                case .objects(let objects):
                    for object in objects { try insert.add(object) }
                case .handler(let make):
                    let handler = make()
                    var row: [String: StoreValue] = [:]
                    while try request.fill(&row, number: insert.rowCount + 1, by: handler, store: name) == .insert {
                        try insert.add(row)
                    }
                }
                return insert.result
            }
        }
    }
}

/// The execution of one batch insert request. It keeps a prepared statement for the attributes of the previous row and binds values through
/// SQLite's C interface, because GRDB's arguments allocate an array of boxes for each row.
private struct BatchInsert {
    let request: BatchInsertRequest
    let scope: RowScope
    let connection: SQLiteFile
    let db: Database
    /// The attributes of the prepared statement as the rows spell them, in parameter order.
    var names: [String] = []
    var statement: Statement?
    var rowCount = 0
    var result = BatchInsertResult(insertedCount: 0)

    mutating func add(_ row: [String: StoreValue]) throws {
        rowCount += 1
        try connection.checkTask()
        if scope.table.managed != nil { return try addManaged(row) }
        var prepared = statement
        if let known = prepared, try !bind(row, known) { prepared = nil }
        let current = try prepared ?? prepare(row)
        if prepared == nil {
            statement = current
            _ = try bind(row, current)
        }
        let handle = current.sqliteStatement
        defer { sqlite3_reset(handle) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            let key = scope.table.keySQL.indices.map { StoreValue(handle, column: Int32($0)) }
            result.objectIDs.append(connection.objectID(scope, key))
            result.insertedCount += 1
            // The row is in the store when the statement has run to its end.
            guard sqlite3_step(handle) == SQLITE_DONE else { throw try failure(row) }
        case SQLITE_DONE:
            if request.resultType != .objectIDs, sqlite3_changes(db.sqliteConnection) > 0 {
                result.insertedCount += 1
            } else {
                result.ignoredCount += 1
            }
        default: throw try failure(row)
        }
    }

    private mutating func addManaged(_ row: [String: StoreValue]) throws {
        let (outcome, key) = try connection.insertManaged(row, request.onConflict, scope, db)
        switch outcome {
        case .saved:
            result.insertedCount += 1
            if request.resultType == .objectIDs, let key { result.objectIDs.append(connection.objectID(scope, [key])) }
        case .ignored: result.ignoredCount += 1
        case .rejected(let reason):
            throw connection.failure(
                .constraint, "row \(rowCount) of \(scope.table.name) cannot be saved, so none is saved: \(reason)")
        }
    }

    /// Binds a row's values. Returns false if the row names other attributes than the statement.
    private func bind(_ row: [String: StoreValue], _ statement: Statement) throws -> Bool {
        guard row.count == names.count else { return false }
        let handle = statement.sqliteStatement
        for (index, name) in names.enumerated() {
            guard let value = row[name] else { return false }
            guard value.bind(handle, Int32(index + 1)) == SQLITE_OK else { throw try failure(row) }
        }
        return true
    }

    private mutating func prepare(_ row: [String: StoreValue]) throws -> Statement {
        names = row.keys.sorted()
        let columns = try scope.attributes(names, store: connection.name).map(\.name.quotedIdentifier)
        let text = connection.insertText(
            into: scope.table.sql, columns, request.onConflict, sets: columns.map { "\($0) = excluded.\($0)" },
            returning: request.resultType == .objectIDs ? scope.table.keySQL : [])
        return try connection.unboundStatement(text, db)
    }

    private func failure(_ row: [String: StoreValue]) throws -> any Error {
        let (code, said) = (db.lastErrorCode, db.lastErrorMessage)
        let refusal = try connection.refusal(of: row, scope.table, code, said ?? "", db)
        let error = DatabaseError(resultCode: code, message: refusal ?? said)
        let what = "row \(rowCount) of \(scope.table.name) cannot be saved, so none is saved"
        var storeError = StoreError(error, store: connection.name, doing: what)
        // A value that the column cannot hold counts as a broken constraint.
        if error.resultCode == .SQLITE_MISMATCH { storeError.kind = .constraint }
        return storeError
    }
}

extension StoreValue {
    /// Binds the value to a parameter and returns SQLite's result code. SQLite copies the value.
    func bind(_ statement: OpaquePointer, _ index: Int32) -> Int32 {
        switch self {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let value): return sqlite3_bind_int64(statement, index, value)
        case .real(let value): return sqlite3_bind_double(statement, index, value)
        case .text(var text):
            return text.withUTF8 { utf8 in
                // An empty text may have no address and would be bound as NULL.
                guard let start = utf8.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, transient) }
                return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                    sqlite3_bind_text64(statement, index, $0, UInt64(utf8.count), transient, UInt8(SQLITE_UTF8))
                }
            }
        case .blob(let bytes):
            // An empty blob has no address and would be bound as NULL.
            if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, index, 0) }
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), transient)
            }
        }
    }
}

extension StoreValue {
    /// Reads a column of a statement's current row.
    init(_ row: OpaquePointer, column: Int32) {
        switch sqlite3_column_type(row, column) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(row, column))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(row, column))
        case SQLITE_TEXT:
            let count = Int(sqlite3_column_bytes(row, column))
            let bytes = UnsafeBufferPointer(start: sqlite3_column_text(row, column), count: count)
            self = .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(row, column))
            self = .blob([UInt8](UnsafeRawBufferPointer(start: sqlite3_column_blob(row, column), count: count)))
        default: self = .null
        }
    }
}
