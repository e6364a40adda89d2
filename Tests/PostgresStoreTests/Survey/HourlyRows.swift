import PostgresCluster
import PriceStore
import StoreConformance

extension TestDatabase {
    /// A hypertable `q` with a row each hour from 1 January 2026 to 1 March, and an aggregate `days` that has them all.
    static func hours(type: String = "timestamptz", chunk: String = "7 days", bucket: String = "1 day") throws
        -> TestDatabase
    {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at \(type) NOT NULL, note text, made bigint, seen timestamptz, kind int);
            SELECT create_hypertable('q', by_range('at', interval '\(chunk)'));
            INSERT INTO q SELECT n, t, t::date::text, extract(epoch FROM t)::bigint, t, n % 3 FROM (SELECT n,
            timestamp '2026-01-01' + n * interval '1 hour' AS t FROM generate_series(0, 1439) n) AS hours;
            """)
        try database.run(
            """
            CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket('\(bucket)', at) AS at, count(*)
            FROM q GROUP BY 1 WITH NO DATA
            """)
        try database.run("CALL refresh_continuous_aggregate('days', NULL, NULL)")
        return database
    }

    /// A hypertable `q` with 10,000 seconds from 1,700,000,000 on, and an aggregate that has them all.
    static func numbers() throws -> TestDatabase {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at bigint NOT NULL);
            SELECT create_hypertable('q', by_range('at', 5000));
            CREATE FUNCTION now_of_q() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 1700009999::bigint';
            SELECT set_integer_now_func('q', 'now_of_q');
            INSERT INTO q SELECT n, 1700000000 + n FROM generate_series(0, 9999) n;
            """)
        try database.run(
            "CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket(100, at) AS at, count(*) "
                + "FROM q GROUP BY 1 WITH NO DATA")
        try database.run("CALL refresh_continuous_aggregate('days', NULL, NULL)")
        return database
    }

    /// The ranges in the server's log grow to whole buckets, and into each other, with a refresh of any other time.
    func refreshElsewhere() throws {
        try run("CALL refresh_continuous_aggregate('days', '2026-03-01', '2026-07-01')")
    }
}

extension SurveyRequest {
    /// The rows of `q` before a cutoff.
    static func hours(before cutoff: String) -> SurveyRequest {
        SurveyRequest(entity: "q", date: .of("at"), cutoff: at(cutoff))
    }
}
