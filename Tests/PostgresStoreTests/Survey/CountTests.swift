import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What a run says that it has deleted is counted when nobody can write to it any more.
@Suite(.needsPostgres, .serialized)
struct CountTests {
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

    @Test(arguments: [
        "INSERT INTO q VALUES ('2026-01-20')", "INSERT INTO other VALUES (1); INSERT INTO q VALUES ('2026-02-20')",
    ])
    func aRowThatComesBetweenIsCounted(statements: String) throws {
        let (writer, other) = try cluster.open(Self.partitions)
        let survey = try writer.survey(Self.request)
        try other.execute(script: [statements])
        let execution = try Laws.carryOut(
            Self.request, after: survey, method: "partitions", batchRows: 100, on: writer)
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
        let execution = try Laws.carryOut(
            Self.request, after: survey, method: "partitions", batchRows: 100, on: writer)
        #expect(survey.expiredCount == 1416 && execution.total.deletedCount == 1417)
    }

    /// Rows that stay are counted where a limit is a share of all, or where all are asked for.
    @Test(arguments: [partitions, ExpiringRows.schema]) func keptRowsAreCountedWhereThatIsAskedFor(schema: String)
        throws
    {
        let (writer, _) = try cluster.open(schema)
        var request = schema == Self.partitions ? Self.request : ExpiringRows.request
        let whole = try writer.survey(request)
        #expect(whole.rowCount != nil && whole.readableCount != nil)
        request.counts.all = false
        #expect(try writer.survey(request) == whole)
        request.counts.kept = false
        var partial = try writer.survey(request)
        #expect(partial.rowCount == nil && partial.readableCount == nil)
        partial.rowCount = whole.rowCount
        partial.readableCount = whole.readableCount
        #expect(partial == whole)
    }
}
