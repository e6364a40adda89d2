import PriceStore

/// SQL for a database with TimescaleDB. The names are those of the extension's views and functions.
///
/// Source: docs/postgresql.md, "TimescaleDB", which names the tested version.
enum TimescaleSQL {
    /// The condition that a row `h` of the extension's catalog belongs to a hypertable.
    static func isOf(schema: String, relation: String) -> SQLFragment {
        "h.schema_name = " + .bound(schema, "name") + " AND h.table_name = " + .bound(relation, "name")
    }

    static func isOf(_ table: PostgresTable) -> SQLFragment { isOf(schema: table.schema, relation: table.relation) }

    /// Finds a row if a table is a hypertable.
    static func isHypertable(schema: String, relation: String) -> SQLFragment {
        "SELECT 1 FROM _timescaledb_catalog.hypertable h WHERE h.compression_state <> 2 AND "
            + isOf(schema: schema, relation: relation)
    }

    /// Finds the column that divides a hypertable into chunks, unless a function partitions its values.
    static func primaryDimension(_ table: PostgresTable) -> SQLFragment {
        "SELECT column_name FROM (SELECT d.* FROM _timescaledb_catalog.dimension d "
            + "JOIN _timescaledb_catalog.hypertable h ON h.id = d.hypertable_id WHERE " + isOf(table)
            + " ORDER BY d.id LIMIT 1) AS first WHERE num_slices IS NULL AND partitioning_func IS NULL"
    }

    /// Finds the chunks of a hypertable by their ranges: `oid`, schema, name, first value, end, whether it is a table of this server that
    /// can be changed, bytes of its rows, and whether it is frozen.
    static func chunks(_ table: PostgresTable, type: ColumnType) -> SQLFragment {
        // Local times and days are given as if in UTC.
        func value(_ end: String) -> String {
            switch type {
            case .timestamptz: "i.range_\(end)::text"
            case .timestamp: "(i.range_\(end) AT TIME ZONE 'UTC')::text"
            case .date: "(i.range_\(end) AT TIME ZONE 'UTC')::date::text"
            default: "i.range_\(end)_integer::text"
            }
        }
        return
            "SELECT c.oid::int8, n.nspname, c.relname, \(value("start")) AS low, \(value("end")) AS high, "
            + "c.relkind = 'r' AND k.status & 4 = 0 AS is_changeable, pg_relation_size(c.oid) AS bytes, "
            + "k.status & 4 <> 0 AS is_frozen FROM timescaledb_information.chunks i "
            + "JOIN pg_namespace n ON n.nspname = i.chunk_schema "
            + "JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = i.chunk_name "
            + "JOIN _timescaledb_catalog.chunk k ON k.schema_name = i.chunk_schema AND k.table_name = i.chunk_name "
            + "WHERE i.hypertable_schema = " + .bound(table.schema, "name") + " AND i.hypertable_name = "
            + .bound(table.relation, "name") + " ORDER BY i.range_start, i.range_start_integer, c.oid"
    }

    /// Drops and counts the chunks of a hypertable that begin at or after a value and end at or before another.
    ///
    /// - Parameter schema: the schema of the extension's functions, which the search path may not contain.
    static func dropChunks(
        _ table: PostgresTable, from lower: String, to upper: String, type: String, schema: String
    ) -> SQLFragment {
        "SELECT count(*) FROM \(schema).drop_chunks(" + .bound(table.aggregate ?? table.sql, "regclass")
            + ", older_than => "
            + .bound(upper, type) + ", newer_than => " + .bound(lower, type) + ")"
    }

    /// Finds the compressed chunks of a hypertable: the chunk's `oid`, the table of its batches in SQL, the columns that divide rows into
    /// segments, and the columns that order them.
    static func compressedChunks(_ table: PostgresTable) -> SQLFragment {
        "SELECT s.relid::oid::int8 AS relid, s.compress_relid::regclass::text AS batches, s.segmentby, s.orderby "
            + "FROM _timescaledb_catalog.compression_settings s JOIN pg_inherits i ON i.inhrelid = s.relid "
            + "WHERE s.compress_relid IS NOT NULL AND i.inhparent = " + .bound(table.sql, "regclass")
    }

    /// Finds the ranges of a hypertable's time that an aggregate has never materialized, or that have changed since: first and last value,
    /// in microseconds since 1970 or as numbers.
    ///
    /// - Parameter xids: transactions whose changes are ignored.
    static func changes(_ table: PostgresTable, materialized: Int, besides xids: [String]) -> SQLFragment {
        "SELECT lowest_modified_value AS low, greatest_modified_value AS high "
            + "FROM _timescaledb_catalog.continuous_aggs_materialization_invalidation_log WHERE materialization_id = "
            + .bound("\(materialized)", "int4")
            + " UNION ALL SELECT lowest_modified_value, greatest_modified_value "
            + "FROM _timescaledb_catalog.continuous_aggs_materialization_ranges WHERE materialization_id = "
            + .bound("\(materialized)", "int4")
            + " UNION ALL SELECT l.lowest_modified_value, l.greatest_modified_value "
            + "FROM _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log l "
            + "JOIN _timescaledb_catalog.hypertable h ON h.id = l.hypertable_id WHERE " + isOf(table)
            + " AND l.xmin::text <> ALL (" + .bound(ServerArray.text(xids), "text[]") + ") ORDER BY 1"
    }

    /// Finds the chunks of a hypertable that overlap some ranges: first and last value in the numbers of ``changes``, the chunk in SQL, and
    /// the table of its compressed rows, or NULL.
    static func chunks(_ table: PostgresTable, touching ranges: [TimeRange]) -> SQLFragment {
        func list(_ numbers: [Int64]) -> SQLFragment { .bound(ServerArray.text(numbers.map { "\($0)" }), "int8[]") }
        return
            "SELECT s.range_start AS low, s.range_end - 1 AS high, format('%I.%I', k.schema_name, k.table_name) AS chunk, "
            + "p.compress_relid::regclass::text AS batches "
            + "FROM _timescaledb_catalog.dimension d JOIN _timescaledb_catalog.hypertable h ON h.id = d.hypertable_id "
            + "JOIN _timescaledb_catalog.dimension_slice s ON s.dimension_id = d.id "
            + "JOIN _timescaledb_catalog.chunk_constraint c ON c.dimension_slice_id = s.id "
            + "JOIN _timescaledb_catalog.chunk k ON k.id = c.chunk_id "
            + "LEFT JOIN _timescaledb_catalog.compression_settings p "
            + "ON p.relid = to_regclass(format('%I.%I', k.schema_name, k.table_name)) "
            + "WHERE d.num_slices IS NULL AND " + isOf(table) + " AND EXISTS (SELECT FROM unnest("
            + list(ranges.map(\.low)) + ", "
            + list(ranges.map(\.high)) + ") AS r (low, high) WHERE s.range_start <= r.high AND s.range_end > r.low)"
    }

    /// Why rows of compressed chunks cannot become candles: they are deleted by segments.
    static func isCompressed(_ table: PostgresTable) -> String {
        "expired rows of \(table.name) are in compressed chunks, and rows become candles in the order of their dates"
    }

    static let decompression = "decompress the chunks with decompress_chunk"

    /// A condition that a function does not belong to the extension.
    static func isNotItsOwn(_ function: String) -> String {
        "NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid "
            + "WHERE d.classid = 'pg_proc'::regclass AND d.objid = \(function) AND d.deptype = 'e' "
            + "AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'timescaledb')"
    }

    /// A condition that a table is not a chunk.
    static func isNoChunk(_ oid: String) -> String {
        "NOT EXISTS (SELECT 1 FROM _timescaledb_catalog.chunk k JOIN pg_namespace kn ON kn.nspname = k.schema_name "
            + "JOIN pg_class kc ON kc.relnamespace = kn.oid AND kc.relname = k.table_name WHERE kc.oid = \(oid))"
    }

    /// Finds the hypertable with the rows of an aggregate: `oid`, schema and name.
    static func materialized(schema: String, view: String) -> SQLFragment {
        "SELECT c.oid::int8, n.nspname, c.relname FROM _timescaledb_catalog.continuous_agg a "
            + "JOIN _timescaledb_catalog.hypertable h ON h.id = a.mat_hypertable_id JOIN pg_namespace n ON n.nspname = h.schema_name "
            + "JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = h.table_name WHERE a.user_view_schema = "
            + .bound(schema, "name") + " AND a.user_view_name = " + .bound(view, "name")
    }
}
