import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Continuous aggregates of a real TimescaleDB: nothing is deleted that they do not have, or would forget.
@Suite(.needsPostgres, .needsTimescale)
struct AggregateTests {
    /// A row each hour for 60 days until now in chunks of a week, the days of it, and the weeks of these.
    private func database(refreshed: String = "NULL, NULL", _ more: String = "") throws -> TestDatabase {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL);
            SELECT create_hypertable('q', by_range('at', interval '7 days'));
            INSERT INTO q SELECT n, date_trunc('day', now()) - interval '60 days' + n * interval '1 hour' FROM generate_series(0, 1439) n;
            """)
        for (name, source, width) in [("days", "q", "1 day"), ("weeks", "days", "7 days")] {
            try database.run(
                """
                CREATE MATERIALIZED VIEW \(name) WITH (timescaledb.continuous) AS SELECT time_bucket('\(width)', at) AS at,
                count(*) FROM \(source) GROUP BY 1 WITH NO DATA
                """)
        }
        try database.run("CALL refresh_continuous_aggregate('days', \(refreshed))")
        if !more.isEmpty { try database.run(more) }
        return database
    }

    /// The rows before a day.
    private func request(_ database: TestDatabase, days: Int, _ entity: String = "q") throws -> SurveyRequest {
        let day = try database.run("SELECT extract(epoch FROM date_trunc('day', now(), 'UTC'))::int8")[0]
        let cutoff = try #require(Int64(day)) - Int64(days) * 86_400
        return SurveyRequest(entity: entity, date: .of("at"), cutoff: Instant(unixSeconds: cutoff))
    }

    @Test func whatIsMaterializedGoes() throws {
        let database = try database()
        let (survey, _) = try database.dryAndReal(request(database, days: 30))
        #expect(survey.losses.aggregates == nil)
        #expect(
            survey.notes == [
                "the continuous aggregates days, weeks (level 2) over q keep what is materialized: "
                    + "do not refresh them over deleted rows"
            ])
        // The next night, and a policy that looks back no further.
        try database.run(
            "SELECT add_continuous_aggregate_policy('days', interval '10 days', interval '1 day', interval '1 hour')")
        try database.run(
            "CALL refresh_continuous_aggregate('days', now() - interval '10 days', now() - interval '1 day')")
        let (next, _) = try database.dryAndReal(request(database, days: 29))
        #expect(next.losses.aggregates == nil && next.expiredCount == 24)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    @Test func whatIsNotMaterializedYetIsRefusedWithTheCallThatDoesIt() throws {
        let database = try database(refreshed: "NULL, now() - interval '40 days'")
        let request = try request(database, days: 30)
        let loss = try #require(try database.reader().survey(request).losses.aggregates)
        #expect(loss.reason.contains("expired rows are not materialized in the continuous aggregate days"))
        try database.run(try #require(loss.statement))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    @Test(arguments: ["NULL", "interval '50 days'"]) func aRefreshThatWouldEraseIsRefusedWithItsCure(offset: String)
        throws
    {
        let database = try database(
            "SELECT add_continuous_aggregate_policy('days', \(offset), interval '1 day', interval '1 hour')")
        let request = try request(database, days: 30)
        let reason = try #require(try database.reader().survey(request).losses.aggregates?.reason)
        #expect(reason.contains("the refresh policy of the continuous aggregate days"))
        let call = try #require(reason.firstRange(of: "SELECT alter_job"))
        try database.run(String(reason[call.lowerBound...]))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    @Test func aRefreshOfNumbersThatWouldEraseIsRefused() throws {
        let database = try TestDatabase.numbers()
        try database.run("SELECT add_continuous_aggregate_policy('days', 5000, 100, interval '1 hour')")
        func reason(before cutoff: Int64) throws -> String? {
            let request = SurveyRequest(
                entity: "q", date: .of("at", .unixSeconds), cutoff: Instant(unixSeconds: cutoff))
            return try database.reader().survey(request).losses.aggregates?.reason
        }
        // The policy looks back to 1,700,004,999.
        #expect(try reason(before: 1_700_004_000) == nil)
        #expect(try reason(before: 1_700_006_000)?.hasSuffix(": set a start_offset that ends at the cutoff") == true)
    }

    @Test(arguments: [(20, "it deletes more"), (40, "this rule deletes more")])
    func aPolicyOfTheServerIsTold(days: Int, words: String) throws {
        let database = try database("SELECT add_retention_policy('q', interval '\(days) days')")
        #expect(try database.reader().survey(request(database, days: 30)).notes.last?.hasSuffix(words) == true)
    }

    /// A rule on an aggregate that another one is made of. Its cutoff is a Monday.
    @Test func chunksOfAnAggregateAreDropped() throws {
        let database = try TestDatabase.hours()
        try database.run(
            "CREATE MATERIALIZED VIEW weeks WITH (timescaledb.continuous) AS SELECT time_bucket('7 days', at) AS at, "
                + "count(*) FROM days GROUP BY 1 WITH NO DATA")
        try database.run(
            "SELECT set_chunk_time_interval(format('%I.%I', schema_name, table_name), interval '7 days') "
                + "FROM _timescaledb_catalog.hypertable WHERE table_name LIKE '_mat%'")
        try database.run("CALL refresh_continuous_aggregate('weeks', NULL, NULL)")
        var request = SurveyRequest(entity: "days", date: .of("at"), cutoff: at("2026-02-04"))
        #expect(
            try database.reader().archiveObstacle(of: request)
                == "days is a continuous aggregate, into which no rows can be inserted")
        #expect(try database.reader().survey(request).losses.aggregates?.reason.contains("inside a bucket of") == true)
        let weeks = try #require(try database.reader().aggregates(ofEntity: "days", by: .of("at")).first)
        request.cutoff = weeks.start(at: request.cutoff)
        #expect(request.cutoff == at("2026-02-02"))
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.losses.aggregates == nil && execution.total.deletedCount == 32)
        #expect(try database.run("SELECT sum(count), (SELECT count(*) FROM q) FROM weeks") == ["60|1440"])
    }

    // MARK: Rows that an aggregate lacks

    /// The call covers a day of 25 hours, and the last day of October.
    @Test(arguments: [("1 day", "2025-10-26 22:30Z"), ("1 month", "2025-10-31 22:30Z")])
    func theCallCoversABucketOfAZone(bucket: String, late: String) throws {
        let database = try TestDatabase.hours()
        try database.run(
            "CREATE MATERIALIZED VIEW local WITH (timescaledb.continuous) AS SELECT time_bucket('\(bucket)', at, 'Europe/Berlin') "
                + "AS at, count(*) FROM q GROUP BY 1 WITH NO DATA")
        for view in ["days", "local"] {
            try database.run("CALL refresh_continuous_aggregate('\(view)', NULL, '2026-03-01')")
        }
        try database.run("INSERT INTO q (id, at) VALUES (-1, '\(late)')")
        try database.run("CALL refresh_continuous_aggregate('days', NULL, NULL)")
        let reader = try database.reader()
        var request = SurveyRequest.hours(before: "2026-02-02")
        // A day of Berlin is never one of UTC, and a month of Berlin begins in one.
        let buckets = try reader.aggregates(ofEntity: "q", by: .of("at")).filter { $0.name == "local" }
        request.cutoff = try #require(buckets.first).start(at: request.cutoff)
        try database.run("DROP MATERIALIZED VIEW days")
        let loss = try #require(try database.reader().survey(request).losses.aggregates)
        try database.run(try #require(loss.statement))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    /// One statement cannot have more than 65,535 values.
    @Test(arguments: ["timestamptz", "timestamp", "date", "bigint"]) func manyChangesAreRead(type: String) throws {
        let isNumber = type == "bigint"
        let database = try isNumber ? TestDatabase.numbers() : TestDatabase.hours(type: type)
        // Two values apart, so that they are as many ranges; in January, and behind all rows.
        let start = isNumber ? 1_700_001_000 : Int64(1_768_435_200_000_000)
        try database.run(
            """
            INSERT INTO _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log SELECT id, x, x
            FROM _timescaledb_catalog.hypertable, generate_series(\(start), \(start + 99_998), 2) x WHERE table_name = 'q'
            """)
        var request = SurveyRequest.hours(before: "2026-01-17")
        if isNumber {
            request.date = .of("at", .unixSeconds)
            request.cutoff = Instant(unixSeconds: 1_700_001_500)
        }
        let words = isNumber ? "250 of 1500" : type == "date" ? "24 of 384" : "1 of 384"
        let loss = try database.reader().survey(request).losses.aggregates
        #expect(loss?.reason.hasPrefix(words) == true && (isNumber || loss?.oldest == at("2026-01-15")))
        // No row of one more second, or of one more day, is missing.
        request.cutoff = isNumber ? Instant(unixSeconds: 1_700_001_000) : at("2026-01-15")
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    /// A dry run counts rows of pending files as if they were in the table.
    @Test func pendingRowsAreInNoAggregate() throws {
        let database = try TestDatabase.hours()
        let reader = try database.reader(rehearsing: ["q"])
        let request = SurveyRequest.hours(before: "2026-01-17")
        for (id, time, loss) in [
            (-1, "2026-01-20T05:30:00Z", nil),
            (
                -2, "2026-01-02T05:30:00Z",
                "the pending files have 1 expired row, and the continuous aggregate days would never have them"
            ),
        ] as [(Int64, String, String?)] {
            _ = try reader.insert(
                entity: "q", values: ["id": .integer(id), "at": .text(time)], onConflict: .fail)
            let survey = try reader.survey(request)
            #expect(survey.losses.aggregates?.reason == loss, "\(survey.losses) \(survey.unsupported ?? "")")
        }
    }

    // MARK: Cutoffs

    @Test func aggregatesWithoutACommonStartAreRefused() throws {
        let database = try TestDatabase.hours()
        try database.run(
            "CREATE MATERIALIZED VIEW local WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at, 'Europe/Berlin') AS at, "
                + "count(*) FROM q GROUP BY 1 WITH NO DATA")
        try database.run("CALL refresh_continuous_aggregate('local', NULL, NULL)")
        let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-17")).losses.aggregates
        #expect(loss?.reason.hasSuffix("; no cutoff is the start of a bucket of each of days, local") == true)
    }

    /// A refresh of the bucket would make it of the rows that stay.
    @Test func aCutoffInsideABucketIsRefused() throws {
        let database = try TestDatabase.hours()
        let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).losses.aggregates
        #expect(
            loss?.reason
                == "the cutoff is inside a bucket of the continuous aggregate days, which a refresh would make of the rows that stay"
        )
        #expect(loss?.statement == nil)
    }

    @Test func bucketsThatAreNotKnownAreRefused() throws {
        let database = try TestDatabase.hours()
        try database.run("DROP MATERIALIZED VIEW days")
        try database.run(
            "CREATE MATERIALIZED VIEW quarters WITH (timescaledb.continuous) AS SELECT time_bucket('3 months', at, "
                + "origin => timestamptz '2020-02-01Z') AS at, count(*) FROM q GROUP BY 1 WITH NO DATA")
        try database.run("CALL refresh_continuous_aggregate('quarters', NULL, NULL)")
        let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-17")).losses.aggregates
        #expect(loss?.reason.contains("are not known to this program") == true, "\(loss as Any)")
    }

    /// The program computes the buckets as the server does.
    @Test func bucketsAreThoseOfTheServer() throws {
        let database = try TestDatabase.timescale(
            "CREATE TABLE q (at timestamptz NOT NULL); SELECT create_hypertable('q', by_range('at')); INSERT INTO q VALUES ('2026-01-01');"
        )
        let calls = [
            "'1 hour', at", "'7 minutes', at", "'1 day', at, 'Europe/Berlin'", "'1 week', at", "'1 month', at",
            "'3 months', at, 'America/New_York'", "'1 day', at, 'Asia/Kathmandu'",
            "'2 hours', at, 'Australia/Lord_Howe'",
            "'1 day', at, origin => timestamptz '2020-02-03 04:05:06+00'",
            "'1 day', at, \"offset\" => interval '90 minutes'",
            "'1 day', at, 'Europe/Berlin', origin => timestamptz '2020-02-03 04:05:06+00'",
            "'1 year', at, 'Europe/Berlin', \"offset\" => interval '2 days'",
        ]
        for (number, call) in calls.enumerated() {
            try database.run(
                "CREATE MATERIALIZED VIEW a\(number) WITH (timescaledb.continuous) AS SELECT time_bucket(\(call)) AS bucket, count(*) "
                    + "FROM q GROUP BY 1 WITH NO DATA")
        }
        let buckets = try database.reader().aggregates(ofEntity: "q", by: .of("at"))
        #expect(buckets.count == calls.count)
        // Each 2 hours 43 minutes and 11 seconds for two years, with all changes of the clocks.
        let times = (0..<6400).map { 1_735_689_600 + Int64($0) * 9791 }
        let list = ServerArray.text(times.map { "\($0)" })
        for bucket in buckets {
            let call = try #require(Int(bucket.name.dropFirst()).map { calls[$0] })
            let starts = ServerArray.text(
                times.map { "\(bucket.start(at: Instant(unixSeconds: $0)).microseconds / 1_000_000)" })
            func ofServer(_ time: String) -> String {
                "(SELECT time_bucket(\(call)) FROM (SELECT \(time) AS at) AS its)"
            }
            let found = try database.run(
                "SELECT count(*) FILTER (WHERE \(ofServer("start")) <> \(ofServer("time"))), "
                    + "count(*) FILTER (WHERE \(ofServer("start - interval '1 microsecond'")) = \(ofServer("time"))), count(*) "
                    + "FROM (SELECT to_timestamp(t) AS time, to_timestamp(s) AS start FROM unnest('\(list)'::int8[], '\(starts)'::int8[]) AS found (t, s)) AS found"
            )
            // The start has the same bucket, and the microsecond before it has another.
            #expect(found == ["0|0|6400"], "\(call)")
        }
    }

    /// Local times and days are divided on the clocks of the rule, with an origin that is read in another zone.
    @Test(arguments: [
        ("timestamp", "'1 day'"), ("timestamp", "'9 hours'"), ("date", "'1 week'"), ("date", "'1 month'"),
    ])
    func localBucketsAreThoseOfTheServer(type: String, width: String) throws {
        let call = "time_bucket(\(width)::interval, at, origin => '2000-01-01'::\(type))"
        let database = try TestDatabase.timescale(
            "CREATE TABLE q (at \(type) NOT NULL); SELECT create_hypertable('q', by_range('at')); INSERT INTO q VALUES ('2026-01-01');"
        )
        try database.run(
            "CREATE MATERIALIZED VIEW a WITH (timescaledb.continuous) AS SELECT \(call) AS bucket, count(*) FROM q GROUP BY 1 WITH NO DATA"
        )
        let zone = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let buckets = try database.reader(zone: zone).aggregates(ofEntity: "q", by: .of("at", zone: zone))
        let start = try #require(buckets.first)
        // No time of the two hours around a change of the clocks.
        let rows = try database.run(
            "SELECT extract(epoch FROM time)::int8, extract(epoch FROM \(call)::timestamp AT TIME ZONE 'Europe/Berlin')::int8 FROM (SELECT "
                + "time, (time AT TIME ZONE 'Europe/Berlin')::\(type) AS at FROM generate_series(timestamptz '2026-01-01 12:00Z', '2026-12-31Z', "
                + "interval '1 day 5 hours') AS time) AS times")
        #expect(rows.count == 301)
        for row in rows {
            let numbers = row.split(separator: "|").compactMap { Int64($0) }
            #expect(start.start(at: Instant(unixSeconds: numbers[0])) == Instant(unixSeconds: numbers[1]), "\(row)")
        }
    }

    // MARK: Rules by another column

    @Test(arguments: [("note", DateEncoding.iso8601), ("made", .unixSeconds), ("seen", .native)])
    func aRuleByAnotherColumnIsRefused(column: String, encoding: DateEncoding) throws {
        let database = try TestDatabase.hours()
        let request = SurveyRequest(entity: "q", date: .of(column, encoding), cutoff: at("2026-01-17"))
        let survey = try database.reader().survey(request)
        #expect(survey.expiredCount == 384)
        #expect(
            survey.losses.aggregates?.reason
                == "the rule uses \(column), and it is unknown which of the 384 expired rows the continuous aggregate days "
                + "has, because its buckets are not ranges of these dates")
    }

    // MARK: Rows that arrive between the plan and the delete

    /// Deletes by what was planned, in batches of 20 rows.
    private func carryOut(_ request: SurveyRequest, after plan: Survey, on writer: PostgresWriter) throws {
        let deletion = try writer.deletion(of: request, after: plan)
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
    }

    @Test(arguments: ["2026-01-15", "2026-01-05"]) func rowsThatAnAggregateDoesNotHaveStay(cutoff: String) throws {
        let database = try TestDatabase.hours()
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: cutoff)
        let plan = try writer.survey(request)
        #expect(plan.losses.aggregates == nil)
        try database.run("INSERT INTO q VALUES (-1, '2026-01-02 05:30Z')")
        let error = storeError { try carryOut(request, after: plan, on: writer) }
        #expect(error?.message.contains("1 of the rows to delete from q changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1 OR at >= '2026-01-02 05:00Z'") == ["1412"])
    }

    /// A row that arrives while a batch is at work is left to the next.
    @Test(arguments: ["2026-01-15", "2026-01-05"]) func rowsThatArriveAtTheLastMomentStay(cutoff: String) throws {
        let database = try TestDatabase.hours()
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: cutoff)
        let plan = try writer.survey(request)
        var hasArrived = false
        writer.trace = { statement, _ in
            guard statement.hasPrefix("DELETE") || statement.contains("LOCK TABLE ONLY"), !hasArrived else { return }
            hasArrived = true
            _ = try? database.run("INSERT INTO q VALUES (-1, '2026-01-01 05:30Z')")
        }
        _ = storeError { try carryOut(request, after: plan, on: writer) }
        #expect(hasArrived)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["1"])
    }

    /// What was accepted is deleted.
    @Test(arguments: ["2026-01-15", "2026-01-05"]) func whatIsAcceptedGoes(cutoff: String) throws {
        let database = try TestDatabase.hours()
        try database.run("INSERT INTO q VALUES (-1, '2026-01-02 05:30Z')")
        let request = SurveyRequest.hours(before: cutoff)
        let writer = try database.writer()
        let plan = try writer.survey(request)
        #expect(plan.losses.aggregates != nil)
        try carryOut(request, after: plan, on: writer)
        #expect(try writer.survey(request).expiredCount == 0)
    }

    @Test(arguments: [
        ("2026-01-15", "changed after the plan"), ("2026-01-17", "changed after the plan"),
        ("2026-01-17T12:00:00Z", "since the plan, the cutoff is inside a bucket"),
    ]) func anAggregateThatIsCreatedAfterThePlanIsFilled(cutoff: String, reason: String) throws {
        let database = try TestDatabase.hours()
        try database.run("DROP MATERIALIZED VIEW days")
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: cutoff)
        let plan = try writer.survey(request)
        #expect(plan.losses.aggregates == nil)
        try database.run(
            "CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at) AS at, count(*) "
                + "FROM q GROUP BY 1 WITH NO DATA")
        let error = storeError { try carryOut(request, after: plan, on: writer) }
        #expect(error?.message.contains(reason) == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["1440"])
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.cascade, .nullify])
    func aRowThatArrivesAfterThePlanStaysWhereRowsReferToIt(rule: BatchDeleteRequest.RelationshipRule) throws {
        let database = try TestDatabase.hours()
        try database.run("ALTER TABLE q ADD UNIQUE (id, at)")
        try database.run(
            "CREATE TABLE child (id int PRIMARY KEY, q int, at timestamptz, FOREIGN KEY (q, at) REFERENCES q (id, at))")
        var request = SurveyRequest.hours(before: "2026-01-17")
        request.relationships = rule
        let writer = try database.writer()
        let plan = try writer.survey(request)
        #expect(plan.losses.aggregates == nil)
        try database.run("INSERT INTO q (id, at) VALUES (-1, '2026-01-15 17:30Z')")
        let error = storeError { try carryOut(request, after: plan, on: writer) }
        #expect(error?.message.contains("changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["1"])
    }
}
