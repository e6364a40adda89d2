import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Partitions that are wholly expired go as a whole; never one whose bounds do not prove it.
@Suite(.needsPostgres)
struct PartitionTests {
    /// Months of 2026 with a row each hour, and what `more` says.
    private static func months(_ more: String = "", type: String = "timestamptz") -> String {
        """
        CREATE TABLE q (id bigint GENERATED ALWAYS AS IDENTITY, at \(type), price float8) PARTITION BY RANGE (at);
        CREATE TABLE q_01 PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE q_02 PARTITION OF q FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        CREATE TABLE q_03 PARTITION OF q FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
        CREATE TABLE q_04 PARTITION OF q FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
        CREATE INDEX ON q (at);
        \(more)
        INSERT INTO q (at, price) SELECT t, 1 FROM generate_series('2026-01-01'::timestamp, '2026-04-30', interval '1 hour') t;
        """
    }

    private static func request(
        _ cutoff: String = "2026-03-10", entity: String = "q", date: DateAttribute = .of("at")
    ) -> SurveyRequest {
        SurveyRequest(entity: entity, date: date, cutoff: at(cutoff))
    }

    private static let partitionNames =
        "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'q%'"

    private func carryOut(
        _ request: SurveyRequest, _ database: TestDatabase, zone: CalendarZone = .utc
    ) throws -> Laws.Execution {
        let writer = try database.writer(zone: zone)
        let survey = try writer.survey(request)
        #expect(survey.strategy == .partitions)
        let execution = try Laws.carryOut(request, strategy: .partitions, batchRows: 100, on: writer)
        #expect(execution.isComplete && execution.total.deletedCount == survey.expiredCount)
        #expect(try writer.survey(request).expiredCount == 0)
        return execution
    }

    @Test func whollyExpiredPartitionsAreDroppedAndTheCutoffsOneGoesByRows() throws {
        let database = try TestDatabase(Self.months())
        let execution = try carryOut(Self.request(), database)
        #expect(execution.batchCounts.first == 744 + 672)
        #expect(execution.batchCounts.dropFirst().allSatisfy { $0 <= 100 })
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
        #expect(try database.run("SELECT min(at) FROM q") == ["2026-03-10 00:00:00+00"])
        // The table goes on to take rows.
        try database.run("INSERT INTO q (at, price) VALUES ('2026-03-20', 2)")
    }

    /// Beside a default partition none can be detached concurrently; the default one itself is never dropped.
    @Test func theDefaultPartitionStays() throws {
        let database = try TestDatabase(
            Self.months("CREATE TABLE q_rest PARTITION OF q DEFAULT; INSERT INTO q (at) VALUES ('2025-06-01'), (NULL);")
        )
        _ = try carryOut(Self.request(), database)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04 q_rest"])
        #expect(try database.run("SELECT count(*) FROM q_rest") == ["1"])
    }

    @Test func aPartitionWithAnOpenEndGoesByRows() throws {
        let database = try TestDatabase(
            Self.months(
                "CREATE TABLE q_old PARTITION OF q FOR VALUES FROM (MINVALUE) TO ('2026-01-01'); "
                    + "INSERT INTO q (at) VALUES ('1960-01-01'), ('-infinity'), ('2025-01-01');"))
        _ = try carryOut(Self.request(), database)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04 q_old"])
        // What is not believed stays.
        #expect(try database.run("SELECT count(*) FROM q_old") == ["2"])
    }

    @Test(arguments: ["timestamp", "date"])
    func localPartitionsEndWhereTheZonesDaysDo(type: String) throws {
        let berlin = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let database = try TestDatabase(Self.months(type: type))
        // 23:00Z on 28 February is midnight of 1 March in Berlin; a microsecond earlier February is not over.
        let early = Self.request("2026-02-28T22:59:59.999999Z", date: .of("at", zone: berlin))
        _ = try carryOut(early, database, zone: berlin)
        #expect(try database.run(Self.partitionNames) == ["q_02 q_03 q_04"])
        _ = try? Laws.carryOut(
            Self.request("2026-02-28T23:00:00Z", date: .of("at", zone: berlin)), strategy: .partitions, batchRows: 100,
            on: database.writer(zone: berlin))
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    @Test func numbersAreDatesToo() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (at bigint) PARTITION BY RANGE (at);
            CREATE TABLE q_zero PARTITION OF q FOR VALUES FROM (-100) TO (100000000);
            CREATE TABLE q_a PARTITION OF q FOR VALUES FROM (1700000000) TO (1750000000);
            CREATE TABLE q_b PARTITION OF q FOR VALUES FROM (1750000000) TO (1800000000);
            INSERT INTO q VALUES (0), (-5), (1700000000), (1749999999), (1750000000), (1760000000);
            """)
        let request = SurveyRequest(
            entity: "q", date: .of("at", .unixSeconds), cutoff: Instant(unixSeconds: 1_750_000_000))
        _ = try carryOut(request, database)
        #expect(try database.run(Self.partitionNames) == ["q_b q_zero"])
        #expect(try database.run("SELECT count(*) FROM q") == ["4"])
    }

    @Test func subpartitionsAreDroppedOneByOne() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (at timestamptz, symbol text) PARTITION BY LIST (symbol);
            CREATE TABLE q_gold PARTITION OF q FOR VALUES IN ('XAU') PARTITION BY RANGE (at);
            CREATE TABLE q_gold_1 PARTITION OF q_gold FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
            CREATE TABLE q_gold_2 PARTITION OF q_gold FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
            CREATE TABLE q_else PARTITION OF q DEFAULT;
            INSERT INTO q VALUES ('2026-01-05', 'XAU'), ('2026-02-05', 'XAU'), ('2026-01-05', 'XAG'), ('2026-02-05', 'XAG');
            """)
        _ = try carryOut(Self.request("2026-02-01"), database)
        #expect(try database.run(Self.partitionNames) == ["q_else q_gold_2"])
        #expect(try database.run("SELECT count(*) FROM q") == ["2"])
    }

    @Test(arguments: [
        "CREATE TABLE note (id bigint, at timestamptz, FOREIGN KEY (id, at) REFERENCES q ON DELETE CASCADE);",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'; CREATE TRIGGER t BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION f();",
    ])
    func keysAndTriggersNeedRows(more: String) throws {
        let database = try TestDatabase(Self.months("ALTER TABLE q ADD PRIMARY KEY (id, at);" + more))
        let survey = try database.writer().survey(Self.request())
        #expect(survey.expiredCount > 0 && !survey.possibleStrategies.contains(.partitions))
    }

    @Test func filtersAndKeptRowsNeedRows() throws {
        let database = try TestDatabase(Self.months())
        var filtered = Self.request()
        filtered.filter = .compare("price", .less, .integer(5))
        #expect(try database.writer().survey(filtered).strategy == .range)
        var kept = Self.request()
        kept.keepLast = KeepLast(count: 1, groupedBy: [], among: .all, date: kept.date)
        #expect(try database.writer().survey(kept).strategy == .range)
    }

    /// One batch takes a bounded number of partitions, and empty ones do not end the pass.
    @Test(arguments: [
        ("", [0, 0, 1, 0]), ("CREATE TABLE q_rest PARTITION OF q DEFAULT;", [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]),
    ])
    func manyPartitionsGoInSeveralBatches(more: String, batchCounts: [Int]) throws {
        let days = (1...40).map { day in
            "CREATE TABLE q_\(day) PARTITION OF q FOR VALUES FROM (\(day * 86400 + 1_700_000_000)) TO (\((day + 1) * 86400 + 1_700_000_000));"
        }
        let database = try TestDatabase(
            "CREATE TABLE q (at bigint) PARTITION BY RANGE (at); " + days.joined() + more
                + "INSERT INTO q VALUES (1700000000 + 35 * 86400 + 5), (1700000000 + 40 * 86400 + 5);")
        let request = SurveyRequest(
            entity: "q", date: .of("at", .unixSeconds), cutoff: Instant(unixSeconds: 1_700_000_000 + 40 * 86400))
        let execution = try carryOut(request, database)
        #expect(execution.batchCounts == batchCounts)
        #expect(try database.run(Self.partitionNames) == [more.isEmpty ? "q_40" : "q_40 q_rest"])
    }

    @Test func aTableThatAnEarlierRunDetachedIsCountedAndDroppedByTheNext() throws {
        let database = try TestDatabase(Self.months())
        let number = try database.run("SELECT 'q'::regclass::oid::int8")[0]
        try database.run("COMMENT ON TABLE q_01 IS 'retention: expired partition of \(number)'")
        try database.run("COMMENT ON TABLE q_04 IS 'retention: expired partition of \(number)'")
        try database.run("ALTER TABLE q DETACH PARTITION q_01")
        #expect(try database.reader().survey(Self.request()).expiredCount == 744 + 672 + 216)
        _ = try carryOut(Self.request(), database)
        // One that is marked and was not detached is judged by its bounds.
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    /// The rule may have been changed since.
    @Test func aDetachedTableWithRowsThatAreKeptNowStays() throws {
        let database = try TestDatabase(Self.months())
        let number = try database.run("SELECT 'q'::regclass::oid::int8")[0]
        try database.run("COMMENT ON TABLE q_02 IS 'retention: expired partition of \(number)'")
        try database.run("ALTER TABLE q DETACH PARTITION q_02")
        let execution = try carryOut(Self.request("2026-02-10"), database)
        #expect(execution.total.deletedCount == 744)
        #expect(try database.run(Self.partitionNames) == ["q_02 q_03 q_04"])
    }

    /// It is half detached when the wait for its lock is over: nobody sees its rows any more.
    @Test func aPartitionThatIsInUseGoesOnceItIsFree() throws {
        let database = try TestDatabase(Self.months())
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(50))
        let survey = try writer.survey(Self.request())
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("SELECT count(*) FROM q_02")
        var batch = ExpiringRows.batch(100, of: Self.request())
        batch.strategy = .partitions
        let first = try writer.execute(batch)
        #expect(first.deletedCount == 744)
        batch.continuation = first.continuation
        #expect(storeError { _ = try writer.execute(batch) }?.kind == .busy)
        try other.execute("COMMIT")
        let rest = try Laws.carryOut(Self.request(), strategy: .partitions, batchRows: 100, on: writer)
        #expect(first.deletedCount + rest.total.deletedCount == survey.expiredCount)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    /// Nobody sees a detached table any more, so that its rows must not be forgotten.
    @Test(arguments: [
        // The first partition is detached by then, the second is not.
        "DETACH PARTITION \"public\".\"q_02\"",
        // Between detaching and dropping.
        "LOCK TABLE",
    ]) func aConnectionThatIsCutLosesNoCount(_ place: String) throws {
        let database = try TestDatabase(Self.months())
        let name = try database.run("SELECT current_database()")[0]
        let writer = try database.writer()
        let survey = try writer.survey(Self.request())
        var isCut = false
        writer.trace = { statement, _ in
            guard statement.contains(place), !isCut else { return }
            isCut = true
            _ = try? database.run(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()"
            )
        }
        let execution = try Laws.carryOut(Self.request(), strategy: .partitions, batchRows: 100, on: writer)
        #expect(isCut && execution.isComplete && execution.total.deletedCount == survey.expiredCount)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    @Test func aForeignPartitionRefusesTheRule() throws {
        let database = try TestDatabase(
            Self.months()
                + """
                CREATE EXTENSION postgres_fdw;
                CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'nothing');
                CREATE FOREIGN TABLE q_far PARTITION OF q FOR VALUES FROM ('2025-01-01') TO ('2025-02-01') SERVER far;
                """)
        let reason = try database.writer().survey(Self.request()).unsupported
        #expect(reason?.contains("q_far") == true)
    }

    /// pg_partman's parent goes on to make partitions afterwards.
    @Test func partmansTablesKeepWorking() throws {
        let database = try TestDatabase()
        guard try database.run("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_partman'") == ["1"] else {
            return
        }
        let connection = try database.connection()
        for statement in [
            "CREATE SCHEMA partman", "CREATE EXTENSION pg_partman SCHEMA partman",
            "CREATE TABLE q (at timestamptz NOT NULL, price float8) PARTITION BY RANGE (at)",
            "SELECT partman.create_parent('public.q', 'at', 'native', 'daily', p_premake := 2, "
                + "p_start_partition := (now() - interval '10 days')::text)",
            "INSERT INTO q SELECT now() - n * interval '1 hour', 1 FROM generate_series(0, 220) n",
        ] { try connection.execute(statement) }
        let cutoff = Instant(
            microseconds: Int64(
                try #require(
                    try connection.rows(
                        SQLFragment("SELECT (extract(epoch FROM now() - interval '5 days') * 1000000)::int8")
                    )
                    .first?[0])) ?? 0)
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: cutoff)
        let execution = try Laws.carryOut(request, strategy: .partitions, batchRows: 100, on: database.writer())
        #expect(execution.total.deletedCount > 90)
        try connection.execute("SELECT partman.run_maintenance('public.q')")
        try connection.execute("INSERT INTO q VALUES (now() + interval '1 day', 2)")
        #expect(try database.writer().survey(request).expiredCount == 0)
    }
}

struct ExtensionSQLTests {
    private static let table = PostgresTable(
        number: 7, schema: "public", relation: "conditions", entity: Entity(name: "conditions", attributes: []),
        types: [:],
        typeNames: [:], indexes: [], isPartitioned: false, hasChildren: false, isDistributed: false, isHypertable: true)

    private func date(_ type: ColumnType, _ encoding: DateEncoding = .native, zone: CalendarZone = .utc) -> DateSQL {
        DateSQL(date: .of("at", encoding, zone: zone), column: "at", type: type)
    }

    @Test func chunksAreDroppedByTheTypeOfTheirTimeColumn() throws {
        func statement(_ date: DateSQL) -> [String?] {
            let (text, values) = TimescaleSQL.dropChunks(Self.table, date, before: at("2026-02-01")).statement
            return [text] + values
        }
        let text = "SELECT count(*) FROM drop_chunks($1::regclass, older_than => $2::"
        let name = "\"public\".\"conditions\""
        #expect(statement(date(.timestamptz)) == [text + "timestamptz)", name, "2026-02-01 00:00:00+00"])
        #expect(statement(date(.date)) == [text + "date)", name, "2026-02-01"])
        #expect(statement(date(.integer, .unixMilliseconds)) == [text + "int8)", name, "1769904000000"])
        let berlin = try #require(CalendarZone(identifier: "Europe/Berlin"))
        #expect(statement(date(.timestamp, zone: berlin)) == [text + "timestamp)", name, "2026-02-01 01:00:00"])
    }

    @Test func hypertablesAggregatesAndDistributedTablesAreFoundByTheirCatalogs() {
        #expect(
            TimescaleSQL.isHypertable(schema: "s", relation: "r").statement.text
                == "SELECT 1 FROM timescaledb_information.hypertables WHERE hypertable_schema = $1::name AND hypertable_name = $2::name"
        )
        #expect(
            TimescaleSQL.continuousAggregates(schema: "s", relation: "r").statement.text.contains(
                "timescaledb_information.continuous_aggregates"))
        #expect(
            CitusSQL.isDistributed(7).statement.text
                == "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass")
    }

    /// On a distributed table a place says nothing: the primary key does.
    @Test func rowsOfADistributedTableAreToldApartByTheirKey() throws {
        let table = PostgresTable(
            number: 7, schema: "public", relation: "ticks",
            entity: Entity(
                name: "ticks",
                attributes: [Attribute(name: "id", affinity: .integer), Attribute(name: "at", affinity: .none)],
                primaryKey: ["id"]), types: ["at": .timestamptz], typeNames: [:], indexes: [], isPartitioned: false,
            hasChildren: false, isDistributed: true, isHypertable: false)
        let text = BatchDelete.place(RowScope(table))
        #expect(text == "\"retention_row\".\"id\"" || text == "retention_row.\"id\"")
    }
}
