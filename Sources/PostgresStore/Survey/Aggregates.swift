import PriceStore

/// The aggregates over a hypertable, and the server's own policies on it.
///
/// The server logs the dates of changed rows, and a refresh makes the buckets of logged dates again. The job's own deletes are not logged
/// (see ``PostgresDatabase/unlogged(_:_:)``), and a cutoff is the start of a bucket. So an expired row in a logged range is one that the
/// aggregate does not have.
///
/// Source: docs/postgresql.md, "Continuous aggregates", which names the tested versions.
struct Aggregates {
    let session: PostgresDatabase
    let table: PostgresTable

    /// Whether there are any. Each batch asks, because somebody may create one after the plan.
    func exist() throws -> Bool {
        try session.exists(
            "SELECT 1 FROM _timescaledb_catalog.continuous_agg a JOIN _timescaledb_catalog.hypertable h "
                + "ON h.id = a.raw_hypertable_id WHERE " + TimescaleSQL.isOf(table))
    }

    /// The facts of the aggregates over the hypertable, lowest level first.
    private func rows() throws -> [ServerRow] {
        guard try exist() else { return [] }
        let type = try session.row(TimescaleSQL.dimension(table))?.text("type") ?? ""
        return try session.rows(TimescaleSQL.aggregates(table, type: type))
    }

    /// The aggregates over the hypertable, lowest level first, with their buckets by a date.
    private func all(by date: DateSQL) throws -> [ContinuousAggregate] {
        try rows().map { try ContinuousAggregate($0, by: date) }
    }

    /// The aggregates with the lengths of their buckets, such as `days (buckets of 1 day, Europe/Berlin)`, and what the refresh policies of
    /// the direct ones demand of an age, each as a clause.
    func described() throws -> (aggregates: [String], leastAges: [String]) {
        let rows = try rows()
        let aggregates = try rows.map { row in
            let facts = try [row.text("bucket_width"), row.optionalText("bucket_timezone")].compactMap(\.self)
            return "\(try row.text("name")) (buckets of \(facts.joined(separator: ", ")))"
        }
        let leastAges = try rows.filter { try $0.int("level") == 1 }.flatMap { row in
            let name = try row.text("name")
            return try refreshJobs(row.int("mat_hypertable_id")).map { job in
                try job.optionalText("start_offset").map {
                    "the refresh of \(name) reads the last \($0): a max_age must be longer"
                } ?? "the refresh of \(name) reads all rows: give it a start_offset before a rule deletes"
            }
        }
        return (aggregates, leastAges)
    }

    /// The aggregates that are made of the hypertable's own rows. Those of a higher level read the aggregate below them.
    func direct(by date: DateSQL) throws -> [ContinuousAggregate] { try all(by: date).filter { $0.level == 1 } }

    /// Sentences that name the aggregates of all levels; empty if there are none.
    func notes(_ date: DateSQL) throws -> [String] {
        let all = try all(by: date)
        guard !all.isEmpty else { return [] }
        let names = all.map { $0.level == 1 ? $0.name : "\($0.name) (level \($0.level))" }
        return [
            "the continuous \(names.count == 1 ? "aggregate" : "aggregates") \(names.joined(separator: ", ")) over "
                + "\(table.name) \(names.count == 1 ? "keeps" : "keep") what is materialized: do not refresh "
                + "\(names.count == 1 ? "it" : "them") over deleted rows"
        ]
    }

    /// Why aggregates would lose what a rule deletes; nil if they would not.
    func loss(_ rows: SurveyRows, expiredCount: Int) throws -> Survey.AggregateLoss? {
        let aggregates = try direct(by: rows.date)
        guard let first = aggregates.first else { return nil }
        guard rows.isByChunks, rows.date.reading == .ordered else {
            return Survey.AggregateLoss(
                "the rule uses \(rows.request.date.name), and it is unknown which of the \(expiredCount.counted("expired row")) the "
                    + "continuous aggregate \(first.name) has, because its buckets are not ranges of these dates")
        }
        if let reason = try loggingObstacle(rows) { return Survey.AggregateLoss(reason) }
        let deletion = try session.condition(rows.request.expired, rows.scope)
        for aggregate in aggregates {
            if let reason = bucketObstacle(aggregate, rows.cutoff) {
                let names = aggregates.map(\.name).joined(separator: ", ")
                return Survey.AggregateLoss(
                    reason + (aggregates.count > 1 ? "; no cutoff is the start of a bucket of each of \(names)" : ""))
            }
            if let missing = try missingRows(aggregate, rows.scope, rows.date, deletion, before: rows.cutoff) {
                return Survey.AggregateLoss(
                    "\(missing.rowCount) of \(expiredCount.counted("expired row", "is", "are")) not materialized in the continuous aggregate "
                        + "\(aggregate.name), which would never contain them",
                    oldest: missing.oldest, statement: missing.refresh)
            }
            if let reason = try refreshObstacle(aggregate, rows) { return Survey.AggregateLoss(reason) }
        }
        return try pendingLoss(first, deletion)
    }

    /// What a rehearsal of pending rows finds: no aggregate has them.
    private func pendingLoss(_ aggregate: ContinuousAggregate, _ deletion: SQLFragment) throws -> Survey.AggregateLoss?
    {
        guard let shadow = session.shadows[table.oid] else { return nil }
        let rowCount = try session.count(
            "SELECT count(*) FROM \(shadow.table) AS \(RowScope.alias)" + deletion.whereClause)
        guard rowCount > 0 else { return nil }
        return Survey.AggregateLoss(
            "the pending files have \(rowCount.counted("expired row")), and the continuous aggregate \(aggregate.name) would never have them"
        )
    }

    /// Throws if an aggregate lacks rows that a batch is about to delete: they changed after the plan, or the aggregate is new. Rows and
    /// log show the same state of the database if nobody can write to the rows, or in `REPEATABLE READ`.
    func requireMaterialized(
        _ scope: RowScope, _ date: DateSQL, _ condition: SQLFragment, before cutoff: Instant
    ) throws {
        for aggregate in try direct(by: date) {
            let problem: String
            if let reason = bucketObstacle(aggregate, cutoff) {
                problem = "since the plan, \(reason)"
            } else if let missing = try missingRows(aggregate, scope, date, condition, before: cutoff) {
                problem =
                    "\(missing.rowCount) of the rows to delete from \(table.name) changed after the plan, and the continuous "
                    + "aggregate \(aggregate.name) does not have them yet"
            } else {
                continue
            }
            throw StoreError(
                .constraint, store: session.name, message: problem + ": nothing of this batch is deleted",
                hint: "a dry run shows whether they can be materialized")
        }
    }

    // MARK: Cutoffs and logs

    /// Why a bucket would have deleted rows and rows that stay, as a clause; nil if none would.
    private func bucketObstacle(_ aggregate: ContinuousAggregate, _ cutoff: Instant) -> String? {
        guard let buckets = aggregate.buckets else {
            return
                "the buckets of the continuous aggregate \(aggregate.name) (\(aggregate.width)) are not known to this program, so one of "
                + "them may have deleted rows and rows that stay"
        }
        guard buckets.start(at: cutoff) != cutoff else { return nil }
        return
            "the cutoff is inside a bucket of the continuous aggregate \(aggregate.name), which a refresh would make of the rows that stay"
    }

    /// Why the server would log the deletes of a rule, and other expired rows with them, as a clause; nil if it does not.
    private func loggingObstacle(_ rows: SurveyRows) throws -> String? {
        guard
            try session.exists("SELECT 1 WHERE current_setting('\(PostgresDatabase.skipsLog)', true) IS NOT NULL")
        else {
            return
                "this version of TimescaleDB logs the deletes of the job as changes, and later runs could not tell them from rows that "
                + "an aggregate lacks: update TimescaleDB to 2.28"
        }
        let reach = try ReachOfDelete(of: table, rows.request.relationships, session)
        guard try !reach.keys.isEmpty || reach.firesTriggers() else { return nil }
        let isAfterOthers = try rows.request.preceding.contains {
            try session.table($0.fetchRequest.entity)?.oid == table.oid
        }
        let isCompressed = try session.exists(TimescaleSQL.compressedChunks(table))
        guard isAfterOthers || isCompressed else { return nil }
        return
            "triggers or foreign keys act on deletes from \(table.name), so the server logs the deletes as changes, "
            + (isAfterOthers
                ? "and those of an earlier rule cannot be told from rows that an aggregate lacks"
                : "and those in compressed chunks cannot be told from rows that an aggregate lacks: \(TimescaleSQL.decompression)")
    }

    // MARK: Rows that an aggregate lacks

    /// The rows of a condition that an aggregate lacks, and the call that materializes them; nil if there are none. Without `force` the
    /// server can leave out the last bucket of a zone that a logged range ends in.
    private func missingRows(
        _ aggregate: ContinuousAggregate, _ scope: RowScope, _ date: DateSQL, _ condition: SQLFragment,
        before cutoff: Instant
    ) throws -> (rowCount: Int, oldest: Instant?, refresh: String)? {
        guard let isMissing = try isMissing(aggregate, date, before: cutoff) else { return nil }
        let width = SQLFragment.bound(aggregate.width, date.type.isDate ? "interval" : "int8")
        // With a zone, the length of a bucket is in local time.
        let named = date.type == .timestamptz ? aggregate.zone : nil
        let zone = named.map { " AT TIME ZONE " + .bound($0, "text") } ?? ""
        func end(_ what: String, _ change: SQLFragment) -> SQLFragment {
            let local = SQLFragment("((\(what)(\(date.column))") + zone
            return local + change + ")" + zone + ")::text"
        }
        let first = end("min", " - " + width + " + " + Self.step(date))
        let last = end("max", " + " + width)
        let found = try session.onlyRow(
            "SELECT count(*) AS rows, " + first + " AS first, " + last
                + " AS last, \(date.instantSQL("min(\(date.column))")) AS oldest FROM \(scope.from)"
                + SQLFragment.all([condition, isMissing]).whereClause)
        let count = try found.int("rows")
        guard count > 0 else { return nil }
        let ends = try [found.text("first"), found.text("last")].map { date.type.isDate ? $0.quotedLiteral : $0 }
        return (
            count, date.instant(try found.value("oldest")),
            "CALL refresh_continuous_aggregate(\(aggregate.sql.quotedLiteral), \(ends.joined(separator: ", ")), force => true)"
        )
    }

    /// The most ranges that a condition lists. An index finds the rows of few ranges.
    private static let mostRanges = 50

    /// The condition that a row is in a range before a cutoff that an aggregate lacks by the server's log; nil if there is no such range.
    private func isMissing(
        _ aggregate: ContinuousAggregate, _ date: DateSQL, before cutoff: Instant
    ) throws -> SQLFragment? {
        let log = TimescaleSQL.changes(table, materialized: aggregate.materialized, isDate: date.type.isDate)
        let (low, high) = (Self.value("lower(r)", date), Self.value("upper(r) - 1", date))
        let isBefore = DateSQL(date: date.date, column: "low", type: date.type).bound(.less, .cutoff(cutoff))
        let ranges = try session.rows(
            "SELECT low::text, high::text FROM (SELECT \(low) AS low, \(high) AS high FROM (SELECT unnest(range_agg(range)) AS r FROM ("
                + log + ") AS log) AS merged) AS ends" + isBefore.whereClause + " ORDER BY ends.low"
        ).map { (low: try $0.text("low"), high: try $0.text("high")) }
        guard let first = ranges.first, let last = ranges.last else { return nil }
        func isIn(_ low: String, _ high: String) -> SQLFragment {
            "(\(date.column) >= " + .bound(low, date.orderType) + " AND \(date.column) <= "
                + .bound(high, date.orderType) + ")"
        }
        guard ranges.count > Self.mostRanges else { return .any(ranges.map { isIn($0.low, $0.high) }) }
        return .all([
            isIn(first.low, last.high),
            "\(Self.number(date)) <@ (SELECT range_agg(range) FROM (" + log + ") AS log)",
        ])
    }

    /// A number of the server's log as a value of the column's type: microseconds since 1970, or the number itself.
    private static func value(_ number: String, _ date: DateSQL) -> String {
        switch date.type {
        case .timestamptz: "_timescaledb_functions.to_timestamp(\(number))"
        case .timestamp: "_timescaledb_functions.to_timestamp_without_timezone(\(number))"
        case .date: "_timescaledb_functions.to_date(\(number))"
        default: "(\(number))"
        }
    }

    /// A date of a row as a number of the server's log; NULL for a date that is infinite.
    private static func number(_ date: DateSQL) -> String {
        date.type.isDate
            ? "CASE WHEN isfinite(\(date.column)) THEN (extract(epoch FROM \(date.column)) * 1000000)::int8 END"
            : "\(date.column)::int8"
    }

    /// The smallest difference between two values.
    private static func step(_ date: DateSQL) -> SQLFragment {
        switch date.type {
        case .timestamptz, .timestamp: "interval '1 microsecond'"
        case .date: "interval '1 day'"
        default: "1"
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

    /// The refresh policies of an aggregate: `id` and `start_offset`.
    private func refreshJobs(_ materialized: Int) throws -> [ServerRow] {
        try session.rows(
            "SELECT id, config ->> 'start_offset' AS start_offset FROM _timescaledb_config.bgw_job WHERE scheduled "
                + "AND proc_name = 'policy_refresh_continuous_aggregate' AND (config ->> 'mat_hypertable_id')::int = "
                + .bound("\(materialized)", "int4") + " ORDER BY id")
    }

    private func refreshObstacle(_ aggregate: ContinuousAggregate, _ rows: SurveyRows) throws -> String? {
        for job in try refreshJobs(aggregate.materialized) {
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
        let age: SQLFragment =
            "SELECT floor(extract(epoch FROM now() - " + .bound(rows.cutoff.serverText + "+00", "timestamptz")
            + ") / 3600)::int8"
        guard rows.date.type.isDate, case let hours = try session.count(age), hours > 0 else { return nil }
        return "\"\(hours) hours\""
    }

    /// The server's own policies that drop chunks of the table, as sentences that say what they delete besides; empty if there are none.
    func serverRetention(_ rows: SurveyRows) throws -> [String] {
        let jobs = try session.rows(
            "SELECT j.id, j.config ->> 'drop_after' AS drop_after FROM _timescaledb_config.bgw_job j "
                + "JOIN _timescaledb_catalog.hypertable h ON h.id = j.hypertable_id WHERE j.proc_name = 'policy_retention' "
                + "AND j.config ->> 'drop_after' IS NOT NULL AND " + TimescaleSQL.isOf(table))
        return try jobs.map { job in
            let offset = try job.text("drop_after")
            let text =
                "the server has a retention policy of its own on \(table.name) (job \(try job.int("id"))), which drops chunks "
                + "older than \(offset)"
            // A check has no cutoff, and the server goes by the time of the chunks.
            guard rows.cutoff > rows.date.date.earliest, rows.date.reading == .ordered, rows.isByChunks else {
                return text
            }
            let isLess = try isOffset(offset, before: rows.cutoff, rows)
            return text + (isLess ? ": this rule deletes more" : ": it deletes more")
        }
    }
}

extension PostgresDatabase {
    /// The setting with which the server does not log changes for aggregates, from TimescaleDB 2.28 on.
    static let skipsLog = "timescaledb.skip_cagg_invalidation"

    /// Runs a statement that deletes rows of a hypertable so that the server does not log it as a change. It deletes compressed rows one by
    /// one, because the server logs its direct deletes of compressed batches in any case.
    ///
    /// - Parameter isUnlogged: whether the table has aggregates and the delete changes no other rows. What a trigger writes must be logged.
    func unlogged<T>(_ isUnlogged: Bool, _ body: () throws -> T) throws -> T {
        let names = [Self.skipsLog, KnownDefect.directDeletes]
        guard isUnlogged,
            let former = try row(
                SQLFragment("SELECT " + names.map { "current_setting('\($0)', true)" }.joined(separator: ", ")))
        else { return try body() }
        func set(_ values: [String?]) throws {
            let changes = zip(names, values).compactMap { name, value in
                value.map { "set_config('\(name)', " + .bound($0, "text") + ", true)" }
            }
            if !changes.isEmpty { try execute("SELECT " + .joined(changes, by: ", ", empty: .always)) }
        }
        try set(zip(former.texts, ["on", "off"]).map { $0 == nil ? nil : $1 })
        let value = try body()
        try set(former.texts)
        return value
    }
}
