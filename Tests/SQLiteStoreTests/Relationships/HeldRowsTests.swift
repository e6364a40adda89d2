import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// Rows under a hold stay, whatever deletes: the rule itself, cascades, triggers of the store.
struct HeldRowsTests {
    private static func request(_ entity: String, _ holds: HeldRows...) -> SurveyRequest {
        var request = SurveyRequest.rows(of: entity, before: 100_000_000)
        request.keepers.holds = holds
        return request
    }

    private static func hold(_ entity: String, _ rows: StorePredicate, name: String = "audit") -> HeldRows {
        HeldRows(name: name, entity: entity, rows: rows)
    }

    // MARK: Triggers

    private static let replacing = "the trigger gone uses REPLACE, which can delete rows of held"

    /// What a trigger does meanwhile is not known when the rows are chosen.
    @Test(arguments: [
        ("s TEXT PRIMARY KEY", "INSERT OR REPLACE INTO held VALUES (old.s)", replacing),
        ("s TEXT PRIMARY KEY", "REPLACE /* ! */ INTO \"HELD\" VALUES (old.s)", replacing),
        ("s TEXT PRIMARY KEY", "UPDATE OR REPLACE held SET s = old.s", replacing),
        // The triggers that it sets off replace rows too.
        (
            "s TEXT PRIMARY KEY",
            "REPLACE INTO log VALUES (old.s); END; CREATE TRIGGER next AFTER INSERT ON log BEGIN INSERT INTO held VALUES (new.s)",
            replacing
        ),
        (
            "s TEXT PRIMARY KEY ON CONFLICT\nREPLACE", "INSERT INTO held VALUES (old.s)",
            "the definition of held uses REPLACE, which can delete rows of held"
        ),
        ("s TEXT PRIMARY KEY", "DELETE FROM held WHERE s = 'x'", "the trigger gone deletes rows of held"),
        (
            "s TEXT PRIMARY KEY, l REFERENCES log ON DELETE CASCADE", "DELETE FROM log",
            "the trigger gone deletes rows of held"
        ),
    ])
    func aRuleWhoseTriggersMayDeleteHeldRowsIsRefused(_ columns: String, _ statement: String, _ reason: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, s TEXT)", "CREATE TABLE held (\(columns))",
            "CREATE TABLE other (s TEXT PRIMARY KEY); CREATE TABLE log (s TEXT PRIMARY KEY)",
            "CREATE TRIGGER gone AFTER DELETE ON p BEGIN \(statement); END",
            "INSERT INTO p VALUES (1, 1000, 'a')", "INSERT INTO held(s) VALUES ('a'), ('b')")
        let request = Self.request("p", Self.hold("held", .all))
        for connection in [try store.reader(), try store.writer()] as [any RetentionReader] {
            #expect(try connection.survey(request).unsupported?.contains(reason) == true)
        }
        let error = #expect(throws: StoreError.self) {
            try store.writer().execute(BatchDeleteRequest(request))
        }
        #expect(error?.kind == .unsupported)
        #expect(error?.message == "the hold 'audit' cannot keep its rows of held: \(reason)")
        #expect(try store.rows("SELECT count(*) FROM held") == ["2"])
        // A hold on rows that nothing reaches keeps them.
        #expect(try store.reader().survey(Self.request("p", Self.hold("other", .all))).unsupported == nil)
    }

    /// The next run would delete a row that is out of its hold.
    @Test(arguments: [
        ("UPDATE held SET kind = 'x'", true), ("UPDATE held SET more=kind||'x'", false),
        // A name in a condition is no change.
        ("UPDATE held SET more = 'x' WHERE kind = 'kept'", false),
        ("UPDATE held SET base = 'x'", false), ("INSERT INTO held(more) VALUES (old.s)", false),
        ("UPDATE held SET more = 'x'; UPDATE held SET \"KIND\"='y'", true),
        // Foreign keys do.
        ("UPDATE log SET s = 'x'", true), ("DELETE FROM log", true),
    ])
    func orTakeThemOutOfTheirHold(_ statement: String, _ isRefused: Bool) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, s TEXT)", "CREATE TABLE log (s TEXT PRIMARY KEY)",
            "CREATE TABLE held (kind TEXT REFERENCES log ON DELETE SET NULL ON UPDATE CASCADE, base TEXT, more TEXT, "
                + "made TEXT AS (base || 'x'))",
            "CREATE TRIGGER gone AFTER DELETE ON p BEGIN \(statement); END")
        func survey(_ rows: StorePredicate) throws -> Survey {
            try store.reader().survey(Self.request("p", Self.hold("held", rows)))
        }
        #expect(try (survey(.compare("kind", .equal, .text("kept"))).unsupported != nil) == isRefused)
        #expect(try survey(.all).unsupported == nil)
        let isUpdate = statement.hasPrefix("UPDATE")
        #expect(try (survey(.compare("made", .equal, .text("ax"))).unsupported != nil) == isUpdate)
    }

    /// A rule would not delete the rows that it chose: they are others after its triggers, or those of a rule before it.
    @Test(arguments: [
        ("UPDATE p SET at = at - 1000", "the trigger gone changes rows of p, and the rule chooses its rows by at, s"),
        ("UPDATE p SET s='x'", "the trigger gone changes rows of p, and the rule chooses its rows by at, s"),
        ("UPDATE p SET n = 1", nil), ("UPDATE note SET at = 1", nil),
    ])
    func aTriggerThatChangesWhatARuleChoosesByRefusesIt(_ statement: String, _ reason: String?) throws {
        for table in ["p", "other"] {
            let store = try TemporaryStore(
                "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, s TEXT, n); CREATE TABLE note (at INTEGER)",
                "CREATE TABLE other (id INTEGER PRIMARY KEY, at INTEGER)",
                "CREATE TRIGGER gone AFTER DELETE ON \(table) BEGIN \(statement); END")
            var request = Self.request("p")
            request.filter = .compare("s", .equal, .text("bad"))
            if table == "other" { request.preceding = [BatchDeleteRequest(Self.request("other"))] }
            #expect(try store.reader().survey(request).unsupported == reason)
        }
    }

    /// An insert fires triggers too, and one that replaces a row changes those that refer to it.
    @Test func insertsReachHeldRowsByTriggersAndKeys() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, s TEXT UNIQUE); CREATE TABLE q (id INTEGER PRIMARY KEY)",
            "CREATE TABLE held (kind TEXT REFERENCES p (s) ON UPDATE CASCADE, more TEXT)",
            "CREATE TRIGGER new AFTER INSERT ON q BEGIN DELETE FROM held WHERE more = 'x'; END")
        let reader = try store.reader()
        let hold = Self.hold("held", .compare("kind", .equal, .text("kept")))
        #expect(try reader.obstacle(to: [hold], insertingInto: "p", replacing: false) == nil)
        #expect(
            try reader.obstacle(to: [hold], insertingInto: "P", replacing: true)?.text
                == "the hold 'audit' cannot keep its rows of held: a foreign key changes kind of held")
        #expect(
            try reader.obstacle(to: [hold], insertingInto: "q", replacing: false)?.text
                == "the hold 'audit' cannot keep its rows of held: the trigger new deletes rows of held")
    }

    /// Only the schema of the plan tells which tables a delete can reach.
    @Test(arguments: [
        "CREATE TRIGGER gone AFTER DELETE ON p BEGIN DELETE FROM note; END",
        "DROP TABLE note; CREATE TABLE note (id INTEGER PRIMARY KEY REFERENCES p ON DELETE CASCADE)",
        "ALTER TABLE p ADD COLUMN more; DROP INDEX p_at",
    ])
    func aSchemaThatChangesMeanwhileEndsTheDelete(_ change: String) throws {
        let store = try Self.prices()
        let writer = try store.writer()
        // A hold on rows that nothing reaches yet is no part of the request.
        let request = Self.request("p")
        let deletion = try writer.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 10)).result.deletedCount == 10)
        // Statistics and a new table are no part of the plan.
        try store.change("ANALYZE; CREATE TABLE other (id INTEGER); CREATE INDEX i ON other (id)")
        #expect(try deletion.deleteNext(DeletionBounds(rows: 10)).result.deletedCount == 10)
        try store.change(change)
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 10)) }
        #expect(error?.message.contains("another program has changed the tables") == true)
        #expect(try store.rows("SELECT count(*) FROM p") == ["1980"])
    }

    /// A table that was read for another purpose is part of the plan.
    @Test func aSchemaThatChangesBeforeTheSurveyEndsTheDelete() throws {
        let store = try Self.prices()
        let writer = try store.writer()
        _ = try writer.entity(named: "p")
        try store.change("CREATE TRIGGER gone AFTER DELETE ON p BEGIN DELETE FROM note; END")
        let request = Self.request("p")
        let survey = try writer.survey(request)
        let error = #expect(throws: StoreError.self) {
            try writer.deletion(of: request, after: survey).deleteNext(DeletionBounds(rows: 10))
        }
        #expect(error?.message.contains("another program has changed the tables") == true)
        #expect(try store.rows("SELECT count(*) FROM note") == ["2000"])
    }

    /// 2,000 rows, most of them expired, and as many notes.
    private static func prices() throws -> TemporaryStore {
        try TemporaryStore(
            "PRAGMA journal_mode = WAL", "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE INDEX p_at ON p (at)",
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO p SELECT i, 50000 * i FROM n
            """, "CREATE TABLE note (id INTEGER PRIMARY KEY); INSERT INTO note SELECT id FROM p")
    }

    // MARK: Rows that would go with others

    /// Points 1 to 4 are expired; each has a note, and note 2 has a word.
    private static func family(_ action: String = "ON DELETE CASCADE") throws -> TemporaryStore {
        try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p \(action), kind TEXT)",
            "CREATE TABLE g (id INTEGER PRIMARY KEY, c INTEGER REFERENCES c ON DELETE CASCADE)",
            "INSERT INTO p VALUES (1, 50000000), (2, 50000000), (3, 60000000), (4, 60000000), (5, 200000000)",
            "INSERT INTO c VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 3, 'kept'), (4, 4, 'a'), (5, 3, 'a')",
            "INSERT INTO g VALUES (1, 2)")
    }

    /// Or it would be under no hold in the next run.
    @Test(arguments: ["ON DELETE SET NULL", "ON DELETE SET DEFAULT"])
    func aHeldRowKeepsTheReferenceByWhichItIsHeld(_ action: String) throws {
        let store = try Self.family(action)
        let request = Self.request("p", Self.hold("c", .compare("p", .equal, .integer(2))))
        let survey = try store.reader().survey(request)
        let execution = try Laws.carryOut(request, batchRows: 1, on: store.writer())
        #expect(execution.total.deletedCount == survey.expiredCount)
        #expect(execution.total.nullifiedCount == survey.related.nullifiedCount)
        #expect(survey.kept.byHold == [.init(hold: "audit", rowCount: 1, relatedCount: 1)])
        #expect(try store.rows("SELECT id FROM p") == ["2", "5"])
        #expect(try store.rows("SELECT id, p FROM c WHERE p IS NOT NULL") == ["2|2"])
        let reader = try store.reader()
        #expect(try reader.deletes(from: "p", .asDeclared, canReach: "c", changing: ["P"]))
        #expect(try !reader.deletes(from: "p", .asDeclared, canReach: "c", changing: ["kind"]))
        #expect(try reader.clearedAttributes(["kind", "P"], of: "c", byDeletesFrom: "p", .asDeclared) == ["p"])
        #expect(try reader.clearedAttributes(["p"], of: "c", byDeletesFrom: "g", .cascade) == [])
        #expect(try reader.clearedAttributes(["p"], of: "c", byDeletesFrom: "g", .asDeclared) == [])
    }

    /// Held rows that others add between the survey and a batch, or between two batches.
    @Test func heldRowsThatArriveDuringTheRunAreSpared() throws {
        let store = try Self.family()
        let request = Self.request("p", Self.hold("c", .compare("kind", .equal, .text("kept"))))
        let writer = try store.writer()
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 3)
        try store.change("INSERT INTO c VALUES (6, 2, 'kept')")
        let deletion = try writer.deletion(of: request, after: survey)
        _ = try deletion.deleteNext(DeletionBounds(rows: 1))
        try store.change("INSERT INTO c VALUES (7, 4, 'kept')")
        while try deletion.deleteNext(DeletionBounds(rows: 1)).hasMore {}
        #expect(try store.rows("SELECT id FROM p") == ["2", "3", "4", "5"])
        #expect(try deletion.remainingCount(besides: []) == 0)
    }

    // MARK: Core Data

    @Test func theObjectsOfAModelStayWithTheirHeldOnes() throws {
        let store = try CoreDataStoreTests.store(history: true)
        try store.change("UPDATE ZNOTE SET ZTEXT = 'kept' WHERE Z_PK = 2")
        var request = CoreDataStoreTests.survey("Point")
        request.keepers.holds = [Self.hold("Note", .compare("text", .equal, .text("kept")))]
        let survey = try store.reader().findings(request)
        #expect(survey.expiredCount == 3 && survey.related.cascadedCount == 3)
        #expect(survey.kept.byHold == [.init(hold: "audit", rowCount: 1, relatedCount: 1)])
        let writer = try store.writer()
        _ = try writer.survey(request)
        try store.change("UPDATE ZNOTE SET ZTEXT = 'kept' WHERE Z_PK = 3")
        let execution = try Laws.carryOut(request, batchRows: 1, on: writer)
        #expect(execution.total.deletedCount == 2 && execution.total.cascadedCount == 2)
        #expect(try store.rows("SELECT Z_PK FROM ZPOINT") == ["2", "3", "5", "6"])
        #expect(try store.rows("SELECT Z_PK FROM ZNOTE") == ["2", "3", "5", "6"])
    }

    @Test func aHeldObjectKeepsTheReferenceByWhichItIsHeld() throws {
        let store = try CoreDataStoreTests.store(rule: .nullify)
        var request = CoreDataStoreTests.survey("Point")
        request.keepers.holds = [Self.hold("Note", .compare("point", .equal, .integer(2)))]
        #expect(try store.reader().survey(request).kept.byHold.map(\.rowCount) == [1])
        _ = try Laws.carryOut(request, batchRows: 1, on: store.writer())
        #expect(try store.rows("SELECT Z_PK FROM ZPOINT") == ["2", "5", "6"])
        #expect(try store.rows("SELECT Z_PK FROM ZNOTE WHERE ZPOINT IS NOT NULL") == ["2", "5", "6"])
    }

    @Test func deletesSayWhichEntitiesTheyReach() throws {
        let store = try Self.family("ON DELETE SET NULL")
        let reader = try store.reader()
        #expect(try reader.deletes(from: "p", .asDeclared, canReach: "P", changing: []))
        #expect(try !reader.deletes(from: "p", .asDeclared, canReach: "c", changing: ["kind"]))
        #expect(try reader.deletes(from: "p", .cascade, canReach: "g", changing: []))
        #expect(try !reader.deletes(from: "c", .asDeclared, canReach: "p", changing: []))
        let objects = try CoreDataStoreTests.store().reader()
        #expect(try objects.deletes(from: "Point", .asDeclared, canReach: "Note", changing: []))
        #expect(try !objects.deletes(from: "Note", .asDeclared, canReach: "Point", changing: []))
        // Only what stays loses its reference.
        #expect(try objects.clearedAttributes(["point"], of: "Note", byDeletesFrom: "Point", .asDeclared) == [])
        let others = try CoreDataStoreTests.store(rule: .nullify).reader()
        #expect(try others.clearedAttributes(["point"], of: "Note", byDeletesFrom: "Point", .asDeclared) == ["point"])
    }
}
