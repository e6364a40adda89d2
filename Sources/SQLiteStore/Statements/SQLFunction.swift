import GRDB
import GRDBSQLite
import PriceStore

/// The body of an SQL function in SQLite's C interface. GRDB's functions allocate an array and a String for each call.
typealias SQLFunction = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

/// The arguments of an SQL function.
typealias SQLValues = UnsafeBufferPointer<OpaquePointer?>

extension Database {
    /// Adds functions that use an object. SQLite retains the object as long as any of them exists.
    ///
    /// - Parameter isAggregate: whether the functions are called for each row of a query and return nothing.
    func addFunctions(
        of object: AnyObject, flags: Int32 = 0, isAggregate: Bool = false,
        _ functions: [(name: String, argumentCount: Int32, body: SQLFunction)]
    ) throws {
        for function in functions {
            let code = sqlite3_create_function_v2(
                sqliteConnection, function.name, function.argumentCount, SQLITE_UTF8 | flags,
                Unmanaged.passRetained(object).toOpaque(), isAggregate ? nil : function.body,
                isAggregate ? function.body : nil, isAggregate ? { _ in } : nil,
                { context in if let context { Unmanaged<AnyObject>.fromOpaque(context).release() } })
            try requireResult(code)
        }
    }
}

/// The object that an SQL function uses.
func functionObject<T: AnyObject>(_ context: OpaquePointer?, _ type: T.Type) -> T? {
    sqlite3_user_data(context).map { Unmanaged<T>.fromOpaque($0).takeUnretainedValue() }
}

/// Makes SQLite copy a value: -1 is `SQLITE_TRANSIENT`, a macro that is not imported.
@inline(__always)
var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

extension StoreValue {
    /// Reads an argument of an SQL function.
    init(_ value: OpaquePointer) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(value))
        case SQLITE_TEXT:
            let bytes = UnsafeBufferPointer(start: sqlite3_value_text(value), count: Int(sqlite3_value_bytes(value)))
            self = .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            let count = Int(sqlite3_value_bytes(value))
            self = .blob([UInt8](UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: count)))
        default: self = .null
        }
    }

    /// Returns the value from an SQL function. SQLite copies it.
    func become(resultOf context: OpaquePointer?) {
        switch self {
        case .null: sqlite3_result_null(context)
        case .integer(let value): sqlite3_result_int64(context, value)
        case .real(let value): sqlite3_result_double(context, value)
        case .text(let value): sqlite3_result_text(context, value, Int32(value.utf8.count), transient)
        case .blob(let bytes):
            bytes.withUnsafeBytes { sqlite3_result_blob(context, $0.baseAddress, Int32($0.count), transient) }
        }
    }
}
