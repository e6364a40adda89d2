import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// `relationships: deny` while another program writes: rows that come to refer to expired ones after the survey are found in the
/// transaction of each batch.
struct DenyTests {
    static let actions = ["ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "", "ON DELETE RESTRICT"]

    /// Rows 1 to 6 are expired, 7 to 9 are not; a chain of references leads from row 6 down to row 1.
    private static func store(_ action: String, own: String = "ON DELETE SET NULL", chain: Bool = false) throws
        -> TemporaryStore
    {
        try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES p \(own))",
            "CREATE INDEX p_at ON p (at)", "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p \(action))",
            "INSERT INTO p (id, at) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 1e9), (8, 1e9), (9, 1e9)",
            "INSERT INTO c VALUES (1, 7)", chain ? "UPDATE p SET up = id - 1 WHERE id BETWEEN 2 AND 6" : "")
    }

    private static let request = {
        let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 0))
        return SurveyRequest(entity: "p", date: date, cutoff: Instant(unixSeconds: 1000), relationships: .deny)
    }()

    private static func fails(_ error: StoreError?, _ rows: String) -> Bool {
        error?.kind == .constraint
            && error?.message
                == "rows of p that would be deleted are referenced by \(rows), and deny does not allow that"
    }

    @Test(arguments: actions, ["range", "windows"])
    func childrenThatArriveBetweenTwoBatchesStay(_ action: String, _ technique: String) throws {
        let store = try Self.store(action)
        let writer = try store.writer()
        var request = Self.request
        request.technique = technique
        #expect(try writer.survey(request).obstacles.isEmpty)
        let deletion = try writer.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 2)).result.deletedCount == 2)
        try store.change { try $0.execute(sql: "INSERT INTO c VALUES (2, 4), (3, 4)") }
        let error = #expect(throws: StoreError.self) {
            while try deletion.deleteNext(DeletionBounds(rows: 2)).hasMore {}
        }
        #expect(Self.fails(error, "2 rows of c (p)"), "\(error as Any)")
        #expect(try store.rows("SELECT id FROM p WHERE at < 1000") == ["3", "4", "5", "6"])
        #expect(try store.rows("SELECT * FROM c") == ["1|7", "2|4", "3|4"])
        #expect(try deletion.remainingCount(besides: []) == 4)
    }

    /// They may come between the plan and a deletion in one statement, or in place.
    @Test(arguments: actions, ["whole", "saved plan"])
    func childrenThatArriveBeforeTheFirstBatchStay(_ action: String, _ technique: String) throws {
        let store = try Self.store(action)
        let writer = try store.writer()
        var request = Self.request
        if technique == "whole" { request.technique = technique }
        _ = try writer.survey(request)
        try store.change { try $0.execute(sql: "INSERT INTO c VALUES (2, 4)") }
        let deletion = try writer.deletion(of: request)
        let keys = StorePredicate.compare("id", .less, .integer(5))
        let error = #expect(throws: StoreError.self) {
            try deletion.deleteNext(DeletionBounds(rows: 4, only: technique == "whole" ? nil : keys))
        }
        #expect(Self.fails(error, "1 row of c (p)"), "\(error as Any)")
        #expect(try store.rows("SELECT count(*) FROM p") == ["9"])
    }

    /// Expired rows may refer to each other, in any batch; a row that arrives and is not expired stays, and so does all it needs.
    @Test(
        arguments: ["ON DELETE CASCADE", "ON DELETE SET NULL"],
        [(1, false), (2, false), (100, false), (1, true), (2, true)])
    func rowsOfTheRuleMayReferToEachOther(_ own: String, _ way: (batchRows: Int, isSavedPlan: Bool)) throws {
        let (batchRows, isSavedPlan) = way
        let store = try Self.store("ON DELETE CASCADE", own: own, chain: true)
        let writer = try store.writer()
        _ = try writer.survey(Self.request)
        let deletion = try writer.deletion(of: Self.request)
        func next() throws -> Bool {
            let first = try Int(store.rows("SELECT min(id) FROM p")[0]) ?? 0
            let end = Int64(first + batchRows)
            let only = isSavedPlan ? StorePredicate.compare("id", .less, .integer(end)) : nil
            let part = try deletion.deleteNext(DeletionBounds(rows: batchRows, only: only))
            return isSavedPlan ? try store.rows("SELECT min(id) FROM p") != ["7"] : part.hasMore
        }
        try store.change { try $0.execute(sql: "UPDATE p SET up = 6 WHERE id = 8") }
        let error = #expect(throws: StoreError.self) { while try next() {} }
        #expect(Self.fails(error, "1 row of p (up)"), "\(error as Any)")
        #expect(try store.rows("SELECT id, up FROM p WHERE id > 6") == ["7|NULL", "8|6", "9|NULL"])
        try store.change { try $0.execute(sql: "UPDATE p SET up = 9 WHERE id = 8") }
        while try next() {}
        #expect(try store.rows("SELECT id FROM p") == ["7", "8", "9"])
        #expect(try store.rows("SELECT count(*) FROM c") == ["1"])
    }

    /// A large family goes in parts, of which each is looked at by itself.
    @Test func aRowThatRefersToAPartOfAFamilyStays() throws {
        let store = try Self.store("ON DELETE CASCADE", own: "ON DELETE CASCADE")
        try store.change {
            try $0.execute(
                sql: """
                    CREATE INDEX p_up ON p (up);
                    WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
                    INSERT INTO p SELECT i, 100, 1 FROM n
                    """)
        }
        let writer = try store.writer()
        let found = try writer.survey(Self.request)
        #expect(found.expiredCount == 8907 && found.obstacles.isEmpty)
        let deletion = try writer.deletion(of: Self.request)
        let first = try deletion.deleteNext(DeletionBounds(rows: 1)).result
        #expect(first.deletedCount > 1000 && first.deletedCount < 8000 && first.cascadedCount == 0, "\(first)")
        try store.change { try $0.execute(sql: "INSERT INTO c SELECT 2, max(id) FROM p") }
        let error = #expect(throws: StoreError.self) {
            while try deletion.deleteNext(DeletionBounds(rows: 1)).hasMore {}
        }
        #expect(Self.fails(error, "1 row of c (p)"), "\(error as Any)")
        #expect(try store.rows("SELECT count(*) FROM c") == ["2"])
        try store.change { try $0.execute(sql: "DELETE FROM c WHERE id = 2") }
        while try deletion.deleteNext(DeletionBounds(rows: 100)).hasMore {}
        #expect(try store.rows("SELECT id FROM p") == ["7", "8", "9"])
    }

    @Test func objectsThatArriveStayToo() throws {
        let store = try CoreDataStoreTests.store()
        try store.change { try $0.execute(sql: "DELETE FROM ZNOTE") }
        var request = CoreDataStoreTests.survey("Point")
        request.relationships = .deny
        let writer = try store.writer()
        #expect(try writer.survey(request).obstacles.isEmpty)
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 1))
        try store.change { try $0.execute(sql: "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZPOINT) SELECT 9, 1, 1, 3") }
        let error = #expect(throws: StoreError.self) {
            while try deletion.deleteNext(DeletionBounds(rows: 1)).hasMore {}
        }
        #expect(error?.kind == .constraint, "\(error as Any)")
        #expect(try store.rows("SELECT Z_PK, ZPOINT FROM ZNOTE") == ["9|3"])
        #expect(try store.rows("SELECT count(*) FROM ZPOINT WHERE Z_PK = 3") == ["1"])
    }
}
