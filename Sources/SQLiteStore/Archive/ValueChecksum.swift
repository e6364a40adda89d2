import GRDBSQLite

/// A checksum over the type and the bytes of every value of some rows, in any order.
///
/// It finds accidents, such as a missing row or a value converted to a column's type. It does not resist intent.
struct ValueChecksum: Equatable {
    private(set) var rowCount = 0
    private var sum: UInt64 = 0
    private var row: UInt64 = 0

    /// Adds values of a row that SQLite passes to a function.
    ///
    /// - Parameters:
    ///   - start: the column of the first value.
    ///   - width: how many columns the row has.
    /// - Returns: the size of the texts and blobs among the values.
    mutating func add(_ values: SQLValues, from start: Int, width: Int) -> Int {
        if start == 0 { row = 1 }
        var size = 0
        for value in values {
            let type = sqlite3_value_type(value)
            switch type {
            case SQLITE_INTEGER: add(type, UInt64(bitPattern: sqlite3_value_int64(value)))
            case SQLITE_FLOAT: add(type, sqlite3_value_double(value).bitPattern)
            case SQLITE_NULL: add(type, 0)
            default:
                let count = Int(sqlite3_value_bytes(value))
                add(type, UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: count))
                size += count
            }
        }
        if start + values.count == width {
            rowCount += 1
            sum &+= row ^ row >> 29
        }
        return size
    }

    private mutating func add(_ type: Int32, _ bits: UInt64) {
        mix(UInt64(truncatingIfNeeded: type))
        mix(bits)
    }

    private mutating func add(_ type: Int32, _ bytes: UnsafeRawBufferPointer) {
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

    private mutating func mix(_ word: UInt64) {
        row = (row ^ word) &* 0x9E37_79B9_7F4A_7C15
        row ^= row >> 32
    }
}
