import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// TimescaleDB and Citus cannot be installed here. These databases have their catalogs and functions under the same names,
/// on ordinary tables: so every statement is carried out, and it is seen which ones there are.
@Suite(.needsPostgres)
struct ExtensionTests {
    private static func pretend(_ name: String) -> String {
        """
        SET allow_system_table_mods = on;
        INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        VALUES (99999, '\(name)', 10, 'public'::regnamespace, FALSE, '0');

        """
    }

    /// Chunks of seven days, from 2026-01-01 on.
    private static let timescale =
        pretend("timescaledb") + """
            CREATE TABLE q (id int, at timestamptz); CREATE INDEX ON q (at);
            INSERT INTO q SELECT n, timestamptz '2026-01-01 00:00:00+00' + n * interval '1 hour' FROM generate_series(0, 719) n;
            CREATE SCHEMA timescaledb_information;
            CREATE VIEW timescaledb_information.hypertables AS
                SELECT 'public'::name AS hypertable_schema, 'q'::name AS hypertable_name;
            CREATE VIEW timescaledb_information.continuous_aggregates AS SELECT 'public'::name AS hypertable_schema,
                'q'::name AS hypertable_name, 'public'::name AS view_schema, 'hourly'::name AS view_name;
            CREATE FUNCTION drop_chunks(relation regclass, older_than timestamptz) RETURNS SETOF text LANGUAGE sql AS $$
                WITH gone AS (DELETE FROM q WHERE date_bin('7 days', at, '2026-01-01 00:00:00+00') + interval '7 days' <= older_than
                    RETURNING date_bin('7 days', at, '2026-01-01 00:00:00+00')) SELECT DISTINCT 'chunk' FROM gone $$;

            """

    @Test func wholeChunksOfAHypertableGoByDropChunksAndTheRestByRange() throws {
        let database = try TestDatabase(Self.timescale)
        let writer = try database.writer()
        // Two whole chunks and two days.
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-17"))
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 384 && survey.strategy == .partitions)
        #expect(survey.possibleStrategies == [.partitions, .range])
        #expect(survey.strategyReason?.contains("the continuous aggregates public.hourly keep what they hold") == true)
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        let execution = try Laws.carryOut(request, strategy: .partitions, batchRows: 20, on: writer)
        #expect(execution.isComplete && execution.batchCounts.first == 336 && execution.total.deletedCount == 384)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["336|384"])
        #expect(
            statements.contains {
                $0.hasPrefix("SELECT count(*) FROM drop_chunks($1::regclass, older_than => $2::timestamptz)")
            })
        // A place is another row in each chunk: only together with the chunk's own number.
        #expect(statements.allSatisfy { !$0.contains("ctid") || $0.contains("tableoid") })
    }

    @Test func chunksWithRowsThatCannotBeReadStay() throws {
        let database = try TestDatabase(Self.timescale + "INSERT INTO q VALUES (-1, '1970-05-01');")
        let writer = try database.writer()
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-17"))
        let execution = try Laws.carryOut(request, strategy: .partitions, batchRows: 20, on: writer)
        #expect(execution.total.deletedCount == 384 && execution.batchCounts.allSatisfy { $0 <= 20 })
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["337|-1"])
    }

    /// Symbols of an even and of an odd length are in two shards.
    private static let citus =
        pretend("citus") + """
            CREATE TABLE q (symbol text, id int, at timestamptz, PRIMARY KEY (symbol, id)); CREATE INDEX ON q (at);
            INSERT INTO q SELECT s, n, timestamptz '2026-01-01 00:00:00+00' + n / 2 * interval '1 hour'
            FROM generate_series(0, 99) n, unnest('{A,BB,CCC}'::text[]) s;
            CREATE TABLE pg_dist_partition AS SELECT 'q'::regclass AS logicalrelid;
            CREATE TABLE citus_tables AS
                SELECT 'q'::regclass AS table_name, 'distributed'::text AS citus_table_type, 'symbol'::text AS distribution_column;
            CREATE FUNCTION get_shard_id_for_distribution_column(table_name regclass, value anyelement) RETURNS bigint
                LANGUAGE sql AS $$ SELECT 102008 + length(value::text) % 2 $$;

            """

    private static let distributed = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-02"))

    @Test func aDistributedTableIsGoneThroughByKeysOneShardGroupAfterAnother() throws {
        let database = try TestDatabase(Self.citus)
        let writer = try database.writer()
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        let survey = try writer.survey(Self.distributed)
        #expect(survey.expiredCount == 144 && survey.possibleStrategies == [.range] && !survey.isInDateOrder)
        // BB is the first shard's.
        let first = try Laws.carryOut(Self.distributed, strategy: .range, batchRows: 7, stopAfter: 3, on: writer)
        #expect(first.batchCounts == [7, 7, 7])
        #expect(
            try database.run("SELECT symbol, count(*), min(id) / 2 FROM q GROUP BY 1 ORDER BY 1") == [
                "A|100|0", "BB|79|10", "CCC|100|0",
            ])
        let rest = try Laws.carryOut(Self.distributed, strategy: .range, batchRows: 7, on: writer)
        #expect(rest.isComplete && rest.total.deletedCount == 123 && rest.batchCounts.allSatisfy { $0 <= 7 })
        #expect(
            try database.run("SELECT symbol, count(*), min(id) FROM q GROUP BY 1 ORDER BY 1") == [
                "A|52|48", "BB|52|48", "CCC|52|48",
            ])
        let deletes = statements.filter { $0.hasPrefix("DELETE") }
        #expect(!deletes.isEmpty && deletes.allSatisfy { $0.contains("retention_row.\"symbol\" = ANY ($") })
        #expect(
            deletes.contains {
                $0.contains(
                    "(retention_row.\"symbol\", retention_row.\"id\") IN (SELECT retention_row.\"symbol\", retention_row.\"id\""
                )
            })
        #expect(statements.allSatisfy { !$0.contains("ctid") && !$0.contains("tableoid") }, "\(statements)")
    }

    @Test func aTableThatIsNotSpreadByValuesIsGoneThroughAtOnce() throws {
        let database = try TestDatabase(Self.citus + "UPDATE citus_tables SET citus_table_type = 'reference';")
        let execution = try Laws.carryOut(Self.distributed, strategy: .range, batchRows: 50, on: database.writer())
        #expect(execution.total.deletedCount == 144)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["156|48"])
    }

    @Test func foreignKeysOntoADistributedTableAreRefused() throws {
        let database = try TestDatabase(
            Self.citus + "CREATE TABLE note (s text, n int, FOREIGN KEY (s, n) REFERENCES q ON DELETE CASCADE);")
        let survey = try database.writer().survey(Self.distributed)
        #expect(survey.unsupported?.contains("note refers to q, which is distributed") == true)
    }
}
