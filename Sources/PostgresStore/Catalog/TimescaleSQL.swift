import PriceStore

/// What is said to a database with TimescaleDB. The names are the extension's own views and functions.
///
/// Source: docs/postgresql.md, "TimescaleDB", which says on which version it was run.
enum TimescaleSQL {
    /// Finds a row if a table is a hypertable.
    static func isHypertable(schema: String, relation: String) -> SQLFragment {
        "SELECT 1 FROM timescaledb_information.hypertables WHERE hypertable_schema = " + .bound(schema, "name")
            + " AND hypertable_name = " + .bound(relation, "name")
    }

    /// Finds the column whose ranges the chunks of a hypertable are, unless a function takes its values apart.
    static func primaryDimension(schema: String, relation: String) -> SQLFragment {
        "SELECT column_name FROM (SELECT d.* FROM _timescaledb_catalog.dimension d "
            + "JOIN _timescaledb_catalog.hypertable h ON h.id = d.hypertable_id WHERE h.schema_name = "
            + .bound(schema, "name") + " AND h.table_name = " + .bound(relation, "name")
            + " ORDER BY d.id LIMIT 1) AS first WHERE num_slices IS NULL AND partitioning_func IS NULL"
    }

    /// Finds the chunks of a hypertable by their ranges: number, schema, name, first value, end, whether it is a table of
    /// this server, and bytes.
    static func chunks(schema: String, relation: String, type: ColumnType) -> SQLFragment {
        // Local times and days are shown as if they were of UTC.
        func value(_ end: String) -> String {
            switch type {
            case .timestamptz: "i.range_\(end)::text"
            case .timestamp: "(i.range_\(end) AT TIME ZONE 'UTC')::text"
            case .date: "(i.range_\(end) AT TIME ZONE 'UTC')::date::text"
            default: "i.range_\(end)_integer::text"
            }
        }
        return "SELECT c.oid::int8, n.nspname, c.relname, \(value("start")), \(value("end")), c.relkind = 'r', "
            + "pg_relation_size(c.oid) FROM timescaledb_information.chunks i JOIN pg_namespace n ON n.nspname = i.chunk_schema "
            + "JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = i.chunk_name WHERE i.hypertable_schema = "
            + .bound(schema, "name") + " AND i.hypertable_name = " + .bound(relation, "name")
            + " ORDER BY i.range_start, i.range_start_integer, c.oid"
    }

    /// Drops the chunks of a hypertable that begin at a value or behind it and end at another or before it, and counts them.
    static func dropChunks(_ table: PostgresTable, from lower: String, to upper: String, type: String) -> SQLFragment {
        "SELECT count(*) FROM drop_chunks(" + .bound(table.sql, "regclass") + ", older_than => " + .bound(upper, type)
            + ", newer_than => " + .bound(lower, type) + ")"
    }

    /// The names of the continuous aggregates over a hypertable: their history goes if they are refreshed afterwards.
    static func continuousAggregates(schema: String, relation: String) -> SQLFragment {
        "SELECT view_schema || '.' || view_name FROM timescaledb_information.continuous_aggregates WHERE hypertable_schema = "
            + .bound(schema, "name") + " AND hypertable_name = " + .bound(relation, "name") + " ORDER BY 1"
    }

    /// What is told of continuous aggregates in a plan; nil: there are none.
    static func warning(ofAggregates names: [String]) -> String? {
        names.isEmpty
            ? nil
            : "the continuous aggregates \(names.joined(separator: ", ")) keep what they hold of these rows only until they "
                + "are refreshed over their time"
    }
}

/// What is said to a Citus coordinator.
enum CitusSQL {
    /// Finds a row if a table is spread over several servers.
    static func isDistributed(_ number: Int) -> SQLFragment {
        "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = " + .bound("\(number)", "regclass")
    }

    /// Finds the column by which a table is spread.
    static func distributionColumn(_ number: Int) -> SQLFragment {
        "SELECT distribution_column FROM citus_tables WHERE citus_table_type = 'distributed' AND table_name = "
            + .bound("\(number)", "regclass")
    }

    /// Finds the shard of each of some values of that column. It reads no rows, so that the coordinator answers it alone.
    static func shards(_ number: Int, values: [String?], type: String) -> SQLFragment {
        "SELECT get_shard_id_for_distribution_column(" + .bound("\(number)", "regclass") + ", v), v::text FROM unnest("
            + .bound(ServerArray.text(values), "\(type)[]") + ") AS v ORDER BY 1"
    }
}
