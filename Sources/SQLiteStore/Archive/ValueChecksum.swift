import GRDBSQLite

/// A checksum of rows, over the type and the bytes of every value. The order of the rows does not matter.
///
/// It finds accidents: a value that a column's type has changed, a row that is missing. It does not resist intent.
struct ValueChecksum: Equatable {
    private var sum: UInt64 = 0
    private var row: UInt64 = 0

    /// Begins a row of a table.
    mutating func begin(table: Int) { row = UInt64(truncatingIfNeeded: table) &+ 1 }

    /// Adds a value of the row.
    mutating func add(type: Int32, integer: Int64) {
        mix(UInt64(truncatingIfNeeded: type))
        mix(UInt64(bitPattern: integer))
    }

    /// Adds a text or a blob of the row.
    mutating func add(type: Int32, bytes: UnsafeRawBufferPointer) {
        mix(UInt64(truncatingIfNeeded: type) | UInt64(bytes.count) << 8)
        var place = 0
        while place + 8 <= bytes.count {
            mix(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var rest: UInt64 = 0
        while place < bytes.count {
            rest = rest << 8 | UInt64(bytes[place])
            place += 1
        }
        mix(rest)
    }

    /// Ends the row.
    mutating func end() { sum &+= row ^ row >> 29 }

    private mutating func mix(_ word: UInt64) {
        row = (row ^ word) &* 0x9E37_79B9_7F4A_7C15
        row ^= row >> 32
    }
}

extension ValueChecksum {
    /// Adds a value that SQLite hands to a function.
    mutating func add(_ value: OpaquePointer?) {
        let type = sqlite3_value_type(value)
        switch type {
        case SQLITE_INTEGER: add(type: type, integer: sqlite3_value_int64(value))
        case SQLITE_FLOAT: add(type: type, integer: Int64(bitPattern: sqlite3_value_double(value).bitPattern))
        case SQLITE_NULL: add(type: type, integer: 0)
        default:
            // The bytes as they are stored: no function that would convert the encoding.
            let start = sqlite3_value_blob(value)
            add(type: type, bytes: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
        }
    }

    /// Adds a column of a row that a statement has reached.
    mutating func add(_ statement: OpaquePointer?, column: Int32) {
        let type = sqlite3_column_type(statement, column)
        switch type {
        case SQLITE_INTEGER: add(type: type, integer: sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT:
            add(type: type, integer: Int64(bitPattern: sqlite3_column_double(statement, column).bitPattern))
        case SQLITE_NULL: add(type: type, integer: 0)
        default:
            let start = sqlite3_column_blob(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            add(type: type, bytes: UnsafeRawBufferPointer(start: start, count: count))
        }
    }
}
