import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// The catalog of each version of TimescaleDB that the program knows, by a stand-in with its columns: no TimescaleDB is needed.
@Suite(.needsPostgres)
struct TimescaleCatalogTests {
    /// A hypertable of two chunks, one of them compressed, with an aggregate and a policy. The extension is a row of the catalog.
    private static func standIn(_ version: String) -> String {
        // 2.29 has neither the name of a chunk nor the tables of compressed chunks.
        let chunk =
            version.hasPrefix("2.28")
            ? "id int, hypertable_id int, schema_name name, table_name name, compressed_chunk_id int, status int, osm_chunk bool"
            : "id int, relid regclass, hypertable_id int, status int, osm_chunk bool"
        return """
            SET allow_system_table_mods = on;
            INSERT INTO pg_extension VALUES (99999, 'timescaledb', 10, 2200, false, '\(version)');
            CREATE SCHEMA _timescaledb_catalog; CREATE SCHEMA _timescaledb_functions; CREATE SCHEMA timescaledb_information;
            CREATE SCHEMA _timescaledb_config;
            CREATE TABLE q (id int, at timestamptz NOT NULL);
            CREATE TABLE chunk_1 (CHECK (at >= '2026-01-01Z' AND at < '2026-01-08Z')) INHERITS (q);
            CREATE TABLE chunk_2 (CHECK (at >= '2026-01-08Z' AND at < '2026-01-15Z')) INHERITS (q);
            CREATE TABLE batches_1 (at int, _ts_meta_count int, _ts_meta_min_1 timestamptz, _ts_meta_max_1 timestamptz);
            CREATE VIEW days AS SELECT at, count(*) FROM q GROUP BY 1;
            CREATE TABLE held_by_days (at timestamptz NOT NULL, count int);
            INSERT INTO chunk_2 SELECT n, timestamptz '2026-01-08Z' + n * interval '1 hour' FROM generate_series(0, 99) n;
            CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name, table_name name, associated_schema_name name,
                associated_table_prefix name, num_dimensions smallint, compression_state smallint DEFAULT 0, compressed_hypertable_id int, status int);
            INSERT INTO _timescaledb_catalog.hypertable VALUES (1, 'public', 'q'), (2, 'public', 'held_by_days');
            CREATE TABLE _timescaledb_catalog.chunk (\(chunk));
            CREATE TABLE _timescaledb_catalog.dimension (id int, hypertable_id int, column_name name, column_type regtype, aligned bool,
                num_slices smallint, partitioning_func_schema name, partitioning_func name, interval_length bigint,
                compress_interval_length bigint, integer_now_func_schema name, integer_now_func name);
            INSERT INTO _timescaledb_catalog.dimension (id, hypertable_id, column_name) VALUES (1, 1, 'at'), (2, 2, 'at');
            CREATE TABLE _timescaledb_catalog.continuous_agg (mat_hypertable_id int, raw_hypertable_id int, parent_mat_hypertable_id int,
                user_view_schema name, user_view_name name, partial_view_schema name, partial_view_name name, direct_view_schema name,
                direct_view_name name, materialized_only bool);
            INSERT INTO _timescaledb_catalog.continuous_agg VALUES (2, 1, NULL, 'public', 'days');
            CREATE TABLE _timescaledb_catalog.compression_settings (relid regclass, compress_relid regclass, segmentby text[], orderby text[],
                orderby_desc bool[], orderby_nullsfirst bool[], index jsonb);
            INSERT INTO _timescaledb_catalog.compression_settings VALUES ('chunk_1', 'batches_1', NULL, '{at}');
            CREATE TABLE _timescaledb_catalog.continuous_aggs_materialization_invalidation_log (materialization_id int,
                lowest_modified_value bigint, greatest_modified_value bigint);
            INSERT INTO _timescaledb_catalog.continuous_aggs_materialization_invalidation_log VALUES
                (2, \(Int64.min + 1), -210866803200000001), (2, 1768003200000000, \(Int64.max));
            CREATE TABLE _timescaledb_catalog.continuous_aggs_materialization_ranges (LIKE
                _timescaledb_catalog.continuous_aggs_materialization_invalidation_log);
            CREATE TABLE _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log (hypertable_id int, lowest_modified_value bigint,
                greatest_modified_value bigint);
            CREATE TABLE _timescaledb_catalog.bgw_job (id int, application_name name, schedule_interval interval, proc_schema name,
                proc_name name, owner regrole, scheduled bool, hypertable_id int, config jsonb);
            CREATE VIEW _timescaledb_config.bgw_job AS SELECT * FROM _timescaledb_catalog.bgw_job;
            INSERT INTO _timescaledb_catalog.bgw_job (id, proc_name, scheduled, hypertable_id, config) VALUES
                (1000, 'policy_retention', true, 1, '{"drop_after": "100 days"}'),
                (1001, 'policy_refresh_continuous_aggregate', true, 2, '{"mat_hypertable_id": 2, "start_offset": "10 days"}');
            CREATE TABLE timescaledb_information.chunks (hypertable_schema name, hypertable_name name, chunk_schema name, chunk_name name,
                primary_dimension name, primary_dimension_type regtype, range_start timestamptz, range_end timestamptz,
                range_start_integer bigint, range_end_integer bigint, is_compressed bool, chunk_tablespace name, chunk_creation_time timestamptz);
            INSERT INTO timescaledb_information.chunks VALUES
                ('public', 'q', 'public', 'chunk_1', 'at', 'timestamptz', '2026-01-01Z', '2026-01-08Z'),
                ('public', 'q', 'public', 'chunk_2', 'at', 'timestamptz', '2026-01-08Z', '2026-01-15Z');
            CREATE TABLE timescaledb_information.dimensions (hypertable_schema name, hypertable_name name, dimension_number bigint,
                column_name name, column_type regtype, dimension_type text, time_interval interval, integer_interval bigint,
                integer_now_func name, num_partitions smallint);
            INSERT INTO timescaledb_information.dimensions VALUES ('public', 'q', 1, 'at', 'timestamptz', 'Time', '7 days');
            CREATE FUNCTION _timescaledb_functions.chunk_status(regclass) RETURNS int LANGUAGE sql AS 'SELECT 0';
            CREATE FUNCTION _timescaledb_functions.to_timestamp(bigint) RETURNS timestamptz LANGUAGE sql AS 'SELECT to_timestamp($1 / 1e6)';
            CREATE FUNCTION time_bucket(interval, timestamptz) RETURNS timestamptz LANGUAGE sql AS 'SELECT $2';
            CREATE FUNCTION _timescaledb_functions.cagg_get_bucket_function_info(int, OUT bucket_func regprocedure, OUT bucket_width text,
                OUT bucket_origin text, OUT bucket_offset text, OUT bucket_timezone text, OUT bucket_fixed_width bool) LANGUAGE sql
                AS $$ SELECT 'time_bucket(interval,timestamptz)'::regprocedure, text '1 day', NULL::text, NULL::text, NULL::text, true $$;
            CREATE FUNCTION hypertable_size(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 8192::bigint';
            """
    }

    @Test(arguments: ["2.28.3", "2.29.2"]) func everyStatementIsUnderstood(version: String) throws {
        let database = try TestDatabase(Self.standIn(version))
        let reader = try database.reader()
        #expect(
            try reader.layout(ofEntity: "q")
                == "hypertable, 2 chunks of 7 days by at, 1 of them compressed; continuous aggregates: days (buckets of 1 day); policies of the server: policy_retention (100 days); "
                + "the refresh of days reads the last 10 days: a max_age must be longer"
        )
        #expect(try reader.layout(ofEntity: "days")?.hasPrefix("continuous aggregate") == true)
        #expect(try reader.sizeBytes(ofEntity: "q") ?? 0 > 0)
        let buckets = try reader.aggregates(ofEntity: "q", by: .of("at"))
        #expect(buckets.map(\.name) == ["days"] && buckets[0].start(at: at("2026-01-10T01:00:00Z")) == at("2026-01-10"))
        let survey = try reader.survey(SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-12")))
        #expect(survey.expiredCount == 96 && survey.notes.count == 2)
        #expect(survey.notes.last?.hasSuffix("older than 100 days: it deletes more") == true)
        // The stand-in has no setting for the log.
        #expect(survey.losses.aggregates?.reason.contains("update TimescaleDB to 2.28") == true)
        let date = try RowScope(reader.requireTable("q")).date(.of("at"))
        #expect(throws: Never.self) {
            try Aggregates(session: reader, table: reader.requireTable("q")).requireMaterialized(
                RowScope(reader.requireTable("q")), date, SQLFragment("at < '2026-01-10Z'"), before: at("2026-01-10"))
        }
        let error = storeError {
            try reader.run("looking") {
                try Aggregates(session: reader, table: reader.requireTable("q")).requireMaterialized(
                    RowScope(reader.requireTable("q")), date, SQLFragment("at < '2026-01-12Z'"),
                    before: at("2026-01-12"))
            }
        }
        #expect(error?.message.contains("48 of the rows to delete from q") == true)
    }

    /// The program's own query is at fault, and no name of the user.
    @Test func anotherCatalogIsSaid() throws {
        let database = try TestDatabase(
            Self.standIn("2.99.0") + "DROP TABLE timescaledb_information.chunks;")
        let error = storeError {
            _ = try database.reader().survey(SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-12")))
        }
        #expect(
            error?.kind == .unsupported
                && error?.message.contains("this version of TimescaleDB has another catalog") == true)
    }
}
