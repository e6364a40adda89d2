import Foundation
import GRDB
import PriceObjects
import PriceStore
import StoreConformance
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// What Core Data files have besides their rows: a history, files beside them, keys, models that are not there.
struct CoreDataStoreTests {
    static let cutoff = Instant(microseconds: (978_307_200 + 800_000_000) * 1_000_000)

    static func date(_ name: String = "at") -> DateAttribute {
        DateAttribute(name: name, encoding: .appleSeconds, zone: .utc, earliest: Instant(microseconds: 0))
    }

    /// Rows before the cutoff.
    static func expired(_ entity: String, _ name: String = "at") -> StoreFetchRequest {
        StoreFetchRequest(entity: entity, predicate: .date(DateRange(date(name), before: cutoff)))
    }

    static func survey(_ entity: String) -> SurveyRequest {
        SurveyRequest(entity: entity, date: date(), cutoff: cutoff)
    }

    /// A store of `Point` with a date `at`, and of `Note`, which points at it.
    ///
    /// Points 1 to 4 are expired, 5 and 6 are not; note N points at point N.
    static func store(
        rule: ModelDescription.DeleteRule = .cascade, backRule: ModelDescription.DeleteRule = .nullify,
        noteHasFiles: Bool = false, noteNeedsPoint: Bool = false, photoPoint: Bool = false, history: Bool = false,
        _ change: (inout ModelDescription.Entity) -> Void = { _ in }
    ) throws -> TemporaryStore {
        var point = ModelDescription.Entity(
            name: "Point",
            attributes: [.init(name: "at", kind: .date, isOptional: false), .init(name: "photo", kind: .binary)],
            relationships: [.init(name: "notes", destination: "Note", inverse: "point", rule: rule, isToMany: true)])
        change(&point)
        let note = ModelDescription.Entity(
            name: "Note",
            attributes: [.init(name: "text", kind: .string)]
                + (noteHasFiles ? [.init(name: "scan", kind: .binary, isExternal: true)] : []),
            relationships: [
                .init(
                    name: "point", destination: "Point", inverse: "notes", rule: backRule, isOptional: !noteNeedsPoint)
            ])
        let sub = ModelDescription.Entity(
            name: "PhotoPoint", parent: "Point", attributes: [.init(name: "scan", kind: .binary, isExternal: true)])
        return try Self.store(of: [point, note] + (photoPoint ? [sub] : []), history: history) { db, layout in
            try insertPoints(db, layout)
            try db.execute(sql: "UPDATE ZNOTE SET ZTEXT = 'n', ZPOINT = Z_PK")
        }
    }

    /// Points 1 to 6 with the notes 1 to 6.
    static func insertPoints(_ db: Database, _ layout: CoreDataLayout) throws {
        try db.execute(
            sql: """
                WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 6)
                INSERT INTO ZPOINT (Z_PK, Z_ENT, Z_OPT, ZAT)
                SELECT n, \(layout.numbers["Point"] ?? 0), 1, iif(n < 5, 700000000 + n, 810000000) FROM n;
                INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT) SELECT Z_PK, \(layout.numbers["Note"] ?? 0), 1 FROM ZPOINT;
                """)
    }

    /// A store of a model, with the rows that are inserted.
    static func store(
        of entities: [ModelDescription.Entity], history: Bool = false, inMemory: Bool = false,
        _ fill: (Database, CoreDataLayout) throws -> Void
    ) throws -> TemporaryStore {
        let store = try TemporaryStore(inMemory: inMemory)
        try FileManager.default.removeItem(atPath: store.path)
        try CoreDataStore(path: store.path, model: ModelDescription(entities: entities), hasHistory: history).write(
            fill)
        return store
    }

    // MARK: History

    @Test func aBatchIsOneTransactionOfTheHistory() throws {
        let store = try Self.store(history: true)
        let before = try store.rows("SELECT max(Z_PK) FROM ACHANGE UNION ALL SELECT max(Z_PK) FROM ATRANSACTION")
        let writer = try SQLiteWriter(path: store.path)
        let result = try writer.execute(BatchDeleteRequest(fetchRequest: Self.expired("Point"), resultType: .count))
        #expect(result.deletedCount == 4 && result.cascadedCount == 4)
        #expect(before == ["12", "1"])
        #expect(
            try store.rows(
                "SELECT ZCHANGETYPE, count(*), count(DISTINCT ZENTITYPK), sum(ZCOLUMNS IS NULL) FROM ACHANGE "
                    + "WHERE ZTRANSACTIONID = 2 GROUP BY 1") == ["2|8|4|8"])
        #expect(
            try store.rows(
                "SELECT p.Z_NAME, p.Z_MAX FROM Z_PRIMARYKEY AS p WHERE Z_ENT >= 16000 ORDER BY Z_ENT")
                == [
                    "CHANGE|20", "TRANSACTION|2",
                    "TRANSACTIONSTRING|\(try store.rows("SELECT max(Z_PK) FROM ATRANSACTIONSTRING")[0])",
                ])
        #expect(
            try store.rows(
                "SELECT s.ZNAME FROM ATRANSACTION AS t JOIN ATRANSACTIONSTRING AS s ON s.Z_PK = t.ZAUTHORTS "
                    + "WHERE t.Z_PK = 2") == ["retention"])
        let age = try store.rows(
            "SELECT abs(ZTIMESTAMP - (julianday('now') - 2451910.5) * 86400.0) < 600 FROM ATRANSACTION WHERE Z_PK = 2")
        #expect(age == ["1"])
    }

    @Test func rowsThatLoseAReferenceAreInTheHistory() throws {
        let store = try Self.store(rule: .nullify, history: true)
        let writer = try SQLiteWriter(path: store.path)
        let result = try writer.execute(BatchDeleteRequest(fetchRequest: Self.expired("Point"), resultType: .count))
        #expect(result.deletedCount == 4 && result.cascadedCount == 0 && result.nullifiedCount == 4)
        #expect(
            try store.rows("SELECT ZCHANGETYPE, count(*) FROM ACHANGE WHERE ZTRANSACTIONID = 2 GROUP BY 1")
                == ["1|4", "2|4"])
        #expect(try store.rows("SELECT Z_OPT, count(*), count(ZPOINT) FROM ZNOTE GROUP BY 1") == ["1|2|2", "2|4|0"])
    }

    @Test func whatTheModelKeepsOfDeletedRowsIsInTheHistory() throws {
        let store = try Self.store(history: true) {
            $0.attributes.append(.init(name: "code", kind: .string, isPreserved: true))
        }
        try store.change("UPDATE ZPOINT SET ZCODE = 'c' || Z_PK; ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE0 BLOB")
        let writer = try SQLiteWriter(path: store.path)
        _ = try writer.execute(BatchDeleteRequest(fetchRequest: Self.expired("Point")))
        #expect(
            try store.rows(
                "SELECT ZTOMBSTONE0 FROM ACHANGE WHERE ZTRANSACTIONID = 2 AND ZTOMBSTONE0 IS NOT NULL ORDER BY 1")
                == ["c1", "c2", "c3", "c4"])
    }

    @Test(arguments: [
        "ALTER TABLE ACHANGE ADD COLUMN ZNEWS BLOB", "ALTER TABLE ATRANSACTION DROP COLUMN ZPROCESSIDTS",
        "DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'CHANGE'", "ALTER TABLE ACHANGE RENAME COLUMN ZCOLUMNS TO ZOTHER",
        "ALTER TABLE ATRANSACTIONSTRING RENAME COLUMN ZNAME TO ZOTHER",
    ]) func aHistoryOfAnUnknownFormIsNotContinued(_ change: String) throws {
        let store = try Self.store(history: true)
        try store.change {
            try $0.execute(sql: "DROP INDEX IF EXISTS ATRANSACTION_ZPROCESSIDTS_INDEX")
            try $0.execute(sql: change)
        }
        let survey = try SQLiteReader(path: store.path).survey(Self.survey("Point"))
        #expect(survey.losses.history != nil && survey.expiredCount == 4)
        let writer = try SQLiteWriter(path: store.path)
        #expect(throws: StoreError.self) {
            try writer.execute(BatchDeleteRequest(fetchRequest: Self.expired("Point")))
        }
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    /// The attributes of points that a history keeps of deleted rows.
    @Test(arguments: [
        (["code"], "ACHANGE has no tombstone column for the value that Point preserves"),
        (["code", "mark"], "Point preserves code, mark of deleted rows, and it is unknown which column is for which"),
    ]) func whatAHistoryCannotKeepIsFound(_ names: [String], _ reason: String) throws {
        let store = try Self.store(history: true) {
            $0.attributes += names.map { .init(name: $0, kind: .string, isPreserved: true) }
        }
        #expect(try store.reader().survey(Self.survey("Point")).losses.history == reason)
    }

    // MARK: Files beside the store

    /// Note has the files. What counts is whether a delete of points can take notes.
    @Test(arguments: [(ModelDescription.DeleteRule.cascade, true), (.nullify, false), (.noAction, false)])
    func rowsWithFilesBesideTheStoreAreNotDeleted(_ rule: ModelDescription.DeleteRule, _ isRefused: Bool) throws {
        // The way back cascades: who deletes a note, deletes its point.
        let store = try Self.store(rule: rule, backRule: .cascade, noteHasFiles: true)
        let refusal = try store.reader().survey(Self.survey("Point")).unsupported
        #expect((refusal?.hasPrefix("Note keeps values in files") == true) == isRefused, "\(refusal ?? "none")")
        let error = try Self.refusal(of: Self.expired("Point"), store)
        #expect((error?.message.contains("Note keeps values in files") == true) == isRefused, "\(error as Any)")
    }

    /// Points are plain; their sub-entity has files.
    @Test func rowsWithASubentityThatHasFilesAreNotDeleted() throws {
        let store = try Self.store(rule: .nullify, photoPoint: true)
        #expect(try store.reader().survey(Self.survey("Point")).unsupported?.hasPrefix("PhotoPoint keeps") == true)
        let notes = StoreFetchRequest(entity: "Note")
        #expect(try Self.refusal(of: notes, store) == nil)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT UNION ALL SELECT count(*) FROM ZNOTE") == ["6", "0"])
    }

    /// Why a delete of a batch is refused; nil: it was carried out.
    static func refusal(
        of rows: StoreFetchRequest, _ store: TemporaryStore,
        _ relationships: BatchDeleteRequest.RelationshipRule = .asDeclared
    ) throws -> StoreError? {
        do {
            try store.writer().execute(BatchDeleteRequest(fetchRequest: rows, relationships: relationships))
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    // MARK: New objects

    @Test func newObjectsGetTheNextKeyAndAPlaceInTheHistory() throws {
        let store = try Self.store(history: true)
        try store.change("UPDATE Z_PRIMARYKEY SET Z_MAX = 40 WHERE Z_NAME = 'Point'")
        let context = StoreContext(try SQLiteWriter(path: store.path))
        _ = context.insert(entity: "Point", values: ["at": .integer(790_000_000)])
        _ = context.insert(entity: "Point", values: ["at": .real(790_000_000.5)])
        try context.save()
        #expect(
            try store.rows("SELECT Z_PK, Z_ENT, Z_OPT, ZAT FROM ZPOINT WHERE Z_PK > 6")
                == ["41|2|1|790000000", "42|2|1|790000000.5"])
        #expect(try store.rows("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Point'") == ["42"])
        #expect(
            try store.rows("SELECT ZCHANGETYPE, ZENTITYPK, ZTRANSACTIONID FROM ACHANGE WHERE Z_PK > 12")
                == ["0|41|2", "0|42|2"])
    }

    @Test func aRequiredAttributeMustHaveAValue() throws {
        let store = try Self.store()
        let writer = try SQLiteWriter(path: store.path)
        let reader = try SQLiteReader(path: store.path)
        for inserter in [writer as any RetentionInserter, reader] {
            let outcome = try inserter.rehearse {
                try inserter.insert(entity: "Point", values: ["photo": .null], onConflict: .fail)
            }
            #expect(outcome == .rejected("Point.at must have a value"))
        }
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    @Test func aRehearsalCountsNewObjects() throws {
        let store = try Self.store()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: store.path))
        let reader = try SQLiteReader(path: store.path)
        let outcome = try reader.rehearse {
            try reader.insert(entity: "Point", values: ["at": .integer(700_000_009)], onConflict: .fail)
        }
        #expect(outcome == .saved)
        #expect(try reader.survey(Self.survey("Point")).expiredCount == 5)
        #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == bytes)
    }

    @Test func changedObjectsCountTheirLockUp() throws {
        let store = try Self.store(history: true)
        let context = StoreContext(try SQLiteWriter(path: store.path))
        let point = try #require(
            try context.fetch(
                StoreFetchRequest(entity: "Point", predicate: .compare("at", .less, .integer(700_000_002)))
            )
            .first)
        try point.setValue(.integer(1), for: "at")
        try context.save()
        #expect(try store.rows("SELECT Z_OPT, ZAT FROM ZPOINT WHERE Z_PK = 1") == ["2|1"])
        #expect(try store.rows("SELECT ZCHANGETYPE, ZENTITYPK FROM ACHANGE WHERE Z_PK > 12") == ["1|1"])
        try context.delete(point)
        try context.save()
        #expect(try store.rows("SELECT count(*) FROM ZPOINT UNION ALL SELECT count(*) FROM ZNOTE") == ["5", "5"])
    }

    @Test func aContextLearnsWhatACascadeTook() throws {
        let store = try Self.store()
        let context = StoreContext(try SQLiteWriter(path: store.path))
        let notes = try context.fetch(StoreFetchRequest(entity: "Note"))
        for note in notes { _ = try note.value(for: "text") }
        try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: Self.expired("Point")))
        let found = notes.map { note in (try? note.value(for: "text")) != nil }
        #expect(found.filter { $0 }.count == 2)
    }

    // MARK: What is left alone, and what is refused

    @Test func tablesAreNoEntities() throws {
        let store = try Self.store()
        let reader = try SQLiteReader(path: store.path)
        #expect(try reader.entityNames() == ["Note", "Point"])
        #expect(try reader.entity(named: "ZPOINT") == nil)
        #expect(try reader.entity(named: "Z_PRIMARYKEY") == nil)
        let entity = try #require(try reader.entity(named: "point"))
        #expect(entity.attribute(named: "AT")?.dateEncoding == .appleSeconds)
        #expect(entity.model?.relationships.map(\.name) == ["notes"])
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.nullify, .cascade, .deny])
    func theModelDecidesAboutRelationships(_ rule: BatchDeleteRequest.RelationshipRule) throws {
        let store = try Self.store()
        var request = Self.survey("Point")
        request.relationships = rule
        #expect(try store.reader().survey(request).remedy == "leave out `relationships`")
        let error = try Self.refusal(of: Self.expired("Point"), store, rule)
        #expect(error?.kind == .unsupported && error?.message.contains("the delete rules of the model") == true)
        // Without a model nothing helps but the model.
        try store.change("DROP TABLE Z_MODELCACHE")
        #expect(try store.reader().survey(request).remedy?.contains("store: { path:, model: }") == true)
        #expect(try Self.refusal(of: Self.expired("Point"), store, rule)?.message.contains("no model") == true)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    @Test func aNumberedTwinOfAColumnIsAmbiguousUnlessItIsNamed() throws {
        let store = try Self.store()
        try store.change("ALTER TABLE ZPOINT ADD COLUMN ZAT1 TIMESTAMP; UPDATE ZPOINT SET ZAT1 = ZAT")
        let reader = try SQLiteReader(path: store.path)
        let refused = #expect(throws: StoreError.self) { try reader.survey(Self.survey("Point")) }
        #expect(refused?.kind == .unsupported)
        #expect(
            refused?.message == "Point.at can be any of the columns ZAT, ZAT1, and the model does not say which")
        let named = SurveyRequest(entity: "Point", date: Self.date("ZAT1"), cutoff: Self.cutoff)
        #expect(try reader.survey(named).expiredCount == 4)
        let writer = try SQLiteWriter(path: store.path)
        #expect(
            try writer.execute(BatchDeleteRequest(fetchRequest: Self.expired("Point", "ZAT1"))).deletedCount == 4)
    }

    /// Changes after which the tables do not have what the model says.
    @Test(arguments: [
        ("ALTER TABLE ZNOTE RENAME COLUMN ZPOINT TO ZOTHER", "it is unknown where its relationship notes is stored"),
        ("ALTER TABLE ZNOTE ADD COLUMN ZPOINT1 INTEGER", "several columns could hold its relationship notes"),
        (
            "DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'",
            "its relationship notes leads to Note, which does not exist"
        ),
        ("DROP TABLE ZNOTE", "its relationship notes leads to Note, which does not exist"),
        (
            "INSERT INTO Z_PRIMARYKEY VALUES (3, 'Spot', 2, 0)",
            "Spot: the model of the store does not contain the entity Spot"
        ),
    ]) func aModelThatTheTablesDoNotFitForbidsTheDelete(_ change: String, _ reason: String) throws {
        let store = try Self.store()
        try store.change("PRAGMA foreign_keys = OFF; " + change)
        #expect(try store.reader().survey(Self.survey("Point")).unsupported?.contains(reason) == true)
        #expect(try Self.refusal(of: Self.expired("Point"), store)?.message.contains(reason) == true)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    @Test func anAttributeWithoutItsColumnIsNotThere() throws {
        let store = try Self.store()
        try store.change("ALTER TABLE ZPOINT RENAME COLUMN ZPHOTO TO ZOTHER")
        #expect(try store.reader().entity(named: "Point")?.attributes.map(\.name) == ["at"])
        #expect(try Self.refusal(of: Self.expired("Point"), store) == nil)
    }

    @Test func aModelThatCannotBeReadIsAnErrorOfTheStore() throws {
        let store = try Self.store()
        try store.change("UPDATE Z_MODELCACHE SET Z_CONTENT = x'FF'")
        let error = #expect(throws: StoreError.self) { try store.reader().entityNames() }
        #expect(error?.kind == .inputOutput && error?.message.hasPrefix("the model cannot be read: ") == true)
        #expect(error?.hint == "give the model's .mom file as `store: { path:, model: }`")
        let plain = try TemporaryStore("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        let other = #expect(throws: StoreError.self) {
            try SQLiteReader(path: plain.path, modelPath: "/x.mom").entityNames()
        }
        #expect(other?.message == "the store is not a Core Data store, so the model /x.mom cannot be used")
    }

    @Test func aRowOfASubEntityHasOneObjectID() throws {
        let store = try Self.store(of: [
            .init(name: "Book", attributes: [.init(name: "at", kind: .date)]), .init(name: "Novel", parent: "Book"),
        ]) { db, layout in
            for (key, entity) in [(1, "Book"), (2, "Novel"), (3, "Novel")] {
                try db.execute(
                    sql: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAT) VALUES (?, ?, 1, 1)",
                    arguments: [key, layout.numbers[entity]])
            }
        }
        let writer = try SQLiteWriter(path: store.path)
        let books = try writer.fetchRows(StoreFetchRequest(entity: "Book"), attributes: []).map(\.objectID)
        let novels = try writer.fetchRows(StoreFetchRequest(entity: "Novel"), attributes: []).map(\.objectID)
        #expect(books.map(\.entity) == ["Book", "Novel", "Novel"])
        #expect(Array(books.dropFirst()) == novels)
        #expect(try writer.count(StoreFetchRequest(entity: "Novel")) == 2)
        let result = try writer.execute(
            BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "Novel"), resultType: .objectIDs))
        #expect(Set(result.objectIDs) == Set(novels))
        #expect(try store.rows("SELECT Z_PK FROM ZBOOK") == ["1"])
    }
}
