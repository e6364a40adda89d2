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

    /// Drops the chunks whose end is not after an instant.
    static func dropChunks(_ table: PostgresTable, _ date: DateSQL, before instant: Instant) -> SQLFragment {
        "SELECT count(*) FROM drop_chunks(" + .bound(table.sql, "regclass") + ", older_than => " + end(date, instant)
            + ")"
    }

    /// Finds a row if a chunk that would be dropped may hold rows that must be kept: dates that are not believed.
    static func unreadableRows(_ scope: RowScope, _ date: DateSQL, before instant: Instant) -> SQLFragment {
        "SELECT 1 FROM \(scope.from) WHERE \(date.column) < " + end(date, instant) + " AND ("
            + date.readable(before: instant)
            + ") IS NOT TRUE LIMIT 1"
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

    /// The instant in the type of the time column.
    private static func end(_ date: DateSQL, _ instant: Instant) -> SQLFragment {
        switch date.type {
        case .timestamptz: return .bound(instant.serverText + "+00", "timestamptz")
        case .timestamp:
            let range = LocalRange(before: instant, zone: date.date.zone)
            return .bound(Instant(microseconds: range.hole?.lowerBound ?? range.end).serverText, "timestamp")
        case .date:
            return .bound(date.date.zone.civil(of: instant).date.serverText(), "date")
        default: return .bound("\(date.date.encoding.cutoffBound(instant).integer)", "int8")
        }
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
