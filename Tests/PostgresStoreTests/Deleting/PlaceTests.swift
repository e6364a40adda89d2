import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// A place (`ctid`) is unique in one real table only.
@Suite(.needsPostgres)
struct PlaceTests {
    /// January and February hold rows of the same places; January's are expired.
    private static let schema = """
        CREATE TABLE q (id int, at timestamptz) PARTITION BY RANGE (at);
        CREATE TABLE january PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE february PARTITION OF q FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        INSERT INTO q SELECT n, timestamptz '2026-01-10 00:00:00+00' + n * interval '1 minute' FROM generate_series(1, 40) n;
        INSERT INTO q SELECT 100 + n, timestamptz '2026-02-10 00:00:00+00' + n * interval '1 minute' FROM generate_series(1, 40) n;
        """

    private static func request(_ entity: String = "q") -> SurveyRequest {
        SurveyRequest(entity: entity, date: .of("at"), cutoff: at("2026-02-01"))
    }

    @Test(arguments: [DeleteMethod.range, .windows, .whole], [false, true])
    func rowsOfOtherPartitionsStay(strategy: DeleteMethod, isIndexed: Bool) throws {
        let database = try TestDatabase(Self.schema + (isIndexed ? "CREATE INDEX ON q (at);" : ""))
        let batchRows = strategy == .whole ? nil : 7
        let execution = try Laws.carryOut(
            Self.request(), method: strategy.rawValue, batchRows: batchRows, on: database.writer())
        #expect(execution.isComplete && execution.total.deletedCount == 40)
        #expect(try database.run("SELECT min(id), count(*) FROM q") == ["101|40"])
    }

    /// Rows of one date in both partitions' places, more than a batch takes: they go by their places.
    @Test func tiedRowsAreTakenFromTheirOwnPartition() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int, at timestamptz, symbol text) PARTITION BY LIST (symbol);
            CREATE TABLE gold PARTITION OF q FOR VALUES IN ('XAU');
            CREATE TABLE silver PARTITION OF q FOR VALUES IN ('XAG');
            CREATE INDEX ON q (at);
            INSERT INTO q SELECT n, '2026-01-10 00:00:00+00', 'XAU' FROM generate_series(1, 20) n;
            INSERT INTO q SELECT 100 + n, '2026-02-10 00:00:00+00', 'XAG' FROM generate_series(1, 20) n;
            INSERT INTO q SELECT 50 + n, '2026-01-10 00:00:00+00', 'XAG' FROM generate_series(1, 5) n;
            """)
        let writer = try database.writer()
        let first = try Laws.carryOut(Self.request(), method: "range", batchRows: 3, stopAfter: 2, on: writer)
        #expect(first.batchCounts == [3, 3])
        #expect(try database.run("SELECT count(*) FROM q WHERE at >= '2026-02-01'") == ["20"])
        let rest = try Laws.carryOut(Self.request(), method: "range", batchRows: 3, on: writer)
        #expect(rest.total.deletedCount == 19 && rest.batchCounts.allSatisfy { $0 <= 3 })
        #expect(try database.run("SELECT min(id), count(*) FROM q") == ["101|20"])
    }

    @Test func childrenThatInheritAreNotGoneThroughByPlaces() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int, at timestamptz);
            CREATE TABLE child () INHERITS (q);
            INSERT INTO q VALUES (1, '2026-01-10'), (2, '2026-03-01');
            INSERT INTO child VALUES (3, '2026-03-02'), (4, '2026-01-09');
            """)
        let writer = try database.writer()
        let survey = try writer.findings(Self.request())
        #expect(survey.expiredCount == 2 && survey.possibleMethods == [.range])
        #expect(throws: StoreError.self) {
            try Laws.carryOut(Self.request(), method: "windows", batchRows: 1, on: writer)
        }
        let execution = try Laws.carryOut(Self.request(), method: "range", batchRows: 1, on: writer)
        #expect(execution.total.deletedCount == 2)
        #expect(try database.run("SELECT string_agg(id::text, ',' ORDER BY id) FROM q") == ["2,3"])
    }

    /// The places of a plan mean nothing in a table that another session has put in the place of the planned one.
    @Test func aTableThatIsReplacedMeanwhileLosesNothing() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (id int PRIMARY KEY, at timestamptz); INSERT INTO q VALUES (1, '2026-01-10'), (2, '2026-02-10');"
        )
        let writer = try database.writer()
        let plan = try writer.survey(Self.request())
        try database.run(
            script: """
                CREATE TABLE n (LIKE q INCLUDING ALL); INSERT INTO n SELECT * FROM q; DROP TABLE q; ALTER TABLE n RENAME TO q;
                """)
        let told = storeError {
            _ = try Laws.carryOut(Self.request(), after: plan, method: "windows", batchRows: 20, on: writer)
        }
        #expect(told?.message.contains("has changed since the plan was made") == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["2"])
    }

    /// A row that others make young while the batch waits for them is judged again.
    @Test func aRowThatIsChangedMeanwhileIsJudgedAgain() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (id int PRIMARY KEY, at timestamptz); CREATE INDEX ON q (at); "
                + "INSERT INTO q VALUES (1, '2026-01-10'), (2, '2026-01-10'), (3, '2026-01-11');")
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("UPDATE q SET at = '2026-05-01' WHERE id = 2")
        let writer = try database.writer()
        // The lock is waited for; the other transaction ends while the batch waits.
        nonisolated(unsafe) let session = other
        Thread {
            _ = database.hasWaiter()
            _ = try? session.execute("COMMIT")
        }.start()
        let execution = try Laws.carryOut(Self.request(), method: "whole", batchRows: nil, on: writer)
        #expect(execution.total.deletedCount == 2)
        #expect(try database.run("SELECT id FROM q") == ["2"])
    }
}
