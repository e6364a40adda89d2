import GRDB
import GRDBSQLite
import PriceStore

/// Two SQL functions of a connection that locate a date in the cells of a rule that thins.
///
/// `NAME(value)` is the number of the cell, counted from 0, or NULL if the value is before the first cell or is not a number.
/// `NAME_bucket(tier, cell)` is the number of the tier's bucket that contains the cell, or NULL if none does.
final class CellFunction {
    /// The starts of the cells, as integers and as doubles.
    private let integers: UnsafeMutableBufferPointer<Int64>
    private let reals: UnsafeMutableBufferPointer<Double>
    /// The bucket of each cell, tier by tier; -1 means none.
    private let buckets: UnsafeMutableBufferPointer<Int32>
    private let name: String

    /// - Parameters:
    ///   - starts: the first value of each cell, in order.
    ///   - buckets: for each tier, the bucket of each cell.
    init(_ starts: [NumericBound], _ buckets: [[Int?]], name: String, _ db: Database) throws {
        self.name = name
        integers = .allocate(capacity: starts.count)
        reals = .allocate(capacity: starts.count)
        self.buckets = .allocate(capacity: starts.count * buckets.count)
        _ = integers.initialize(from: starts.map(\.integer))
        _ = reals.initialize(from: starts.map(\.real))
        let numbers = buckets.flatMap { tier in
            starts.indices.map { tier.indices.contains($0) ? Int32(tier[$0] ?? -1) : -1 }
        }
        _ = self.buckets.initialize(from: numbers)
        try db.addFunctions(
            of: self, flags: SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
            [(name, 1, findCell), ("\(name)_bucket", 2, findBucket)])
    }

    deinit {
        integers.deallocate()
        reals.deallocate()
        buckets.deallocate()
    }

    func cell(_ value: String) -> String { "\(name)(\(value))" }

    func bucket(_ tier: Int, _ cell: String) -> String { "\(name)_bucket(\(tier), \(cell))" }

    func remove(_ db: Database) {
        for (name, count) in [(name, Int32(1)), ("\(name)_bucket", 2)] {
            sqlite3_create_function_v2(db.sqliteConnection, name, count, SQLITE_UTF8, nil, nil, nil, nil, nil)
        }
    }

    /// The cell of a value, or nil if it is in none.
    func cell(of value: OpaquePointer) -> Int? {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: Self.place(of: sqlite3_value_int64(value), among: integers)
        case SQLITE_FLOAT: Self.place(of: sqlite3_value_double(value), among: reals)
        default: nil
        }
    }

    fileprivate func bucket(_ tier: Int, _ cell: Int) -> Int32? {
        guard integers.indices.contains(cell), tier >= 0, (tier + 1) * integers.count <= buckets.count else {
            return nil
        }
        let bucket = buckets[tier * integers.count + cell]
        return bucket < 0 ? nil : bucket
    }

    /// The index of the last start that is not after a value. Cells shorter than the unit of the dates have equal starts, and the last of
    /// them contains the value.
    @inline(__always)
    private static func place<T: Comparable>(of value: T, among starts: UnsafeMutableBufferPointer<T>) -> Int? {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= value { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? low - 1 : nil
    }
}

private func findCell(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let values, let value = values[0],
        let cell = functionObject(context, CellFunction.self)?.cell(of: value)
    else { return sqlite3_result_null(context) }
    sqlite3_result_int64(context, Int64(cell))
}

private func findBucket(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let values, let tier = values[0], let cell = values[1], sqlite3_value_type(cell) == SQLITE_INTEGER,
        let bucket = functionObject(context, CellFunction.self)?.bucket(
            Int(sqlite3_value_int64(tier)), Int(sqlite3_value_int64(cell)))
    else { return sqlite3_result_null(context) }
    sqlite3_result_int(context, bucket)
}
