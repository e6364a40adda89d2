import PostgresCluster
import PriceStore
import StoreConformance
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
        try database.waitForTransactions()
        return database
    }

    private func request(_ database: TestDatabase, days: Int, _ entity: String = "q") throws -> SurveyRequest {
        let now = try database.run("SELECT floor(extract(epoch FROM now()))::int8")[0]
        let cutoff = try #require(Int64(now)) - Int64(days) * 86_400
        return SurveyRequest(entity: entity, date: .of("at"), cutoff: Instant(unixSeconds: cutoff))
    }

    @Test func whatIsMaterializedGoes() throws {
        let database = try database()
        let (survey, execution) = try database.dryAndReal(request(database, days: 30))
        #expect(survey.losses.aggregates == nil)
        #expect(
            survey.notes == [
                "the continuous aggregates days, weeks (level 2) over q keep what is materialized: "
                    + "do not refresh them over deleted rows"
            ])
        // The next night, although the deletes of the first are noted as changes; and a policy that looks back no further.
        try database.run(
            "SELECT add_continuous_aggregate_policy('days', interval '10 days', interval '1 day', interval '1 hour')")
        try database.run(
            "CALL refresh_continuous_aggregate('days', now() - interval '10 days', now() - interval '1 day')")
        var tomorrow = try request(database, days: 29)
        tomorrow.deleting.note = execution.note
        let (next, _) = try database.dryAndReal(tomorrow)
        #expect(next.losses.aggregates == nil && next.expiredCount == 24)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    @Test func whatIsNotMaterializedYetIsRefusedWithTheCallThatDoesIt() throws {
        let database = try database(refreshed: "NULL, now() - interval '40 days'")
        let request = try request(database, days: 30)
        let obstacle = try #require(try database.reader().survey(request).losses.aggregates)
        #expect(obstacle.contains("expired rows are not materialized in the continuous aggregate days"))
        let call = try #require(obstacle.firstRange(of: "CALL"))
        try database.run(String(obstacle[call.lowerBound...]))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    @Test func aRowThatCameLateIsRefused() throws {
        let database = try database("INSERT INTO q VALUES (-1, now() - interval '45 days')")
        let obstacle = try database.reader().survey(request(database, days: 30)).losses.aggregates
        #expect(obstacle?.hasPrefix("25 of") == true || obstacle?.hasPrefix("1 of") == true)
    }

    @Test(arguments: ["NULL", "interval '50 days'"]) func aRefreshThatWouldEraseIsRefusedWithItsCure(offset: String)
        throws
    {
        let database = try database(
            "SELECT add_continuous_aggregate_policy('days', \(offset), interval '1 day', interval '1 hour')")
        let request = try request(database, days: 30)
        let obstacle = try #require(try database.reader().survey(request).losses.aggregates)
        #expect(obstacle.contains("the refresh policy of the continuous aggregate days"))
        let call = try #require(obstacle.firstRange(of: "SELECT alter_job"))
        try database.run(String(obstacle[call.lowerBound...]))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    @Test(arguments: [(20, "it deletes more"), (40, "this rule deletes more")])
    func aPolicyOfTheServerIsTold(days: Int, words: String) throws {
        let database = try database("SELECT add_retention_policy('q', interval '\(days) days')")
        #expect(try database.reader().survey(request(database, days: 30)).notes.last?.hasSuffix(words) == true)
    }

    @Test func chunksOfAnAggregateAreDropped() throws {
        let database = try database(
            "SELECT set_chunk_time_interval(format('%I.%I', schema_name, table_name), interval '7 days') "
                + "FROM _timescaledb_catalog.hypertable WHERE table_name LIKE '_mat%'")
        try database.run("CALL refresh_continuous_aggregate('weeks', NULL, NULL)")
        let (survey, execution) = try database.dryAndReal(request(database, days: 30, "days"))
        #expect(survey.method == .partitions || survey.method == .range)
        #expect(execution.total.deletedCount == survey.expiredCount && survey.expiredCount >= 29)
        #expect(try database.run("SELECT sum(count) FROM weeks") == ["60"])
        #expect(try database.run("SELECT count(*) FROM q") == ["1440"])
    }

    // MARK: What earlier runs have noted

    @Test(arguments: [false, true]) func aLateRowInTheOldestBucketIsRefused(isRefreshed: Bool) throws {
        let database = try TestDatabase.hours()
        try database.run("INSERT INTO q VALUES (-1, '2026-01-01 00:30Z')")
        if isRefreshed { try database.refreshElsewhere() }
        let obstacle = try database.reader().survey(SurveyRequest.hours(before: "2026-01-17")).losses.aggregates
        #expect(obstacle?.hasPrefix(isRefreshed ? "25 of 385 expired rows" : "1 of 385 expired rows") == true)
        let call = try #require(obstacle?.firstRange(of: "CALL"))
        try database.run(String(try #require(obstacle)[call.lowerBound...]))
        #expect(try database.reader().survey(SurveyRequest.hours(before: "2026-01-17")).losses.aggregates == nil)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1441"])
    }

    /// The notes of the first night reach beyond its cutoff, over rows that the aggregate has.
    @Test(arguments: ["timestamptz", "timestamp", "date"]) func aCutoffInsideABucketIsFollowedByTheNext(type: String)
        throws
    {
        let database = try TestDatabase.hours(type: type)
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).1.note
        try database.refreshElsewhere()
        let next = "2026-01-18T12:00:00Z"
        if type != "date" {
            #expect(
                try database.reader().survey(SurveyRequest.hours(before: next)).losses.aggregates?.hasPrefix("12 of 24")
                    == true)
        }
        let (survey, _) = try database.dryAndReal(SurveyRequest.hours(before: next, note: note))
        #expect(survey.losses.aggregates == nil && survey.expiredCount == 24)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    /// The end of a dropped chunk is noted too.
    @Test func aCutoffBetweenChunksIsFollowedByTheNext() throws {
        let database = try TestDatabase.hours()
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-15")).1.note
        for isRefreshed in [false, true] {
            if isRefreshed { try database.refreshElsewhere() }
            #expect(
                try database.reader().survey(SurveyRequest.hours(before: "2026-01-16", note: note)).losses.aggregates
                    == nil)
            #expect(
                try database.reader().survey(SurveyRequest.hours(before: "2026-01-16")).losses.aggregates?.hasPrefix(
                    isRefreshed ? "24 of 24" : "1 of 24") == true)
        }
    }

    /// Nothing of that bucket was deleted either, although the note of the drop reaches into it.
    @Test(arguments: [false, true]) func aLateRowBehindADroppedChunkIsRefused(isCompressed: Bool) throws {
        let database = try TestDatabase.hours()
        if isCompressed {
            try database.run("ALTER TABLE q SET (timescaledb.compress)")
            try database.run("SELECT compress_chunk(c) FROM show_chunks('q') c")
            try database.waitForTransactions()
        }
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-15")).1.note
        try database.refreshElsewhere()
        let next = SurveyRequest.hours(before: "2026-01-16", note: note)
        #expect(try database.reader().survey(next).losses.aggregates == nil)
        try database.run("INSERT INTO q VALUES (-1, '2026-01-15 05:30Z')")
        try database.refreshElsewhere()
        let obstacle = try #require(try database.reader().survey(next).losses.aggregates)
        #expect(obstacle.hasPrefix("1 of 25"))
        let call = try #require(obstacle.firstRange(of: "CALL"))
        try database.run(String(obstacle[call.lowerBound...]))
        #expect(try database.reader().survey(next).losses.aggregates == nil)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1441"])
    }

    /// Nothing of that bucket was deleted: a refresh would take the row in.
    @Test func aLateRowBehindAnEarlierRunIsRefused() throws {
        let database = try TestDatabase.hours()
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17")).1.note
        try database.run("INSERT INTO q VALUES (-1, '2026-01-17 05:30Z')")
        try database.refreshElsewhere()
        let next = SurveyRequest.hours(before: "2026-01-18", note: note)
        #expect(try database.reader().survey(next).losses.aggregates?.hasPrefix("1 of 25") == true)
    }

    /// A refresh would erase what the aggregate has of that day: only people know what to do.
    @Test func aLateRowAmongDeletedOnesIsRefused() throws {
        let database = try TestDatabase.hours()
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).1.note
        try database.run("INSERT INTO q VALUES (-1, '2026-01-16 05:30Z')")
        try database.refreshElsewhere()
        let next = SurveyRequest.hours(before: "2026-01-18T12:00:00Z", note: note)
        let obstacle = try database.reader().survey(next).losses.aggregates
        #expect(
            obstacle?.hasPrefix("1 of 25") == true
                && obstacle?.contains("If no row of that time was deleted before") == true)
    }

    // MARK: Rules by another column

    @Test(arguments: [("note", DateEncoding.iso8601), ("made", .unixSeconds), ("seen", .native)])
    func aRuleByAnotherColumnIsRefused(column: String, encoding: DateEncoding) throws {
        let database = try TestDatabase.hours()
        let request = SurveyRequest(entity: "q", date: .of(column, encoding), cutoff: at("2026-01-17"))
        let survey = try database.reader().survey(request)
        #expect(survey.expiredCount == 384)
        #expect(
            survey.losses.aggregates
                == "the rule uses \(column), and it is unknown which of the 384 expired rows the continuous aggregate days "
                + "has, because the aggregate uses at")
    }

    // MARK: Rows that arrive between the plan and the delete

    /// Deletes by what was planned, in batches of 20 rows.
    private func carryOut(_ request: SurveyRequest, on writer: PostgresWriter) throws {
        let deletion = try writer.deletion(of: request)
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
    }

    @Test(arguments: ["2026-01-15", "2026-01-05T12:00:00Z"]) func rowsThatAnAggregateDoesNotHaveStay(cutoff: String)
        throws
    {
        let database = try TestDatabase.hours()
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: cutoff)
        #expect(try writer.survey(request).losses.aggregates == nil)
        try database.run("INSERT INTO q VALUES (-1, '2026-01-02 05:30Z')")
        let error = storeError { try carryOut(request, on: writer) }
        #expect(error?.message.contains("1 of the rows to delete from q changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1 OR at >= '2026-01-02 05:00Z'") == ["1412"])
        // Once it is materialized, it goes.
        try database.run("CALL refresh_continuous_aggregate('days', '2026-01-02', '2026-01-03')")
    }

    /// A row that arrives while a batch is at work is left to the next.
    @Test(arguments: ["2026-01-15", "2026-01-05T12:00:00Z"]) func rowsThatArriveAtTheLastMomentStay(cutoff: String)
        throws
    {
        let database = try TestDatabase.hours()
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: cutoff)
        _ = try writer.survey(request)
        var hasArrived = false
        writer.trace = { statement, _ in
            guard statement.hasPrefix("DELETE") || statement.contains("LOCK TABLE ONLY"), !hasArrived else { return }
            hasArrived = true
            _ = try? database.run("INSERT INTO q VALUES (-1, '2026-01-01 05:30Z')")
        }
        _ = storeError { try carryOut(request, on: writer) }
        #expect(hasArrived)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["1"])
    }

    /// What was accepted is deleted.
    @Test(arguments: ["2026-01-15", "2026-01-05T12:00:00Z"]) func whatIsAcceptedGoes(cutoff: String) throws {
        let database = try TestDatabase.hours()
        try database.run("INSERT INTO q VALUES (-1, '2026-01-02 05:30Z')")
        let request = SurveyRequest.hours(before: cutoff)
        let writer = try database.writer()
        #expect(try writer.survey(request).losses.aggregates != nil)
        try carryOut(request, on: writer)
        #expect(try writer.survey(request).expiredCount == 0)
    }

    /// The parts of compressed chunks are deleted one after another, and the server notes the dates of all for each.
    @Test(arguments: [false, true]) func aRunIsNotStoppedByItsOwnNotes(isCompressed: Bool) throws {
        let database = try TestDatabase.hours()
        if isCompressed {
            try database.run(
                "ALTER TABLE q SET (timescaledb.compress, timescaledb.compress_orderby = 'at', timescaledb.compress_segmentby = 'kind')"
            )
            try database.run("SELECT compress_chunk(c) FROM show_chunks('q') c")
            try database.waitForTransactions()
            try database.run(
                "ALTER DATABASE \(PostgresCluster.database(of: database.url)) SET "
                    + "timescaledb.max_tuples_decompressed_per_dml_transaction = 100")
        }
        let (survey, execution) = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-19T12:30:00Z"))
        #expect(survey.losses.aggregates == nil && execution.batchCounts.count >= 4)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }
}
