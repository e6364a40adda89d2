import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Thinning beside other sessions, and what it refuses. What one deletion keeps, the judge of random databases says.
@Suite(.needsPostgres, .serialized)
struct ThinningTests {
    private let cluster: PostgresCluster

    init() throws {
        cluster = try PostgresCluster(settings: ["autovacuum = off"])
    }

    private func open(_ statements: String) throws -> (PostgresWriter, PostgresConnection) {
        let address = PostgresAddress(url: try cluster.makeDatabase(statements))
        return (
            try PostgresWriter(address),
            try PostgresConnection(address, PostgresConnection.Options(isReadOnly: false))
        )
    }

    private func request(_ pick: Thinning.Pick = .last) -> SurveyRequest {
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: at("2026-03-01"))
        request.thinning = Thinning(
            tiers: [.init(.day, since: .distantPast)], pick: pick, groupedBy: [], among: .all, date: request.date)
        return request
    }

    /// Another session adds the only row of a day and takes the pick of another day away while the run is at work.
    @Test(arguments: [Thinning.Pick.last, .first], ["range", "windows"])
    func noDayLosesItsLastRowToARunBesideAWriter(_ pick: Thinning.Pick, _ technique: String) throws {
        let (writer, other) = try open(
            """
            CREATE TABLE price (id bigint PRIMARY KEY, at timestamptz NOT NULL);
            INSERT INTO price SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n / 10 * interval '1 day'
            + n % 10 * interval '1 hour' FROM generate_series(0, 99) AS n WHERE n / 10 <> 5;
            CREATE INDEX ON price (at);
            """)
        var request = request(pick)
        request.technique = technique
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 81 && survey.keptByTier == [.init(unit: .day, rowCount: 9)])
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        let gone = pick == .last ? 89 : 80
        try other.execute("DELETE FROM price WHERE id = \(gone)")
        try other.execute("INSERT INTO price VALUES (500, '2026-02-06T00:01:00Z')")
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        let days = try other.rows(
            SQLFragment("SELECT extract(day FROM at AT TIME ZONE 'UTC')::int FROM price ORDER BY at")
        ).map { $0[0] }
        #expect(Set(days) == Set((1...10).map { "\($0)" }), "\(days)")
    }

    @Test func aTableWithoutAKeyIsRefused() throws {
        let (writer, _) = try open("CREATE TABLE price (at timestamptz); INSERT INTO price VALUES ('2026-01-01')")
        #expect(try writer.survey(request()).unsupported?.contains("no primary key, which thin needs") == true)
    }

    @Test func noPartitionIsDroppedAsAWhole() throws {
        let (writer, other) = try open(
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
