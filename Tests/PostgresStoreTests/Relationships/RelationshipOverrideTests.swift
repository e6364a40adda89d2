import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// `relationships: cascade` and `nullify` of a request, whatever the schema declares. The random databases have them too.
@Suite(.needsPostgres)
struct RelationshipOverrideTests {
    private static let schema = """
        CREATE TABLE q (a int, b text, at timestamptz, up int, PRIMARY KEY (a, b), UNIQUE (a));
        ALTER TABLE q ADD FOREIGN KEY (up) REFERENCES q (a);
        INSERT INTO q SELECT n, 'x', timestamptz '2026-01-01 00:00:00+00' + n * interval '1 day', nullif(n - 1, 0)
        FROM generate_series(1, 6) n;
        CREATE TABLE note (id int PRIMARY KEY, a int, b text, also int REFERENCES q (a) ON DELETE SET DEFAULT DEFAULT 6,
            FOREIGN KEY (a, b) REFERENCES q ON DELETE CASCADE) PARTITION BY RANGE (id);
        CREATE TABLE note_1 PARTITION OF note FOR VALUES FROM (0) TO (3);
        CREATE TABLE note_2 PARTITION OF note DEFAULT;
        INSERT INTO note VALUES (1, 1, 'x', 5), (2, 5, 'x', 2), (3, 2, 'x', 1), (4, 6, 'x', 5);
        CREATE TABLE mark (note int REFERENCES note ON DELETE SET NULL);
        INSERT INTO mark SELECT generate_series(1, 4);

        """

    private func request(_ rule: BatchDeleteRequest.RelationshipRule) -> SurveyRequest {
        SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-04"), relationships: rule)
    }

    @Test func nullifyTakesReferencesOfEveryKeyAndNothingElse() throws {
        let database = try TestDatabase(Self.schema)
        let writer = try database.writer()
        let survey = try writer.findings(request(.nullify))
        #expect(survey.expiredCount == 2 && survey.possibleMethods == [.whole] && survey.related.obstacles == [])
        let execution = try Laws.carryOut(request(.nullify), method: "whole", batchRows: nil, on: writer)
        // Three notes, and the row of the table itself that points at one that goes.
        #expect(execution.total == BatchDeleteResult(deletedCount: 2, nullifiedCount: survey.related.nullifiedCount))
        #expect(survey.related.nullifiedCount == 4)
        #expect(try database.run("SELECT * FROM note ORDER BY id") == ["1|||5", "2|5|x|", "3|||", "4|6|x|5"])
        #expect(try database.run("SELECT count(*), min(a), count(up) FROM q") == ["4|3|3"])
    }

    /// A refusal of cascades that lead back advises it.
    @Test func nullifyLeavesACascadeThatLeadsBackWithoutRows() throws {
        let database = try TestDatabase(Self.schema)
        try database.run("ALTER TABLE q ADD also int REFERENCES note ON DELETE CASCADE")
        try database.run("UPDATE q SET also = 1 WHERE a IN (2, 6)")
        let advice = try database.reader().survey(request(.asDeclared)).unsupported
        #expect(advice?.contains("back to q (also)") == true && advice?.contains("relationships: nullify") == true)
        let writer = try database.writer()
        #expect(try writer.findings(request(.nullify)).unsupported == nil)
        let execution = try Laws.carryOut(request(.nullify), method: "whole", batchRows: nil, on: writer)
        #expect(execution.total == BatchDeleteResult(deletedCount: 2, nullifiedCount: 4))
        #expect(try database.run("SELECT count(*), min(a), count(also) FROM q") == ["4|3|1"])
        #expect(try database.run("SELECT count(*) FROM note") == ["4"])
    }

    @Test func cascadeTakesRowsAlongAndTheSchemasWordHoldsBehindThem() throws {
        let database = try TestDatabase(Self.schema)
        // The chain of the table leads from the first row to the last.
        #expect(try database.reader().survey(request(.cascade)).unsupported?.contains("back to q (up)") == true)
        try database.run("ALTER TABLE q DROP up")
        let writer = try database.writer()
        let survey = try writer.findings(request(.cascade))
        #expect(survey.expiredCount == 2 && survey.related.cascadedCount == 3 && survey.related.nullifiedCount == 3)
        let execution = try Laws.carryOut(request(.cascade), method: "whole", batchRows: nil, on: writer)
        #expect(execution.total.cascadedCount == 3 && execution.total.nullifiedCount == 3)
        #expect(
            try database.run(
                "SELECT (SELECT count(*) FROM q), (SELECT count(*) FROM note), count(*), count(note) FROM mark") == [
                    "4|1|4|1"
                ])
    }

    @Test func limitsHoldForTheRowsThatAreNamed() throws {
        let database = try TestDatabase(Self.schema)
        let writer = try database.writer()
        let result = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(
                    entity: "q", predicate: .all, sortDescriptors: [StoreSortDescriptor("at", ascending: false)],
                    fetchLimit: 2),
                relationships: .cascade))
        #expect(result.deletedCount == 2 && result.cascadedCount == 3)
        #expect(try database.run("SELECT count(*) FROM q WHERE (a, b) IN ((5, 'x'), (6, 'x'))") == ["0"])
        #expect(try database.run("SELECT string_agg(id::text, ',') FROM note") == ["3"])
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.nullify, .cascade])
    func aTriggerThatKeepsANamedRowUndoesAll(rule: BatchDeleteRequest.RelationshipRule) throws {
        let database = try TestDatabase(
            Self.schema + (rule == .cascade ? "UPDATE q SET up = NULL; ALTER TABLE q DROP CONSTRAINT q_up_fkey;" : "")
                + """
                CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                    IF OLD.a = 2 THEN RETURN NULL; END IF; RETURN OLD; END$$;
                CREATE TRIGGER keep BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION keep();
                """)
        let writer = try database.writer()
        let told = storeError { _ = try Laws.carryOut(request(rule), method: "whole", batchRows: nil, on: writer) }
        // With nullify the server finds it first: a reference would lead nowhere.
        let words = rule == .cascade ? "a trigger kept rows of q" : "key"
        #expect(told?.kind == .constraint && told?.message.contains(words) == true, "\(told as Any)")
        #expect(try database.run("SELECT count(*) FROM q") == ["6"])
        #expect(try database.run("SELECT count(a), count(also) FROM note") == ["4|4"])
    }

    @Test func aReferenceThatMustBeThereIsAnObstacleToNullify() throws {
        let database = try TestDatabase(Self.schema + "ALTER TABLE note ALTER COLUMN a SET NOT NULL;")
        let survey = try database.writer().survey(request(.nullify))
        #expect(survey.related.obstacles.map(\.rowCount) == [2])
    }
}
