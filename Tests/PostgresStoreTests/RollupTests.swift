import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Continuous aggregates of a real TimescaleDB: nothing is deleted that they do not have, or would forget.
@Suite(.needsPostgres, .needsTimescale)
struct RollupTests {
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

    private func request(_ database: TestDatabase, days: Int, _ entity: String = "q") throws -> SurveyRequest {
        let now = try database.run("SELECT floor(extract(epoch FROM now()))::int8")[0]
        let cutoff = try #require(Int64(now)) - Int64(days) * 86_400
        return SurveyRequest(entity: entity, date: .of("at"), cutoff: Instant(unixSeconds: cutoff))
    }

    @Test func whatIsMaterializedGoes() throws {
        let database = try database()
        let (survey, _) = try database.dryAndReal(request(database, days: 30))
        #expect(survey.rollupObstacle == nil)
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
        let (next, _) = try database.dryAndReal(request(database, days: 29))
        #expect(next.rollupObstacle == nil && next.expiredCount == 24)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    @Test func whatIsNotMaterializedYetIsRefusedWithTheCallThatDoesIt() throws {
        let database = try database(refreshed: "NULL, now() - interval '40 days'")
        let request = try request(database, days: 30)
        let obstacle = try #require(try database.reader().survey(request).rollupObstacle)
        #expect(obstacle.contains("expired rows are not materialized in the continuous aggregate days"))
        let call = try #require(obstacle.firstRange(of: "CALL"))
        try database.run(String(obstacle[call.lowerBound...]))
        #expect(try database.reader().survey(request).rollupObstacle == nil)
    }

    @Test func aRowThatCameLateIsRefused() throws {
        let database = try database("INSERT INTO q VALUES (-1, now() - interval '45 days')")
        let obstacle = try database.reader().survey(request(database, days: 30)).rollupObstacle
        #expect(obstacle?.hasPrefix("25 of") == true || obstacle?.hasPrefix("1 of") == true)
    }

    @Test(arguments: ["NULL", "interval '50 days'"]) func aRefreshThatWouldEraseIsRefusedWithItsCure(offset: String)
        throws
    {
        let database = try database(
            "SELECT add_continuous_aggregate_policy('days', \(offset), interval '1 day', interval '1 hour')")
        let request = try request(database, days: 30)
        let obstacle = try #require(try database.reader().survey(request).rollupObstacle)
        #expect(obstacle.contains("the refresh policy of the continuous aggregate days"))
        let call = try #require(obstacle.firstRange(of: "SELECT alter_job"))
        try database.run(String(obstacle[call.lowerBound...]))
        #expect(try database.reader().survey(request).rollupObstacle == nil)
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
        #expect(survey.technique == .partitions || survey.technique == .range)
        #expect(execution.total.deletedCount == survey.expiredCount && survey.expiredCount >= 29)
        #expect(try database.run("SELECT sum(count) FROM weeks") == ["60"])
        #expect(try database.run("SELECT count(*) FROM q") == ["1440"])
    }
}
