import Foundation
@preconcurrency import Glibc
import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Rows under a hold stay, whatever deletes: the rule itself, cascades, dropped partitions and chunks, triggers of the store.
@Suite(.needsPostgres)
struct HeldRowsTests {
    private static func request(_ entity: String, _ holds: HeldRows..., cutoff: String = "2026-03-10") -> SurveyRequest
    {
        var request = SurveyRequest(entity: entity, date: .of("at"), cutoff: at(cutoff))
        request.keepers.holds = holds
        return request
    }

    private static func hold(_ entity: String, _ rows: StorePredicate, name: String = "audit") -> HeldRows {
        HeldRows(name: name, entity: entity, rows: rows)
    }

    // MARK: Parts of a table

    private static let months = """
        CREATE TABLE q (id int, at timestamptz) PARTITION BY RANGE (at);
        CREATE TABLE q_01 PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE q_02 PARTITION OF q FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        CREATE TABLE q_03 PARTITION OF q FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
        CREATE INDEX ON q (at);
        INSERT INTO q SELECT n, timestamptz '2026-01-01' + n * interval '1 hour' FROM generate_series(0, 2000) n;
        """

    @Test(arguments: [nil, "range", "windows", "whole"] as [String?])
    func noPartitionGoesWithAHeldRow(_ method: String?) throws {
        let database = try TestDatabase(Self.months)
        let hold = Self.hold("q", .compare("id", .equal, .integer(5)))
        let request = Self.request("q", hold)
        let survey = try database.reader().findings(request)
        #expect(survey.kept.heldCount == 1 && survey.method != .partitions)
        #expect(survey.methodObstacles[.partitions]?.contains("the hold audit") == true)
        let execution = try Laws.carryOut(
            request, method: method, batchRows: method == "whole" ? nil : 500, on: database.writer())
        #expect(execution.total.deletedCount == survey.expiredCount)
        #expect(try database.run("SELECT min(id), count(*) FROM q WHERE at < '2026-03-10'") == ["5|1"])
    }

    /// A column that only a part has is unknown to the rule, so all rows of the part stay, and an earlier rule by it counts none of them.
    @Test func aHoldByAColumnOfAPartKeepsThePart() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int, at timestamptz); CREATE TABLE kid (more int) INHERITS (q);
            INSERT INTO q SELECT n, '2026-01-01' FROM generate_series(1, 5) n;
            INSERT INTO kid SELECT n, '2026-01-01', n FROM generate_series(6, 9) n;
            """)
        let few = StorePredicate.compare("more", .less, .integer(7))
        #expect(try database.reader().survey(Self.request("q", Self.hold("kid", few))).expiredCount == 5)
        var after = Self.request("q")
        var first = Self.request("kid")
        first.filter = few
        after.preceding = [BatchDeleteRequest(first)]
        #expect(try database.reader().survey(after).expiredCount == 9)
        _ = try Laws.carryOut(Self.request("q", Self.hold("kid", few)), batchRows: 2, on: database.writer())
        #expect(try database.run("SELECT min(id), count(*) FROM q") == ["6|4"])
    }

    /// What a key changes after a cleared reference is not followed.
    @Test func aChangeBehindAClearedReferenceIsRefused() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int PRIMARY KEY, at timestamptz); CREATE TABLE kid (id int PRIMARY KEY, q int UNIQUE REFERENCES q ON DELETE SET NULL);
            CREATE TABLE grand (kid int REFERENCES kid (q) ON UPDATE CASCADE);
            """)
        let request = Self.request("q", Self.hold("grand", .all))
        #expect(
            try database.reader().survey(request).unsupported
                == "rows under a hold could change unnoticed: a reference of kid is cleared, to which the key grand_kid_fkey of grand "
                + "refers: what its ON UPDATE changes is not known")
    }

    /// A part of a table is a table of its own.
    @Test func aHoldMayNameAPartitionAndARuleToo() throws {
        let database = try TestDatabase(Self.months)
        let reader = try database.reader()
        #expect(try reader.deletes(from: "q", .asDeclared, canReach: "q_02", changing: []))
        #expect(try reader.deletes(from: "q_02", .asDeclared, canReach: "q", changing: []))
        #expect(try !reader.deletes(from: "q_01", .asDeclared, canReach: "q_02", changing: []))
        let onPart = Self.request("q", Self.hold("q_02", .all))
        #expect(try reader.survey(onPart).kept.heldCount == 672)
        _ = try Laws.carryOut(onPart, batchRows: 500, on: database.writer())
        #expect(try database.run("SELECT count(*) FROM q WHERE at < '2026-03-01'") == ["672"])
        let onWhole = Self.request("q_02", Self.hold("q", .compare("id", .less, .integer(800))))
        _ = try Laws.carryOut(onWhole, batchRows: 500, on: database.writer())
        #expect(try database.run("SELECT min(id), max(id) FROM q_02") == ["744|799"])
    }

    @Test(.needsTimescale) func noChunkGoesWithAHeldRow() throws {
        let database = try TestDatabase.timescale(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL);
            SELECT create_hypertable('q', by_range('at', interval '7 days'));
            INSERT INTO q SELECT n, timestamptz '2026-01-01' + n * interval '1 hour' FROM generate_series(0, 719) n;
            ALTER TABLE q SET (timescaledb.compress); SELECT compress_chunk(c) FROM show_chunks('q', older_than => '2026-01-10'::timestamptz) c;
            """)
        let request = Self.request(
            "q", Self.hold("q", .mayBeDated(.of("at"), from: at("2026-01-03"), until: at("2026-01-04"))),
            cutoff: "2026-01-17")
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.kept.heldCount == 24 && execution.total.deletedCount == 360)
        #expect(try database.run("SELECT count(*) FROM q WHERE at < '2026-01-17'") == ["24"])
    }

    @Test(.needsCitus) func shardsKeepTheirHeldRows() throws {
        let database = try TestDatabase.citus(
            """
            CREATE TABLE q (id int, at timestamptz NOT NULL, PRIMARY KEY (id, at));
            SELECT create_distributed_table('q', 'id', shard_count => 4);
            INSERT INTO q SELECT n, timestamptz '2026-01-01' + n * interval '1 hour' FROM generate_series(0, 719) n;
            """)
        let request = Self.request("q", Self.hold("q", .compare("id", .less, .integer(10))), cutoff: "2026-01-17")
        let (survey, execution) = try database.dryAndReal(request)
        #expect(survey.kept.heldCount == 10 && execution.total.deletedCount == 374)
        #expect(try database.run("SELECT count(*) FROM q WHERE at < '2026-01-17'") == ["10"])
    }

    // MARK: Rows that would go with others

    private static func family(_ action: String = "ON DELETE CASCADE", _ more: String = "") -> String {
        """
        CREATE TABLE p (id int PRIMARY KEY, at timestamptz);
        CREATE INDEX ON p (at);
        CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p \(action), kind text);
        CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c ON DELETE CASCADE);
        INSERT INTO p VALUES (1, '2026-01-01'), (2, '2026-01-02'), (3, '2026-01-03'), (4, '2026-01-04'), (5, '2026-06-01');
        INSERT INTO c VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 3, 'kept'), (4, 4, 'a'), (5, 3, 'a');
        INSERT INTO g VALUES (1, 2);
        \(more)
        """
    }

    private static let kept = hold("c", .compare("kind", .equal, .text("kept")))

    private func carryOut(_ request: SurveyRequest, _ database: TestDatabase) throws -> Findings {
        let survey = try database.reader().findings(request)
        let execution = try Laws.carryOut(
            request, batchRows: survey.method == .whole ? nil : 1, on: database.writer())
        #expect(execution.total.deletedCount == survey.expiredCount)
        #expect(execution.total.cascadedCount == survey.related.cascadedCount)
        return survey
    }

    @Test func aRowStaysWithWhichAHeldOneWouldGoAndAllThatBelongsToIt() throws {
        let database = try TestDatabase(Self.family())
        let survey = try carryOut(Self.request("p", Self.kept), database)
        #expect(survey.expiredCount == 3 && survey.kept.byHold == [.init(hold: "audit", rowCount: 1, relatedCount: 1)])
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM p") == ["3 5"])
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM c") == ["3 5"])
    }

    @Test func atAnyDepth() throws {
        let database = try TestDatabase(Self.family())
        _ = try carryOut(Self.request("p", Self.hold("g", .all)), database)
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM p") == ["2 5"])
    }

    @Test func aRulesOwnCascadeIsOneToo() throws {
        let database = try TestDatabase(Self.family("ON DELETE RESTRICT"))
        var request = Self.request("p", Self.kept)
        request.relationships = .cascade
        _ = try carryOut(request, database)
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM p") == ["3 5"])
    }

    @Test func aHeldRowMayLoseAReference() throws {
        let database = try TestDatabase(Self.family("ON DELETE SET NULL"))
        let survey = try carryOut(Self.request("p", Self.kept), database)
        #expect(survey.expiredCount == 4 && survey.kept.heldCount == 0)
        #expect(try database.run("SELECT count(*), count(p) FROM c") == ["5|0"])
    }

    /// Or it would be under no hold in the next run.
    @Test func aHeldRowKeepsTheReferenceByWhichItIsHeld() throws {
        let database = try TestDatabase(Self.family("ON DELETE SET NULL"))
        let survey = try carryOut(Self.request("p", Self.hold("c", .compare("p", .equal, .integer(2)))), database)
        #expect(survey.kept.byHold == [.init(hold: "audit", rowCount: 1, relatedCount: 1)])
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM p") == ["2 5"])
        #expect(try database.run("SELECT id, p FROM c WHERE p IS NOT NULL") == ["2|2"])
        let reader = try database.reader()
        #expect(try reader.clearedAttributes(["kind", "p"], of: "c", byDeletesFrom: "p", .asDeclared) == ["p"])
        #expect(try reader.clearedAttributes(["p"], of: "c", byDeletesFrom: "p", .cascade) == [])
    }

    /// A held row that another session adds while a batch waits for it: the batch is made again, and spares it.
    @Test func aHeldRowThatArrivesDuringABatchIsSpared() throws {
        let database = try TestDatabase(Self.family())
        // The other session locks the parent until its commit, so that the batch has begun when the row comes.
        try database.run("CREATE TABLE told (n int)")
        let other = database
        let ended = DispatchSemaphore(value: 0)
        let began = DispatchSemaphore(value: 0)
        Thread {
            defer { ended.signal() }
            guard let adding = try? other.connection() else { return }
            _ = try? adding.execute(script: ["BEGIN", "INSERT INTO c VALUES (6, 2, 'kept')"])
            began.signal()
            if other.hasWaiter() { _ = try? other.run("INSERT INTO told VALUES (1)") }
            _ = try? adding.execute(script: ["COMMIT"])
        }.start()
        began.wait()
        let execution = try Laws.carryOut(Self.request("p", Self.kept), batchRows: nil, on: database.writer())
        ended.wait()
        #expect(try database.run("SELECT count(*) FROM told") == ["1"])
        #expect(execution.total.deletedCount == 2)
        #expect(try database.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM p") == ["2 3 5"])
        #expect(try database.run("SELECT count(*) FROM c WHERE kind = 'kept'") == ["2"])
    }

    /// What its function does is not read.
    @Test func aTriggerThatMayDeleteThemIsRefused() throws {
        let database = try TestDatabase(
            Self.family(
                "ON DELETE SET NULL",
                """
                CREATE FUNCTION sweep() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN DELETE FROM c WHERE kind = ''kept''; RETURN NULL; END';
                CREATE TRIGGER sweep AFTER DELETE ON p FOR EACH ROW EXECUTE FUNCTION sweep();
                """))
        let request = Self.request("p", Self.kept)
        let obstacle = try database.reader().obstacle(
            to: [Self.kept], of: BatchDeleteRequest(request), writing: nil)
        #expect(obstacle?.reason == "the trigger or rule sweep of p may delete or change rows of c")
        let error = storeError { _ = try Laws.carryOut(request, batchRows: 1, on: database.writer()) }
        #expect(error?.kind == .unsupported && error?.message == obstacle?.text, "\(error as Any)")
        #expect(try database.run("SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c)") == ["5|5"])
    }
}
