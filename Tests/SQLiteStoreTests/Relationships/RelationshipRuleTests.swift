import PriceStore
import Testing

@testable import SQLiteStore

/// Relationships as a request wants them, whatever the schema declares.
struct RelationshipRuleTests {
    static let actions = ["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL"]

    /// Two parents that go and one that stays, a child with a key of two columns, and a grandchild with an action of its own.
    private func store(_ action: String, deeper: String = "ON DELETE CASCADE") throws -> TemporaryStore {
        try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE, at)",
            "CREATE TABLE c (id, k, p TEXT REFERENCES p (code) \(action), PRIMARY KEY (k, id)) WITHOUT ROWID",
            "CREATE TABLE g (id INTEGER PRIMARY KEY, c, k DEFAULT 1, FOREIGN KEY (k, c) REFERENCES c \(deeper))",
            "INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
            "INSERT INTO c VALUES (1, 1, 'A'), (2, 1, 'a'), (3, 1, 'b'), (4, 1, 'c'), (5, 1, NULL)",
            "INSERT INTO g (id, c) VALUES (1, 1), (2, 4), (3, NULL)")
    }

    private func request(_ rule: BatchDeleteRequest.RelationshipRule) -> BatchDeleteRequest {
        BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: "p", predicate: .compare("id", .less, .integer(3))),
            relationships: rule)
    }

    @Test(arguments: actions) func cascadeDeletesWhatPointsAtTheRows(_ action: String) throws {
        let store = try store(action)
        let result = try store.writer().execute(request(.cascade))
        #expect(result == BatchDeleteResult(deletedCount: 2, cascadedCount: 4))
        #expect(try store.rows("SELECT id FROM p") == ["3"])
        #expect(try store.rows("SELECT id FROM c ORDER BY id") == ["4", "5"])
        #expect(try store.rows("SELECT id FROM g ORDER BY id") == ["2", "3"])
    }

    @Test(arguments: actions) func nullifyTakesTheReferences(_ action: String) throws {
        let store = try store(action)
        let result = try store.writer().execute(request(.nullify))
        #expect(result == BatchDeleteResult(deletedCount: 2, nullifiedCount: 3))
        #expect(try store.rows("SELECT id FROM p") == ["3"])
        #expect(
            try store.rows("SELECT id, p FROM c ORDER BY id") == ["1|NULL", "2|NULL", "3|NULL", "4|c", "5|NULL"])
        #expect(try store.rows("SELECT count(*) FROM g") == ["3"])
    }

    @Test(arguments: actions) func denyFailsWithTheRelationshipAndItsRows(_ action: String) throws {
        let store = try store(action)
        let writer = try store.writer()
        #expect { try writer.execute(request(.deny)) } throws: {
            ($0 as? StoreError)?.kind == .constraint && "\($0)".contains("referenced by 3 rows of c (p)")
        }
        #expect(try store.rows("SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c)") == ["3|5"])
        try store.change("DELETE FROM g; DELETE FROM c WHERE p <> 'c'")
        #expect(try writer.execute(request(.deny)).deletedCount == 2)
    }

    @Test func deeperLevelsFollowTheirOwnDeclaration() throws {
        let denying = try store("", deeper: "ON DELETE RESTRICT")
        #expect { try denying.writer().execute(request(.cascade)) } throws: { ($0 as? StoreError)?.kind == .constraint }
        #expect(try denying.rows("SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c)") == ["3|5"])
        let nullifying = try store("", deeper: "ON DELETE SET NULL")
        let result = try nullifying.writer().execute(request(.cascade))
        #expect(result == BatchDeleteResult(deletedCount: 2, cascadedCount: 3, nullifiedCount: 1))
    }

    @Test func aReferenceThatMustNotBeNullUndoesTheWholeRequest() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE b (id INTEGER PRIMARY KEY, p REFERENCES p)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p NOT NULL REFERENCES p ON DELETE CASCADE)",
            "INSERT INTO p VALUES (1), (2)", "INSERT INTO b VALUES (1, 1)", "INSERT INTO c VALUES (1, 1)")
        let error = #expect(throws: StoreError.self) { try store.writer().execute(request(.nullify)) }
        #expect(error?.kind == .constraint)
        #expect(error?.message == "the transaction is rolled back: NOT NULL constraint failed: c.p")
        #expect(try store.rows("SELECT p FROM b") == ["1"])
    }

    @Test(arguments: actions) func aRuleThatChoosesByTheReferenceItTakesIsNotCarriedOut(_ action: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, up INTEGER REFERENCES p \(action), at INTEGER)",
            "CREATE INDEX p_up ON p (up)",
            "INSERT INTO p VALUES (1, NULL, 1), (2, 1, 1), (3, 2, 1)")
        var request = SurveyRequest.rows(of: "p", .nullify)
        request.filter = .isNotNull("up")
        #expect(try store.reader().survey(request).unsupported?.contains("changes up in rows of p") == true)
        request.filter = .compare("id", .greater, .integer(1))
        #expect(try store.reader().survey(request).unsupported == nil)
    }

    @Test func childrenThatPointAtEachOtherGoInAnOrderThatTheirKeysAllow() throws {
        // In the order of their names, a would go before z, which points at it.
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE a (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE RESTRICT)",
            "CREATE TABLE z (id INTEGER PRIMARY KEY, p REFERENCES p, a REFERENCES a ON DELETE RESTRICT)",
            "INSERT INTO p VALUES (1)", "INSERT INTO a VALUES (1, 1)", "INSERT INTO z VALUES (1, 1, 1)")
        #expect(try store.writer().execute(request(.cascade)).cascadedCount == 2)
        #expect(try store.rows("SELECT count(*) FROM z") == ["0"])
    }

    /// The schema decides, whether a row has the reference or not; only dangling references are looked for.
    @Test(arguments: [
        ("p INTEGER REFERENCES p ON DELETE SET NULL CHECK (p > 0)", "", "and a CHECK constraint"),
        ("p INTEGER REFERENCES p ON DELETE SET NULL, g AS (id + 1)", "", "has generated columns"),
        ("p INTEGER REFERENCES p ON DELETE SET NULL REFERENCES q (id)", "", "another key"),
        ("p INTEGER REFERENCES p ON DELETE SET NULL", "CREATE INDEX part ON c (id) WHERE p > 1", "a partial index"),
        ("p INTEGER REFERENCES p ON DELETE SET NULL, up REFERENCES c", "", nil),
        (
            "p INTEGER REFERENCES p ON DELETE SET NULL, up REFERENCES c", "INSERT INTO c (id, up) VALUES (1, 9)",
            "lead nowhere"
        ),
        ("p INTEGER REFERENCES p ON DELETE SET NULL CHECK (id > 0), n CHECK (n > 0)", "", nil),
    ])
    func aReferenceThatCannotBeClearedRefusesTheRule(_ columns: String, _ more: String, _ words: String?) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE q (id INTEGER PRIMARY KEY)")
        try store.change(
            "PRAGMA foreign_keys = OFF; CREATE TABLE c (id INTEGER PRIMARY KEY, \(columns)); \(more)")
        let reason = try store.reader().survey(.rows(of: "p")).unsupported
        #expect(words.map { reason?.contains($0) ?? false } ?? (reason == nil), "\(reason ?? "none")")
        #expect((reason == nil) == (words == nil))
    }
}
