import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Distributed tables on a real Citus: a coordinator and two workers.
@Suite(.needsPostgres, .needsCitus)
struct CitusTests {
    /// A row each hour of each symbol, twice.
    private static let table = """
        CREATE TABLE q (symbol text, id int, at timestamptz, PRIMARY KEY (symbol, id)); CREATE INDEX ON q (at);
        INSERT INTO q SELECT s, n, timestamptz '2026-01-01 00:00:00+00' + n / 2 * interval '1 hour'
        FROM generate_series(0, 99) n, unnest('{A,BB,CCC}'::text[]) s;

        """
    private static let distribute = "SELECT create_distributed_table('q', 'symbol');"
    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-02"))

    @Test(arguments: ["", distribute, "SELECT create_reference_table('q');"])
    func theDryRunAndTheRunAgree(more: String) throws {
        let database = try TestDatabase.citus(Self.table + more)
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(survey.expiredCount == 144 && execution.batchCounts.allSatisfy { $0 <= 20 })
        #expect(survey.isInDateOrder == more.isEmpty)
        #expect(
            try database.run("SELECT symbol, count(*), min(id) FROM q GROUP BY 1 ORDER BY 1") == [
                "A|52|48", "BB|52|48", "CCC|52|48",
            ])
    }

    @Test func aDistributedTableIsGoneThroughByKeysOneShardGroupAfterAnother() throws {
        let database = try TestDatabase.citus(Self.table + Self.distribute)
        let writer = try database.writer()
        var deletes: [(statement: String, plan: [String])] = []
        writer.trace = { statement, plan in
            #expect(!statement.contains("ctid") && !statement.contains("tableoid"))
            if statement.hasPrefix("DELETE") { deletes.append((statement, plan)) }
        }
        let survey = try writer.findings(Self.request)
        #expect(survey.possibleTechniques == [.range])
        let first = try Laws.carryOut(Self.request, technique: "range", batchRows: 7, stopAfter: 3, on: writer)
        #expect(first.batchCounts == [7, 7, 7])
        // All of one symbol, the oldest.
        #expect(try database.run("SELECT count(*) FROM q GROUP BY symbol ORDER BY 1") == ["79", "100", "100"])
        #expect(try database.run("SELECT min(id) FROM q GROUP BY symbol HAVING count(*) = 79") == ["21"])
        let rest = try Laws.carryOut(Self.request, technique: "range", batchRows: 7, on: writer)
        #expect(rest.isComplete && rest.total.deletedCount == 123 && rest.batchCounts.allSatisfy { $0 <= 7 })
        // The coordinator sends each statement to one shard.
        #expect(!deletes.isEmpty)
        for delete in deletes {
            #expect(delete.plan.contains { $0.contains("Task Count: 1") }, "\(delete)")
        }
    }

    @Test func partitionsOfADistributedTableGoByRows() throws {
        let database = try TestDatabase.citus(
            """
            CREATE TABLE q (symbol text, id int, at timestamptz, PRIMARY KEY (symbol, id, at)) PARTITION BY RANGE (at);
            CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('2026-01-01 00:00Z') TO ('2026-01-02 00:00Z');
            CREATE TABLE q_2 PARTITION OF q FOR VALUES FROM ('2026-01-02 00:00Z') TO ('2026-02-01 00:00Z');
            \(Self.distribute)
            INSERT INTO q SELECT s, n, timestamptz '2026-01-01 00:00:00+00' + n * interval '1 hour'
            FROM generate_series(0, 99) n, unnest('{A,BB,CCC}'::text[]) s;
            """)
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(survey.possibleTechniques == [.range] && execution.total.deletedCount == 72)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["228|24"])
    }

    @Test func foreignKeysOntoADistributedTableAreRefused() throws {
        let database = try TestDatabase.citus(
            Self.table + Self.distribute
                + """
                CREATE TABLE note (s text, n int, FOREIGN KEY (s, n) REFERENCES q ON DELETE CASCADE);
                SELECT create_distributed_table('note', 's', colocate_with => 'q');
                """)
        let survey = try database.reader().survey(Self.request)
        #expect(survey.unsupported?.contains("note refers to q, which is distributed") == true)
    }
}
