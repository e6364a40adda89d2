import GRDB
import GRDBSQLite
import PriceStore

/// The time that a statement or a rebuild may hold the store locked. Statements that run past it are interrupted.
final class LockLimit {
    private let allowed: Duration?
    private var began: ContinuousClock.Instant?
    private var ended: ContinuousClock.Instant?

    init(_ allowed: Duration?) { self.allowed = allowed }

    /// Tells that the store is locked from now on.
    func begin() { began = .now }

    /// Tells that it is locked no longer.
    func end() { ended = .now }

    /// How long it was, or has been, locked.
    var elapsed: Duration { began.map { (ended ?? .now) - $0 } ?? .zero }

    /// Whether the time is over.
    var isOver: Bool { allowed.map { elapsed > $0 } ?? false }

    /// Throws once the time is over.
    func check(_ store: String) throws(StoreError) {
        guard isOver, let allowed else { return }
        throw StoreError(
            .methodUnfit, store: store,
            message: "the store would have been locked for longer than \(allowed.inUnits)",
            hint: "allow a longer lock, or none, so that rows are deleted in batches")
    }

    /// Carries out work whose statements on a connection end when the time is over.
    func bounding<T>(_ db: Database, store: String, _ body: () throws -> T) throws -> T {
        guard allowed != nil else { return try body() }
        let handle = db.sqliteConnection
        sqlite3_progress_handler(
            handle, Self.instructionCount,
            { context in
                guard let context else { return 0 }
                return Unmanaged<LockLimit>.fromOpaque(context).takeUnretainedValue().isOver || Task.isCancelled ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { SQLiteFileConnection.endWithTask(db) }
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            try check(store)
            throw error
        }
    }

    /// Instructions of SQLite's virtual machine between two reads of the clock: well under a millisecond.
    private static let instructionCount: Int32 = 4_000
}

extension Duration {
    /// The time in the unit that fits: `800 ms`, `2 s`.
    var inUnits: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds < 1000 || milliseconds % 1000 != 0 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}
