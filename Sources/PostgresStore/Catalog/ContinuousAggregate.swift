package import PriceStore

/// A continuous aggregate over a hypertable, or over another aggregate.
struct ContinuousAggregate {
    /// The server's number of the hypertable with its rows.
    let materialized: Int
    let name: String
    let sql: String
    /// The number of aggregates from the hypertable up to this one, inclusive.
    let level: Int
    /// The length of its buckets, as an interval or a number.
    let width: String
    /// The time zone of its buckets; nil if none is named.
    let zone: String?
    /// Its buckets by the date of the hypertable; nil if this program cannot compute them.
    let buckets: AggregateBuckets?
}

extension TimescaleSQL {
    /// Finds the aggregates over a hypertable, lowest level first. For intervals: the months and the microseconds of a bucket, the
    /// microseconds of its offset, and its origin in microseconds since 1970 on its clocks. Origin and offset are NULL if none is named.
    static func aggregates(_ table: PostgresTable, type: String) -> SQLFragment {
        // A day is given as an instant at midnight in the zone of the session, a local time as an instant in UTC.
        let origin =
            type == "date"
            ? "b.bucket_origin::timestamp"
            : "(b.bucket_origin::timestamptz AT TIME ZONE coalesce(b.bucket_timezone, 'UTC'))"
        let (width, offset) = ("b.bucket_width::interval", "b.bucket_offset::interval")
        func microseconds(_ value: String) -> String { "(extract(epoch FROM \(value)) * 1000000)::int8" }
        func months(_ value: String) -> String {
            "(extract(year FROM \(value)) * 12 + extract(month FROM \(value)))::int8"
        }
        let facts =
            type == "date" || type.hasPrefix("timestamp")
            ? "\(months(width)) AS months, \(microseconds(width)) AS length, \(microseconds(offset)) AS shift, "
                + "\(months(offset)) AS shift_months, \(microseconds(origin)) AS origin"
            : "0::int8 AS months, b.bucket_width::int8 AS length, b.bucket_offset::int8 AS shift, 0::int8 AS shift_months, "
                + "b.bucket_origin::int8 AS origin"
        return """
            WITH RECURSIVE levels AS (
                SELECT a.*, 1 AS level FROM _timescaledb_catalog.continuous_agg a
                JOIN _timescaledb_catalog.hypertable h ON h.id = a.raw_hypertable_id
                WHERE\u{20}
            """ + isOf(table)
                + """
                 UNION ALL SELECT a.*, l.level + 1 FROM _timescaledb_catalog.continuous_agg a
                JOIN levels l ON a.raw_hypertable_id = l.mat_hypertable_id)
                SELECT l.mat_hypertable_id, \(PostgresDatabase.displayName) AS name, format('%I.%I', n.nspname, c.relname) AS sql, l.level,
                    b.bucket_width, b.bucket_timezone, p.proname, \(facts)
                FROM levels l JOIN pg_namespace n ON n.nspname = l.user_view_schema
                JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = l.user_view_name
                CROSS JOIN LATERAL _timescaledb_functions.cagg_get_bucket_function_info(l.mat_hypertable_id) AS b
                JOIN pg_proc p ON p.oid = b.bucket_func
                ORDER BY l.level, 2
                """
    }
}

extension ContinuousAggregate {
    /// Buckets begin on a Monday, months on the first day, unless an origin or an offset is named. Source: TimescaleDB documentation,
    /// "time_bucket()".
    private static let monday: Int64 = 946_857_600_000_000

    init(_ row: ServerRow, by date: DateSQL) throws {
        (materialized, name) = (try row.int("mat_hypertable_id"), try row.text("name"))
        (sql, level) = (try row.text("sql"), try row.int("level"))
        (width, zone) = (try row.text("bucket_width"), try row.optionalText("bucket_timezone"))
        buckets = try Self.buckets(row, named: name, zone, date)
    }

    private static func buckets(
        _ row: ServerRow, named name: String, _ zone: String?, _ date: DateSQL
    ) throws -> AggregateBuckets? {
        let (months, length) = (try row.int("months"), Int64(try row.int("length")))
        let shift = try row.optionalInt("shift").map { Int64($0) } ?? 0
        let origin = try row.optionalInt("origin").map { Int64($0) }
        guard try row.text("proname") == "time_bucket", try row.optionalInt("shift_months") ?? 0 == 0, length > 0 else {
            return nil
        }
        guard date.type.isDate else {
            return date.date.encoding.buckets(width: length, origin: (origin ?? 0) + shift).map {
                AggregateBuckets(name: name, length: .microseconds($0.length), origin: $0.origin, zone: .utc)
            }
        }
        // Only instants have the buckets of a zone; other dates are local times already.
        let clocks =
            date.type == .timestamptz ? CalendarZone(identifier: zone ?? "UTC") : zone == nil ? date.date.zone : nil
        guard let clocks else { return nil }
        guard months > 0 else {
            return AggregateBuckets(
                name: name, length: .microseconds(length), origin: (origin ?? monday) + shift, zone: clocks)
        }
        // Counted from another month than January 2000, several months begin elsewhere.
        guard months == 1 || origin == nil else { return nil }
        return AggregateBuckets(name: name, length: .months(months), origin: shift, zone: clocks)
    }
}

extension PostgresDatabase {
    /// The aggregates directly over a hypertable's rows whose buckets can be computed; empty if the date does not divide them.
    package func aggregates(
        ofEntity entity: String, by date: DateAttribute
    ) throws(StoreError) -> [AggregateBuckets] {
        try run("reading the aggregates of \(entity)") {
            guard let table = try table(entity), table.isHypertable,
                let attribute = table.entity.attribute(named: date.name), table.chunkColumn == attribute.name,
                table.type(attribute).isDate == (date.encoding == .native)
            else { return [] }
            let sql = try RowScope(table).date(date)
            guard sql.reading == .ordered else { return [] }
            return try Aggregates(session: self, table: table).direct(by: sql).compactMap(\.buckets)
        }
    }
}
