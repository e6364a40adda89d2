package import PriceStore

/// The activity of other sessions, and whether batches wait for them.
extension PostgresDatabase {
    /// Whether another session of this database was active within the last second. An ordinary user only sees that sessions of other users
    /// exist; these count as active. Sessions among the servers of a Citus cluster do not count.
    package func isInUseByOthers() throws(StoreError) -> Bool {
        try run("looking for other processes on the store") {
            try exists(
                """
                SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND backend_type = 'client backend' AND application_name NOT LIKE 'citus\\_internal%'
                AND (state IS NULL OR state <> 'idle' OR state_change > clock_timestamp() - interval '1 second') LIMIT 1
                """, isRepeated: true)
        }
    }

    /// What the next batch waits for: a standby that is further behind than allowed; nil: nothing.
    package func waitReason() throws(StoreError) -> String? {
        guard let limit = options.maxReplicationLag else { return nil }
        return try run("asking how far standbys are behind") {
            try replicationLag() > limit ? "a standby behind max_replication_lag" : nil
        }
    }

    /// The delay of the slowest standby; zero without a standby. Only members of `pg_monitor` can see it.
    private func replicationLag() throws -> Duration {
        let query: SQLFragment = """
            SELECT max(pg_current_wal_lsn() - '0/0')::int8 AS written, min(replay_lsn - '0/0')::int8 AS replayed,
                coalesce(max(extract(epoch FROM replay_lag)) * 1000, 0)::int8 AS lag
            FROM pg_stat_replication WHERE replay_lsn IS NOT NULL AND NOT pg_is_in_recovery()
            """
        guard let row = try row(query, isRepeated: true), let written = try row.optionalInt("written"),
            let replayed = try row.optionalInt("replayed")
        else { return .zero }
        let seen = standbyDelay.delay(at: .now, written: written, replayed: replayed)
        return try replayed < written ? max(seen, .milliseconds(row.int("lag"))) : .zero
    }

    /// The other session with the oldest transaction among those that hold a lock on a table or a part of it, and how many more there are, as
    /// a phrase.
    ///
    /// - Parameter writesRows: whether only locks of sessions count that lock or change rows.
    func lockHolder(of table: PostgresTable, writesRows: Bool) throws -> String {
        let holder = try row(
            """
            \(Self.tree("\(table.oid)::oid"))
            SELECT a.pid, a.application_name, count(*) OVER () AS holders FROM pg_stat_activity a WHERE a.pid IN (
                SELECT l.pid FROM pg_locks l WHERE l.relation IN (SELECT oid FROM tree) AND l.granted
                \(writesRows ? "AND l.mode <> 'AccessShareLock'" : "")) AND a.pid <> pg_backend_pid()
            ORDER BY a.xact_start LIMIT 1
            """)
        guard let holder else { return "another session" }
        let program = try holder.optionalText("application_name").flatMap { $0.isEmpty ? nil : "\($0), " } ?? ""
        let (process, others) = (try holder.int("pid"), try holder.int("holders") - 1)
        return "another session (\(program)server process \(process)\(others > 0 ? ", and \(others) more" : ""))"
    }

    func refuseStandby() throws(StoreError) {
        let isReadOnly = try run("asking whether the server is a standby") {
            try exists("SELECT 1 WHERE pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool")
        }
        guard isReadOnly else { return }
        throw StoreError(
            .permission, store: name, message: "refusing to run: the server is a standby, or set to read only",
            engineCode: "SQLSTATE 25006",
            hint: "name the primary in `store`, or add target_session_attrs=read-write to it")
    }
}

/// How long a standby has not replayed a log position that was seen.
///
/// The server's own `replay_lag` is the delay of the last replayed record. It does not show that a standby has stopped replaying. Source:
/// PostgreSQL manual, "pg_stat_replication".
struct StandbyDelay {
    /// A log position that the standby has not replayed yet, and when it was seen.
    private var mark: (seen: ContinuousClock.Instant, written: Int)?

    /// Records what is written and replayed now, and returns the age of the mark.
    mutating func delay(at now: ContinuousClock.Instant, written: Int, replayed: Int) -> Duration {
        if mark.map({ $0.written <= replayed }) ?? true { mark = written > replayed ? (now, written) : nil }
        return mark.map { now - $0.seen } ?? .zero
    }
}
