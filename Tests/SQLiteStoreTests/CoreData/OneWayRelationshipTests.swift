import GRDB
import PriceStore
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// Relationships of Core Data files that have no inverse, and those that forbid a delete.
struct OneWayRelationshipTests {
    private typealias Relationship = ModelDescription.Relationship

    /// Points 1 to 4 are expired, 5 and 6 are not; note N refers to point N with `point`, and with `top` to point 1.
    private static func store(_ point: [Relationship], _ note: [Relationship], _ statements: String = "") throws
        -> TemporaryStore
    {
        let store = try CoreDataStoreTests.store(
            of: [
                .init(
                    name: "Point", attributes: [.init(name: "at", kind: .date, isOptional: false)], relationships: point
                ),
                .init(name: "Note", attributes: [.init(name: "at", kind: .date)], relationships: note),
            ]
        ) { db, layout in
            try CoreDataStoreTests.insertPoints(db, layout)
            try db.execute(sql: "UPDATE ZNOTE SET ZAT = (SELECT ZAT FROM ZPOINT AS p WHERE p.Z_PK = ZNOTE.Z_PK)")
            for name in note.filter({ !$0.isToMany }).map(\.name) {
                try db.execute(sql: "UPDATE ZNOTE SET Z\(name.uppercased()) = \(name == "top" ? "1" : "Z_PK")")
            }
        }
        try store.change(statements)
        return store
    }

    private static func refusal(_ entity: String, _ store: TemporaryStore) throws -> String? {
        try CoreDataStoreTests.refusal(of: CoreDataStoreTests.expired(entity), store)?.message
    }

    @Test func rowsThatReferWithoutAnInverseForbidTheDelete() throws {
        let store = try Self.store([], [Relationship(name: "point", destination: "Point", rule: .nullify)])
        for counts in [true, false] {
            var request = CoreDataStoreTests.survey("Point")
            request.counts.related = counts
            let survey = try store.reader().survey(request)
            #expect(survey.related.obstacles.map(\.objection) == [.noInverse])
            #expect(survey.related.obstacles.map(\.rowCount) == [4])
        }
        #expect(
            try Self.refusal("Point", store)
                == "a relationship prevents the delete of rows of Point: 4 rows of Note.point refer to them, and it has no "
                + "inverse")
        try store.change("DELETE FROM ZNOTE WHERE Z_PK > 1")
        #expect(try Self.refusal("Point", store)?.contains("1 row of Note.point refer to them") == true)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
        try store.change("DELETE FROM ZNOTE")
        #expect(try Self.refusal("Point", store) == nil)
    }

    /// A note refers to a point of another batch, which the note's own point takes with it.
    @Test func rowsThatAreDeletedTogetherAreNotDeletedInBatches() throws {
        let store = try Self.store(
            [Relationship(name: "notes", destination: "Note", inverse: "point", rule: .cascade, isToMany: true)],
            [
                Relationship(name: "point", destination: "Point", inverse: "notes", rule: .nullify),
                Relationship(name: "top", destination: "Point", rule: .nullify),
            ], "UPDATE ZNOTE SET ZTOP = NULL WHERE Z_PK > 4")
        let survey = try store.reader().survey(CoreDataStoreTests.survey("Point"))
        #expect(survey.related.obstacles.isEmpty)
        #expect(
            survey.unsupported?.hasPrefix("rows of Note and Point that would be deleted require each other") == true)
        try store.change("UPDATE ZNOTE SET ZTOP = NULL")
        #expect(try store.reader().survey(CoreDataStoreTests.survey("Point")).unsupported == nil)
    }

    /// What can forbid a delete is looked for even where related rows are not counted.
    @Test(
        arguments: [
            (.deny, false, "deny"), (.nullify, true, "is mandatory"), (.nullify, false, nil),
            (.noAction, false, nil), (.cascade, false, nil),
        ] as [(ModelDescription.DeleteRule, Bool, String?)]) func whatForbidsADeleteIsFoundWithoutCounts(
            _ rule: ModelDescription.DeleteRule, _ noteNeedsPoint: Bool, _ words: String?
        ) throws
    {
        let store = try CoreDataStoreTests.store(rule: rule, noteNeedsPoint: noteNeedsPoint)
        var request = CoreDataStoreTests.survey("Point")
        request.counts.related = false
        let survey = try store.reader().survey(request)
        #expect(survey.related.obstacles.isEmpty == (words == nil))
        let refusal = try Self.refusal("Point", store)
        #expect(refusal.map { $0.contains(words ?? "none") } ?? (words == nil), "\(refusal ?? "")")
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == [words == nil ? "2" : "6"])
    }

    // MARK: To many

    private static let many = Relationship(name: "notes", destination: "Note", rule: .nullify, isToMany: true)

    /// Notes of a point are in a hidden column of theirs, with or without an order. `Point` has the number 2.
    @Test(arguments: ["", "ALTER TABLE ZNOTE ADD COLUMN Z_FOK_2NOTES INTEGER; UPDATE ZNOTE SET Z_FOK_2NOTES = Z_PK"])
    func aHiddenColumnIsCleared(_ order: String) throws {
        let store = try Self.store(
            [Self.many], [], "ALTER TABLE ZNOTE ADD COLUMN Z2NOTES INTEGER; UPDATE ZNOTE SET Z2NOTES = Z_PK; " + order)
        let survey = try store.reader().survey(CoreDataStoreTests.survey("Point"))
        #expect(survey.unsupported == nil && survey.related.nullifiedCount == 4)
        #expect(try Self.refusal("Point", store) == nil)
        #expect(try store.rows("SELECT count(*), count(Z2NOTES) FROM ZNOTE") == ["6|2"])
        if !order.isEmpty { #expect(try store.rows("SELECT count(Z_FOK_2NOTES) FROM ZNOTE") == ["2"]) }
    }

    /// Pairs in a table; either side may be deleted. `Note` has the number 1.
    @Test(arguments: ["Point", "Note"]) func pairsGoWithTheirRows(_ entity: String) throws {
        let store = try Self.store(
            [Self.many], [],
            "CREATE TABLE Z_2NOTES (Z_2NOTES INTEGER, Z_1NOTES INTEGER); INSERT INTO Z_2NOTES SELECT Z_PK, 7 - Z_PK FROM ZPOINT"
        )
        #expect(try store.reader().survey(CoreDataStoreTests.survey(entity)).unsupported == nil)
        #expect(try Self.refusal(entity, store) == nil)
        #expect(try store.rows("SELECT count(*) FROM Z\(entity.uppercased())") == ["2"])
        let column = entity == "Point" ? "Z_2NOTES" : "Z_1NOTES"
        #expect(try store.rows("SELECT \(column) FROM Z_2NOTES ORDER BY 1") == ["5", "6"])
    }

    @Test func pairsOfOneEntityGoWithEitherRow() throws {
        let store = try Self.store(
            [Relationship(name: "links", destination: "Point", rule: .nullify, isToMany: true)], [],
            "CREATE TABLE Z_2LINKS (Z_2LINKS INTEGER, Z_2LINKS1 INTEGER); INSERT INTO Z_2LINKS VALUES (1, 5), (6, 2), (5, 6)"
        )
        #expect(try Self.refusal("Point", store) == nil)
        #expect(try store.rows("SELECT * FROM Z_2LINKS") == ["5|6"])
    }

    @Test func withoutAColumnOrTableNothingIsDeleted() throws {
        let store = try Self.store([Self.many], [])
        #expect(
            try Self.refusal("Point", store)?.contains("it is unknown where its relationship notes is stored") == true)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    // MARK: Holds

    /// A cascade from notes to points, through a column or a table of pairs; point 2 is held, so note 2 stays.
    @Test(arguments: ["point", "points"]) func aHeldRowKeepsThoseThatWouldTakeIt(_ name: String) throws {
        let isPaired = name == "points"
        let store = try Self.store(
            [Relationship(name: "notes", destination: "Note", inverse: name, rule: .nullify, isToMany: true)],
            [Relationship(name: name, destination: "Point", inverse: "notes", rule: .cascade, isToMany: isPaired)],
            isPaired ? "INSERT INTO Z_1POINTS (Z_1NOTES, Z_2POINTS) SELECT Z_PK, Z_PK FROM ZNOTE" : "")
        var request = CoreDataStoreTests.survey("Note")
        request.keepers.holds = [
            HeldRows(name: "audit", entity: "Point", rows: .compare("at", .equal, .integer(700_000_002)))
        ]
        #expect(try store.reader().survey(request).expiredCount == 3)
        let result = try store.writer().execute(BatchDeleteRequest(request))
        #expect(result.deletedCount == 3 && result.cascadedCount == 3)
        #expect(try store.rows("SELECT Z_PK FROM ZNOTE") == ["2", "5", "6"])
        #expect(try store.rows("SELECT Z_PK FROM ZPOINT") == ["2", "5", "6"])
    }
}
