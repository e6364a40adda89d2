import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
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
        let survey = try writer.findings(request)
        #expect(survey.method == .partitions)
        let execution = try Laws.carryOut(request, method: "partitions", batchRows: 100, on: writer)
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

    /// A rule on the whole and one on a part of it: each row is counted for the first.
    @Test func rowsOfAPartitionAreCountedOnce() throws {
        let database = try TestDatabase(Self.months())
        let reader = try database.reader()
        var whole = Self.request()
        let part = Self.request("2026-01-11", entity: "q_01")
        whole.preceding = [BatchDeleteRequest(part)]
        #expect(try reader.survey(whole).expiredCount == 744 + 672 + 216 - 240)
        var later = part
        later.cutoff = at("2026-02-10")
        later.preceding = [BatchDeleteRequest(Self.request("2026-01-21"))]
        #expect(try reader.survey(later).expiredCount == 264)
    }

    /// The default partition is never dropped.
    /// A rule on a table that a foreign key refers to, before a rule on another table, or on one that it reaches.
    @Test(arguments: [false, true]) func anEarlierRuleCountsWhereItReaches(reaches: Bool) throws {
        let database = try TestDatabase(
            Self.months(
                """
                CREATE TABLE parent (id int PRIMARY KEY, at timestamptz);
                CREATE TABLE child (id int, p int REFERENCES parent ON DELETE CASCADE);
                INSERT INTO parent SELECT n, timestamptz '2026-01-01Z' FROM generate_series(1, 9) n;
                \(reaches ? "ALTER TABLE q ADD p int REFERENCES parent ON DELETE CASCADE;" : "")
                """))
        let first = Self.request(entity: "parent")
        var second = Self.request()
        second.preceding = [BatchDeleteRequest(first, resultType: .count)]
        let writer = try database.writer()
        _ = try Laws.carryOut(first, method: writer.findings(first).method.rawValue, batchRows: 5, on: writer)
        let findings = try writer.findings(second)
        #expect(findings.method == (reaches ? .range : .partitions))
        #expect(
            findings.reason
                == (reaches
                    ? "nothing is dropped as a whole, because foreign keys act on its rows"
                    : "2 partitions are dropped, and rows outside them are deleted one by one"))
        let execution = try Laws.carryOut(second, method: findings.method.rawValue, batchRows: 2000, on: writer)
        #expect(execution.total.deletedCount == 1632)
        #expect(try database.run(Self.partitionNames) == [reaches ? "q_01 q_02 q_03 q_04" : "q_03 q_04"])
    }

    /// Another tool began to detach it, and was interrupted: the rule goes on without it, and says what to do.
    @Test func aPartitionThatIsNotWhollyDetachedIsNamed() throws {
        let database = try TestDatabase(Self.months())
        let (reader, detacher) = (try database.connection(), try database.connection())
        try reader.execute("BEGIN")
        try reader.execute("SELECT count(*) FROM q")
        nonisolated(unsafe) let session = detacher
        let isOver = DispatchSemaphore(value: 0)
        Thread {
            _ = try? session.execute("ALTER TABLE q DETACH PARTITION q_01 CONCURRENTLY")
            isOver.signal()
        }.start()
        #expect(database.hasWaiter())
        try database.run("SELECT pg_cancel_backend(\(detacher.session.process))")
        isOver.wait()
        try reader.execute("ROLLBACK")
        let (survey, execution) = try database.dryAndReal(Self.request())
        #expect(
            survey.notes == [
                "the partition q_01 is not wholly detached, and its rows are not seen: ALTER TABLE \"public\".\"q\" DETACH PARTITION "
                    + "\"public\".\"q_01\" FINALIZE"
            ])
        #expect(execution.total.deletedCount == 888)
        try database.run("ALTER TABLE q DETACH PARTITION q_01 FINALIZE")
        #expect(try database.reader().survey(Self.request()).notes.isEmpty)
    }

    /// While the drop waits for a lock, a partition is detached, and a new one with later rows gets its name.
    @Test func aPartitionWithTheNameOfAnotherStays() throws {
        let database = try TestDatabase(Self.months())
        let writer = try database.writer()
        let plan = try writer.findings(Self.request())
        #expect(plan.method == .partitions && plan.survey.expiredCount == 1632)
        nonisolated(unsafe) let (holder, other) = (try database.connection(), try database.connection())
        try holder.execute("BEGIN")
        try holder.execute("LOCK TABLE q_01 IN ROW EXCLUSIVE MODE")
        let isOver = DispatchSemaphore(value: 0)
        Thread {
            defer { isOver.signal() }
            guard database.hasWaiter() else { return }
            for statement in [
                "ALTER TABLE q DETACH PARTITION q_02", "ALTER TABLE q_02 RENAME TO former",
                "CREATE TABLE q_02 PARTITION OF q FOR VALUES FROM ('2026-05-01') TO ('2026-06-01')",
                "INSERT INTO q (at) VALUES ('2026-05-02')",
            ] as [SQLFragment] {
                _ = try? other.execute(statement)
            }
            _ = try? holder.execute("ROLLBACK")
        }.start()
        let execution = try Laws.carryOut(Self.request(), method: "partitions", batchRows: 100, on: writer)
        isOver.wait()
        #expect(execution.total.deletedCount == 1632 - 672)
        #expect(try database.run("SELECT (SELECT count(*) FROM former), (SELECT count(*) FROM q_02)") == ["672|1"])
    }

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
            Self.request("2026-02-28T23:00:00Z", date: .of("at", zone: berlin)), method: "partitions",
            batchRows: 100,
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

    /// The catalog has 1.7000004e+09 for 1700000384, and the float8 of that text is another number.
    @Test func boundsThatAreReadInexactlyProveNothing() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (at real) PARTITION BY RANGE (at);
            CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('1700000384'::real) TO ('1700010000'::real);
            CREATE TABLE q_rest PARTITION OF q DEFAULT;
            INSERT INTO q VALUES (1700000384), (1700000512), (1800000000);
            """)
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1_700_000_390), latest: nil)
        let request = SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1_750_000_000))
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.expiredCount == 1 && survey.unreadable.map(\.rowCount) == [1])
        #expect(execution.total.deletedCount == 1)
        #expect(try database.run("SELECT count(*) FROM q WHERE at < 1700000390") == ["1"])
    }

    @Test(arguments: ["", "CREATE INDEX ON q (at);"]) func datesThatAreReadInexactlyAreKept(_ index: String) throws {
        let database = try TestDatabase(
            "CREATE TABLE q (at real); \(index) INSERT INTO q VALUES (1700000000), (1700000128), (1700000384);")
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1), latest: nil)
        var request = SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1_750_000_000))
        request.keepers.keepLast = KeepLast(count: 1, groupedBy: [], among: .all, date: date)
        let (survey, _) = try database.dryAndReal(request)
        #expect(survey.expiredCount == 2 && survey.dates.newestExpired == Instant(unixSeconds: 1_700_000_128))
        #expect(try database.run("SELECT at::float8 FROM q") == ["1700000384"])
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

    /// A month that is divided further is dropped as a whole, and so is a wholly expired day of a month that is not.
    @Test(arguments: [
        "HASH (id)": ["FOR VALUES WITH (MODULUS 2, REMAINDER 0)", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)"],
        "LIST (symbol)": ["FOR VALUES IN ('XAU')", "DEFAULT"],
        "RANGE (id)": ["FOR VALUES FROM (MINVALUE) TO (5)", "FOR VALUES FROM (5) TO (MAXVALUE)"],
        "RANGE (at)": [
            "FOR VALUES FROM (MINVALUE) TO ('2026-0M-03')", "FOR VALUES FROM ('2026-0M-03') TO ('2026-0M-05')",
            "DEFAULT",
        ],
    ])
    func partitionsOfPartitionsAreDroppedTogether(key: String, parts: [String]) throws {
        let months = (1...3).map { month in
            "CREATE TABLE m\(month) PARTITION OF q FOR VALUES FROM ('2026-0\(month)-01') TO ('2026-0\(month + 1)-01') PARTITION BY \(key);"
                + parts.enumerated().map { "CREATE TABLE m\(month)_\($0) PARTITION OF m\(month) \($1);" }
                .joined().replacing("0M", with: "0\(month)")
        }
        let database = try TestDatabase(
            "CREATE TABLE q (id bigint, at timestamptz, symbol text) PARTITION BY RANGE (at); " + months.joined()
                + """
                INSERT INTO q SELECT n, timestamptz '2026-01-01' + n * interval '6 hours', CASE WHEN n % 2 = 0 THEN 'XAU' END
                FROM generate_series(0, 350) n
                """)
        let survey = try database.writer().findings(Self.request("2026-02-10"))
        let days = key == "RANGE (at)" ? 2 : 1
        #expect(survey.expiredCount == 160 && survey.possibleMethods.first == .partitions)
        #expect(
            survey.reason
                == "\(days.counted("partition", "is", "are")) dropped, and rows outside \(days == 1 ? "it" : "them") are deleted one by one"
        )
        _ = try carryOut(Self.request("2026-02-10"), database)
        #expect(try database.run("SELECT count(*), min(at) FROM q") == ["191|2026-02-10 00:00:00+00"])
        let left = try database.run("SELECT relid::regclass FROM pg_partition_tree('q') WHERE level > 0 ORDER BY relid")
        #expect(left.filter { $0.hasPrefix("m1") } == [] && left.count == (parts.count + 1) * 2 - (days - 1))
    }

    /// What is declared on a partition alone is gone with it, and the other rows still go.
    @Test(arguments: [
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; "
            + "CREATE TRIGGER t BEFORE INSERT ON q_01 FOR EACH ROW EXECUTE FUNCTION f();",
        "CREATE RULE r AS ON UPDATE TO q_02 DO ALSO SELECT 1;",
        "ALTER TABLE q_02 ENABLE ROW LEVEL SECURITY;",
    ])
    func aDropDoesNotChangeTheSchemaOfThePlan(more: String) throws {
        let database = try TestDatabase(Self.months(more))
        _ = try carryOut(Self.request(), database)
        #expect(try database.run("SELECT min(at) FROM q") == ["2026-03-10 00:00:00+00"])
    }

    @Test func aPartitionIsNotDroppedAfterAChangeOfTheSchema() throws {
        let database = try TestDatabase(Self.months())
        let writer = try database.writer()
        let deletion = try writer.deletion(of: Self.request())
        try database.run("ALTER TABLE q ADD COLUMN note text")
        let told = storeError { _ = try deletion.deleteNext(DeletionBounds()) }
        #expect(told?.message == "the schema of q has changed since the plan was made: nothing is dropped")
        #expect(try database.run(Self.partitionNames) == ["q_01 q_02 q_03 q_04"])
    }

    @Test func aViewOfAMonthThatIsDividedFurtherNeedsItsRows() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id bigint, at timestamptz, price int) PARTITION BY RANGE (at);
            CREATE TABLE m1 PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY HASH (id);
            CREATE TABLE m1_0 PARTITION OF m1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
            CREATE VIEW v AS SELECT * FROM m1; INSERT INTO q VALUES (1, '2026-01-02', 3)
            """)
        let survey = try database.writer().findings(Self.request("2026-02-10"))
        #expect(survey.expiredCount == 1 && !survey.possibleMethods.contains(.partitions))
        #expect(survey.reason == "nothing is dropped as a whole, because rule _RETURN on view v depends on m1")
    }

    /// A drop of a partition drops the sequences of its columns, which only the partition itself may use.
    @Test(arguments: [
        ("", ""),
        ("ALTER TABLE q_02 ALTER id SET DEFAULT nextval('q_01_id_seq');", "default value for column id of table q_02"),
        ("CREATE TABLE o (id int DEFAULT nextval('q_01_id_seq'));", "default value for column id of table o"),
        ("CREATE VIEW v AS SELECT nextval('q_01_id_seq');", "rule _RETURN on view v"),
    ])
    func aSequenceOfAPartitionThatOthersUseNeedsRows(more: String, user: String) throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id bigint, at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE q_01 (id bigserial, at timestamptz); CREATE TABLE q_02 (id bigint, at timestamptz);
            ALTER TABLE q ATTACH PARTITION q_01 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
            ALTER TABLE q ATTACH PARTITION q_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
            \(more) INSERT INTO q VALUES (1, '2026-01-02'), (2, '2026-02-20')
            """)
        let (survey, execution) = try database.dryAndReal(Self.request("2026-02-10"))
        #expect(survey.possibleMethods.contains(.partitions) == user.isEmpty)
        let reason = "nothing is dropped as a whole, because \(user) depends on q_01_id_seq, a sequence of q_01"
        #expect(user.isEmpty || survey.reason == reason)
        #expect(execution.total.deletedCount == 1)
        #expect(try database.run(Self.partitionNames) == [user.isEmpty ? "q_02" : "q_01 q_02"])
    }

    @Test(arguments: [
        "CREATE TABLE note (id bigint, at timestamptz, FOREIGN KEY (id, at) REFERENCES q ON DELETE CASCADE);",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'; CREATE TRIGGER t BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION f();",
    ])
    func keysAndTriggersNeedRows(more: String) throws {
        let database = try TestDatabase(Self.months("ALTER TABLE q ADD PRIMARY KEY (id, at);" + more))
        let survey = try database.writer().findings(Self.request())
        #expect(survey.expiredCount > 0 && !survey.possibleMethods.contains(.partitions))
    }

    @Test func filtersAndKeptRowsNeedRows() throws {
        let database = try TestDatabase(Self.months())
        var filtered = Self.request()
        filtered.filter = .compare("price", .less, .integer(5))
        #expect(try database.writer().findings(filtered).method == .range)
        var kept = Self.request()
        kept.keepers.keepLast = KeepLast(count: 1, groupedBy: [], among: .all, date: kept.date)
        let chosen = try database.writer().findings(kept)
        #expect(chosen.method == .range)
        #expect(chosen.methodObstacles[.partitions] == "`keep_last` chooses among the rows of a partition")
        var limited = Self.request()
        limited.deleting.maxRows = 5000
        #expect(try database.writer().findings(limited).method == .range)
        // The row that stays is looked up in its partition after each batch.
        limited.deleting.mayEmpty = false
        let execution = try Laws.carryOut(limited, batchRows: 500, on: database.writer())
        #expect(execution.total.deletedCount == 1632 && execution.batchCounts.count > 3)
    }

    /// One batch takes a bounded number of partitions, and empty ones do not end the pass.
    @Test(arguments: [
        ("", [0, 0, 1, 0]), ("CREATE TABLE q_rest PARTITION OF q DEFAULT;", [0, 0, 1, 0]),
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

    /// Whoever reads one is not waited for long, and nobody waits behind the run.
    @Test func rowsOfAPartitionInUseAreDeletedAndTheReasonIsTold() throws {
        let database = try TestDatabase(Self.months())
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(200))
        let survey = try writer.findings(Self.request())
        let other = try database.connection()
        try other.execute("SET application_name = dump")
        try other.execute("BEGIN")
        try other.execute("SELECT count(*) FROM q_02")
        let deletion = try writer.deletion(of: Self.request())
        var part = try deletion.deleteNext(DeletionBounds(rows: 100))
        #expect(part.result.deletedCount == 0 && part.hasMore)
        #expect(deletion.outline.reason?.contains("another session (dump, server process ") == true)
        #expect(deletion.outline.method == "range batches")
        var count = 0
        while part.hasMore {
            part = try deletion.deleteNext(DeletionBounds(rows: 100))
            count += part.result.deletedCount
        }
        #expect(count == survey.expiredCount)
        #expect(try database.run(Self.partitionNames) == ["q_01 q_02 q_03 q_04"])
    }

    /// While rows are counted, others read all partitions and write to the others.
    @Test func nobodyWaitsWhileRowsAreCounted() throws {
        let database = try TestDatabase(Self.months())
        let (writer, other) = (try database.writer(), try database.connection())
        let survey = try writer.findings(Self.request())
        try other.execute("SET lock_timeout = 100")
        var (seen, refusals) = ([String](), [String]())
        writer.trace = { statement, _ in
            guard statement.contains("SELECT count(*) FROM (SELECT FROM") else { return }
            do {
                seen.append(contentsOf: try other.texts(SQLFragment("SELECT count(*) FROM q")))
                try other.execute("INSERT INTO q (at) VALUES ('2026-03-20')")
                try other.execute("INSERT INTO q (at) VALUES ('2026-01-20')")
            } catch { refusals.append("\(error)") }
        }
        let execution = try Laws.carryOut(Self.request(), method: "partitions", batchRows: 100, on: writer)
        #expect(seen.count == 1 && refusals.count == 1, "\(seen) \(refusals)")
        #expect(execution.total.deletedCount == survey.expiredCount)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    /// The drop is one transaction: it is repeated.
    @Test(arguments: ["LOCK TABLE", "DROP TABLE"]) func aConnectionThatIsCutLosesNoCount(_ place: String) throws {
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
        let execution = try Laws.carryOut(
            Self.request(), after: survey, method: "partitions", batchRows: 100, on: writer)
        #expect(isCut && execution.isComplete && execution.total.deletedCount == survey.expiredCount)
        #expect(try database.run(Self.partitionNames) == ["q_03 q_04"])
    }

    /// Nobody reaches the server of the foreign partition, and nothing asks it.
    @Test(arguments: [false, true]) func foreignPartitionsAreLeftOut(keepsLast: Bool) throws {
        let far = """
            CREATE EXTENSION postgres_fdw;
            CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '/nowhere', dbname 'nothing');
            CREATE FOREIGN TABLE q_far PARTITION OF q FOR VALUES FROM ('2025-01-01') TO ('2025-02-01') SERVER far;
            """
        let (alone, database) = (try TestDatabase(Self.months()), try TestDatabase(Self.months() + far))
        var request = Self.request()
        if keepsLast {
            request.keepers.keepLast = KeepLast(count: 3, groupedBy: ["price"], among: .all, date: request.date)
        }
        let expected = try alone.reader().survey(request).expiredCount
        let (found, execution) = try database.dryAndReal(request)
        #expect(found.expiredCount == expected && execution.total.deletedCount == expected)
        #expect(found.method == .windows)
        #expect(
            found.notes == ["1 foreign partition is left out (q_far): give their server a policy of its own"])
        for (maxRows, archiveRule) in [(5, nil), (nil, "r")] as [(Int?, String?)] {
            (request.deleting.maxRows, request.deleting.archiveRule) = (maxRows, archiveRule)
            #expect(
                try database.writer().survey(request).unsupported
                    == "the partition q_far of q is a foreign table. Beside it rows are only deleted: without an archive, candles, "
                    + "`max_rows` and rows that refer to them")
        }
        try database.run(
            script: "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
                + "CREATE TRIGGER f AFTER DELETE ON q FOR EACH STATEMENT EXECUTE FUNCTION f()")
        #expect(
            try database.reader().survey(Self.request()).unsupported?.hasPrefix(
                "q has foreign partitions, and the others cannot be read one by one, because the trigger f") == true)
        try database.run("DROP TRIGGER f ON q")
        let deletion = try database.writer().deletion(of: Self.request("2026-09-01"))
        let chosen = DeletionBounds(rows: nil, only: .compare("id", .less, .integer(5)))
        #expect(storeError { _ = try deletion.deleteNext(chosen) }?.kind == .unsupported)
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
        ] { try connection.execute(SQLFragment(statement)) }
        let cutoff = Instant(
            microseconds: Int64(
                try connection.count(
                    SQLFragment("SELECT (extract(epoch FROM now() - interval '5 days') * 1000000)::int8"))))
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: cutoff)
        let execution = try Laws.carryOut(request, method: "partitions", batchRows: 100, on: database.writer())
        #expect(execution.total.deletedCount > 90)
        try connection.execute("SELECT partman.run_maintenance('public.q')")
        try connection.execute("INSERT INTO q VALUES (now() + interval '1 day', 2)")
        #expect(try database.writer().survey(request).expiredCount == 0)
    }
}
