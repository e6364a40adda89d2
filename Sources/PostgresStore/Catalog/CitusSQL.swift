import PriceStore

/// The SQL for a Citus coordinator.
enum CitusSQL {
    /// Finds a row if a table is spread over several servers.
    static func isDistributed(_ oid: Int) -> SQLFragment {
        "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = \(oid)::regclass"
    }

    /// Finds a row if a table's rows are divided among servers, rather than copied to each.
    static func isSharded(_ oid: Int) -> SQLFragment { isDistributed(oid) + " AND partmethod <> 'n'" }

    /// The number of tables on the workers that make up a distributed table.
    static func shardCount(_ oid: Int) -> SQLFragment {
        "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = \(oid)::regclass"
    }

    /// With these settings, later `SET LOCAL` statements also apply to the workers, which wait for a lock no longer than the coordinator.
    static let briefWait: [SQLFragment] = [
        "SET LOCAL citus.propagate_set_commands = 'local'", "SET LOCAL lock_timeout = \(PostgresDatabase.briefWait)",
    ]

    /// With this setting, a drop also applies to the workers.
    static let propagatesDrops: SQLFragment = "SET LOCAL citus.enable_ddl_propagation = on"

    /// Uses two sessions per worker for a statement: its shards are processed in parallel, and connections of the workers remain for
    /// others.
    static let sessionsPerWorker: SQLFragment = "SET LOCAL citus.max_adaptive_executor_pool_size = 2"

    /// Ends the transactions that lost sessions have prepared on the workers. Their rows stay locked until then. The coordinator's own
    /// daemon runs it only once a minute.
    static let recoverPrepared = "SELECT recover_prepared_transactions()"

    /// The size in bytes of a table's rows; of its shards if it is distributed.
    static func bytes(_ oid: String) -> String {
        "CASE WHEN EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = \(oid)) "
            + "THEN citus_relation_size(\(oid)) ELSE pg_relation_size(\(oid)) END"
    }
}
