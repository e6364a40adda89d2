import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Triggers that run before a row is deleted: they may keep it, or read the rows that refer to it.
struct DeleteTriggerTests {
    static let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))

    /// Two expired parents and a fresh one; the trigger keeps the first. Each of the expired ones has a child.
    private func store(_ action: String, body: String = "SELECT RAISE(IGNORE) WHERE OLD.id = 1") throws
        -> TemporaryStore
    {
        try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE seen (child)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) \(action))",
            "CREATE INDEX ix ON p (at)", "INSERT INTO p VALUES (1, 10), (2, 20), (3, 5000)",
            "INSERT INTO c VALUES (11, 1), (12, 2), (13, 3)",
            "CREATE TRIGGER hold BEFORE DELETE ON p BEGIN \(body); END")
    }

    private func request(_ rule: BatchDeleteRequest.RelationshipRule = .asDeclared) -> SurveyRequest {
        SurveyRequest(entity: "p", date: Self.date, cutoff: Instant(unixSeconds: 1000), relationships: rule)
    }

    @Test func childrenOfAKeptRowStay() throws {
        let store = try store("ON DELETE CASCADE")
        let result = try store.writer().deletion(of: request()).deleteNext(DeletionBounds())
        #expect(result.result.deletedCount == 1)
        #expect(result.result.cascadedCount == 1)
        #expect(try store.rows("SELECT id FROM p") == ["1", "3"])
        #expect(try store.rows("SELECT id FROM c") == ["11", "13"])
    }

    @Test func aTriggerReadsTheRowsThatReferToItsRow() throws {
        let store = try store("ON DELETE CASCADE", body: "INSERT INTO seen SELECT id FROM c WHERE p = OLD.id")
        _ = try store.writer().deletion(of: request()).deleteNext(DeletionBounds())
        #expect(try store.rows("SELECT child FROM seen ORDER BY child") == ["11", "12"])
        #expect(try store.rows("SELECT id FROM c") == ["13"])
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.cascade, .nullify], ["", "ON DELETE CASCADE"])
    func anOverrideIsRefusedByTheSurveyAndTheRequest(rule: BatchDeleteRequest.RelationshipRule, action: String) throws {
        let store = try store(action)
        let reason = try #require(try store.reader().survey(request(rule)).unsupported)
        #expect(reason.contains("the trigger hold of p runs before a row is deleted"), "\(reason)")
        let error = #expect(throws: StoreError.self) {
            try store.writer().execute(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: "p", predicate: request().expired), relationships: rule))
        }
        #expect(error?.kind == .unsupported)
        #expect(try store.rows("SELECT count(*), count(p) FROM c") == ["3|3"])
    }

    @Test func aCascadeThatNeedsTheKeysBeforehandIsRefused() throws {
        var request = request()
        request.wantsObjectIDs = true
        let store = try store("ON DELETE CASCADE")
        #expect(try store.reader().survey(request).unsupported?.contains("digest") == true)
        let own = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, up REFERENCES p (id) ON DELETE CASCADE)",
            "INSERT INTO p VALUES (1, 10, NULL)",
            "CREATE TRIGGER hold BEFORE DELETE ON p BEGIN SELECT RAISE(IGNORE) WHERE OLD.id = 1; END")
        #expect(try own.reader().survey(self.request()).unsupported?.contains("back to p (up)") == true)
    }

    @Test func anAfterTriggerChangesNothing() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id))",
            "INSERT INTO p VALUES (1, 10)", "INSERT INTO c VALUES (11, 1)",
            "CREATE TRIGGER t AFTER DELETE ON p BEGIN SELECT 1; END")
        #expect(try store.reader().survey(request(.cascade)).unsupported == nil)
    }

    /// A place in the order of dates would stay where it is: all rows of a batch have one date and are kept.
    @Test(arguments: ["id INTEGER PRIMARY KEY, at INTEGER", "id INTEGER, at INTEGER, PRIMARY KEY (id, at)"])
    func keptRowsDoNotStopTheRowsBehindThem(columns: String) throws {
        let options = columns.contains("id, at") ? " WITHOUT ROWID" : ""
        let store = try TemporaryStore(
            "CREATE TABLE p (\(columns))\(options)", "CREATE INDEX ix ON p (at)",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO p SELECT i, 500 FROM n",
            "CREATE TRIGGER hold BEFORE DELETE ON p BEGIN SELECT RAISE(IGNORE) WHERE OLD.id <= 30; END")
        let deletion = try store.writer().deletion(of: request())
        var count = 0
        var part: DeletionPart
        repeat {
            part = try deletion.deleteNext(DeletionBounds(rows: 10))
            count += part.result.deletedCount
        } while part.hasMore
        #expect(count == 30)
        #expect(try deletion.remainingCount(besides: []) == 30)
    }
}
