import PriceStore

/// Who else is at work, and whether batches should wait for them.
extension PostgresConnection {
    /// Whether another session of this database was at work within the last second. Of sessions of other users a plain
    /// user sees only that they are there: they count.
    func hasCompany() throws(StoreError) -> Bool {
        try run("looking for others at work on the store") {
            try exists(
                SQLFragment(
                    """
                    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND backend_type = 'client backend'
                    AND (state IS NULL OR state <> 'idle' OR state_change > clock_timestamp() - interval '1 second') LIMIT 1
                    """))
        }
    }

    /// How long a batch should wait, and why; nil: it need not.
    ///
    /// A standby that is further behind than is allowed catches up first. While a transaction of others is older than
    /// five minutes, what is deleted cannot be cleaned up: batches go on, but not at full speed.
    func wantedPause() throws(StoreError) -> WantedPause? {
        try run("asking for the state of the server") {
            if let limit = options.maxReplicationLag, try replicationLag() > limit.milliseconds {
                return WantedPause(
                    length: .milliseconds(200), reason: "a standby is further behind than max_replication_lag",
                    isUntilOver: true)
            }
            let isHeldBack = try exists(
                SQLFragment(
                    """
                    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND xact_start < clock_timestamp() - interval '5 minutes' AND backend_type = 'client backend' LIMIT 1
                    """))
            return isHeldBack
                ? WantedPause(length: .milliseconds(20), reason: "a transaction of others is older than five minutes")
                : nil
        }
    }

    /// How far the slowest standby is behind, in milliseconds; 0 without one. Only members of `pg_monitor` are told.
    private func replicationLag() throws -> Int64 {
        let query = SQLFragment(
            """
            SELECT coalesce(max(greatest(extract(epoch FROM coalesce(replay_lag, flush_lag, write_lag, '0')) * 1000,
                CASE WHEN replay_lsn < pg_current_wal_lsn() THEN
                extract(epoch FROM clock_timestamp() - reply_time) * 1000 ELSE 0 END)), 0)::int8
            FROM pg_stat_replication WHERE NOT pg_is_in_recovery()
            """)
        return try rows(query).first?[0].flatMap { Int64($0) } ?? 0
    }
}

extension PostgresConnection {
    /// Throws if the server takes no changes.
    func refuseStandby() throws(StoreError) {
        let isReadOnly: Bool
        do {
            isReadOnly =
                try rows(
                    SQLFragment("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool")
                ).first?[0] == "t"
        } catch {
            throw StoreError(error, store: name, doing: "asking whether the server is a standby")
        }
        guard isReadOnly else { return }
        throw StoreError(
            .permission, store: name, message: "refusing to run: the server is a standby, or set to read only",
            engineCode: "SQLSTATE 25006",
            hint: "name the primary in `store`, or add target_session_attrs=read-write to it")
    }
}
