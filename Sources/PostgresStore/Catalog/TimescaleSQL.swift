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

    /// Finds a row if a table is a hypertable: the column that divides it into chunks, or NULL if a function partitions its values.
    static func hypertable(schema: String, relation: String) -> SQLFragment {
        "SELECT (SELECT CASE WHEN d.num_slices IS NULL AND d.partitioning_func IS NULL THEN d.column_name END "
            + "FROM _timescaledb_catalog.dimension d WHERE d.hypertable_id = h.id ORDER BY d.id LIMIT 1) AS chunk_column "
            + "FROM _timescaledb_catalog.hypertable h WHERE h.compression_state <> 2 AND "
            + isOf(schema: schema, relation: relation)
    }

    /// Finds the first dimension of a hypertable: the column's name and type, and the length of a chunk.
    static func dimension(_ table: PostgresTable) -> SQLFragment {
        "SELECT d.column_name, d.column_type::text AS type, coalesce(d.time_interval::text, d.integer_interval::text) AS length "
            + "FROM timescaledb_information.dimensions d WHERE d.dimension_number = 1 AND d.hypertable_schema = "
            + .bound(table.schema, "name") + " AND d.hypertable_name = " + .bound(table.relation, "name")
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
            + "CROSS JOIN LATERAL _timescaledb_functions.chunk_status(c.oid) AS k (status) "
            + "WHERE i.hypertable_schema = " + .bound(table.schema, "name") + " AND i.hypertable_name = "
            + .bound(table.relation, "name") + " ORDER BY i.range_start, i.range_start_integer, c.oid"
    }

    /// Finds the name of a chunk in SQL, if it is one of the hypertable's.
    static func chunk(_ oid: Int, of table: PostgresTable) -> SQLFragment {
        "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = \(oid) AND i.inhparent = "
            + .bound(table.sql, "regclass")
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
        "SELECT s.relid::oid::int8 AS relid, format('%I.%I', n.nspname, c.relname) AS batches, s.segmentby, s.orderby "
            + "FROM _timescaledb_catalog.compression_settings s JOIN pg_inherits i ON i.inhrelid = s.relid "
            + "JOIN pg_class c ON c.oid = s.compress_relid JOIN pg_namespace n ON n.oid = c.relnamespace "
            + "WHERE i.inhparent = " + .bound(table.sql, "regclass")
    }

    /// Finds the ranges of a hypertable's time that an aggregate has never materialized, or that have changed since, as `range`: in
    /// microseconds since 1970, within the times that the server has, or as numbers.
    static func changes(_ table: PostgresTable, materialized: Int, isDate: Bool) -> SQLFragment {
        let (first, last): (Int64, Int64) =
            isDate ? (-210_866_803_200_000_000, 9_223_371_331_199_999_999) : (.min + 1, .max - 1)
        func ranges(_ log: String, _ condition: SQLFragment) -> SQLFragment {
            "SELECT int8range(greatest(l.lowest_modified_value, \(first)), least(l.greatest_modified_value, \(last)), '[]') AS range "
                + "FROM _timescaledb_catalog.continuous_aggs_\(log) l" + condition
                + " AND l.greatest_modified_value >= \(first) AND l.lowest_modified_value <= \(last)"
        }
        let isOwn: SQLFragment = " WHERE l.materialization_id = " + .bound("\(materialized)", "int4")
        return ranges("materialization_invalidation_log", isOwn) + " UNION ALL "
            + ranges("materialization_ranges", isOwn)
            + " UNION ALL "
            + ranges(
                "hypertable_invalidation_log",
                " JOIN _timescaledb_catalog.hypertable h ON h.id = l.hypertable_id WHERE " + isOf(table))
    }

    /// The fault of a query of the extension's catalog that has another form in this version; nil for any other fault. A user's names are
    /// not at fault then.
    static func unknownForm(_ query: String, _ fault: ServerFault) -> ServerFault? {
        let isName = ["42703", "42P01", "42883", "42704", "3F000"].contains(fault.code)
        guard isName, query.contains("timescaledb_") else { return nil }
        var found = fault
        found.code = "0A000"
        found.message =
            "this version of TimescaleDB has another catalog than those that the program knows, 2.28 and 2.29: \(fault.message)"
        return found
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

    /// A condition that a table is not a chunk: it does not inherit from a hypertable.
    static func isNoChunk(_ oid: String) -> String {
        "NOT EXISTS (SELECT 1 FROM pg_inherits ki JOIN pg_class kc ON kc.oid = ki.inhparent "
            + "JOIN pg_namespace kn ON kn.oid = kc.relnamespace JOIN _timescaledb_catalog.hypertable h "
            + "ON h.schema_name = kn.nspname AND h.table_name = kc.relname WHERE ki.inhrelid = \(oid))"
    }

    /// Finds the hypertable with the rows of an aggregate: `oid`, schema and name.
    static func materialized(schema: String, view: String) -> SQLFragment {
        "SELECT c.oid::int8, n.nspname, c.relname FROM _timescaledb_catalog.continuous_agg a "
            + "JOIN _timescaledb_catalog.hypertable h ON h.id = a.mat_hypertable_id JOIN pg_namespace n ON n.nspname = h.schema_name "
            + "JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = h.table_name WHERE a.user_view_schema = "
            + .bound(schema, "name") + " AND a.user_view_name = " + .bound(view, "name")
    }
}
