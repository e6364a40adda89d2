import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What the server does for each row that goes is not skipped by dropping whole partitions or chunks: triggers, rules,
/// row security.
@Suite(.needsPostgres)
struct GuardTests {
    /// Keeps four rows of five.
    static let keepingTrigger = """
        CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.id % 5 <> 0 THEN RETURN NULL; END IF; RETURN OLD; END';
        CREATE TRIGGER keep BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION keep();
        """
    /// Shows one row of five, even to the owner.
    static let policy = """
        ALTER TABLE q ENABLE ROW LEVEL SECURITY; ALTER TABLE q FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON q USING (id % 5 = 0);
        """

    /// The same rows in a table of each kind: a row each hour from 2026-01-01 on, by ranges of 15 days.
    enum Kind: String, CaseIterable, Sendable {
        case partitions, indexedPartitions, hypertable, table

        func make(_ more: String = "") throws -> TestDatabase {
            let fill = """
                INSERT INTO q SELECT n, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
                \(more)
                """
            let index = self == .indexedPartitions ? "CREATE INDEX ON q (at);" : ""
            switch self {
            case .table: return try TestDatabase("CREATE TABLE q (id int, at timestamptz NOT NULL);" + fill)
            case .hypertable:
                return try .timescale(
                    """
                    CREATE TABLE q (id int, at timestamptz NOT NULL);
                    SELECT create_hypertable('q', by_range('at', interval '15 days'));
                    """ + fill)
            case .partitions, .indexedPartitions:
                return try TestDatabase(
                    """
                    CREATE TABLE q (id int, at timestamptz NOT NULL) PARTITION BY RANGE (at);
                    CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('2025-12-24 00:00Z') TO ('2026-01-08 00:00Z');
                    CREATE TABLE q_2 PARTITION OF q FOR VALUES FROM ('2026-01-08 00:00Z') TO ('2026-01-23 00:00Z');
                    CREATE TABLE q_3 PARTITION OF q FOR VALUES FROM ('2026-01-23 00:00Z') TO ('2026-02-07 00:00Z');
                    """ + index + fill)
            }
        }

        /// Its first partition or chunk, in SQL.
        func first(_ database: TestDatabase) throws -> String {
            self == .hypertable ? try database.run("SELECT min(c::text) FROM show_chunks('q') c")[0] : "q_1"
        }

        static let divided: [Kind] = [.partitions, .indexedPartitions] + timescale
        static let timescale: [Kind] = PostgresCluster.Engine.timescaledb.isInstalled ? [.hypertable] : []
        static let all: [Kind] = divided + [.table]
    }

    /// 480 rows are expired, of which 96 may go.
    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-21"))

    @Test(arguments: Kind.divided) func withoutAGuardPartitionsAreDropped(kind: Kind) throws {
        let database = try kind.make()
        let user = try database.makeOwner()
        let (survey, execution) = try database.dryAndReal(Self.request, user: user)
        #expect(survey.method == .partitions && execution.total.deletedCount == 480)
        #expect(execution.batchCounts.first ?? 0 > 20)
    }

    @Test(arguments: Kind.all) func rowTriggersAreAsked(kind: Kind) throws {
        let database = try kind.make(Self.keepingTrigger)
        let (survey, execution) = try database.dryAndReal(Self.request, isEqual: false)
        #expect(!survey.possibleMethods.contains(.partitions) && execution.total.deletedCount == 96)
        if kind != .table {
            let reason = "nothing is dropped as a whole, because the trigger keep of q would not fire"
            #expect(survey.reason == reason)
        }
        #expect(try database.run("SELECT count(*) FROM q") == ["624"])
    }

    /// Wherever it is declared, the dry run names it: how many rows it keeps cannot be known.
    @Test(arguments: Kind.all) func rowTriggersAreNamed(kind: Kind) throws {
        let database = try kind.make()
        let place = kind == .partitions || kind == .indexedPartitions ? try kind.first(database) : "q"
        try database.run(
            script: Self.keepingTrigger.replacingOccurrences(of: "ON q", with: "ON \(place)")
                + "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
                + "CREATE TRIGGER note AFTER DELETE ON q FOR EACH ROW EXECUTE FUNCTION note()")
        let entity = try #require(try database.reader().entity(named: "q"))
        #expect(entity.deleteTriggers == ["keep", "note"] && entity.refusingTriggers == ["keep"])
    }

    @Test(arguments: Kind.all) func aStatementTriggerThatRefusesKeepsAllRows(kind: Kind) throws {
        let database = try kind.make(
            """
            CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''on hold''; END';
            CREATE TRIGGER no BEFORE DELETE ON q FOR EACH STATEMENT EXECUTE FUNCTION no();
            """)
        let writer = try database.writer()
        let survey = try writer.findings(Self.request)
        let error = storeError {
            _ = try Laws.carryOut(Self.request, method: survey.method.rawValue, batchRows: 20, on: writer)
        }
        #expect(error?.message.contains("on hold") == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["720"])
    }

    @Test(arguments: [Kind.partitions, .indexedPartitions, .table]) func aRuleOfTheTableIsFollowed(kind: Kind) throws {
        let database = try kind.make("CREATE RULE keep AS ON DELETE TO q DO INSTEAD NOTHING;")
        let (_, execution) = try database.dryAndReal(Self.request, isEqual: false)
        #expect(execution.total.deletedCount == 0)
        #expect(try database.run("SELECT count(*) FROM q") == ["720"])
    }

    // MARK: Publications

    /// A partition that is dropped is no deleted row for a subscriber.
    @Test(arguments: Kind.divided) func rowsWhoseDeletesArePublishedGoOneByOne(kind: Kind) throws {
        let database = try kind.make("ALTER TABLE q ADD PRIMARY KEY (id, at);")
        try database.run("CREATE PUBLICATION p FOR ALL TABLES")
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(!survey.possibleMethods.contains(.partitions) && execution.total.deletedCount == 480)
        #expect(
            survey.reason
                == "nothing is dropped as a whole, because the publication p tells subscribers of deletes and not of a drop"
        )
    }

    @Test(arguments: [true, false]) func aPublicationOfTheWholeHoldsForItsPartitions(isOfWhole: Bool) throws {
        let database = try Kind.partitions.make("ALTER TABLE q ADD PRIMARY KEY (id, at);")
        try database.run(
            "CREATE PUBLICATION p FOR TABLE \(isOfWhole ? "q" : "q_1") WITH (publish_via_partition_root = \(isOfWhole))"
        )
        #expect(try database.writer().findings(Self.request).method != .partitions)
    }

    @Test(arguments: Kind.divided) func aPublicationWithoutDeletesIsNoGuard(kind: Kind) throws {
        let database = try kind.make()
        try database.run("CREATE PUBLICATION p FOR ALL TABLES WITH (publish = 'insert, update')")
        let (survey, _) = try database.dryAndReal(Self.request)
        #expect(survey.method == .partitions)
    }

    /// The server refuses each delete from it.
    @Test(arguments: Kind.all) func aPublishedTableWithoutAnIdentityIsRefused(kind: Kind) throws {
        let database = try kind.make()
        try database.run("CREATE PUBLICATION p FOR ALL TABLES")
        let reason = try database.reader().survey(Self.request).unsupported
        #expect(reason?.hasPrefix("the publication p publishes deletes, and ") == true)
        if kind != .hypertable {
            try database.run("ALTER TABLE q REPLICA IDENTITY FULL")
            for leaf in kind == .table ? [] : ["q_1", "q_2", "q_3"] {
                try database.run("ALTER TABLE \(leaf) REPLICA IDENTITY FULL")
            }
            #expect(try database.dryAndReal(Self.request).1.total.deletedCount == 480)
        }
    }

    // MARK: Row security

    @Test(arguments: Kind.all) func rowSecurityIsRefused(kind: Kind) throws {
        for isOwner in [true, false] {
            let database = try kind.make(Self.policy)
            let user = try isOwner ? database.makeOwner() : database.makeUser("GRANT SELECT, DELETE ON q TO")
            let reason = try PostgresReader(database.address(of: user)).survey(Self.request).unsupported
            #expect(reason?.hasPrefix("row security of q applies to this user") == true)
        }
    }

    /// Somebody who owns the table but is not forced, and a superuser, are not subject to it.
    @Test(arguments: Kind.divided) func rowSecurityThatIsNotInEffectIsNoGuard(kind: Kind) throws {
        let database = try kind.make(
            "ALTER TABLE q ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON q USING (id % 5 = 0);")
        let (survey, execution) = try database.dryAndReal(Self.request, user: database.makeOwner())
        #expect(survey.method == .partitions && execution.total.deletedCount == 480)
    }

    /// A policy of a partition itself holds for what names the partition. A chunk cannot have one.
    @Test func aPolicyOfAPartitionIsRefused() throws {
        let database = try Kind.partitions.make(Self.policy.replacingOccurrences(of: " q ", with: " q_2 "))
        let reason = try PostgresReader(database.address(of: database.makeOwner())).survey(Self.request).unsupported
        #expect(reason?.hasPrefix("row security of q_2 applies to this user") == true)
    }

    @Test func rowSecurityOfATableThatPointsAtTheRowsIsRefused() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int PRIMARY KEY, at timestamptz);
            CREATE TABLE note (id int REFERENCES q ON DELETE CASCADE, tenant int);
            INSERT INTO q SELECT n, timestamptz '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 719) n;
            INSERT INTO note SELECT id, id % 5 FROM q;
            ALTER TABLE note ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON note USING (tenant = 0);
            """)
        let user = try database.makeUser("GRANT SELECT, DELETE ON q, note TO")
        let survey = try PostgresReader(database.address(of: user)).survey(Self.request)
        #expect(survey.unsupported?.contains("row security of note") == true)
    }

    // MARK: Other reasons

    /// It can delete the rows, and a drop or a look at a partition by its own name would be refused.
    @Test(arguments: Kind.divided) func aUserWhoDoesNotOwnTheTableDeletesRows(kind: Kind) throws {
        let database = try kind.make()
        let user = try database.makeUser("GRANT SELECT, DELETE ON q TO")
        let (survey, execution) = try database.dryAndReal(Self.request, user: user)
        #expect(!survey.possibleMethods.contains(.partitions) && execution.total.deletedCount == 480)
    }

    /// The drop would fail.
    @Test(arguments: [
        "CREATE VIEW v AS SELECT * FROM q_1", "CREATE FUNCTION f(q_1) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE q_1 ADD UNIQUE (id); CREATE TABLE note (id int REFERENCES q_1 (id))",
    ]) func aPartitionThatSomethingDependsOnGoesByRows(sql: String) throws {
        let database = try Kind.partitions.make(sql)
        let (survey, execution) = try database.dryAndReal(Self.request)
        #expect(!survey.possibleMethods.contains(.partitions) && execution.total.deletedCount == 480)
        #expect(try database.run("SELECT count(*) FROM q_1") == ["0"])
    }

    @Test func idsAndAnOffsetOfDeletedRowsAreRefused() throws {
        let database = try Kind.divided[0].make("")
        let writer = try database.writer()
        var batches = [BatchDeleteRequest(Self.request, resultType: .objectIDs), BatchDeleteRequest(Self.request)]
        batches[1].fetchRequest.fetchOffset = 1
        for batch in batches { #expect(throws: StoreError.self) { try writer.execute(batch) } }
        #expect(try writer.execute(BatchDeleteRequest(Self.request)).deletedCount == 480)
    }

    /// What the partition key's own operators order need not be in the order of the dates.
    @Test func partitionsInAnOrderOfTheirOwnGoByRows() throws {
        let database = try TestDatabase(
            """
            CREATE FUNCTION turned(bigint, bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint8cmp($1 % 1000, $2 % 1000)';
            CREATE OPERATOR CLASS turned_ops FOR TYPE bigint USING btree AS
                OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 turned(bigint, bigint);
            CREATE TABLE q (at bigint) PARTITION BY RANGE (at turned_ops);
            CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM (1100) TO (1200);
            CREATE TABLE q_2 PARTITION OF q FOR VALUES FROM (1200) TO (1300);
            INSERT INTO q VALUES (1110), (1120), (2130), (5140), (1210);
            """)
        let date = DateAttribute(
            name: "at", encoding: .unixSeconds, zone: .utc, earliest: Instant(unixSeconds: 1), latest: nil)
        _ = try database.dryAndReal(
            SurveyRequest(entity: "q", date: date, cutoff: Instant(unixSeconds: 1205)))
        #expect(try database.run("SELECT string_agg(at::text, ' ' ORDER BY at) FROM q") == ["1210 2130 5140"])
    }

    /// A guard that comes between the plan and the drop: nothing goes, and the next run judges the rows one by one.
    @Test(arguments: [keepingTrigger, policy]) func aGuardThatComesInBetweenHolds(sql: String) throws {
        let database = try Kind.indexedPartitions.make()
        let user = try database.makeOwner()
        let writer = try PostgresWriter(database.address(of: user))
        let plan = try writer.survey(Self.request)
        #expect(try writer.findings(of: Self.request, after: plan).method == .partitions)
        var hasCome = false
        writer.trace = { statement, _ in
            guard statement.contains("LOCK TABLE"), !hasCome else { return }
            hasCome = true
            _ = try? database.run(script: sql)
        }
        let told = storeError {
            _ = try Laws.carryOut(Self.request, after: plan, method: "partitions", batchRows: 20, on: writer)
        }
        #expect(hasCome && told?.message.contains("has changed since the plan was made") == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["720"])
        #expect(try database.run("SELECT count(*) FROM pg_partition_tree('q') WHERE isleaf") == ["3"])
        try Self.nextRunKeepsWhatAGuardKeeps(database, Self.request, user: user)
    }

    /// A run with a plan of its own deletes no row that a guard of ``keepingTrigger`` or ``policy`` keeps.
    static func nextRunKeepsWhatAGuardKeeps(_ database: TestDatabase, _ request: SurveyRequest, user: String) throws {
        let kept = "SELECT count(*) FROM q WHERE id % 5 <> 0"
        let before = try database.run(kept)
        let writer = try PostgresWriter(database.address(of: user))
        #expect(try writer.findings(request).method != .partitions)
        _ = storeError { _ = try Laws.carryOut(request, batchRows: 20, on: writer) }
        #expect(try database.run(kept) == before)
    }
}
