import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// One night and the next on hypertables with continuous aggregates. The server's log of changes alone decides what an aggregate lacks.
@Suite(.needsPostgres, .needsTimescale)
struct AggregateNightTests {
    private func compress(_ table: String, _ database: TestDatabase, before: String = "infinity") throws {
        try database.run(
            "ALTER \(table == "days" ? "MATERIALIZED VIEW" : "TABLE") \(table) SET (timescaledb.compress"
                + (table == "q"
                    ? ", timescaledb.compress_orderby = 'at', timescaledb.compress_segmentby = 'kind')" : ")"))
        try database.run(
            "SELECT compress_chunk(c) FROM show_chunks('\(table)', older_than => timestamptz '\(before)') c")
    }

    struct Setting: CustomTestStringConvertible, Sendable {
        var chunk = "7 days"
        var bucket = "1 day"
        var compressed: [String] = []
        var testDescription: String { "\(chunk), \(bucket), \(compressed.joined(separator: " and "))" }
    }

    /// Eight nights at 02:10, with a refresh of the last days and a recompression after each. Each deletes a day; the aggregates stay whole.
    @Test(arguments: [
        Setting(), Setting(chunk: "1 day"), Setting(chunk: "1 day", bucket: "7 days"), Setting(compressed: ["q"]),
        Setting(chunk: "1 day", compressed: ["q", "days"]), Setting(bucket: "1 month"),
    ])
    func nightsAreNotRefused(_ its: Setting) throws {
        let database = try TestDatabase.hours(chunk: its.chunk, bucket: its.bucket)
        try database.run(
            "CREATE MATERIALIZED VIEW hourly WITH (timescaledb.continuous) AS SELECT time_bucket('1 hour', at) AS at, count(*) "
                + "FROM q GROUP BY 1 WITH NO DATA")
        try database.run("CALL refresh_continuous_aggregate('hourly', NULL, NULL)")
        for table in its.compressed { try compress(table, database) }
        var rowCount = 1440
        for night in 0..<8 {
            var request = SurveyRequest.hours(before: "2026-01-\(20 + night)T02:10:00Z")
            for buckets in try database.reader().aggregates(ofEntity: "q", by: .of("at")) {
                request.cutoff = buckets.start(at: request.cutoff)
            }
            let (survey, execution) = try database.dryAndReal(request)
            #expect(survey.losses.aggregates == nil, "night \(night)")
            rowCount -= execution.total.deletedCount
            #expect(
                try database.run("SELECT count(*), min(at) FROM q") == [
                    "\(rowCount)|\(try database.run("SELECT to_timestamp(\(request.cutoff.microseconds / 1_000_000))")[0])"
                ])
            for view in ["days", "hourly"] {
                try database.run("CALL refresh_continuous_aggregate('\(view)', '2026-02-01', '2026-03-01')")
            }
            if its.compressed.contains("q") { try compress("q", database) }
        }
        #expect(rowCount == (its.bucket == "1 month" ? 1440 : its.bucket == "7 days" ? 1440 - 25 * 24 : 1440 - 26 * 24))
        for view in ["days", "hourly"] { #expect(try database.run("SELECT sum(count) FROM \(view)") == ["1440"]) }
    }

    /// Beside deleted rows and behind a dropped chunk; written before a refresh and committed after it; in a savepoint.
    @Test(arguments: ["2026-01-16 05:30Z", "2026-01-17 17:30Z"], [[], ["q"], ["q", "days"]])
    func aRowThatCameLateIsRefused(late: String, compressed: [String]) throws {
        let database = try TestDatabase.hours()
        for table in compressed { try compress(table, database) }
        _ = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17"))
        let other = try PostgresWriter(database.address)
        try other.transaction(.normal) {
            _ = try other.transaction(.normal) {
                try other.execute("INSERT INTO q (id, at, kind) VALUES (-1, '\(late)', 1)")
            }
            try database.refreshElsewhere()
            #expect(try database.reader().survey(SurveyRequest.hours(before: "2026-01-18")).losses.aggregates == nil)
        }
        for _ in 1...2 {
            let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-18")).losses.aggregates
            // After a refresh all rows of its day are logged.
            #expect(loss?.reason.contains("of 25 expired rows") == true)
            try database.refreshElsewhere()
        }
    }

    /// What the server moves, what others do elsewhere, and how many batches there are, says nothing about the rows.
    @Test(arguments: [false, true]) func nothingIsRefusedWithoutNeed(isCompressed: Bool) throws {
        let database = try TestDatabase.hours()
        if isCompressed { try compress("q", database) }
        let open = try PostgresWriter(database.address)
        try open.execute("BEGIN")
        try open.execute("SELECT pg_current_xact_id()")
        let writer = try database.writer()
        func night(_ cutoff: String, batchRows: Int) throws {
            let request = SurveyRequest.hours(before: cutoff)
            #expect(try writer.survey(request).losses.aggregates == nil, "\(cutoff)")
            _ = try Laws.carryOut(request, batchRows: batchRows, on: writer)
            #expect(try writer.survey(request).expiredCount == 0)
        }
        // More than 500 batches.
        try night("2026-01-25", batchRows: 1)
        if !isCompressed { try database.run("ALTER TABLE q SET (timescaledb.compress)") }
        try database.run(
            "SELECT compress_chunk(c, true) FROM show_chunks('q', newer_than => timestamptz '2026-02-10') c")
        try night("2026-01-26", batchRows: 7)
        // A row that came late and was refreshed.
        try database.run("INSERT INTO q (id, at, kind) VALUES (-1, '2026-01-27 05:30Z', 1)")
        try database.run("CALL refresh_continuous_aggregate('days', '2026-01-26', '2026-01-28')")
        try night("2026-01-28", batchRows: 20)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1441"])
    }

    /// Rows that one rule keeps, and another deletes later.
    @Test(arguments: [false, true]) func rowsThatAnEarlierRunKeptGo(isCompressed: Bool) throws {
        let database = try TestDatabase.hours()
        if isCompressed { try compress("q", database) }
        for kind in 0...2 {
            var request = SurveyRequest.hours(before: "2026-01-\(15 + kind)")
            request.filter = .compare("kind", .equal, .integer(Int64(kind)))
            let (survey, execution) = try database.dryAndReal(request)
            #expect(survey.losses.aggregates == nil && execution.total.deletedCount > 100)
            try database.refreshElsewhere()
        }
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    /// The parts of compressed chunks are deleted one after another.
    @Test func aRunIsNotStoppedByItsOwnDeletes() throws {
        let database = try TestDatabase.hours()
        try compress("q", database)
        try database.run(
            "ALTER DATABASE \(PostgresCluster.database(of: database.url)) SET "
                + "timescaledb.max_tuples_decompressed_per_dml_transaction = 100")
        let (survey, execution) = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-19"))
        #expect(survey.losses.aggregates == nil && execution.batchCounts.count >= 4)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    /// Rows that are deleted, restored, and in the aggregate again after a refresh.
    @Test func anUndoIsFollowedByARefresh() throws {
        let database = try TestDatabase.hours()
        let request = SurveyRequest.hours(before: "2026-01-17")
        try database.run("CREATE TABLE copy AS SELECT * FROM q WHERE at < '2026-01-17Z'")
        _ = try database.dryAndReal(request)
        try database.run("INSERT INTO q SELECT * FROM copy")
        let loss = try database.reader().survey(request).losses.aggregates
        #expect(loss?.reason.hasPrefix("384 of 384") == true)
        try database.run(try #require(loss?.statement))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
        _ = try database.dryAndReal(request)
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    // MARK: Triggers

    private static let trigger = """
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id = 30 THEN
        INSERT INTO q (id, at, kind) VALUES (-1, '2026-01-10 05:30Z', 1), (-2, '2026-01-20 05:30Z', 1); END IF; RETURN NULL; END $$;
        CREATE TRIGGER t AFTER DELETE ON q FOR EACH ROW EXECUTE FUNCTION f();
        """

    /// A delete trigger writes into the same hypertable: no row goes that no aggregate has, that night or later.
    @Test func whatATriggerWritesStays() throws {
        let database = try TestDatabase.hours()
        try database.run(script: Self.trigger)
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: "2026-01-12")
        #expect(try writer.survey(request).losses.aggregates == nil)
        let error = storeError { _ = try Laws.carryOut(request, batchRows: 20, on: writer) }
        #expect(error?.message.contains("1 of the rows to delete from q changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id < 0") == ["2"])
        try database.run("DELETE FROM q WHERE id = -1")
        #expect(try database.run("SELECT min(at) > '2026-01-10 04:00Z' FROM q") == ["f"])
        // Over two nights.
        try database.refreshElsewhere()
        let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-21")).losses.aggregates
        #expect(loss?.reason.contains("not materialized") == true)
    }

    /// Compressed rows are deleted by segments, whose times overlap.
    @Test func triggersOfCompressedRowsAreRefused() throws {
        let database = try TestDatabase.hours()
        try compress("q", database)
        try database.run(script: Self.trigger)
        let loss = try database.reader().survey(SurveyRequest.hours(before: "2026-01-12")).losses.aggregates
        #expect(
            loss?.reason
                == "triggers or foreign keys act on deletes from q, so the server logs the deletes as changes, and those in compressed "
                + "chunks cannot be told from rows that an aggregate lacks: decompress the chunks with decompress_chunk"
        )
    }

    @Test func triggersAfterAnEarlierRuleAreRefused() throws {
        let database = try TestDatabase.hours()
        try database.run(script: Self.trigger)
        var (first, second) = (SurveyRequest.hours(before: "2026-01-10"), SurveyRequest.hours(before: "2026-01-12"))
        first.filter = .compare("kind", .equal, .integer(0))
        second.preceding = [BatchDeleteRequest(first, resultType: .count)]
        let reader = try database.reader()
        #expect(try reader.survey(first).losses.aggregates == nil)
        #expect(try reader.survey(second).losses.aggregates?.reason.contains("those of an earlier rule") == true)
    }
}
