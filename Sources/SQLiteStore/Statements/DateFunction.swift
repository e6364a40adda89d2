import GRDB
import GRDBSQLite
import PriceStore

/// Two SQL functions of a connection that read dates which SQL cannot: ISO 8601 text and calendar digits.
///
/// `retention_date_N(value, earliest, before, latest)` is 1 if the value is a date whose whole span is in `earliest ..< before` and starts
/// at or before `latest` (instants in Unix microseconds), otherwise 0. `retention_start_N(value)` is the first instant of the span, or NULL
/// if the value is not a date.
final class DateFunction {
    struct Key: Hashable {
        var encoding: DateEncoding
        var zone: CalendarZone
    }

    let key: Key
    let rangeName: String
    let startName: String
    /// The day of the last text. The pointer avoids Swift's exclusivity checks.
    private let recentDay = UnsafeMutablePointer<RecentDay>.allocate(capacity: 1)

    init(_ key: Key, number: Int, _ db: Database) throws {
        self.key = key
        rangeName = "retention_date_\(number)"
        startName = "retention_start_\(number)"
        recentDay.initialize(to: RecentDay(zone: key.zone))
        try db.addFunctions(
            of: self, flags: SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
            [(rangeName, 4, isInRange), (startName, 1, start)])
    }

    deinit {
        recentDay.deinitialize(count: 1)
        recentDay.deallocate()
    }

    /// The span of a value, or nil if it is not a date.
    func span(_ value: OpaquePointer) -> (start: Int64, end: Int64)? {
        switch sqlite3_value_type(value) {
        case SQLITE_TEXT:
            let bytes = UnsafeBufferPointer(start: sqlite3_value_text(value), count: Int(sqlite3_value_bytes(value)))
            if key.encoding == .iso8601, let start = recentDay.pointee.read(bytes) { return (start, start + 1) }
            return key.encoding.readText(bytes, zone: key.zone)
        case SQLITE_INTEGER:
            return key.encoding.readInteger(sqlite3_value_int64(value), zone: key.zone)
        case SQLITE_FLOAT:
            guard let whole = Int64(exactly: sqlite3_value_double(value)) else { return nil }
            return key.encoding.readInteger(whole, zone: key.zone)
        default: return nil
        }
    }
}

private func isInRange(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let values, let value = values[0], let span = functionObject(context, DateFunction.self)?.span(value) else {
        return sqlite3_result_int(context, 0)
    }
    let isInside =
        span.start >= sqlite3_value_int64(values[1]) && span.end <= sqlite3_value_int64(values[2])
        && span.start <= sqlite3_value_int64(values[3])
    sqlite3_result_int(context, isInside ? 1 : 0)
}

private func start(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let value = values?[0], let span = functionObject(context, DateFunction.self)?.span(value) else {
        return sqlite3_result_null(context)
    }
    sqlite3_result_int64(context, span.start)
}

/// The SQL functions of a connection, each created when first used.
final class ConnectionFunctions {
    private var dates: [DateFunction.Key: DateFunction] = [:]
    private var tally: TallyFunction?

    func date(_ encoding: DateEncoding, _ zone: CalendarZone, _ db: Database) throws -> DateFunction {
        let key = DateFunction.Key(encoding: encoding, zone: zone)
        if let known = dates[key] { return known }
        let function = try DateFunction(key, number: dates.count, db)
        dates[key] = function
        return function
    }

    func tally(_ db: Database) throws -> TallyFunction {
        let function = try tally ?? TallyFunction(db)
        tally = function
        return function
    }
}
