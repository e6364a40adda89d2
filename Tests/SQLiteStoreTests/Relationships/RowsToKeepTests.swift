import PriceStore
import TestSupport
import Testing

@testable import SQLiteStore

/// What comes to refer to rows of a rule after its plan was made: a batch whose cascade would take a row that must stay is rolled back.
struct RowsToKeepTests {
    private func expectStopped(
        _ writer: SQLiteWriter, _ request: SurveyRequest, words: String, _ change: () throws -> Void
    ) throws {
        let deletion = try writer.deletion(of: request)
        try change()
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds()) }
        #expect(
            error?.kind == .constraint && error?.description.contains(words) == true, "\(error?.description ?? "none")")
    }

    @Test(arguments: [true, false]) func aNoteOfAModelThatAHoldKeepsStays(isEmptied: Bool) throws {
        let store = try CoreDataStoreTests.store()
        let writer = try store.writer()
        if isEmptied {
            // Its texts are read as dates: one of a deleted note is, and no other.
            writer.rowsToKeep.entities = [("Note", DateAttribute(name: "text", encoding: .iso8601))]
        } else {
            let held = HeldRows(name: "audit", entity: "Note", rows: .compare("text", .equal, .text("held")))
            writer.rowsToKeep.rows = [(held, "the hold 'audit'")]
        }
        let before = try store.rows("SELECT count(*) FROM ZPOINT")
        try expectStopped(
            writer, CoreDataStoreTests.survey("Point"), words: isEmptied ? "no readable row" : "the hold 'audit' keeps"
        ) {
            try store.change("UPDATE ZNOTE SET ZTEXT = iif(Z_PK = 1, '2020-01-01T00:00:00Z', 'held')")
        }
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == before)
    }

    /// Of an entity without a readable row none is the last one, and a kept row that is not reached stops nothing.
    @Test(arguments: [("soon", nil), ("2020-01-01", "no readable row"), ("kept", "the hold 'audit' keeps")])
    func onlyAReachedRowStopsABatch(_ text: String, _ words: String?) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (at TEXT, p INTEGER REFERENCES p ON DELETE CASCADE)",
            "INSERT INTO p VALUES (1, 50000000), (2, 200000000)",
            "INSERT INTO c VALUES ('\(text)', 1), ('kept', 2)")
        let writer = try store.writer()
        let held = HeldRows(name: "audit", entity: "c", rows: .compare("at", .equal, .text("kept")))
        writer.rowsToKeep.rows = [(held, "the hold 'audit'")]
        writer.rowsToKeep.entities = [("c", DateAttribute(name: "at", encoding: .iso8601))]
        let request = RelationshipTests.request("p")
        if let words {
            try expectStopped(writer, request, words: words) {}
        } else {
            let part = try writer.deletion(of: request).deleteNext(DeletionBounds())
            #expect(part.result.cascadedCount == 1)
        }
        #expect(try store.rows("SELECT count(*) FROM c") == [words == nil ? "1" : "2"])
    }
}
