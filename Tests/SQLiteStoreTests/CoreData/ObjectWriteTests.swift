import GRDB
import PriceStore
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// New and changed objects of a Core Data file.
struct ObjectWriteTests {
    private static func books(abstract: Bool = false) throws -> TemporaryStore {
        try CoreDataStoreTests.store(
            of: [
                .init(name: "Book", isAbstract: abstract, attributes: [.init(name: "at", kind: .date)]),
                .init(name: "Novel", parent: "Book"),
            ]
        ) { db, layout in
            try db.execute(
                sql: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAT) VALUES (1, ?, 1, 5), (2, ?, 1, 6)",
                arguments: [layout.numbers["Novel"], layout.numbers["Novel"]])
        }
    }

    @Test func aNewObjectMeetsOneWithItsUniqueValue() throws {
        let store = try CoreDataStoreTests.store(history: true)
        try store.change("UPDATE ZNOTE SET ZTEXT = 'n' || Z_PK; CREATE UNIQUE INDEX one ON ZNOTE (ZTEXT)")
        let writer = try store.writer()
        func insert(_ policy: ConflictPolicy) throws -> InsertOutcome {
            try writer.insert(entity: "Note", values: ["text": .text("n1"), "point": .null], onConflict: policy)
        }
        let outcome = try insert(.fail)
        guard case .rejected(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains("UNIQUE"))
        #expect(try insert(.ignore) == .ignored)
        #expect(try store.rows("SELECT ZPOINT FROM ZNOTE WHERE Z_PK = 1") == ["1"])
        #expect(try insert(.replace) == .saved)
        #expect(try store.rows("SELECT ZPOINT FROM ZNOTE WHERE Z_PK = 1") == ["NULL"])
        #expect(try store.rows("SELECT count(*), max(Z_PK) FROM ZNOTE") == ["6|6"])
        #expect(try store.rows("SELECT ZCHANGETYPE, ZENTITYPK FROM ACHANGE WHERE Z_PK > 12") == ["1|1"])
    }

    /// The key of a point, a change of the schema before it is set, and why it cannot be.
    @Test(
        arguments: [
            (2, "SELECT 1", nil), (99, "SELECT 1", "Note.point refers to no row of Point"),
            (2, "ALTER TABLE ZNOTE ADD COLUMN Z_FOK_POINT INTEGER", "Note.point cannot be set with a key only"),
        ] as [(Int64, String, String?)]) func aReferenceIsSetByTheKeyOfARow(
            _ key: Int64, _ change: String, _ reason: String?
        ) throws
    {
        let store = try CoreDataStoreTests.store()
        try store.change(change)
        let outcome = try store.writer().insert(
            entity: "Note", values: ["text": .text("new"), "point": .integer(key)], onConflict: .fail)
        #expect(outcome == reason.map { .rejected($0) } ?? .saved)
        #expect(try store.rows("SELECT ZPOINT FROM ZNOTE WHERE Z_PK > 6") == (reason == nil ? ["\(key)"] : []))
    }

    @Test func aNewObjectOfASubEntityTakesTheNextKeyOfItsRoot() throws {
        let store = try Self.books(abstract: true)
        let writer = try store.writer()
        #expect(try writer.insert(entity: "Novel", values: ["at": .integer(7)], onConflict: .fail) == .saved)
        #expect(try store.rows("SELECT Z_PK, ZAT FROM ZBOOK WHERE Z_PK > 2") == ["3|7"])
        #expect(try store.rows("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1") == ["Book|3", "Novel|0"])
        let error = #expect(throws: StoreError.self) {
            try writer.insert(entity: "Book", values: ["at": .integer(7)], onConflict: .fail)
        }
        #expect(error?.kind == .unsupported)
        #expect(error?.message == "Book is abstract: only its sub-entities have rows (Novel)")
    }

    @Test func anObjectWithoutRelationshipsIsDeletedAlone() throws {
        let store = try Self.books()
        let writer = try store.writer()
        let novels = try writer.fetchRows(StoreFetchRequest(entity: "Novel"), attributes: []).map(\.objectID)
        #expect(try writer.deleteObject(novels[0], ifStill: [:]))
        #expect(try !writer.deleteObject(novels[0], ifStill: [:]))
        #expect(try store.rows("SELECT Z_PK FROM ZBOOK") == ["2"])
    }

    @Test func onlyStoredAttributesAreChanged() throws {
        let store = try CoreDataStoreTests.store()
        let writer = try store.writer()
        let point = try #require(try writer.fetchRows(StoreFetchRequest(entity: "Point"), attributes: []).first)
            .objectID
        let note = try #require(try writer.fetchRows(StoreFetchRequest(entity: "Note"), attributes: []).first).objectID
        #expect(try writer.updateObject(point, set: ["at": .integer(3), "photo": .null], ifStill: [:]))
        #expect(try store.rows("SELECT ZAT, ZPHOTO, Z_OPT FROM ZPOINT WHERE Z_PK = 1") == ["3|NULL|2"])
        let required = #expect(throws: StoreError.self) {
            try writer.updateObject(point, set: ["at": .null], ifStill: [:])
        }
        #expect(required?.kind == .constraint && required?.message.hasSuffix("Point.at must have a value") == true)
        let reference = #expect(throws: StoreError.self) {
            try writer.updateObject(note, set: ["point": .integer(2)], ifStill: [:])
        }
        #expect(reference?.message == "Note.point cannot be set: it is not a stored attribute")
        #expect(try store.rows("SELECT ZPOINT, Z_OPT FROM ZNOTE WHERE Z_PK = 1") == ["1|1"])
    }

    @Test func withoutAModelNothingIsSaved() throws {
        let store = try CoreDataStoreTests.store()
        try store.change("DROP TABLE Z_MODELCACHE")
        let writer = try store.writer()
        let point = try #require(try writer.fetchRows(StoreFetchRequest(entity: "Point"), attributes: []).first)
            .objectID
        let new = #expect(throws: StoreError.self) {
            try writer.insert(entity: "Point", values: ["AT": .integer(1)], onConflict: .fail)
        }
        #expect(new?.message == "rows of Point cannot be saved: no model of the store has them")
        let changed = #expect(throws: StoreError.self) {
            try writer.updateObject(point, set: ["AT": .integer(1)], ifStill: [:])
        }
        #expect(changed?.message == "rows of Point cannot be changed: no model of the store has them")
        #expect(try store.rows("SELECT count(*), min(ZAT) FROM ZPOINT") == ["6|700000001"])
    }

    /// Derived attributes of the framework are kept up to date by triggers that call a function of its own.
    @Test func triggersThatCallTheFrameworkAreCarriedOut() throws {
        let store = try CoreDataStoreTests.store(rule: .nullify)
        try store.change(
            """
            CREATE TRIGGER Z_DA AFTER DELETE ON ZPOINT BEGIN
                SELECT NSCoreDataTriggerUpdateAffectedObjectValue('ZNOTE', 1, old.Z_PK, 'text', NULL); END
            """)
        var request = CoreDataStoreTests.survey("Point")
        request.keepers.holds = [HeldRows(name: "audit", entity: "Note", rows: .all)]
        #expect(try store.reader().survey(request).unsupported == nil)
        let result = try store.writer().execute(BatchDeleteRequest(request))
        #expect(result.deletedCount == 4)
        #expect(try store.rows("SELECT count(*), count(ZPOINT) FROM ZNOTE") == ["6|2"])
    }
}
