import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Foreign keys: what a survey predicts is what the delete does.
struct RelationshipTests {
    static func request(_ entity: String) -> SurveyRequest { .rows(of: entity, before: 100_000_000) }

    /// Predicts, deletes, compares; returns what the survey said.
    private func check(_ store: TemporaryStore, _ request: SurveyRequest) throws -> Findings {
        let survey = try store.reader().findings(request)
        #expect(survey.related.obstacles.isEmpty)
        let result = try store.writer().deleteAll(request, method: survey.method, batchRows: 2).total
        #expect(result.deletedCount == survey.expiredCount)
        #expect(result.cascadedCount == survey.related.cascadedCount)
        #expect(result.nullifiedCount == survey.related.nullifiedCount)
        #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        return survey
    }

    /// Only `A` to `Z` are the same as `a` to `z` in names.
    @Test func namesThatDifferInTheCaseOfOtherLettersAreTwoNames() throws {
        let store = try TemporaryStore(
            "CREATE TABLE Öl (id INTEGER PRIMARY KEY, at INTEGER, É TEXT, é TEXT)",
            "CREATE TABLE öl (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER REFERENCES \"öl\" ON DELETE CASCADE)",
            "INSERT INTO Öl VALUES (1, 5, 'a', 'b'), (2, 6, 'a', 'b')",
            "INSERT INTO öl VALUES (1, 7), (2, 999999999)", "INSERT INTO c VALUES (1), (2)")
        let reader = try store.reader()
        _ = try reader.survey(Self.request("öl"))
        #expect(try reader.entity(named: "ÖL")?.name == "Öl")
        #expect(try reader.entity(named: "Öl")?.attributes.map(\.name) == ["id", "at", "É", "é"])
        let survey = try check(store, Self.request("Öl"))
        #expect(survey.expiredCount == 2 && survey.related.cascadedCount == 0)
        #expect(try store.rows("SELECT (SELECT count(*) FROM öl), (SELECT count(*) FROM c)") == ["2|2"])
    }

    /// In which batch a row goes is not known. A row that refers to itself waits for no other.
    @Test(arguments: ["", "ON DELETE RESTRICT"]) func rowsThatReferToEachOtherAreObstacles(_ action: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES p \(action))",
            "INSERT INTO p VALUES (1, 50000000, NULL), (2, 50000001, 1), (3, 50000002, 2), (4, 50000003, NULL), (5, 300000000, NULL)"
        )
        #expect(try store.reader().survey(Self.request("p")).related.obstacles.map(\.rowCount) == [2])
        try store.change("UPDATE p SET up = NULL WHERE id = 3; UPDATE p SET up = 2 WHERE id = 2")
        guard action.isEmpty else { return }
        #expect(try check(store, Self.request("p")).expiredCount == 4)
        #expect(try store.rows("SELECT id FROM p") == ["5"])
    }

    @Test func cascadesThatLeadBackAreRefusedToo() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES p ON DELETE CASCADE)")
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "p"))
        let error = #expect(throws: StoreError.self) { try store.writer().execute(all) }
        #expect(error?.message.contains("cascades lead from p back to p (up)") == true, "\(error as Any)")
    }

    /// A key gives the child's value the parent's affinity; the columns compare as numbers, or as texts.
    @Test(arguments: [
        ("TEXT", "INTEGER", false), ("TEXT", "REAL", false), ("TEXT", "DECIMAL", false), ("", "INTEGER", false),
        ("BLOB", "TEXT", false), ("TEXT", "VARCHAR(9)", true), ("TEXT", "", false), ("", "BLOB", true),
        ("INTEGER", "", true), ("INTEGER", "TEXT", true), ("REAL", "INTEGER", true),
        // The actions of a key do not find a text that refers to a number, but for a rowid.
        ("NUMERIC", "TEXT", false), ("REAL", "", false), ("INT", "TEXT", false), ("NUMERIC", "INTEGER", true),
    ])
    func keysOfUnlikeTypesAreRefused(_ parent: String, _ child: String, _ isSupported: Bool) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id \(parent) PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p \(child) REFERENCES p (id))",
            "CREATE TABLE a (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE b (id \(parent) PRIMARY KEY, a REFERENCES a ON DELETE CASCADE)",
            "CREATE TABLE d (id INTEGER PRIMARY KEY, b \(child) REFERENCES b (id))",
            "INSERT INTO p VALUES ('007', 50000000)",
            "INSERT INTO a VALUES (1, 50000000)")
        for (entity, column) in [("p", "c (p)"), ("a", "d (b)")] {
            for rule: BatchDeleteRequest.RelationshipRule in [.asDeclared, .cascade, .nullify, .deny] {
                var request = Self.request(entity)
                request.relationships = rule
                let reason = try store.reader().survey(request).unsupported
                // Nothing beyond a key that only loses its reference is reached.
                let isReached = entity == "p" || rule != .nullify && rule != .deny
                #expect((reason == nil) == (isSupported || !isReached), "\(entity), \(rule)")
                #expect(reason?.contains("the foreign key of \(column) refers to a column of another type") ?? true)
            }
        }
    }

    /// 9,000 rows point at the first row, and others at each of those: a batch takes a part of them.
    @Test func aWideFamilyGoesInPartsTheLastRowsFirst() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX p_at ON p (at)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE)",
            "CREATE INDEX c_p ON c (p)",
            "CREATE TABLE g (id INTEGER PRIMARY KEY, c INTEGER REFERENCES c ON DELETE CASCADE)",
            "CREATE INDEX g_c ON g (c)",
            """
            INSERT INTO p VALUES (1, 50000000), (2, 200000000);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
            INSERT INTO c SELECT i, 1 FROM n;
            INSERT INTO c VALUES (9001, 2);
            INSERT INTO g (c) SELECT id FROM c
            """)
        let writer = try store.writer()
        let survey = try writer.findings(Self.request("p"))
        #expect(survey.related.cascadedCount == 18_000)
        var batch = DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: "p", predicate: Self.request("p").expired, sortDescriptors: [StoreSortDescriptor("at")],
                fetchLimit: 1), resultType: .count, method: survey.method)
        var results: [BatchDeleteResult] = []
        repeat {
            results.append(try writer.execute(batch))
            batch.continuation = results.last?.continuation
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        } while batch.continuation != nil
        #expect(results.allSatisfy { $0.cascadedCount <= 4000 })
        #expect(results.total == BatchDeleteResult(deletedCount: 1, cascadedCount: 18_000))
        #expect(try store.rows("SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM g)") == ["1|1"])
    }
}
