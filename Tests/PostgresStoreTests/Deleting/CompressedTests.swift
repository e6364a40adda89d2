import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Compressed chunks of a real TimescaleDB: rows go by segments and dates, within the limit of the server.
@Suite(.needsPostgres, .needsTimescale)
struct CompressedTests {
    /// Two chunks of a week with 200 rows of each of 20 symbols, and of none.
    private static func table(_ more: String = "") -> String {
        """
        CREATE TABLE q (id int, at timestamptz NOT NULL, symbol text, kind int);
        SELECT create_hypertable('q', by_range('at', interval '7 days'));
        INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n / 21 * interval '1 hour', nullif('s' || n % 21, 's20'), n % 2
        FROM generate_series(0, 6999) n;
        ALTER TABLE q SET (timescaledb.compress, timescaledb.compress_orderby = 'at',
            timescaledb.compress_segmentby = 'symbol, kind');
        SELECT compress_chunk(c) FROM show_chunks('q') c;
        \(more)
        """
    }

    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-12T12:00:00Z"))
    private func database(limit: Int, _ more: String = "") throws -> TestDatabase {
        let database = try TestDatabase.timescale(Self.table(more))
        try database.run(
            "ALTER DATABASE \(PostgresCluster.database(of: database.url)) SET "
                + "timescaledb.max_tuples_decompressed_per_dml_transaction = \(limit)")
        return database
    }

    @Test(arguments: [0, 100_000, 500, 90]) func rowsGoWithinTheLimit(limit: Int) throws {
        let database = try database(limit: limit, "INSERT INTO q VALUES (-1, '2026-01-09 00:30Z', 's1', 0);")
        let (_, execution) = try database.dryAndReal(Self.request)
        #expect(execution.total.deletedCount == 276 * 21 + 1)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["\(7000 - 276 * 21)|\(276 * 21)"])
    }

    @Test func aRowThatDecidesByMoreThanItsDateGoesAlone() throws {
        let database = try database(limit: 500)
        var request = Self.request
        request.filter = .compare("id", .less, .integer(5000))
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.total.deletedCount == 5000)
    }

    @Test(arguments: [200, 1000]) func chunksOfASpaceAreDecompressedTogether(limit: Int) throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL, symbol text);
            SELECT create_hypertable('q', by_range('at', interval '7 days'));
            SELECT add_dimension('q', by_hash('id', 4));
            INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n / 20 * interval '1 hour', 's' || n % 5
            FROM generate_series(0, 4999) n;
            ALTER TABLE q SET (timescaledb.compress, timescaledb.compress_orderby = 'at',
                timescaledb.compress_segmentby = 'symbol');
            SELECT compress_chunk(c) FROM show_chunks('q') c;
            """)
        try database.run(
            "ALTER DATABASE \(PostgresCluster.database(of: database.url)) SET "
                + "timescaledb.max_tuples_decompressed_per_dml_transaction = \(limit)")
        var request = Self.request
        request.cutoff = at("2026-01-06")
        if limit == 200 {
            let survey = try database.reader().survey(request)
            #expect(survey.unsupported?.hasSuffix("allows 200") == true)
            #expect(survey.remedy?.hasPrefix("raise that limit for the user of the job (ALTER ROLE … SET ") == true)
            #expect(survey.remedy?.hasSuffix("or choose a cutoff at the end of a chunk (`align`)") == true)
        } else {
            let (_, execution) = try database.dryAndReal(request)
            #expect(execution.total.deletedCount == 2400)
        }
    }

    /// Nothing is known of the values of another column in a batch: all chunks are decompressed at once.
    @Test(arguments: [500, 0]) func aRuleOnAnotherColumnIsRefusedBeyondTheLimit(limit: Int) throws {
        let database = try database(limit: limit)
        let date = DateAttribute(
            name: "id", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1), latest: nil)
        let request = SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1000))
        guard limit == 0 else {
            let reason = try database.reader().survey(request).unsupported
            return #expect(reason?.contains("decompress 7000 rows") == true)
        }
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.total.deletedCount == 999)
    }

    @Test func whatCannotBeDividedIsRefusedWithItsFigures() throws {
        let database = try database(limit: 20)
        let survey = try database.reader().survey(Self.request)
        #expect(survey.unsupported?.contains("rows of a compressed chunk in one statement") == true)
        #expect(survey.unsupported?.contains("allows 20") == true)
    }

    @Test func frozenChunksAreRefusedWhereTheyHoldExpiredRows() throws {
        let database = try database(limit: 0)
        let chunks = try database.run("SELECT c::text FROM show_chunks('q') c ORDER BY 1")
        try database.run("SELECT _timescaledb_functions.freeze_chunk('\(chunks[1])')")
        let survey = try database.reader().survey(Self.request)
        #expect(survey.unsupported?.hasPrefix("2268 expired rows are in frozen chunks") == true)
        var request = Self.request
        request.cutoff = at("2026-01-08")
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.total.deletedCount == 168 * 21)
    }

    /// Versions of the server have deleted too many compressed rows. Here a row comes into the transaction before its delete.
    @Test func aDeleteOfOtherRowsThanWereFoundIsUndone() throws {
        let database = try database(limit: 500)
        let writer = try database.writer()
        var request = Self.request
        request.filter = .compare("kind", .equal, .integer(0))
        let deletion = try writer.deletion(of: request)
        var isDone = false
        writer.trace = { statement, _ in
            guard statement.hasPrefix("DELETE"), !isDone else { return }
            isDone = true
            _ = try? writer.execute(
                "INSERT INTO q SELECT -1, '2026-01-02 05:30Z', symbol, 0 FROM (SELECT DISTINCT symbol FROM q) AS symbols"
            )
        }
        let error = storeError { _ = try deletion.deleteNext(DeletionBounds(rows: 20)) }
        #expect(error?.kind == .defect && error?.message.contains("rows of compressed chunks of q where ") == true)
        #expect(isDone)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["7000|0"])
    }

    /// Direct deletes of compressed batches are many times faster; only beside an aggregate the server would log them.
    @Test(arguments: [false, true]) func directDeletesAreOffBesideAnAggregateOnly(hasAggregate: Bool) throws {
        let database = try database(limit: 0)
        if hasAggregate {
            try database.run(
                "CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at) AS at, count(*) FROM q "
                    + "GROUP BY 1 WITH NO DATA")
            try database.run("CALL refresh_continuous_aggregate('days', NULL, NULL)")
        }
        let writer = try database.writer()
        var request = Self.request
        request.cutoff = at("2026-01-12")
        request.filter = .compare("kind", .equal, .integer(0))
        var isOff: Set<String> = []
        writer.trace = { statement, _ in
            guard statement.hasPrefix("DELETE") else { return }
            isOff.formUnion(
                (try? writer.texts(SQLFragment("SELECT current_setting('\(KnownDefect.directDeletes)')"))) ?? [])
        }
        _ = try Laws.carryOut(request, batchRows: 1000, on: writer)
        #expect(isOff == [hasAggregate ? "off" : "on"])
    }

    /// An earlier plan counted fewer rows: no part deletes more.
    @Test func noMoreGoThanThePlanCounted() throws {
        let database = try database(limit: 5000)
        let writer = try database.writer()
        var request = Self.request
        request.filter = .compare("kind", .equal, .integer(0))
        let survey = try writer.survey(request)
        let planned = survey.expiredCount
        try database.run(
            "INSERT INTO q SELECT -n, '2026-01-02 05:30Z', 's1', 0 FROM generate_series(1, 3000) n")
        try database.run("SELECT compress_chunk(c, true) FROM show_chunks('q') c")
        let deletion = try writer.deletion(of: request, after: survey)
        var deletedCount = 0
        while case let part = try deletion.deleteNext(DeletionBounds(rows: 1000)), part.hasMore {
            deletedCount += part.result.deletedCount
        }
        #expect(planned == 2898 && deletedCount < planned)
    }

    @Test func nothingIsDeletedBeyondALimitOfRows() throws {
        let database = try database(limit: 500)
        let writer = try database.writer()
        var request = Self.request
        request.deleting.maxRows = 10
        // The rows of a segment go together, and there are more.
        let part = try writer.deletion(of: request).deleteNext(DeletionBounds(rows: 20))
        #expect(part.result.deletedCount == 0 && !part.hasMore)
    }
}
