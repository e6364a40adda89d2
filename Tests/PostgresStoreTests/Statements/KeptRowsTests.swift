import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// What `keep_last` and `thin` keep while other sessions, triggers and other rules change it. What one deletion alone keeps, the
/// judge of random databases says.
@Suite(.needsPostgres, .serialized)
struct KeptRowsTests {
    private static let cutoff = at("2026-03-01")

    /// Forty expired rows of each of five symbols, one an hour; every tenth day a new batch of them.
    private static let prices = """
        CREATE TABLE price (id bigint PRIMARY KEY, s text NOT NULL, at timestamptz NOT NULL, value bigint NOT NULL DEFAULT 0);
        INSERT INTO price SELECT n, 's' || n % 5, '2026-02-01T00:00:00Z'::timestamptz + n / 5 * interval '1 hour'
        FROM generate_series(0, 199) AS n;
        CREATE INDEX ON price (at);
        """

    private let cluster: PostgresCluster

    init() throws {
        cluster = try PostgresCluster(settings: ["autovacuum = off"])
    }

    private func newest(
        _ count: Int, per groups: [String] = ["s"], before cutoff: Instant = cutoff, method: String? = nil
    ) -> SurveyRequest {
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: cutoff)
        request.keepers.keepLast = KeepLast(count: count, groupedBy: groups, among: .all, date: request.date)
        request.deleting.method = method
        return request
    }

    private func picks(method: String? = nil, since: Instant = .distantPast) -> SurveyRequest {
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: Self.cutoff)
        request.keepers.thinning = Thinning(
            tiers: [.init(.day, since: since)], pick: .last, groupedBy: ["s"], among: .all, date: request.date)
        request.deleting.method = method
        return request
    }

    private func counts(_ connection: PostgresDatabase) throws -> [String: Int] {
        let rows = try connection.rows(SQLFragment("SELECT s, count(*) AS rows FROM price GROUP BY s"))
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.text("s"), $0.int("rows")) })
    }

    /// Another session deletes a kept row of one group, makes one of another older, moves one to another group and adds a group.
    @Test(arguments: ["range", "windows", "whole"])
    func aGroupThatHasLostAKeptRowLosesNoMore(_ method: String) throws {
        let (writer, other) = try cluster.open(Self.prices)
        let request = newest(2, method: method)
        #expect(try writer.survey(request).expiredCount == 190)
        let deletion = try writer.deletion(of: request)
        // From now on the kept rows are looked up.
        try other.execute("CREATE TABLE other ()")
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try other.execute(script: [
            "DELETE FROM price WHERE id = 195", "UPDATE price SET at = '2026-02-02' WHERE id = 196",
            "UPDATE price SET s = 'other' WHERE id = 197", "INSERT INTO price VALUES (500, 'new', '2026-02-01 12:00Z')",
            // It stays what it is for the rule.
            "UPDATE price SET value = 7 WHERE id = 198",
        ])
        let then = try counts(other)
        while try deletion.deleteNext(DeletionBounds(rows: method == "whole" ? nil : 20)).hasMore {}
        let expected: [String: Int] =
            // Each pass finds the kept rows again.
            method == "whole"
            ? ["s0": 2, "s1": 2, "s2": 2, "s3": 2, "s4": 2, "other": 1, "new": 1]
            : [
                "s0": then["s0"] ?? 0, "s1": then["s1"] ?? 0, "s2": then["s2"] ?? 0, "s3": 2, "s4": 2, "other": 1,
                "new": 1,
            ]
        #expect(try counts(other) == expected)
        // The next deletion finds the kept rows again.
        _ = try Laws.carryOut(request, method: method, batchRows: 20, on: writer)
        while try writer.survey(request).expiredCount > 0 {
            _ = try Laws.carryOut(request, method: method, batchRows: nil, on: writer)
        }
        #expect(try counts(other) == ["s0": 2, "s1": 2, "s2": 2, "s3": 2, "s4": 2, "other": 1, "new": 1])
    }

    @Test(arguments: ["range", "windows"])
    func keptRowsThatDoNotExpireMayBeDeletedByOthers(_ method: String) throws {
        let (writer, other) = try cluster.open(Self.prices)
        try other.execute("INSERT INTO price SELECT 1000 + n, 's' || n, '2026-03-05' FROM generate_series(0, 4) AS n")
        let request = newest(1, method: method)
        let deletion = try writer.deletion(of: request)
        // From now on the kept rows are looked up.
        try other.execute("CREATE TABLE other ()")
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try other.execute("DELETE FROM price WHERE id IN (1000, 1001)")
        let then = try counts(other)
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        #expect(
            try counts(other) == ["s0": then["s0"] ?? 0, "s1": then["s1"] ?? 0, "s2": 1, "s3": 1, "s4": 1])
    }

    @Test(arguments: ["range", "windows"])
    func theNewestRowsOfAllAreKeptBesideOthers(_ method: String) throws {
        let (writer, other) = try cluster.open(Self.prices)
        let request = newest(3, per: [], method: method)
        let deletion = try writer.deletion(of: request)
        // From now on the kept rows are looked up.
        try other.execute("CREATE TABLE other ()")
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try other.execute("DELETE FROM price WHERE id >= 195")
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 175)
        _ = try Laws.carryOut(request, batchRows: 20, on: writer)
        // With the same date as the third one.
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 5)
    }

    /// The rows are listed. Another session changes a kept row before the batch deletes anything.
    @Test func aChangeBesideTheFirstBatchIsSeen() throws {
        let (writer, other) = try cluster.open(Self.prices)
        let deletion = try writer.deletion(of: newest(1))
        var hasChanged = false
        writer.trace = { statement, _ in
            guard statement.contains("DELETE FROM"), !hasChanged else { return }
            hasChanged = true
            // The new row is not one of those that are known to be kept.
            _ = try? other.execute(script: [
                "BEGIN", "DELETE FROM price WHERE id = 195", "INSERT INTO price VALUES (500, 's0', '2026-02-01')",
                "COMMIT",
            ])
        }
        while try deletion.deleteNext(DeletionBounds(rows: 500)).hasMore {}
        // What its group keeps is found again for the next deletion.
        _ = try Laws.carryOut(newest(1), batchRows: 500, on: writer)
        #expect(hasChanged)
        #expect(try counts(other) == ["s0": 1, "s1": 1, "s2": 1, "s3": 1, "s4": 1])
        #expect(try other.numbers(SQLFragment("SELECT id FROM price WHERE s = 's0'")) == [190])
    }

    /// A batch waits for another session that has changed a row of it. That one, or a third one, has deleted kept rows by then.
    @Test(arguments: ["keep_last", "thin"], ["range", "windows", "range, undone", "windows, undone"])
    func whatIsKeptIsLookedUpAgainAfterABatchHasWaited(_ rule: String, _ how: String) throws {
        let (thins, commits) = (rule == "thin", !how.contains("undone"))
        let method = how.prefix { $0 != "," }
        let (writer, other) = try cluster.open(Self.prices)
        let third = try PostgresDatabase(writer.address, PostgresDatabase.Options(isReadOnly: false))
        let request = thins ? picks(method: String(method)) : newest(1, method: String(method))
        let deletion = try writer.deletion(of: request)
        try other.execute("CREATE TABLE other ()")
        _ = try deletion.deleteNext(DeletionBounds(rows: 5))
        try other.execute("BEGIN")
        try other.execute("UPDATE price SET value = 1 WHERE id = 10")
        // Of one group and, of thinned rows, of one day.
        let keptRow = thins ? 115 : 195
        if commits { try other.execute("DELETE FROM price WHERE id = \(keptRow)") }
        // Only the thread uses them.
        nonisolated(unsafe) let (holder, deleter) = (other, third)
        let thread = Thread {
            let waits = SQLFragment("SELECT 1 FROM pg_locks WHERE NOT granted")
            guard eventually({ (try? deleter.exists(waits)) == true }) else { return }
            if !commits { _ = try? deleter.execute("DELETE FROM price WHERE id = \(keptRow)") }
            _ = try? holder.execute(commits ? "COMMIT" : "ROLLBACK")
        }
        thread.start()
        while try deletion.deleteNext(DeletionBounds(rows: 500)).hasMore {}
        #expect(eventually { thread.isFinished })
        let days = "date_trunc('day', at AT TIME ZONE 'UTC') = '2026-02-01'"
        let left = try third.count(
            SQLFragment("SELECT count(*) FROM price WHERE s = 's0' AND \(thins ? days : "TRUE")"))
        #expect(left == (thins ? 22 : 38))
        #expect(try third.count(SQLFragment("SELECT count(*) FROM price WHERE s = 's1'")) == (thins ? 2 : 1))
    }

    /// Where kept rows cannot be looked up, they are found again: without a key, without the right to make temporary tables, and
    /// with groups that the server does not find by a number.
    @Test(arguments: ["no key", "no temporary tables", "no number"])
    func keptRowsAreFoundAgainInEachBatch(_ lack: String) throws {
        let url = try cluster.makeDatabase(
            Self.prices
                + """
                DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'keeper') THEN CREATE ROLE keeper LOGIN; END IF; END $$;
                GRANT SELECT, DELETE ON price TO keeper;
                """)
        switch lack {
        case "no key": try cluster.run("ALTER TABLE price DROP CONSTRAINT price_pkey", url: url)
        case "no number":
            try cluster.run(
                "ALTER TABLE price ADD bits bit(3); UPDATE price SET bits = (id % 5)::int::bit(3)", url: url)
        default: try cluster.run("REVOKE TEMP ON DATABASE \(PostgresCluster.database(of: url)) FROM PUBLIC", url: url)
        }
        let address = PostgresAddress(url: url.replacingOccurrences(of: "retention@", with: "keeper@"))
        let writer = try PostgresWriter(address)
        let other = try PostgresDatabase(
            PostgresAddress(url: url), PostgresDatabase.Options(isReadOnly: false))
        let deletion = try writer.deletion(of: newest(1, per: lack == "no number" ? ["bits"] : ["s"]))
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try other.execute("DELETE FROM price WHERE id IN (195, 190)")
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        #expect(try counts(other) == ["s0": 1, "s1": 1, "s2": 1, "s3": 1, "s4": 1])
        #expect(try other.numbers(SQLFragment("SELECT id FROM price WHERE s = 's0'")) == [185])
    }

    /// Both rules are surveyed before the first one deletes rows of the second one by a cascade.
    @Test func aCascadeOfAnotherRuleIsAChange() throws {
        let (writer, other) = try cluster.open(
            "CREATE TABLE source (id bigint PRIMARY KEY, at timestamptz); INSERT INTO source VALUES (1, '2026-01-01'), (2, '2026-04-01');"
                + Self.prices
                + "ALTER TABLE price ADD source bigint REFERENCES source ON DELETE CASCADE; UPDATE price SET source = CASE WHEN id >= 190 "
                + "THEN 1 ELSE 2 END; CREATE INDEX ON price (source);")
        let sources = SurveyRequest(entity: "source", date: .of("at"), cutoff: Self.cutoff)
        let request = newest(1)
        _ = try writer.survey(sources)
        #expect(try writer.survey(request).expiredCount == 195)
        _ = try Laws.carryOut(sources, batchRows: 20, on: writer)
        let execution = try Laws.carryOut(request, batchRows: 20, on: writer)
        #expect(execution.isComplete && execution.total.deletedCount == 185)
        #expect(try counts(other) == ["s0": 1, "s1": 1, "s2": 1, "s3": 1, "s4": 1])
    }

    /// What another session does before the second survey must not be taken for known by what the first one has found.
    @Test func whatASurveyHasFoundIsNotBelievedAfterAnotherSurvey() throws {
        let (writer, other) = try cluster.open(Self.prices)
        let (first, second) = (newest(1), picks())
        let survey = try writer.survey(first)
        try other.execute("DELETE FROM price WHERE id = 195")
        _ = try writer.survey(second)
        _ = try Laws.carryOut(first, after: survey, batchRows: 20, on: writer)
        #expect(try counts(other) == ["s0": 1, "s1": 1, "s2": 1, "s3": 1, "s4": 1])
    }

    /// Nothing was expired when the picks were listed. A late row goes only if its bucket is too old for every tier.
    @Test(arguments: [(Instant.distantPast, 201), (at("2025-12-01"), 200)])
    func aRowThatComesBeforeTheFirstPickMayGo(since: Instant, left: Int) throws {
        let (writer, other) = try cluster.open(Self.prices)
        var request = picks(method: "whole", since: since)
        request.cutoff = at("2026-01-01")
        let deletion = try writer.deletion(of: request)
        writer.trace = { statement, _ in
            guard statement.contains("DELETE FROM") else { return }
            _ = try? other.execute("INSERT INTO price VALUES (-1, 's0', '2025-06-01')")
        }
        while try deletion.deleteNext(DeletionBounds()).hasMore {}
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == left)
    }

    @Test func aTriggerThatDeletesKeptRowsFailsTheBatch() throws {
        let (writer, other) = try cluster.open(
            Self.prices
                + """
                CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN IF OLD.id = 5 THEN DELETE FROM price WHERE id = 195; END IF; RETURN OLD; END';
                CREATE TRIGGER spoil AFTER DELETE ON price FOR EACH ROW EXECUTE FUNCTION spoil();
                """)
        let error = storeError { _ = try Laws.carryOut(newest(1), batchRows: 50, on: writer) }
        #expect(error?.message.contains("rows that a rule keeps") == true, "\(String(describing: error))")
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 200)
    }

    /// The bad tick is the last of each day, and the last of all. Each order, on one table and on one of partitions.
    @Test(arguments: ["keep_last", "thin"], ["first", "last", "first, partitions", "last, partitions"])
    func whatOneRuleDeletesTheOtherDoesNotKeep(_ rule: String, _ how: String) throws {
        let (thins, isFirst, isPartitioned) = (rule == "thin", how.hasPrefix("first"), how.hasSuffix("partitions"))
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (id bigint, s text NOT NULL, f text NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (id, at))
            \(isPartitioned ? "PARTITION BY RANGE (at)" : "");
            \(isPartitioned ? """
                CREATE TABLE price_1 PARTITION OF price FOR VALUES FROM ('2026-01-01') TO ('2026-02-05');
                CREATE TABLE price_2 PARTITION OF price FOR VALUES FROM ('2026-02-05') TO ('2026-04-01');
                """ : "")
            INSERT INTO price SELECT n, 's' || n % 2, CASE WHEN n % 24 >= 22 THEN 'bad' ELSE 'ok' END,
            '2026-02-01Z'::timestamptz + n * interval '1 hour' FROM generate_series(0, 239) AS n;
            """)
        var keeping = thins ? picks() : newest(1)
        var bad = SurveyRequest(
            entity: "price", date: .of("at"), cutoff: Self.cutoff, filter: .compare("f", .equal, .text("bad")))
        keeping.keepApart(from: [bad])
        bad.keepApart(from: [keeping])
        // A rule of the same words.
        keeping.keepers.others += keeping.ownKeepers
        var rules = isFirst ? [keeping, bad] : [bad, keeping]
        rules[1].preceding = [BatchDeleteRequest(rules[0])]
        let kept = thins ? 20 : 2
        let surveys = try rules.map { try writer.survey($0) }
        #expect(surveys.map(\.expiredCount).reduce(0, +) == 240 - kept)
        // The tables of the first time are in the way of nothing.
        for rule in rules + rules { _ = try Laws.carryOut(rule, batchRows: 50, on: writer) }
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == kept)
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price WHERE f = 'bad'")) == 0)
        for rule in rules { #expect(try writer.survey(rule).expiredAloneCount == 0) }
    }

    /// Another session deletes the rows that were to stay.
    @Test(arguments: ["range", "windows", "whole"])
    func theLastRowIsNotDeleted(_ method: String) throws {
        let (writer, other) = try cluster.open(Self.prices)
        try other.execute("INSERT INTO price VALUES (1000, 's0', '2026-03-05')")
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: Self.cutoff)
        request.deleting.method = method
        request.deleting.mayEmpty = false
        #expect(try writer.survey(request).expiredCount == 200)
        let deletion = try writer.deletion(of: request)
        if method != "whole" { _ = try deletion.deleteNext(DeletionBounds(rows: 20)) }
        try other.execute("DELETE FROM price WHERE id = 1000")
        let bounds = DeletionBounds(rows: method == "whole" ? nil : 20)
        let error = storeError { while try deletion.deleteNext(bounds).hasMore {} }
        #expect(error?.message.contains("no readable row of price would be left") == true)
        let left = try other.count(SQLFragment("SELECT count(*) FROM price"))
        #expect(left == (method == "whole" ? 200 : 20))
    }

    @Test(arguments: [false, true]) func partitionsWithTheLastRowsAreNotDropped(hasDefault: Bool) throws {
        let (writer, other) = try cluster.open(
            """
            CREATE TABLE price (at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE price_1 PARTITION OF price FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
            CREATE TABLE price_2 PARTITION OF price FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
            CREATE TABLE price_3 PARTITION OF price FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
            \(hasDefault ? "CREATE TABLE price_rest PARTITION OF price DEFAULT;" : "")
            INSERT INTO price VALUES ('2026-01-05'), ('2026-02-05'), ('2026-03-05');
            """)
        var request = SurveyRequest(entity: "price", date: .of("at"), cutoff: Self.cutoff)
        request.deleting.mayEmpty = false
        #expect(try writer.survey(request).expiredCount == 2)
        try other.execute("DELETE FROM price WHERE at >= '2026-03-01'")
        let error = storeError { _ = try Laws.carryOut(request, method: "partitions", batchRows: 10, on: writer) }
        #expect(error?.message.contains("no readable row of price would be left") == true)
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 2)
        request.deleting.mayEmpty = true
        _ = try Laws.carryOut(request, method: "partitions", batchRows: 10, on: writer)
        #expect(try other.count(SQLFragment("SELECT count(*) FROM price")) == 0)
    }

    /// Without a key the kept rows cannot be listed. Finding them again is the cost of a batch, whatever its rows.
    @Test(arguments: [("", Duration.milliseconds(30)), ("ALTER TABLE q DROP CONSTRAINT q_pkey", .seconds(1))])
    func batchesThatFindTheKeptRowsAgainAreLong(more: String, target: Duration) throws {
        let database = try TestDatabase(ExpiringRows.schema + more)
        var request = ExpiringRows.request
        request.keepers.keepLast = KeepLast(count: 1, groupedBy: [], among: .all, date: request.date)
        #expect(try database.reader().findings(request).outline.batchTarget == target)
        #expect(try database.dryAndReal(request).0.expiredCount == 299)
    }
}
