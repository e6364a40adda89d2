import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// `relationships: deny` while another program writes: rows that come to refer to expired ones after the survey are found in the
/// transaction of each batch.
struct DenyTests {
    static let actions = ["ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "", "ON DELETE RESTRICT"]

    /// Rows 1 to 6 are expired, 7 to 9 are not; a chain of references leads from row 6 down to row 1, which refers to itself.
    private static func store(_ action: String, own: String = "ON DELETE SET NULL", chain: Bool = false) throws
        -> TemporaryStore
    {
        try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES p \(own))",
            "CREATE INDEX p_at ON p (at)", "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p \(action))",
            "INSERT INTO p (id, at) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 1e9), (8, 1e9), (9, 1e9)",
            "INSERT INTO c VALUES (1, 7)", chain ? "UPDATE p SET up = max(id - 1, 1) WHERE id < 7" : "")
    }

    private static let request = SurveyRequest.rows(of: "p", .deny)

    private static func fails(_ error: StoreError?, _ rows: String) -> Bool {
        error?.kind == .constraint
            && error?.message
                == "rows of p that would be deleted are referenced by \(rows), and deny does not allow that"
    }

    @Test(arguments: actions, ["range", "windows"])
    func childrenThatArriveBetweenTwoBatchesStay(_ action: String, _ method: String) throws {
        let store = try Self.store(action)
        let writer = try store.writer()
        var request = Self.request
        request.deleting.method = method
        #expect(try writer.survey(request).related.obstacles.isEmpty)
        let deletion = try writer.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 2)).result.deletedCount == 2)
        try store.change("INSERT INTO c VALUES (2, 4), (3, 4)")
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
    func childrenThatArriveBeforeTheFirstBatchStay(_ action: String, _ method: String) throws {
        let store = try Self.store(action)
        let writer = try store.writer()
        var request = Self.request
        if method == "whole" { request.deleting.method = method }
        let survey = try writer.survey(request)
        try store.change("INSERT INTO c VALUES (2, 4)")
        let deletion = try writer.deletion(of: request, after: survey)
        let keys = StorePredicate.compare("id", .less, .integer(5))
        let error = #expect(throws: StoreError.self) {
            try deletion.deleteNext(DeletionBounds(rows: 4, only: method == "whole" ? nil : keys))
        }
        #expect(Self.fails(error, "1 row of c (p)"), "\(error as Any)")
        #expect(try store.rows("SELECT count(*) FROM p") == ["9"])
    }

    /// Expired rows that refer to each other are no exception.
    @Test(arguments: ["ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE RESTRICT", ""])
    func rowsOfTheRuleMayNotReferToEachOther(_ own: String) throws {
        let store = try Self.store("ON DELETE CASCADE", own: own, chain: true)
        #expect(try store.reader().survey(Self.request).related.obstacles.map(\.rowCount) == [6])
        let error = #expect(throws: StoreError.self) {
            try store.writer().execute(BatchDeleteRequest(Self.request, resultType: .count))
        }
        #expect(Self.fails(error, "6 rows of p (up)"), "\(error as Any)")
    }

    /// The same of objects whose model does not let them lose their reference.
    @Test func objectsThatArriveStayToo() throws {
        let store = try CoreDataStoreTests.store(rule: .nullify, noteNeedsPoint: true)
        try store.change("DELETE FROM ZNOTE")
        let request = CoreDataStoreTests.survey("Point")
        let writer = try store.writer()
        #expect(try writer.survey(request).related.obstacles.isEmpty)
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 1))
        try store.change("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZPOINT) SELECT 9, 1, 1, 3")
        let error = #expect(throws: StoreError.self) {
            while try deletion.deleteNext(DeletionBounds(rows: 1)).hasMore {}
        }
        #expect(error?.kind == .constraint, "\(error as Any)")
        #expect(try store.rows("SELECT Z_PK, ZPOINT FROM ZNOTE") == ["9|3"])
        #expect(try store.rows("SELECT count(*) FROM ZPOINT WHERE Z_PK = 3") == ["1"])
    }
}
