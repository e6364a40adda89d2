@preconcurrency import Glibc
public import PriceStore

/// The lock of a run is an advisory lock of the session. It excludes runs on other hosts, and it is released when the server notices that a
/// host has died.
///
/// An advisory lock belongs to one database. On a Citus cluster, all runs must use one coordinator.
extension PostgresDatabase {
    /// The two numbers of the lock: the bytes of "rete" and "ntio".
    private static let key = (1_919_251_557, 1_853_122_927)
    /// The session that holds the lock, as `a`, for a FROM clause.
    private static let holder =
        "pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted "
        + "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
        + "AND l.classid = \(key.0) AND l.objid = \(key.1)"

    /// Takes the lock of a run.
    ///
    /// - Parameter former: the session that held the lock for this run before its connection was lost. The server may not have noticed
    ///   the loss.
    func lockRun(insteadOf former: (process: Int, began: String?)? = nil) throws(StoreError) {
        do {
            holdsRunLock = false
            if let former { try endSession(former) }
            // The server may notice the end of a session with a short delay.
            let end = ContinuousClock.now + .seconds(1)
            while true {
                if try exists("SELECT 1 WHERE pg_try_advisory_lock\(Self.key)") {
                    holdsRunLock = true
                    return
                }
                guard ContinuousClock.now < end else { break }
                usleep(50_000)
            }
            let holder = try row(
                "SELECT l.pid, a.application_name, coalesce(host(a.client_addr), 'this host') AS host FROM \(Self.holder)"
            )
            throw StoreError(.busy, store: name, message: try Self.message(holder), hint: "try again later")
        } catch {
            throw StoreError(error, store: name, doing: "taking the lock of a run")
        }
    }

    /// Ends a session of this run that still holds the lock, and waits for its end.
    private func endSession(_ former: (process: Int, began: String?)) throws {
        guard let began = former.began else { return }
        let isHeld: SQLFragment =
            "SELECT 1 FROM \(Self.holder) AND l.pid = " + .bound("\(former.process)", "int4")
            + " AND a.backend_start = " + .bound(began, "timestamptz")
        guard try exists(isHeld) else { return }
        try execute("SELECT pg_terminate_backend(\(former.process), 5000)")
    }

    private static func message(_ holder: ServerRow?) throws -> String {
        guard let holder else { return "another run is using this store" }
        let (name, prefix) = (try holder.optionalText("application_name") ?? "", "retention ")
        let client =
            try name.hasPrefix(prefix)
            ? "process \(name.dropFirst(prefix.count)) on \(holder.text("host")), " : ""
        return "another run is using this store: \(client)server process \(try holder.int("pid")) holds its lock"
    }

    /// Whether a run holds the lock now.
    public func isRunLockHeld() throws(StoreError) -> Bool {
        try run("looking for the lock of a run") { try exists("SELECT 1 FROM \(Self.holder)") }
    }
}

extension PostgresWriter {
    /// Takes the lock of a run. The session holds it until its end, and takes it again after a lost connection.
    ///
    /// - Throws: ``StoreError`` of kind `busy` that names the holder.
    public func takeRunLock() throws(StoreError) {
        var lost: (process: Int, began: String?)?
        try run("taking the lock of a run") {
            // A lost session may have taken it.
            let former = lost
            lost = session
            try lockRun(insteadOf: former)
        }
    }
}
