import GRDB
import GRDBSQLite

/// What a statement calls while it runs.
private final class Watcher {
    let look: () -> Void

    init(_ look: @escaping () -> Void) { self.look = look }
}

extension SQLiteFile {
    /// Runs the statements of a phase that has begun, and calls ``didBeginPhase`` with each further percent: `copying back, 31%`.
    ///
    /// - Parameters:
    ///   - connection: what runs the statements.
    ///   - share: how much is done, or an estimate; called while a statement runs, so it may only read counters.
    func showing<T>(
        _ phase: String, on connection: Database, share: @escaping () -> (done: Int64, of: Int64),
        _ body: (_ update: () -> Void) throws -> T
    ) throws -> T {
        var last: Int64 = 0
        let watcher = Watcher { [didBeginPhase] in
            let (done, all) = share()
            let percent = all > 0 ? Int64(clamping: min(99, Int128(done) * 100 / Int128(all))) : 0
            guard last < percent else { return }
            last = percent
            didBeginPhase?("\(phase), \(percent)%")
        }
        let pointer = Unmanaged.passUnretained(watcher).toOpaque()
        sqlite3_progress_handler(
            connection.sqliteConnection, 4000,
            { watcher in
                if let watcher { Unmanaged<Watcher>.fromOpaque(watcher).takeUnretainedValue().look() }
                return Task.isCancelled ? 1 : 0
            }, pointer)
        defer { withExtendedLifetime(watcher) { Self.endWithTask(connection) } }
        return try body(watcher.look)
    }
}
