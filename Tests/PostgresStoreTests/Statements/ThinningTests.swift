import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Thinning beside other sessions, and what it refuses. What one deletion keeps, the judge of random databases says.
@Suite(.needsPostgres, .serialized)
struct ThinningTests {
    private let cluster: PostgresCluster

    init() throws {
        cluster = try PostgresCluster(settings: ["autovacuum = off"])
    }

    private func request(_ pick: Thinning.Pick = .last) -> SurveyRequest {
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: at("2026-03-01"))
        request.keepers.thinning = Thinning(
            tiers: [.init(.day, since: .distantPast)], pick: pick, groupedBy: [], among: pick.isPriced ?? .all,
            date: request.date)
        return request
    }

    /// Another session adds the only row of a day and takes the pick of another day away while the run is at work.
    @Test(arguments: [Thinning.Pick.last, .first], ["range", "windows"])
    func noDayLosesItsLastRowToARunBesideAWriter(_ pick: Thinning.Pick, _ method: String) throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at \(pick == .last ? "timestamptz" : "timestamp") NOT NULL);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n / 10 * interval '1 day'
            + n % 10 * interval '1 hour' FROM generate_series(0, 99) AS n WHERE n / 10 <> 5;
            CREATE INDEX ON price (at);
            """)
        var request = request(pick)
        request.deleting.method = method
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 81 && survey.kept.byTier == [.init(unit: .day, rowCount: 9)])
        let deletion = try writer.deletion(of: request, after: survey)
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        let gone = pick == .last ? 89 : 80
        try other.execute("DELETE FROM price WHERE id = \(gone)")
        try other.execute("INSERT INTO price VALUES (500, '2026-02-06T00:01:00Z')")
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        let days = try other.numbers(
            SQLFragment("SELECT extract(day FROM at AT TIME ZONE 'UTC')::int FROM price ORDER BY at"))
        #expect(Set(days) == Set(1...10), "\(days)")
        // Of the day that has lost its pick the others are left for the next deletion, which finds the picks again.
        _ = try Laws.carryOut(request, batchRows: 20, on: writer)
        let left = try other.numbers(
            SQLFragment("SELECT id FROM price WHERE id BETWEEN 80 AND 89 OR id = 500 ORDER BY id"))
        #expect(left == [pick == .last ? 88 : 81, 500], "\(left)")
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 10)
    }

    /// Another session deletes the highest price of one day and changes the lowest of another one: no further row of these days goes.
    @Test(arguments: ["range", "windows"])
    func noDayLosesAPriceToARunBesideAWriter(_ method: String) throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at timestamptz NOT NULL, close numeric);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n / 10 * interval '1 day'
            + n % 10 * interval '1 hour', (n * 7 + 3) % 10 FROM generate_series(0, 99) AS n;
            CREATE INDEX ON price (at);
            """)
        var request = request(.ohlc(price: "close"))
        request.filter = .isNumber("close")
        request.deleting.method = method
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 60 && survey.kept.byTier == [.init(unit: .day, rowCount: 40)])
        let deletion = try writer.deletion(of: request, after: survey)
        _ = try deletion.deleteNext(DeletionBounds(rows: 12))
        try other.execute("DELETE FROM price WHERE id = 88")
        try other.execute("UPDATE price SET close = 5 WHERE id = 71")
        while try deletion.deleteNext(DeletionBounds(rows: 12)).hasMore {}
        let rows = SQLFragment("SELECT id FROM price WHERE id > 59 ORDER BY id")
        #expect(try other.numbers(rows) == [60, 61, 68, 69] + (70...87) + [89, 90, 91, 98, 99])
        _ = try Laws.carryOut(request, batchRows: 20, on: writer)
        #expect(try other.numbers(rows) == [60, 61, 68, 69, 70, 74, 78, 79, 80, 81, 85, 89, 90, 91, 98, 99])
    }

    /// Another session changes the row that goes next, all the time: no batch fails, and the rows go that would have gone.
    @Test(arguments: ["range", "windows"])
    func changesOfRowsThatGoDoNotKeepThem(_ method: String) throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at timestamptz NOT NULL, value bigint NOT NULL DEFAULT 0);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n * interval '1 minute'
            FROM generate_series(0, 9999) AS n;
            CREATE INDEX ON price (at);
            """)
        let isDone = LockedValue(false)
        // Only the thread uses it.
        nonisolated(unsafe) let changing = other
        let changes = Thread {
            while !isDone.withLock({ $0 }) {
                _ = try? changing.execute(
                    "UPDATE price SET value = value + 1 WHERE id = (SELECT min(id) FROM price WHERE id % 1440 <> 1439)")
            }
        }
        changes.start()
        var request = request()
        request.deleting.method = method
        let execution = try Laws.carryOut(request, batchRows: 500, on: writer)
        isDone.withLock { $0 = true }
        #expect(execution.isComplete && execution.total.deletedCount == 9993, "\(execution)")
    }

    /// The tables of picks are gone with their session.
    @Test func aSessionThatIsCutListsThePicksAgain() throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at timestamptz NOT NULL);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n * interval '1 hour'
            FROM generate_series(0, 99) AS n;
            CREATE INDEX ON price (at);
            """)
        let deletion = try writer.deletion(of: request())
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        let left = try other.numbers(SQLFragment("SELECT id FROM price ORDER BY id"))
        #expect(left == [23, 47, 71, 95, 99], "\(left)")
    }

    /// Without the right to make temporary tables the picks are found again in each batch.
    @Test func aRoleWithoutTemporaryTablesThins() throws {
        let url = try cluster.makeDatabase(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at timestamptz NOT NULL);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n * interval '1 hour'
            FROM generate_series(0, 99) AS n;
            CREATE ROLE keeper LOGIN;
            GRANT SELECT, DELETE ON price TO keeper;
            """)
        let database = PostgresCluster.database(of: url)
        try cluster.run("REVOKE TEMP ON DATABASE \(database) FROM PUBLIC", url: url)
        let writer = try PostgresWriter(PostgresAddress(url: cluster.url(database: database, user: "keeper")))
        let execution = try Laws.carryOut(request(), batchRows: 20, on: writer)
        #expect(execution.isComplete && execution.total.deletedCount == 95)
    }

    @Test func aTableWithoutAKeyIsRefused() throws {
        let (writer, _) = try cluster.open(
            "CREATE TABLE price (at timestamptz); INSERT INTO price VALUES ('2026-01-01')")
        #expect(try writer.survey(request()).unsupported?.contains("no primary key, which thin needs") == true)
    }

    @Test func noPartitionIsDroppedAsAWhole() throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
            CREATE TABLE price_01 PARTITION OF price FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
            CREATE TABLE price_02 PARTITION OF price FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
            INSERT INTO price SELECT n, '2026-01-01'::timestamptz + n * interval '6 hours' FROM generate_series(0, 100) AS n;
            """)
        let execution = try Laws.carryOut(request(), batchRows: 10, on: writer)
        let days = try other.count(SQLFragment("SELECT count(DISTINCT at::date) FROM price"))
        #expect(try execution.isComplete && other.count(SQLFragment("SELECT count(*) FROM price")) == days && days > 20)
    }
}
