import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
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
        #expect(survey.index.isInDateOrder && survey.index.name != nil)
        #expect(
            try database.run("SELECT symbol, count(*), min(id) FROM q GROUP BY 1 ORDER BY 1") == [
                "A|52|48", "BB|52|48", "CCC|52|48",
            ])
    }

    @Test func aDistributedTableIsGoneThroughBySlicesOfTheDateInAllShardsAtOnce() throws {
        let database = try TestDatabase.citus(Self.table + Self.distribute)
        let writer = try database.writer()
        var deletes: [(statement: String, plan: [String])] = []
        writer.trace = { statement, plan in
            #expect(!statement.contains("ctid") && !statement.contains("tableoid"))
            if statement.hasPrefix("DELETE") { deletes.append((statement, plan)) }
        }
        let survey = try writer.findings(Self.request)
        #expect(survey.possibleMethods == [.range])
        let first = try Laws.carryOut(Self.request, method: "range", batchRows: 12, stopAfter: 3, on: writer)
        #expect(first.batchCounts == [12, 12, 12])
        // The oldest of all symbols.
        let left = try database.run("SELECT count(*), min(id) FROM q GROUP BY symbol ORDER BY 1")
        #expect(left == ["88|12", "88|12", "88|12"])
        let rest = try Laws.carryOut(Self.request, method: "range", batchRows: 12, on: writer)
        #expect(rest.isComplete && rest.total.deletedCount == 108 && rest.batchCounts.allSatisfy { $0 <= 12 })
        #expect(!deletes.isEmpty && deletes.allSatisfy { $0.plan.contains { $0.contains("Task Count: 32") } })
    }

    /// Neither a key nor different dates tell the rows apart.
    @Test func rowsWithoutAKeyAndWithRepeatedDatesGo() throws {
        let database = try TestDatabase.citus(
            """
            CREATE TABLE q (symbol text, at timestamptz); SELECT create_distributed_table('q', 'symbol');
            INSERT INTO q SELECT 's' || n % 7, timestamptz '2026-01-01 00:00Z' + n / 100 * interval '10 hours'
            FROM generate_series(0, 999) n;
            """)
        let (_, execution) = try database.dryAndReal(Self.request)
        #expect(execution.total.deletedCount == 300)
        #expect(try database.run("SELECT count(*), min(at) FROM q") == ["700|2026-01-02 06:00:00+00"])
    }

    @Test(arguments: ["int8", "float8", "numeric", "date", "timestamp"])
    func slicesAreOfEveryType(type: String) throws {
        let isDate = ["date", "timestamp"].contains(type)
        let value = isDate ? "timestamp '2026-01-01' + n * interval '8 hours'" : "1767225600 + n * 28800"
        let database = try TestDatabase.citus(
            """
            CREATE TABLE q (symbol text, at \(type)); SELECT create_distributed_table('q', 'symbol');
            INSERT INTO q SELECT 's' || n % 7, \(value) FROM generate_series(0, 299) n;
            """)
        let request = SurveyRequest(
            entity: "q", date: .of("at", isDate ? .native : .unixSeconds), cutoff: at("2026-03-01"))
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.total.deletedCount == 177 && execution.batchCounts.count > 5)
        #expect(try database.run("SELECT count(*) FROM q") == ["123"])
    }

    /// Dates that the server parses: of 300 rows, and of a group that ended in January.
    @Test func datesAreReadByAPattern() throws {
        let database = try TestDatabase.citus(
            """
            CREATE TABLE q (symbol text, id int, at text, PRIMARY KEY (symbol, id)); SELECT create_distributed_table('q', 'symbol');
            INSERT INTO q SELECT 's' || n % 7, n, to_char(timestamp '2026-01-01' + n * interval '8 hours', 'DD.MM.YYYY HH24:MI')
            FROM generate_series(0, 299) n;
            INSERT INTO q SELECT 'old', n, to_char(timestamp '2026-01-05' + n * interval '1 day', 'DD.MM.YYYY HH24:MI')
            FROM generate_series(0, 4) n;
            """)
        let date = DateAttribute.of("at", .pattern(try #require(DatePattern("%d.%m.%Y %H:%M"))))
        var request = SurveyRequest(entity: "q", date: date, cutoff: at("2026-03-01"))
        func carryOut() throws -> [Int] {
            let expiredCount = try database.reader().survey(request).expiredCount
            return [expiredCount, try Laws.carryOut(request, batchRows: nil, on: database.writer()).total.deletedCount]
        }
        request.keepers.keepLast = KeepLast(count: 2, groupedBy: ["symbol"], among: .all, date: date)
        #expect(try carryOut() == [180, 180])
        // The newest of each group that has ended, as for a warning.
        let past = StorePredicate.date(DateRange(date, before: at("2026-02-01")))
        let newest = KeepLast(count: 1, groupedBy: ["symbol"], among: past, date: date)
        let rows = StoreFetchRequest(entity: "q", predicate: past && .notTrue(.notKept(newest)))
        #expect(try database.reader().fetch(rows, attributes: ["symbol"]) == [[.text("old")]])
        request.keepers.keepLast = nil
        #expect(try carryOut() == [2, 2])
        #expect(try database.run("SELECT count(*) FROM q") == ["123"])
    }

    private static let partitioned = """
        CREATE TABLE q (symbol text, id int, at timestamptz, PRIMARY KEY (symbol, id, at)) PARTITION BY RANGE (at);
        CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('2026-01-01 00:00Z') TO ('2026-01-02 00:00Z');
        CREATE TABLE q_2 PARTITION OF q FOR VALUES FROM ('2026-01-02 00:00Z') TO ('2026-02-01 00:00Z');
        SELECT create_distributed_table('q', 'symbol');
        INSERT INTO q SELECT s, n, timestamptz '2026-01-01 00:00:00+00' + n * interval '1 hour'
        FROM generate_series(0, 99) n, unnest('{A,BB,CCC}'::text[]) s;
        """

    @Test func partitionsOfADistributedTableAreDropped() throws {
        let database = try TestDatabase.citus(Self.partitioned)
        var request = Self.request
        request.cutoff = at("2026-01-02T12:00:00Z")
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.method == .partitions && execution.batchCounts.first == 72)
        #expect(survey.reason == "1 partition is dropped, and rows outside it are deleted one by one")
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["192|36"])
        #expect(try database.run("SELECT to_regclass('q_1')") == [""])
    }

    /// A partition that somebody reads stays, and its rows go.
    @Test func rowsOfAPartitionInUseAreDeleted() throws {
        let database = try TestDatabase.citus(Self.partitioned)
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("SELECT count(*) FROM q")
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(300))
        let execution = try Laws.carryOut(Self.request, batchRows: 100, on: writer)
        #expect(execution.total.deletedCount == 72)
        #expect(try database.run("SELECT to_regclass('q_1')") == ["q_1"])
    }

    @Test func columnarTablesAreRefusedAndTheirPartitionsDropped() throws {
        let database = try TestDatabase.citus(
            """
            CREATE EXTENSION IF NOT EXISTS citus_columnar;
            CREATE TABLE c (at timestamptz) USING columnar;
            INSERT INTO c VALUES ('2026-01-01 00:00Z');
            CREATE TABLE q (at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('2026-01-01 00:00Z') TO ('2026-01-02 00:00Z') USING columnar;
            CREATE TABLE q_2 PARTITION OF q FOR VALUES FROM ('2026-01-02 00:00Z') TO ('2026-02-01 00:00Z') USING columnar;
            INSERT INTO q SELECT timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' FROM generate_series(0, 99) n;
            """)
        var request = Self.request
        request.entity = "c"
        #expect(try database.reader().survey(request).unsupported?.hasPrefix("c is stored by columns") == true)
        request.entity = "q"
        let (_, execution) = try database.dryAndReal(request)
        #expect(execution.total.deletedCount == 24)
        request.cutoff = at("2026-01-03")
        #expect(try database.reader().survey(request).unsupported?.hasPrefix("24 expired rows are in q_2") == true)
    }

    /// The newest rows of each group stay, whether the groups are those of the shards or not, and NULL is a group.
    @Test(arguments: [["symbol"], ["id"], ["note"], ["symbol", "note"]], [Self.distribute, ""])
    func theNewestOfEachGroupStay(groups: [String], more: String) throws {
        let database = try TestDatabase.citus(
            Self.table
                + "ALTER TABLE q ADD note text; UPDATE q SET note = CASE WHEN id % 3 > 0 THEN 'n' || id % 3 END; "
                + "UPDATE q SET at = at + interval '5 days' WHERE symbol = 'A'; CREATE TABLE copy AS SELECT * FROM q; "
                + more)
        var request = Self.request
        request.cutoff = at("2026-01-20")
        request.keepers.keepLast = KeepLast(count: 2, groupedBy: groups, among: .all, date: request.date)
        let columns = groups.joined(separator: ", ")
        let left =
            "SELECT symbol, id FROM (SELECT *, rank() OVER (PARTITION BY \(columns) ORDER BY at DESC) AS place FROM copy) AS r "
            + "WHERE place <= 2 ORDER BY 1, 2"
        let expected = try database.run(left)
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.expiredCount == 300 - expected.count && execution.total.deletedCount == survey.expiredCount)
        #expect(try database.run("SELECT symbol, id FROM q ORDER BY 1, 2") == expected)
    }

    /// A batch that deletes other rows than the survey counted is rolled back, and repeated with a count of its own.
    @Test func aRowThatIsAddedAfterTheCountIsNoFault() throws {
        let database = try TestDatabase.citus(Self.table + Self.distribute)
        let writer = try database.writer()
        let deletion = try writer.deletion(of: Self.request)
        try database.run("INSERT INTO q VALUES ('A', 1000, timestamptz '2025-12-01')")
        var counts = 0
        writer.trace = { statement, _ in if statement.hasPrefix("SELECT count(*)") { counts += 1 } }
        #expect(try deletion.deleteNext(DeletionBounds(rows: 50_000)).result.deletedCount == 145)
        #expect(counts == 1)
        #expect(try database.run("SELECT count(*) FROM q") == ["156"])
    }

    /// A batch that deletes other rows than those counted just before is rolled back and repeated; here there are others each time.
    @Test func aBatchWhoseRowsChangeAllTheTimeIsBusy() throws {
        let database = try TestDatabase.citus(Self.table + Self.distribute)
        let writer = try database.writer()
        let (other, isOver) = (try database.connection(), Flag())
        nonisolated(unsafe) let session = other
        Thread {
            for id in 1000... where !isOver.isSet {
                _ = try? session.execute(
                    SQLFragment(
                        "INSERT INTO q VALUES ('A', \(id), timestamptz '2025-12-01' - \(id) * interval '1 second')"))
            }
        }.start()
        defer { isOver.isSet = true }
        let told = storeError {
            for _ in 0..<20 { _ = try Laws.carryOut(Self.request, batchRows: 50_000, stopAfter: 1, on: writer) }
        }
        #expect(told?.kind == .busy && told?.message.contains("matched the rule just before: another session") == true)
    }

    /// Rows of several servers have no places: a limit is met by their keys.
    @Test func aLimitIsMetByKeysAndThinIsRefused() throws {
        let database = try TestDatabase.citus(Self.table + Self.distribute)
        let first = StoreFetchRequest(
            entity: "q", predicate: .all, sortDescriptors: [StoreSortDescriptor("at")], fetchLimit: 7)
        #expect(try database.writer().execute(BatchDeleteRequest(fetchRequest: first)).deletedCount == 7)
        #expect(try database.run("SELECT count(*), min(at) FROM q") == ["293|2026-01-01 01:00:00+00"])
        var request = Self.request
        request.keepers.thinning = Thinning(
            tiers: [.init(.day, since: .distantPast)], pick: .last, groupedBy: [], among: .all, date: request.date)
        #expect(try database.reader().survey(request).unsupported?.hasSuffix("those of their bucket (thin)") == true)
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
