import PriceStore

/// The SQL for a Citus coordinator.
enum CitusSQL {
    /// Finds a row if a table is spread over several servers.
    static func isDistributed(_ oid: Int) -> SQLFragment {
        "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = " + .bound("\(oid)", "regclass")
    }

    /// Finds a row if a table's rows are divided among servers, and not all on each.
    static func isSharded(_ oid: Int) -> SQLFragment { isDistributed(oid) + " AND partmethod <> 'n'" }

    /// How many tables on the workers are a distributed table.
    static func shardCount(_ oid: Int) -> SQLFragment {
        "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = " + .bound("\(oid)", "regclass")
    }

    /// What `SET LOCAL` says from here on holds on the workers too.
    static let propagatesSettings = "SET LOCAL citus.propagate_set_commands = 'local'"

    /// The settings with which a drop, and what `SET LOCAL` says, hold on the workers too.
    static let dropSettings = ["SET LOCAL citus.enable_ddl_propagation = on", propagatesSettings]

    /// Two sessions per worker carry out a statement: its shards are processed side by side, and the workers have
    /// connections left for others.
    static let sessionsPerWorker = "SET LOCAL citus.max_adaptive_executor_pool_size = 2"

    /// Ends the transactions that lost sessions have prepared on the workers. Until then its rows stay locked: the
    /// coordinator's own daemon does it once a minute.
    static let recoverPrepared = "SELECT recover_prepared_transactions()"

    /// The bytes of a table's rows, of its shards if it is distributed.
    static func bytes(_ oid: String) -> String {
        "CASE WHEN EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = \(oid)) "
            + "THEN citus_relation_size(\(oid)) ELSE pg_relation_size(\(oid)) END"
    }
}
