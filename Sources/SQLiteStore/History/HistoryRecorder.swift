import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// The values that the history triggers of a connection get from its SQL functions: the number of the current transaction, its author and
/// its time.
///
/// The triggers write, not this object, so a rollback also removes the rows from the history.
final class HistoryRecorder {
    var author = ProcessInfo.processInfo.processName
    /// Returns the time. If nil, SQLite's clock is used.
    var clock: (() -> Instant)?
    /// The number of the current transaction if it changes something, or nil outside transactions.
    private(set) var number: Int64?
    private var place: Int64 = 0
    private var hasFunctions = false

    /// Begins a transaction after the last one.
    func begin(after last: Int64, store: String, _ db: Database) throws {
        guard last < .max else {
            throw StoreError(
                .unsupported, store: store,
                message: "the history of the store has no numbers left: another program has changed it")
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
        try db.addFunctions(
            of: self,
            [
                ("retention_history_number", 0, historyNumber), ("retention_history_place", 0, historyPlace),
                ("retention_history_at", 0, historyInstant), ("retention_history_author", 0, historyAuthor),
                ("retention_history_key", -1, historyKey),
            ])
        hasFunctions = true
    }
}

private func historyNumber(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let number = functionObject(context, HistoryRecorder.self)?.number else {
        return sqlite3_result_error(context, "a change outside a transaction of the history", -1)
    }
    sqlite3_result_int64(context, number)
}

private func historyPlace(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    if let recorder = functionObject(context, HistoryRecorder.self) {
        sqlite3_result_int64(context, recorder.nextPlace())
    }
}

private func historyInstant(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let clock = functionObject(context, HistoryRecorder.self)?.clock else { return sqlite3_result_null(context) }
    sqlite3_result_int64(context, clock().microseconds)
}

private func historyAuthor(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    if let author = functionObject(context, HistoryRecorder.self)?.author {
        StoreValue.text(author).become(resultOf: context)
    }
}

private func historyKey(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    HistoryKey.encode((0..<Int(count)).map { values?[$0].map(StoreValue.init) ?? .null }).become(resultOf: context)
}
