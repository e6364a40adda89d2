import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What was counted is not counted again, but only while nobody else writes. Each test has a server of its own: a number
/// that a test beside it takes would end what is known.
@Suite(.needsPostgres, .serialized)
struct KnownCountsTests {
    private static let partitions = """
        CREATE TABLE q (at timestamptz NOT NULL) PARTITION BY RANGE (at);
        CREATE TABLE q_01 PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE q_02 PARTITION OF q FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        CREATE TABLE q_03 PARTITION OF q FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
        CREATE INDEX ON q (at); CREATE TABLE other (n int);
        INSERT INTO q SELECT t FROM generate_series('2026-01-01'::timestamp, '2026-03-30', interval '1 hour') t;
        """
    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-03-01"))

    private let cluster: PostgresCluster

    init() throws {
        cluster = try PostgresCluster(settings: ["autovacuum = off"])
    }

    /// The statements that count rows one by one, of those that a piece of work says.
    private func counts(_ writer: PostgresWriter, _ body: () throws -> Void) rethrows -> [String] {
        var said: [String] = []
        writer.trace = { statement, _ in said.append(statement) }
        try body()
        return said.filter { $0.contains("SELECT count(*)") }
    }

    @Test func partitionsAreCountedOnceWhereNobodyElseWrites() throws {
        let (writer, _) = try cluster.open(Self.partitions)
        let survey = try writer.survey(Self.request)
        #expect(survey.expiredCount == 1416)
        let counts = try counts(writer) {
            let execution = try Laws.carryOut(Self.request, technique: "partitions", batchRows: 100, on: writer)
            #expect(execution.total.deletedCount == 1416)
        }
        #expect(counts == [])
    }

    @Test(arguments: [
        "INSERT INTO q VALUES ('2026-01-20')", "INSERT INTO other VALUES (1); INSERT INTO q VALUES ('2026-02-20')",
    ])
    func aRowThatComesBetweenIsCounted(statements: String) throws {
        let (writer, other) = try cluster.open(Self.partitions)
        let survey = try writer.survey(Self.request)
        try other.execute(script: [statements])
        let execution = try Laws.carryOut(Self.request, technique: "partitions", batchRows: 100, on: writer)
        #expect(survey.expiredCount == 1416 && execution.total.deletedCount == 1417)
    }

    /// Its number is older than the survey, and its row comes to be seen later.
    @Test func aTransactionThatWasAtWorkIsCounted() throws {
        let (writer, other) = try cluster.open(Self.partitions)
        try other.execute("BEGIN")
        try other.execute("INSERT INTO q VALUES ('2026-01-20')")
        try writer.execute("SELECT pg_current_xact_id()")
        let survey = try writer.survey(Self.request)
        try other.execute("COMMIT")
        let execution = try Laws.carryOut(Self.request, technique: "partitions", batchRows: 100, on: writer)
        #expect(survey.expiredCount == 1416 && execution.total.deletedCount == 1417)
    }

    /// It has taken the number that comes next, and is at work while the survey counts.
    @Test func aTransactionWithTheNextNumberIsCounted() throws {
        let (writer, other) = try cluster.open(ExpiringRows.schema)
        let request = ExpiringRows.request
        try other.execute("BEGIN")
        try other.execute("INSERT INTO q VALUES (1000, '2026-01-01 00:00:30+00')")
        #expect(try writer.survey(request).expiredCount == 299)
        try other.execute("COMMIT")
        #expect(try writer.count(StoreFetchRequest(entity: "q", predicate: request.expired)) == 300)
    }

    @Test func whatIsLeftNeedNotBeCounted() throws {
        let (writer, other) = try cluster.open(ExpiringRows.schema)
        let request = ExpiringRows.request
        let residue = StoreFetchRequest(entity: "q", predicate: request.expired)
        _ = try writer.survey(request)
        _ = try writer.execute(ExpiringRows.batch())
        let counts = try counts(writer) {
            #expect(try writer.count(residue) == 249)
            _ = try writer.execute(ExpiringRows.batch(nil))
            #expect(try writer.count(residue) == 0)
        }
        #expect(counts == [])
        try other.execute("INSERT INTO q VALUES (1000, '2026-01-01 00:00:30+00')")
        #expect(try writer.count(residue) == 1)
        // What came once stays so.
        _ = try writer.execute(ExpiringRows.batch(nil))
        #expect(try writer.count(residue) == 0)
    }

    @Test func aDeleteThatHasEffectsIsCounted() throws {
        let (writer, _) = try cluster.open(
            ExpiringRows.schema
                + """
                CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN IF OLD.id = 7 THEN INSERT INTO q VALUES (-7, OLD.at); END IF; RETURN OLD; END';
                CREATE TRIGGER again AFTER DELETE ON q FOR EACH ROW EXECUTE FUNCTION again();
                """)
        _ = try writer.survey(ExpiringRows.request)
        _ = try writer.execute(ExpiringRows.batch(nil))
        #expect(try writer.count(StoreFetchRequest(entity: "q", predicate: ExpiringRows.request.expired)) == 1)
    }

    /// Rows that stay are counted where a limit is a share of all, or where all are asked for.
    @Test(arguments: [partitions, ExpiringRows.schema]) func keptRowsAreCountedWhereThatIsAskedFor(schema: String)
        throws
    {
        let (writer, _) = try cluster.open(schema)
        var request = schema == Self.partitions ? Self.request : ExpiringRows.request
        let whole = try writer.survey(request)
        #expect(whole.rowCount != nil && whole.readableCount != nil)
        request.countsAllRows = false
        #expect(try writer.survey(request) == whole)
        request.countsKeptRows = false
        var partial = try writer.survey(request)
        #expect(partial.rowCount == nil && partial.readableCount == nil)
        partial.rowCount = whole.rowCount
        partial.readableCount = whole.readableCount
        #expect(partial == whole)
    }

    /// TimescaleDB's own triggers and drops are no reason to count again.
    @Test(.needsTimescale) func whatIsLeftOfAHypertableNeedNotBeCounted() throws {
        let server = try PostgresCluster(
            settings: [
                // The extension's own processes write when they like.
                "shared_preload_libraries = 'timescaledb'", "max_worker_processes = 1", "autovacuum = off",
            ])
        let url = try server.makeDatabase(
            """
            SET client_min_messages = error; CREATE EXTENSION timescaledb;
            CREATE TABLE q (at timestamptz NOT NULL); SELECT create_hypertable('q', by_range('at', interval '1 hour'));
            INSERT INTO q SELECT generate_series('2026-01-01Z', '2026-01-01 11:59Z', interval '1 minute');
            """)
        let writer = try PostgresWriter(PostgresAddress(url: url))
        var request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-01T05:30:00Z"))
        request.countsAllRows = false
        let residue = StoreFetchRequest(entity: "q", predicate: request.expired)
        #expect(try writer.survey(request).expiredCount == 330)
        let counts = try counts(writer) {
            let execution = try Laws.carryOut(request, technique: "partitions", batchRows: 20, on: writer)
            #expect(execution.total.deletedCount == 330)
            #expect(try writer.count(residue) == 0)
        }
        #expect(counts.filter { !$0.contains("drop_chunks") } == [])
        try server.run("INSERT INTO q VALUES ('2026-01-01 01:00Z')", url: url)
        #expect(try writer.count(residue) == 1)
    }
}
