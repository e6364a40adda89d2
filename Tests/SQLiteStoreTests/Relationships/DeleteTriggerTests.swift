import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Triggers with which rows cannot be deleted in their order, or as many as the dry run says.
struct DeleteTriggerTests {
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

    /// Why a rule for `p` is refused; nil: it is not.
    private func reason(
        _ store: TemporaryStore, _ rule: BatchDeleteRequest.RelationshipRule = .asDeclared
    ) throws -> String? {
        try store.reader().survey(.rows(of: "p", rule)).unsupported
    }

    /// Why it is refused with a hold on rows of entities.
    private func reason(
        _ store: TemporaryStore, holding rows: StorePredicate, of entities: String...
    ) throws -> String? {
        var request = SurveyRequest.rows(of: "p")
        request.keepers.holds = entities.map { HeldRows(name: "h", entity: $0, rows: rows) }
        return try store.reader().survey(request).unsupported
    }

    private func expectRefused(
        _ rule: BatchDeleteRequest.RelationshipRule, _ store: TemporaryStore, _ words: String
    ) throws {
        let reason = try #require(try reason(store, rule))
        #expect(reason.contains(words), "\(reason)")
        let before = try store.rows("SELECT count(*), count(p) FROM c")
        let error = #expect(throws: StoreError.self) {
            try store.writer().execute(BatchDeleteRequest(.rows(of: "p", rule)))
        }
        #expect(error?.kind == .unsupported)
        #expect(try store.rows("SELECT count(*), count(p) FROM c") == before)
    }

    @Test(
        arguments: [BatchDeleteRequest.RelationshipRule.asDeclared, .cascade, .nullify, .deny],
        ["", "ON DELETE CASCADE", "ON DELETE SET NULL"])
    func aTriggerThatMaySkipARowRefusesTheRule(rule: BatchDeleteRequest.RelationshipRule, action: String) throws {
        try expectRefused(rule, store(action), "the trigger hold may skip the row (RAISE(IGNORE))")
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.asDeclared, .cascade])
    func aTriggerThatReadsTheRowsThatReferToItsRowRefusesTheRule(rule: BatchDeleteRequest.RelationshipRule) throws {
        let body = "INSERT INTO seen SELECT id FROM c WHERE p = OLD.id"
        try expectRefused(
            rule, store("ON DELETE CASCADE", body: body), "the trigger hold reads c, and rows of several tables")
    }

    /// The children that a trigger deletes are its own business where no key acts.
    @Test func aTriggerMayDeleteTheRowsThatReferToItsRow() throws {
        #expect(try reason(store("", body: "DELETE FROM c WHERE p = OLD.id")) == nil)
    }

    @Test func aTriggerThatMaySkipAClearedReferenceRefusesTheRule() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE SET NULL)",
            "INSERT INTO p VALUES (1, 10)", "INSERT INTO c VALUES (11, 1)",
            "CREATE TRIGGER hold BEFORE UPDATE OF p ON c BEGIN SELECT raise( /* not */ ignore); END")
        try expectRefused(.asDeclared, store, "the trigger hold may skip the row")
    }

    @Test(arguments: [
        "BEFORE DELETE ON p BEGIN INSERT OR IGNORE INTO seen VALUES (1); END",
        "BEFORE DELETE ON p BEGIN SELECT RAISE(ABORT, 'IGNORE') WHERE OLD.id = 7; END",
        // A column may have the name of a table.
        "BEFORE DELETE ON p BEGIN DELETE FROM seen WHERE c = OLD.id; INSERT INTO seen (c) SELECT 1; END",
    ])
    func aTriggerThatSkipsNoRowChangesNothing(trigger: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE seen (c)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id))",
            "INSERT INTO p VALUES (1, 10), (2, 20)", "INSERT INTO c VALUES (11, 1)", "CREATE TRIGGER t \(trigger)")
        #expect(try reason(store, .cascade) == nil)
        let deletion = try store.writer().deletion(of: .rows(of: "p", .cascade))
        #expect(try deletion.deleteNext(DeletionBounds()).result.deletedCount == 2)
    }

    /// A trigger that counts rows names the key of the row that it changes, and does not change it. A row that takes the place of
    /// another deletes it.
    @Test(
        arguments: [
            ("", "UPDATE b SET n = n - 1 WHERE id = OLD.at", nil), ("", "UPDATE b SET id = id + 1000", "changes keys"),
            ("", "UPDATE b SET (n, id) = (1, 2)", "changes keys"), ("", "UPDATE b SET n = 1, \"id\"=2", "changes keys"),
            ("", "UPDATE b SET n = (SELECT max(id), 2), n = 3", nil),
            ("", "INSERT OR REPLACE INTO b VALUES (1, 2)", "deletes rows"),
            ("ON CONFLICT REPLACE", "INSERT INTO b VALUES (1, 2)", "deletes rows"),
        ])
    func aTriggerThatChangesAKeyRefusesTheRule(conflict: String, body: String, words: String?) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE b (id INTEGER PRIMARY KEY \(conflict), n)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, b REFERENCES b)", "INSERT INTO p VALUES (1, 10)",
            "CREATE TRIGGER t AFTER DELETE ON p BEGIN \(body); END")
        let reason = try reason(store)
        #expect(
            words.map { reason?.contains("the trigger t \($0) of b") ?? false } ?? (reason == nil),
            "\(reason ?? "none")")
    }

    /// A batch knows its rows, and what refers to them, before it deletes the first of them. Some of the SQL hides what it does from a
    /// reader of the trigger's text.
    @Test(
        arguments: [
            ("UPDATE c SET p = 3", "c"), ("UPDATE c SET n = 1", "c"), ("UPDATE \u{FEFF}c SET [p]=3", "c"),
            ("\u{FEFF}UPDATE c SET p = 3", "c"), ("UPDATE \u{B}c SET p = 3", "c"), ("DELETE FROM c WHERE id = 11", "c"),
            ("INSERT INTO c (id, p) VALUES (11, 1) ON CONFLICT DO UPDATE SET p = 3", "c"),
            ("UPDATE g SET base = 3", "g"),
            ("UPDATE k SET rowid = 3", "k"), ("UPDATE p SET id = id + 100", "c"), ("INSERT INTO p VALUES (9, 9)", "p"),
            ("DELETE FROM up WHERE id = 1", "c"), ("UPDATE d SET p = 3", "d"), ("INSERT INTO d VALUES (3)", "d"),
            ("DELETE FROM d", nil), ("DELETE FROM up WHERE id = 1 AND 0; INSERT INTO up VALUES (7)", "c"),
            ("INSERT INTO up VALUES (7)", nil),
        ])
    func aTriggerThatChangesTheRowsOfTheDeleteRefusesIt(body: String, table: String?) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE up (id INTEGER PRIMARY KEY)",
            """
            CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, n,
                up INTEGER REFERENCES up (id) ON DELETE CASCADE)
            """,
            "CREATE TABLE g (base INTEGER, p INTEGER AS (base) REFERENCES p (id) ON DELETE CASCADE)",
            "CREATE TABLE k (p INTEGER PRIMARY KEY REFERENCES p (id) ON DELETE CASCADE)",
            "CREATE TABLE d (p INTEGER REFERENCES p (id))",
            "INSERT INTO p VALUES (1, 10), (2, 20), (3, 5000)", "INSERT INTO c (id, p) VALUES (11, 1)",
            "CREATE TRIGGER t AFTER DELETE ON p BEGIN \(body); END")
        let reason = try reason(store)
        #expect(
            table.map { reason?.contains("the trigger t changes rows of \($0), ") ?? false } ?? (reason == nil),
            "\(reason ?? "none")")
    }

    /// What a trigger does to the only table of a delete is as in one statement, unless others refer to it.
    @Test(arguments: [
        ("INSERT INTO seen SELECT count(*) FROM p", false), ("UPDATE seen SET n = (SELECT max(at) FROM p)", false),
        ("INSERT INTO words (words, rowid, text) VALUES ('delete', OLD.id, OLD.text)", false),
        ("DELETE FROM p WHERE id = OLD.id + 1", true), ("UPDATE p SET text = 'x'", true),
        ("INSERT INTO p (at) VALUES (1)", true),
    ])
    func aTriggerMayReadTheOnlyTable(body: String, isRefused: Bool) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, text)", "CREATE TABLE seen (n)",
            "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'p', content_rowid = 'id')",
            "INSERT INTO p VALUES (1, 10, 'a')", "CREATE TRIGGER t AFTER DELETE ON p BEGIN \(body); END")
        #expect(try reason(store) == nil)
        try store.change("CREATE TABLE c (p INTEGER REFERENCES p)")
        let reason = try reason(store)
        #expect((reason?.contains("the trigger t changes rows of p") ?? false) == isRefused, "\(reason ?? "none")")
    }

    /// A guard of the schema that looks at children would find none: they are deleted first.
    @Test(arguments: [
        "c", "d", "v", "\"C\"", "main.c", "p AS q, c", "p JOIN d", "(SELECT * FROM c)", "p WHERE (1, 2) IN c",
        "p AS x JOIN p AS y ON x.id = y.id, c", "p AS x JOIN p AS y USING (id), c", "(SELECT 1 WHERE 1), c",
    ])
    func aGuardThatLooksAtChildrenRefusesTheRule(table: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE b (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE CASCADE)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE CASCADE)",
            "CREATE TABLE d (id INTEGER PRIMARY KEY, c INTEGER REFERENCES c (id) ON DELETE CASCADE)",
            "CREATE VIEW v AS SELECT * FROM c", "INSERT INTO p VALUES (1, 10)",
            "CREATE TRIGGER t BEFORE DELETE ON p BEGIN SELECT RAISE(ABORT, 'no') WHERE EXISTS (SELECT 1 FROM \(table)); END"
        )
        #expect(try reason(store)?.contains("the trigger t reads ") == true)
    }

    /// Another trigger sets it off, or a foreign key.
    @Test(arguments: [
        ("INSERT INTO seen VALUES (OLD.id)", "INSERT ON seen"), ("DELETE FROM mid WHERE id = OLD.id", "DELETE ON low"),
    ])
    func aGuardThatIsSetOffRefusesTheRule(body: String, event: String) throws {
        let store = try store("ON DELETE CASCADE", body: body)
        try store.change(
            """
            CREATE TABLE mid (id INTEGER PRIMARY KEY);
            CREATE TABLE low (mid INTEGER REFERENCES mid ON DELETE CASCADE);
            """)
        #expect(try reason(store) == nil)
        try store.change(
            "CREATE TRIGGER guard AFTER \(event) BEGIN SELECT RAISE(ABORT, 'no') WHERE EXISTS (SELECT 1 FROM c); END")
        #expect(try reason(store)?.contains("the trigger guard reads c") == true)
    }

    /// Children go before the row that they refer to: with a trigger that could mind, the rule is refused.
    @Test(arguments: [
        ("BEFORE DELETE ON p BEGIN UPDATE c SET p = NULL", "changes rows of c"),
        ("AFTER DELETE ON c BEGIN INSERT INTO seen SELECT id FROM p", "reads p"),
        ("AFTER DELETE ON c BEGIN DELETE FROM p WHERE id = OLD.p", "changes rows of c"),
        ("AFTER DELETE ON c BEGIN UPDATE p SET at = at - 1 WHERE id = OLD.p", "changes rows of p"),
        ("AFTER DELETE ON p BEGIN DELETE FROM c WHERE p = OLD.id", "changes rows of c"),
        ("AFTER DELETE ON p BEGIN INSERT INTO seen SELECT count(*) FROM c", "reads c"),
        ("AFTER DELETE ON c BEGIN INSERT INTO like_p SELECT * FROM p", "reads p"),
        // These do not.
        ("AFTER DELETE ON c BEGIN INSERT INTO seen VALUES (OLD.id)", nil),
        ("AFTER DELETE ON c BEGIN DELETE FROM seen WHERE child = OLD.id", nil),
        ("AFTER INSERT ON c BEGIN DELETE FROM p", nil), ("AFTER UPDATE ON p BEGIN DELETE FROM c", nil),
    ])
    func anOrderThatATriggerMindsRefusesTheRule(trigger: String, words: String?) throws {
        let store = try store("ON DELETE CASCADE", body: "SELECT 1")
        try store.change(
            "DROP TRIGGER hold; CREATE TABLE like_p (id INTEGER PRIMARY KEY, at INTEGER); CREATE TRIGGER t \(trigger); END"
        )
        let reason = try reason(store)
        #expect(words.map { reason?.contains($0) ?? false } ?? (reason == nil), "\(reason ?? "none")")
    }

    /// SQLite reads the text, whatever stands in it.
    @Test(arguments: [
        "UPDATE o SET \"price_€\"=1", "UPDATE o SET price_€=1", "UPDATE \u{B}o SET price_€ = 1", "DELETE \u{B}FROM o",
        "UPDATE o SET oid = 5", "UPDATE \"\u{301}o\" SET price_€ = 1", "REPLACE INTO o VALUES (1, 2)",
        "INSERT INTO o VALUES (1, 2) ON CONFLICT DO UPDATE SET price_€ = 1",
    ])
    func aTriggerThatChangesHeldRowsRefusesTheRule(body: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE o (id INTEGER PRIMARY KEY, price_€)",
            "CREATE TABLE \"\u{301}o\" (id INTEGER PRIMARY KEY, price_€)", "INSERT INTO p VALUES (1, 10)",
            "CREATE TRIGGER t AFTER DELETE ON p BEGIN \(body); END")
        let held = StorePredicate.compare("price_€", .equal, .integer(7)) && .compare("id", .greater, .integer(0))
        let reason = try reason(store, holding: held, of: "o", "\u{301}o")
        #expect(reason?.contains("the trigger t") == true, "\(reason ?? "none")")
    }

    /// Names that could be those of the way in which SQLite is asked, and texts that hide a table's name from a reader.
    @Test(arguments: [
        "\"\" AFTER DELETE ON p", "retention_probe AFTER DELETE ON p", "v AFTER DELETE ON \"main\".\"p\"",
        "o AFTER DELETE ON [main] . p",
    ])
    func aTriggerOfAnyNameIsAsked(head: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE o (id INTEGER PRIMARY KEY, oid_, oid)",
            "CREATE VIEW v AS SELECT * FROM o", "INSERT INTO p VALUES (1, 10)",
            "CREATE TRIGGER \(head) BEGIN DELETE FROM o; END")
        let held = StorePredicate.compare("id", .greater, .integer(0))
        #expect(try reason(store, holding: held, of: "o")?.contains("deletes rows of o") == true)
        try store.change(
            "DROP TRIGGER \(head.prefix { $0 != " " }); CREATE TRIGGER u AFTER DELETE ON p BEGIN UPDATE o SET oid = 1; END"
        )
        #expect(try reason(store, holding: held, of: "o") == nil)
    }

    @Test(arguments: [
        ("p TEXT REFERENCES p (k) ON DELETE CASCADE", "the collation RTRIM"),
        (
            "p TEXT REFERENCES p (b) ON DELETE CASCADE, FOREIGN KEY (p) REFERENCES p (b) ON DELETE SET NULL",
            "two foreign keys"
        ),
    ])
    func aReferenceThatSQLiteMayOverlookRefusesTheRule(child: String, words: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (k TEXT COLLATE RTRIM UNIQUE, b TEXT UNIQUE, at INTEGER)",
            "CREATE TABLE c (\(child))",
            "INSERT INTO p VALUES ('a ', 'b', 10)")
        let reason = try reason(store)
        #expect(reason?.contains(words) == true, "\(reason ?? "none")")
    }

    @Test(arguments: [
        "CREATE TABLE p (at INTEGER, \"\u{E9}\", \"e\u{301}\")", "CREATE TABLE p (at INTEGER, x); CREATE TABLE q (x)",
    ])
    func namesThatOnlySQLiteDistinguishesRefuseTheRule(sql: String) throws {
        #expect(try (reason(TemporaryStore(sql)) != nil) == sql.contains("\u{E9}"))
        let tables = try TemporaryStore(
            "CREATE TABLE \"\u{E9}\" (at INTEGER)", "CREATE TABLE \"e\u{301}\" (at INTEGER)")
        let survey = try tables.reader().survey(.rows(of: "e\u{301}"))
        #expect(survey.unsupported?.contains("how a letter is encoded") == true)
    }
}
