import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// What the history triggers of a connection ask for, by functions of the connection: the number of the transaction at
/// work, its author and its time.
///
/// The triggers write, not this object: what a rollback takes back is gone from the history with it.
final class HistoryRecorder {
    /// Who makes the transactions.
    var author = ProcessInfo.processInfo.processName
    /// Tells the time; nil: SQLite's own clock does.
    var clock: (() -> Instant)?
    /// The number of the transaction at work, if it changes something; nil: none is at work.
    private(set) var number: Int64?
    private var place: Int64 = 0
    private var hasFunctions = false

    /// Begins a transaction behind the last one.
    func begin(after last: Int64, store: String, _ db: Database) throws {
        guard last < .max else {
            throw StoreError(
                .unsupported, store: store, message: "the history of the store has used up its numbers: it was changed")
        }
        try addFunctions(db)
        number = last + 1
        place = 0
    }

    /// Ends the transaction, whether it was committed or not.
    func end() { number = nil }

    fileprivate func nextPlace() -> Int64 {
        place += 1
        return place
    }

    private func addFunctions(_ db: Database) throws {
        guard !hasFunctions else { return }
        for (name, argumentCount, function) in [
            ("retention_history_number", 0, historyNumber), ("retention_history_place", 0, historyPlace),
            ("retention_history_at", 0, historyInstant), ("retention_history_author", 0, historyAuthor),
            ("retention_history_key", -1, historyKey),
        ] as [(String, Int32, @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)] {
            let context = Unmanaged.passRetained(self).toOpaque()
            let code = sqlite3_create_function_v2(
                db.sqliteConnection, name, argumentCount, SQLITE_UTF8, context, function, nil, nil,
                { context in if let context { Unmanaged<HistoryRecorder>.fromOpaque(context).release() } })
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
        hasFunctions = true
    }

    fileprivate static func of(_ context: OpaquePointer?) -> HistoryRecorder? {
        sqlite3_user_data(context).map { Unmanaged<HistoryRecorder>.fromOpaque($0).takeUnretainedValue() }
    }
}

private func historyNumber(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let number = HistoryRecorder.of(context)?.number else {
        return sqlite3_result_error(context, "a change outside a transaction that the history knows", -1)
    }
    sqlite3_result_int64(context, number)
}

private func historyPlace(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let recorder = HistoryRecorder.of(context) else { return }
    sqlite3_result_int64(context, recorder.nextPlace())
}

private func historyInstant(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let clock = HistoryRecorder.of(context)?.clock else { return sqlite3_result_null(context) }
    sqlite3_result_int64(context, clock().microseconds)
}

private func historyAuthor(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let author = HistoryRecorder.of(context)?.author else { return }
    StoreValue.text(author).become(resultOf: context)
}

private func historyKey(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    HistoryKey.encode((0..<Int(count)).map { StoreValue(argument: values?[$0]) }).become(resultOf: context)
}

extension StoreValue {
    /// An argument of a function; NULL without one.
    fileprivate init(argument: OpaquePointer?) {
        guard let argument else {
            self = .null
            return
        }
        switch sqlite3_value_type(argument) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(argument))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(argument))
        case SQLITE_TEXT:
            let text = sqlite3_value_text(argument)
            let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(argument)))
            self = .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            let blob = sqlite3_value_blob(argument)
            self = .blob([UInt8](UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_value_bytes(argument)))))
        default: self = .null
        }
    }

    /// Makes the value what a function returns; SQLite copies it.
    fileprivate func become(resultOf context: OpaquePointer?) {
        // -1 is SQLITE_TRANSIENT, a macro that is not imported.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
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
