import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Hypertables on a real TimescaleDB: whole chunks are dropped only where that deletes exactly the rows of the rule.
@Suite(.needsPostgres, .needsTimescale)
struct TimescaleTests {
    /// Chunks of seven days with a row each hour from 2026-01-01 on, all of them created on 1 March.
    private static func hypertable(_ more: String = "", type: String = "timestamptz") -> String {
        """
        CREATE TABLE q (id int, at \(type) NOT NULL, created_at timestamptz);
        SELECT create_hypertable('q', by_range('at', interval '7 days'));
        INSERT INTO q SELECT n, timestamp '2026-01-01' + n * interval '1 hour', '2026-03-01Z' FROM generate_series(0, 719) n;
        \(more)
        """
    }

    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-17"))
    private static let chunkCount = "SELECT count(*) FROM show_chunks('q')"

    @Test func wholeChunksAreDroppedAndTheRestGoesByRange() throws {
        let database = try TestDatabase.timescale(Self.hypertable())
        try database.run(
            """
            CREATE MATERIALIZED VIEW daily WITH (timescaledb.continuous) AS
            SELECT time_bucket('1 day', at) AS day, count(*) FROM q GROUP BY 1 WITH NO DATA
            """)
        // Two whole chunks and two days.
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(survey.method == .partitions && survey.possibleMethods == [.partitions, .range])
        #expect(survey.reason == "2 chunks are dropped, and rows outside them are deleted one by one")
        #expect(survey.notes.first?.hasPrefix("the continuous aggregate daily over q keeps") == true)
        #expect(execution.batchCounts.first == 336 && execution.total.deletedCount == 384)
        #expect(execution.batchCounts.dropFirst().allSatisfy { $0 <= 20 })
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["336|384"])
        #expect(try database.run(Self.chunkCount) == ["3"])
    }

    @Test func aChunkWithDatesThatAreNotBelievedGoesByRows() throws {
        let database = try TestDatabase.timescale(Self.hypertable("INSERT INTO q VALUES (-1, '1970-05-01');"))
        let (_, execution) = try database.dryAndReal(Self.request)
        #expect(execution.batchCounts.first == 336)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["337|-1"])
    }

    /// Chunks say nothing about any other column.
    @Test func aRuleOnAnotherColumnGoesByRows() throws {
        let database = try TestDatabase.timescale(
            Self.hypertable(
                "UPDATE q SET created_at = NULL WHERE id < 100; UPDATE q SET created_at = at WHERE id >= 600;"))
        let request = SurveyRequest(entity: "q", date: .of("created_at"), cutoff: at("2026-02-15"))
        let (survey, execution) = try database.dryAndReal(request)
        #expect(!survey.possibleMethods.contains(.partitions) && execution.total.deletedCount == 120)
        #expect(survey.methodObstacles[.partitions] == "its chunks are not ranges of created_at")
        #expect(try database.run("SELECT count(*), count(created_at) FROM q") == ["600|500"])
    }

    /// Others delete the rows after the plan, so that the first batch finds none to divide.
    @Test func rowsThatOthersDeletedAreNotDivided() throws {
        let database = try TestDatabase.timescale(Self.hypertable("UPDATE q SET created_at = at;"))
        let request = SurveyRequest(entity: "q", date: .of("created_at"), cutoff: at("2026-01-17"))
        let writer = try database.writer()
        #expect(try writer.survey(request).expiredCount == 384)
        try database.run("DELETE FROM q WHERE created_at < '2026-01-17Z'")
        #expect(try Laws.carryOut(request, method: "range", batchRows: 20, on: writer).total.deletedCount == 0)
        #expect(try database.run("SELECT count(*) FROM q") == ["336"])
    }

    /// Nor does a second range that chunks are divided by.
    @Test func aRuleOnTheSecondDimensionGoesByRows() throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL, created_at timestamptz NOT NULL);
            SELECT create_hypertable('q', by_range('at', interval '7 days'));
            SELECT add_dimension('q', by_range('created_at', interval '7 days'));
            INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n * interval '1 day', timestamptz '2026-01-31Z' - n * interval '1 day'
            FROM generate_series(0, 29) n;
            """)
        let (survey, _) = try database.dryAndReal(
            SurveyRequest(entity: "q", date: .of("created_at"), cutoff: at("2026-01-16")))
        #expect(!survey.possibleMethods.contains(.partitions))
        #expect(try database.run("SELECT count(*), min(created_at) FROM q") == ["16|2026-01-16 00:00:00+00"])
    }

    @Test func chunksOfAllPartsOfASpaceGoTogether() throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL);
            SELECT create_hypertable('q', by_range('at', interval '7 days'));
            SELECT add_dimension('q', by_hash('id', 3));
            INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
            """)
        let (_, execution) = try database.dryAndReal(Self.request)
        #expect(execution.batchCounts.first == 336)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["336|384"])
    }

    /// The server asks for bounds of exactly the column's type.
    @Test(arguments: ["smallint", "int", "bigint"])
    func numbersAreTimesToo(type: String) throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (at \(type) NOT NULL);
            SELECT create_hypertable('q', by_range('at', 100));
            INSERT INTO q SELECT n FROM generate_series(0, 999) n;
            """)
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 100), latest: nil)
        let request = SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 550))
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.batchCounts.first == 400 && execution.total.deletedCount == 450)
        #expect(try database.run("SELECT count(*), min(at), count(*) FILTER (WHERE at >= 550) FROM q") == ["550|0|450"])
    }

    @Test(arguments: ["timestamp", "date"])
    func localChunksEndWhereTheZonesDaysDo(type: String) throws {
        let berlin = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let database = try TestDatabase.timescale(Self.hypertable(type: type))
        // 23:00Z on 14 January is midnight of 15 January in Berlin, where a chunk ends; a microsecond earlier it has not ended.
        for (cutoff, chunks) in [("2026-01-14T22:59:59.999999Z", "4"), ("2026-01-14T23:00:00Z", "3")] {
            let request = SurveyRequest(entity: "q", date: .of("at", zone: berlin), cutoff: at(cutoff))
            _ = try database.dryAndReal(request, zone: berlin)
            #expect(try database.run(Self.chunkCount) == [chunks])
        }
        #expect(try database.run("SELECT count(*), min(at)::date FROM q") == ["384|2026-01-15"])
    }

    /// The server itself leaves rows out there: `at >= 1 AND at < 1500` finds none of 500.
    @Test func chunksByAFunctionOfTheColumnAreRefused() throws {
        let database = try TestDatabase.timescale(
            """
            CREATE FUNCTION turned(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2000 - $1';
            CREATE TABLE q (at bigint NOT NULL);
            SELECT create_hypertable('q', by_range('at', 100, partition_func => 'turned'));
            INSERT INTO q SELECT n FROM generate_series(1000, 1999) n;
            """)
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1), latest: nil)
        let request = SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1500))
        #expect(try database.reader().survey(request).unsupported?.contains("partitioning function") == true)
    }

    @Test func compressedChunksAreCountedAndDropped() throws {
        let database = try TestDatabase.timescale(
            Self.hypertable(
                """
                ALTER TABLE q SET (timescaledb.compress, timescaledb.compress_orderby = 'at');
                SELECT compress_chunk(c) FROM show_chunks('q', older_than => timestamptz '2026-01-16Z') c;
                INSERT INTO q VALUES (-1, '2026-01-02 00:30Z');
                """))
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(survey.expiredCount == 385 && execution.batchCounts.first == 337)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["336|384"])
    }

    /// A chunk that stays between two that go is counted too.
    @Test func rowsOfAChunkThatStaysBetweenOthersAreCounted() throws {
        let database = try TestDatabase.timescale(Self.hypertable())
        var request = Self.request
        request.cutoff = at("2026-01-22")
        let chunks = try database.run("SELECT c::text FROM show_chunks('q') c ORDER BY 1")
        try database.run("SELECT _timescaledb_functions.freeze_chunk('\(chunks[1])')")
        let survey = try database.writer().findings(request)
        #expect(survey.unsupported?.hasPrefix("168 expired rows are in frozen chunks") == true)
        #expect(survey.expiredCount == 504)
    }

    /// The server refuses every delete whose plan has a frozen chunk.
    @Test func aFrozenChunkThatADeleteReachesIsRefused() throws {
        let database = try TestDatabase.timescale(
            Self.hypertable("DELETE FROM q WHERE at BETWEEN '2026-01-15Z' AND '2026-01-16 12:00Z';"))
        var request = Self.request
        request.cutoff = at("2026-01-16 12:00")
        let chunks = try database.run("SELECT c::text FROM show_chunks('q') c ORDER BY 1")
        try database.run("SELECT _timescaledb_functions.freeze_chunk('\(chunks[2])')")
        for survey in [try database.reader().findings(request), try database.writer().findings(request)] {
            #expect(survey.unsupported?.hasPrefix("the server refuses a delete that reaches frozen chunks") == true)
        }
        var filtered = request
        filtered.filter = .compare("at", .less, .text("2026-01-02"))
        #expect(try database.reader().survey(filtered).unsupported == nil)
        request.cutoff = at("2026-01-15")
        #expect(try database.dryAndReal(request).1.total.deletedCount == 336)
    }

    /// A user who may not see the chunks.
    @Test(arguments: [
        "REVOKE ALL ON \"private\"._hyper_1_2_chunk FROM {user};", "REVOKE USAGE ON SCHEMA private FROM {user};",
    ]) func chunksOfAnotherUserAreCountedAsOneTable(_ change: String) throws {
        let database = try TestDatabase.timescale(
            """
            CREATE SCHEMA private; CREATE TABLE q (id int, at timestamptz NOT NULL);
            SELECT create_hypertable('q', 'at', chunk_time_interval => interval '7 days', associated_schema_name => 'private');
            INSERT INTO q SELECT n, timestamp '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
            """)
        let user = try database.makeUser("GRANT SELECT, DELETE ON q TO")
        try database.run("GRANT USAGE ON SCHEMA private TO \(user)")
        try database.run(script: change.replacingOccurrences(of: "{user}", with: user))
        var request = Self.request
        request.counts.all = false
        let (survey, execution) = try database.dryAndReal(request, user: user)
        #expect(
            survey.expiredCount == execution.total.deletedCount && survey.dates.newestExpired == at("2026-01-16 23:00"))
        #expect(survey.expiredCount == 384)
    }

    /// Attached chunks of a space may overlap: those that are dropped need not be all before the end of the last one.
    @Test func rowsOfOverlappingChunksAreCounted() throws {
        let (low, middle, high) = (Int64.min, 1_073_741_823 as Int64, Int64.max)
        func attach(_ name: String, _ end: String, _ from: Int64, _ to: Int64) -> String {
            "CREATE TABLE \(name) (LIKE q); CALL attach_chunk('q', '\(name)', "
                + "'{\"at\": [\"2026-01-01\", \"\(end)\"], \"id\": [\(from), \(to)]}'::jsonb);"
        }
        let database = try TestDatabase.timescale(
            """
            SET timezone = 'UTC'; CREATE TABLE q (id int, at timestamptz NOT NULL);
            SELECT create_hypertable('q', by_range('at', interval '7 days')); SELECT add_dimension('q', by_hash('id', 2));
            \(attach("a", "2026-01-08", low, middle)) \(attach("b", "2026-01-20", middle, high))
            INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 167) n;
            INSERT INTO q SELECT n, timestamptz '2026-01-08Z' + n * interval '1 minute' FROM generate_series(0, 20000) n
            WHERE _timescaledb_functions.get_partition_hash(n) >= \(middle);
            """)
        var request = Self.request
        request.counts.all = false
        let expired = try database.run("SELECT count(*) FROM q WHERE at < '2026-01-17Z'")
        let (survey, _) = try database.dryAndReal(request)
        #expect(["\(survey.expiredCount)"] == expired)
    }

    @Test func theSearchPathNeedNotLeadToTheExtension() throws {
        let database = try TestDatabase.timescale(Self.hypertable())
        let name = try database.run("SELECT current_database()")[0]
        try database.run("ALTER DATABASE \(name) SET search_path = ''")
        var request = Self.request
        request.entity = "public.q"
        let (survey, _) = try database.dryAndReal(request)
        #expect(survey.method == .partitions)
        #expect(try database.reader().sizeBytes(ofEntity: "public.q") ?? 0 > 0)
    }

    @Test func manyChunksGoInSeveralBatches() throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (at bigint NOT NULL); SELECT create_hypertable('q', by_range('at', 10));
            INSERT INTO q SELECT n FROM generate_series(1000, 1999) n;
            """)
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1), latest: nil)
        let (_, execution) = try database.dryAndReal(
            SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1995)))
        #expect(Array(execution.batchCounts.prefix(2)) == [640, 350] && execution.total.deletedCount == 995)
        #expect(try database.run("SELECT count(*), min(at) FROM q") == ["5|1995"])
    }

    // MARK: Foreign keys of hypertables

    /// 20 devices, one made each day, and 30 days of readings of the last ten.
    private static func devices(_ action: String = "", _ more: String = "") -> String {
        """
        CREATE TABLE device (id int PRIMARY KEY, made timestamptz);
        CREATE TABLE q (device int REFERENCES device \(action), at timestamptz NOT NULL);
        SELECT create_hypertable('q', by_range('at', interval '7 days'));
        INSERT INTO device SELECT n, timestamptz '2026-01-01Z' + n * interval '1 day' FROM generate_series(0, 19) n;
        INSERT INTO q SELECT 10 + n % 10, timestamptz '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
        \(more)
        """
    }

    private static func devices(before cutoff: String) -> SurveyRequest {
        SurveyRequest(entity: "device", date: .of("made"), cutoff: at(cutoff))
    }

    @Test func rowsThatNoHypertableRefersToGo() throws {
        let database = try TestDatabase.timescale(Self.devices())
        let (survey, _) = try database.dryAndReal(Self.devices(before: "2026-01-11"))
        #expect(survey.expiredCount == 10 && survey.related.obstacles.isEmpty)
        let denied = try database.reader().survey(Self.devices(before: "2026-01-13")).related.obstacles
        #expect(denied.map(\.rowCount) == [144] && denied.map(\.relationship.source) == ["q"])
        // After a rule that takes the readings, the devices go too.
        var after = Self.devices(before: "2026-01-13")
        after.preceding = [
            BatchDeleteRequest(SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-03-01")))
        ]
        #expect(try database.reader().survey(after).related.obstacles.isEmpty)
    }

    @Test(arguments: ["ON DELETE CASCADE", "ON DELETE SET NULL"]) func cascadesIntoAHypertableAreRefused(action: String)
        throws
    {
        let database = try TestDatabase.timescale(Self.devices(action))
        let reason = try database.reader().survey(Self.devices(before: "2026-01-02")).unsupported
        #expect(
            reason?.hasPrefix(
                "q, a hypertable, refers to device: what its foreign key deletes or changes there cannot be") == true)
    }

    /// Their rows have no places.
    @Test func compressedRowsThatReferAreRefused() throws {
        let compress = "ALTER TABLE q SET (timescaledb.compress); SELECT compress_chunk(c) FROM show_chunks('q') c;"
        let database = try TestDatabase.timescale(
            Self.devices(
                "",
                compress + "CREATE TABLE part (id int REFERENCES device); CREATE TABLE site (id int PRIMARY KEY, "
                    + "made timestamptz); CREATE TABLE room (id int REFERENCES site ON DELETE CASCADE); INSERT INTO site VALUES (1, '2026-01-01Z');"
            ))
        let survey = try database.reader().survey(Self.devices(before: "2026-01-02"))
        #expect(survey.unsupported?.hasPrefix("q has compressed chunks") == true)
        // A rule that has nothing to do with them is not in their way.
        var site = SurveyRequest(entity: "site", date: .of("made"), cutoff: at("2026-01-02"))
        site.preceding = [
            BatchDeleteRequest(SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-12")))
        ]
        #expect(try database.reader().survey(site).expiredCount == 1)
        let deletes = site.preceding + [BatchDeleteRequest(site)]
        let spared = try database.reader().countSpared("q", date: .of("at"), filter: .all, by: deletes, limit: nil)
        #expect(spared == 456)
    }

    // MARK: What others do meanwhile

    /// A row that arrives after the count of the plan is counted where it goes.
    @Test func rowsThatArriveBeforeTheDropAreCounted() throws {
        let database = try TestDatabase.timescale(Self.hypertable())
        let writer = try database.writer()
        let plan = try writer.survey(Self.request)
        var hasArrived = false
        writer.trace = { statement, _ in
            guard statement.contains("LOCK TABLE"), !hasArrived else { return }
            hasArrived = true
            _ = try? database.run("INSERT INTO q VALUES (1000, '2026-01-02 00:30Z')")
        }
        let execution = try Laws.carryOut(
            Self.request, after: plan, method: "partitions", batchRows: 20, on: writer)
        #expect(hasArrived && plan.expiredCount == 384 && execution.total.deletedCount == 385)
    }

    @Test(arguments: [GuardTests.keepingTrigger, GuardTests.policy])
    func aGuardThatComesAfterThePlanHolds(sql: String) throws {
        let database = try TestDatabase.timescale(Self.hypertable())
        let user = try database.makeOwner()
        let writer = try PostgresWriter(database.address(of: user))
        let plan = try writer.survey(Self.request)
        #expect(try writer.findings(of: Self.request, after: plan).method == .partitions)
        try database.run(script: sql)
        let told = storeError {
            _ = try Laws.carryOut(Self.request, after: plan, method: "partitions", batchRows: 20, on: writer)
        }
        #expect(told?.message.contains("has changed since the plan was made") == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["720"])
        try GuardTests.nextRunKeepsWhatAGuardKeeps(database, Self.request, user: user)
    }
}
