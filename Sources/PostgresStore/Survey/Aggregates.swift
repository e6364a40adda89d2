import PriceStore

/// An aggregate over a hypertable, or over another aggregate.
struct ContinuousAggregate {
    let materialized: Int
    /// The name of the entity.
    let name: String
    /// The name in SQL.
    let sql: String
    /// The number of aggregates from the hypertable up to this one, inclusive.
    let level: Int
    /// The length of its buckets, as an interval or a number.
    let width: String
    /// The time zone of its buckets; nil if none is named.
    let zone: String?
}

/// The aggregates over a hypertable, and the server's own policies on it.
///
/// Source: docs/postgresql.md, "Continuous aggregates", which names the tested version.
struct Aggregates {
    let session: PostgresConnection
    let table: PostgresTable

    /// The aggregates over the hypertable, lowest level first.
    private func all() throws -> [ContinuousAggregate] {
        try session.rows(
            """
            WITH RECURSIVE levels AS (
                SELECT a.*, 1 AS level FROM _timescaledb_catalog.continuous_agg a
                JOIN _timescaledb_catalog.hypertable h ON h.id = a.raw_hypertable_id
                WHERE\u{20}
            """ + TimescaleSQL.isOf(table)
                + """
                 UNION ALL SELECT a.*, l.level + 1 FROM _timescaledb_catalog.continuous_agg a
                JOIN levels l ON a.raw_hypertable_id = l.mat_hypertable_id)
                SELECT l.mat_hypertable_id, \(PostgresConnection.displayName) AS name, format('%I.%I', n.nspname, c.relname) AS sql, l.level,
                    b.bucket_width, b.bucket_timezone
                FROM levels l JOIN pg_namespace n ON n.nspname = l.user_view_schema
                JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = l.user_view_name
                JOIN _timescaledb_catalog.continuous_aggs_bucket_function b ON b.mat_hypertable_id = l.mat_hypertable_id
                ORDER BY l.level, 2
                """
        ).map { row in
            ContinuousAggregate(
                materialized: try row.int("mat_hypertable_id"), name: try row.text("name"), sql: try row.text("sql"),
                level: try row.int("level"), width: try row.text("bucket_width"),
                zone: try row.optionalText("bucket_timezone"))
        }
    }

    /// Sentences that name the aggregates of all levels; empty if there are none.
    func notes() throws -> [String] {
        let all = try all()
        guard !all.isEmpty else { return [] }
        let names = all.map { $0.level == 1 ? $0.name : "\($0.name) (level \($0.level))" }
        return [
            "the continuous \(names.count == 1 ? "aggregate" : "aggregates") \(names.joined(separator: ", ")) over "
                + "\(table.name) \(names.count == 1 ? "keeps" : "keep") what is materialized: do not refresh "
                + "\(names.count == 1 ? "it" : "them") over deleted rows"
        ]
    }

    /// Why aggregates would lose what a rule deletes, as a clause; nil if they would not. It records in the findings what they lack.
    ///
    /// A higher level reads the aggregate below it and not the rows. So only the aggregates directly over the hypertable matter.
    func obstacle(_ rows: SurveyRows, into findings: inout Findings) throws -> String? {
        let (date, expiredCount) = (rows.date, findings.expiredAloneCount)
        let aggregates = try all().filter { $0.level == 1 }
        let state = try serverState()
        guard let first = aggregates.first else {
            // An aggregate may be created before the rows are deleted.
            findings.rollupMemory = RollupMemory(state)
            return nil
        }
        let isByChunks = try rows.isByChunks()
        guard isByChunks, date.reading == .ordered else {
            let reason =
                isByChunks
                ? "its numbers are not in the order of their dates"
                : "the aggregate uses \(try session.chunkColumn(table) ?? "")"
            return
                "the rule uses \(rows.request.date.name), and it is unknown which of the \(expiredCount.counted("expired row")) the "
                + "continuous aggregate \(first.name) has, because \(reason)"
        }
        let former = rows.request.deleting.note.flatMap { RollupMemory($0) }.flatMap {
            $0.state.isComparable(at: state) ? $0 : nil
        }
        var memory = RollupMemory(state, after: former)
        for aggregate in aggregates {
            memory.missing[aggregate.materialized] = try missingRanges(aggregate, rows.scope, date, knowing: former)
        }
        findings.rollupMemory = memory
        let deletion = try session.condition(rows.request.expired, rows.scope)
        for aggregate in aggregates {
            let ranges = memory.missing[aggregate.materialized] ?? []
            if let missing = try missingRows(ranges, aggregate, rows.scope, date, deletion) {
                return
                    "\(missing.rowCount) of \(expiredCount.counted("expired row", "is", "are")) not materialized in the continuous aggregate "
                    + "\(aggregate.name), which would never contain them. If no row of that time was deleted before: "
                    + missing.refresh
            }
            if let reason = try refreshObstacle(aggregate, rows) { return reason }
        }
        return nil
    }

    private func serverState() throws -> ServerState {
        let database = try session.catalog.database ?? databaseIdentity()
        session.catalog.database = database
        let row = try session.row(
            SQLFragment(
                "SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline, "
                    + "pg_snapshot_xmin(s) AS oldest, pg_snapshot_xmax(s) AS next FROM pg_current_snapshot() AS s"))
        guard let row else {
            throw StoreError(
                .defect, store: session.name, message: "the server does not say which transactions are over")
        }
        return ServerState(
            database: database, timeline: try row.optionalText("timeline") ?? "",
            oldest: UInt64(try row.int("oldest")), next: UInt64(try row.int("next")))
    }

    /// The database, and the cluster if the user may read its identity.
    private func databaseIdentity() throws -> String {
        let mayAsk = try session.exists(
            SQLFragment("SELECT 1 WHERE has_function_privilege('pg_control_system()', 'EXECUTE')"))
        let cluster = mayAsk ? "(SELECT system_identifier FROM pg_control_system())" : "''"
        return try session.texts(
            SQLFragment("SELECT \(cluster) || '/' || oid FROM pg_database WHERE datname = current_database()")
        ).first ?? ""
    }

    /// Throws if an aggregate lacks rows that a batch is about to delete: they arrived after the plan. Rows and log show the same state of
    /// the database if nobody can write to the rows, or in `REPEATABLE READ`.
    func requireMaterialized(
        _ scope: RowScope, _ date: DateSQL, _ condition: SQLFragment, knowing memory: RollupMemory
    ) throws {
        let aggregates = try all().filter { $0.level == 1 }
        guard !aggregates.isEmpty else { return }
        // The session may now be another one, on a standby that took over.
        let memory = try memory.state.isComparable(at: serverState()) ? memory : nil
        for aggregate in aggregates {
            let ranges = try missingRanges(aggregate, scope, date, knowing: memory)
            guard let missing = try missingRows(ranges, aggregate, scope, date, condition) else { continue }
            throw StoreError(
                .constraint, store: session.name,
                message:
                    "\(missing.rowCount) of the rows to delete from \(table.name) changed after the plan, and the continuous "
                    + "aggregate \(aggregate.name) does not have them yet: nothing of this batch is deleted",
                hint: "a dry run shows whether they can be materialized")
        }
    }

    // MARK: Rows that an aggregate lacks

    private struct MissingRows {
        let rowCount: Int
        /// The call that materializes them.
        let refresh: String
    }

    /// The rows of a condition in some ranges; nil if there are none.
    private func missingRows(
        _ ranges: [TimeRange], _ aggregate: ContinuousAggregate, _ scope: RowScope, _ date: DateSQL,
        _ condition: SQLFragment
    ) throws -> MissingRows? {
        guard !ranges.isEmpty else { return nil }
        let width = SQLFragment.bound(aggregate.width, date.type.isDate ? "interval" : "int8")
        // With a zone, the length of a bucket is in local time.
        let named = date.type == .timestamptz ? aggregate.zone : nil
        let zone = named.map { SQLFragment(" AT TIME ZONE ") + .bound($0, "text") } ?? SQLFragment("")
        func end(_ what: String, _ change: SQLFragment) -> SQLFragment {
            let local = SQLFragment("((\(what)(\(date.column))") + zone
            return local + change + ")" + zone + ")::text"
        }
        let first = end("min", SQLFragment(" - ") + width + " + " + Self.step(date))
        let last = end("max", SQLFragment(" + ") + width)
        let rows = SQLFragment.all([condition, Self.isIn(ranges, date)]).whereClause
        let found = try session.row(
            "SELECT count(*) AS rows, " + first + " AS first, " + last + " AS last FROM \(scope.from)" + rows)
        guard let found, case let count = try found.int("rows"), count > 0 else { return nil }
        let ends = try [found.text("first"), found.text("last")].map { date.type.isDate ? $0.quotedLiteral : $0 }
        return MissingRows(
            rowCount: count,
            refresh:
                "CALL refresh_continuous_aggregate(\(aggregate.sql.quotedLiteral), \(ends.joined(separator: ", ")))")
    }

    /// The ranges whose rows an aggregate lacks, as far as is known.
    ///
    /// - Parameter memory: the earlier knowledge. Nil: there is none, and all ranges in the server's log count as missing.
    private func missingRanges(
        _ aggregate: ContinuousAggregate, _ scope: RowScope, _ date: DateSQL, knowing memory: RollupMemory?
    ) throws -> [TimeRange] {
        let own = session.notedXIDs[table.oid] ?? []
        let changed = try session.rows(
            TimescaleSQL.changes(table, materialized: aggregate.materialized, besides: own)
        ).compactMap(Self.range).merged
        guard var memory, let known = memory.missing[aggregate.materialized] else { return changed }
        memory.ownXIDs += own
        let added = changed.without(known)
        return try (changed.common(with: known) + lateRanges(added, scope, date, memory)).merged
    }

    /// The parts of some ranges with rows from after a moment.
    private func lateRanges(
        _ ranges: [TimeRange], _ scope: RowScope, _ date: DateSQL, _ memory: RollupMemory
    ) throws -> [TimeRange] {
        guard !ranges.isEmpty else { return [] }
        let isLate = memory.isLate(RowScope.alias)
        return try session.rows(TimescaleSQL.chunks(table, touching: ranges)).flatMap { row -> [TimeRange] in
            guard let span = try Self.range(row) else { return [] }
            let parts = ranges.common(with: [span])
            // A recompression leaves no trace of the transactions that wrote the rows.
            if let compressed = try row.optionalText("batches"),
                try session.exists("SELECT 1 FROM \(compressed) AS \(RowScope.alias) WHERE " + isLate + " LIMIT 1")
            {
                return parts
            }
            let number = date.type.isDate ? "(extract(epoch FROM \(date.column)) * 1000000)::int8" : date.column
            let isFinite = date.type.isDate ? SQLFragment("isfinite(\(date.column))") : .always
            let late: SQLFragment =
                " FROM ONLY \(try row.text("chunk")) AS \(RowScope.alias)"
                + SQLFragment.all([isFinite, Self.isIn(parts, date), isLate]).whereClause
            let dates = try session.rows(
                "SELECT date AS low, date AS high FROM (SELECT DISTINCT \(number) AS date" + late
                    + " LIMIT \(Self.mostLateDates + 1)) AS late"
            ).compactMap(Self.range)
            guard dates.count > Self.mostLateDates else { return dates }
            return try session.rows("SELECT min(\(number)) AS low, max(\(number)) AS high" + late).compactMap(
                Self.range)
        }
    }

    /// If rows of a chunk arrived late at more dates than these, all rows between the first and the last date count as late.
    private static let mostLateDates = 100

    /// The range from `low` to `high`; nil if these are NULL.
    private static func range(_ row: ServerRow) throws -> TimeRange? {
        guard let low = try row.optionalInt("low"), let high = try row.optionalInt("high") else { return nil }
        return TimeRange(low: Int64(low), high: Int64(high))
    }

    /// An index finds rows of few ranges. With many ranges the statement would take minutes, or exceed the limit of bound values.
    private static func isIn(_ ranges: [TimeRange], _ date: DateSQL) -> SQLFragment {
        guard ranges.count > 50 else {
            return .any(
                ranges.map { range in
                    .all([
                        range.low == .min ? .always : "\(date.column) >= " + value(range.low, date),
                        range.high == .max ? .always : "\(date.column) <= " + value(range.high, date),
                    ])
                })
        }
        let span = TimeRange(low: ranges[0].low, high: ranges[ranges.count - 1].high)
        let kind =
            date.type == .timestamptz ? "tstz" : date.type == .timestamp ? "ts" : date.type == .date ? "date" : "int8"
        func list(_ numbers: some Sequence<Int64>) -> SQLFragment {
            let values = numbers.map { $0 == .min || $0 == .max ? nil : text($0, date) }
            return .bound(ServerArray.text(values), date.type == .date ? "timestamp[]" : "\(date.orderType)[]")
        }
        let type = date.type.isDate ? date.orderType : "int8"
        return .all([
            isIn([span], date),
            "\(date.column)::\(type) <@ (SELECT range_agg(\(kind)range(low::\(type), high::\(type), '[]')) FROM unnest("
                + list(ranges.map(\.low)) + ", " + list(ranges.map(\.high)) + ") AS r (low, high))",
        ])
    }

    /// A value of the server's log as a value of the column: microseconds since 1970, or the number itself.
    private static func value(_ number: Int64, _ date: DateSQL) -> SQLFragment {
        switch date.type {
        case .timestamptz: .bound(text(number, date), "timestamptz")
        case .timestamp: .bound(text(number, date), "timestamp")
        case .date: "(" + .bound(text(number, date), "timestamp") + ")::date"
        default: .bound(text(number, date), "int8")
        }
    }

    private static func text(_ number: Int64, _ date: DateSQL) -> String {
        guard date.type.isDate else { return "\(number)" }
        return Instant(microseconds: number).serverText + (date.type == .timestamptz ? "+00" : "")
    }

    /// The smallest difference between two values.
    private static func step(_ date: DateSQL) -> SQLFragment {
        switch date.type {
        case .timestamptz, .timestamp: SQLFragment("interval '1 microsecond'")
        case .date: SQLFragment("interval '1 day'")
        default: SQLFragment("1")
        }
    }

    // MARK: Policies of the server

    /// A policy's offset before now, as a value of a hypertable's column; nil if a hypertable of numbers has no function for now.
    private func moment(_ offset: String, _ date: DateSQL) throws -> SQLFragment? {
        if date.type.isDate {
            return "(now() - " + .bound(offset, "interval") + ")::\(date.orderType)"
        }
        let now = try session.texts(
            "SELECT format('%I.%I()', d.integer_now_func_schema, d.integer_now_func) FROM _timescaledb_catalog.dimension d "
                + "JOIN _timescaledb_catalog.hypertable h ON h.id = d.hypertable_id WHERE d.integer_now_func IS NOT NULL "
                + "AND " + TimescaleSQL.isOf(table)
        ).first
        return now.map { "(\($0)::int8 - " + .bound(offset, "int8") + ")" }
    }

    /// Whether an offset from now is before an instant by more than a minute, by which clocks may differ.
    private func isOffset(_ offset: String, before instant: Instant, _ rows: SurveyRows) throws -> Bool {
        guard let moment = try moment(offset, rows.date) else { return false }
        let column = DateSQL(date: rows.date.date, column: "policy.moment", type: rows.date.type)
        return try session.exists(
            "SELECT 1 FROM (SELECT " + moment + " AS moment) AS policy WHERE " + column.bound(.less, .cutoff(instant)))
    }

    private func refreshObstacle(_ aggregate: ContinuousAggregate, _ rows: SurveyRows) throws -> String? {
        let jobs = try session.rows(
            "SELECT id, config ->> 'start_offset' AS start_offset FROM _timescaledb_config.bgw_job WHERE scheduled "
                + "AND proc_name = 'policy_refresh_continuous_aggregate' AND (config ->> 'mat_hypertable_id')::int = "
                + .bound("\(aggregate.materialized)", "int4") + " ORDER BY id")
        for job in jobs {
            let (id, offset) = try (job.int("id"), job.optionalText("start_offset"))
            if let offset, try !isOffset(offset, before: rows.cutoff.advanced(byMicroseconds: -60_000_000), rows) {
                continue
            }
            let reach = offset.map { "goes back \($0)" } ?? "has no start_offset and goes back to the first row"
            let shorter = try allowedOffset(rows)
            let change =
                shorter.map {
                    ": SELECT alter_job(\(id), config => config || '{\"start_offset\": \($0)}') "
                        + "FROM timescaledb_information.jobs WHERE job_id = \(id)"
                } ?? ": set a start_offset that ends at the cutoff"
            return
                "the refresh policy of the continuous aggregate \(aggregate.name) \(reach), beyond the cutoff, so its next "
                + "refresh would erase from the aggregate what this rule deletes" + change
        }
        return nil
    }

    /// The longest offset that does not reach beyond the cutoff, as JSON; nil if there is none.
    private func allowedOffset(_ rows: SurveyRows) throws -> String? {
        guard rows.date.type.isDate else { return nil }
        let age =
            try session.count(
                "SELECT floor(extract(epoch FROM now() - " + .bound(rows.cutoff.serverText + "+00", "timestamptz")
                    + ") / 60)::int8")
        guard age > 0 else { return nil }
        if age % 1440 == 0 || age > 14_400 { return "\"\(age / 1440) days\"" }
        return age % 60 == 0 ? "\"\(age / 60) hours\"" : "\"\(age) minutes\""
    }

    /// The server's own policies that drop chunks of the table, as sentences that say what they delete besides; empty if there are none.
    func serverRetention(_ rows: SurveyRows) throws -> [String] {
        let jobs = try session.rows(
            "SELECT j.id, j.config ->> 'drop_after' AS drop_after FROM _timescaledb_config.bgw_job j "
                + "JOIN _timescaledb_catalog.hypertable h ON h.id = j.hypertable_id WHERE j.proc_name = 'policy_retention' "
                + "AND " + TimescaleSQL.isOf(table))
        return try jobs.compactMap { job in
            guard let offset = try job.optionalText("drop_after") else { return nil }
            let text =
                "the server has a retention policy of its own on \(table.name) (job \(try job.int("id"))), which drops chunks "
                + "older than \(offset)"
            // A check has no cutoff, and the server goes by the time of the chunks.
            guard rows.cutoff > rows.date.date.earliest, rows.date.reading == .ordered, try rows.isByChunks() else {
                return text
            }
            let isLess = try isOffset(offset, before: rows.cutoff, rows)
            return text + (isLess ? ": this rule deletes more" : ": it deletes more")
        }
    }
}
