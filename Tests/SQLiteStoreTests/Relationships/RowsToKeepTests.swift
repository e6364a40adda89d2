import GRDB
import PriceStore
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
            writer.rowsToKeep.entities = [.init(entity: "Note", date: DateAttribute(name: "text", encoding: .iso8601))]
        } else {
            let held = HeldRows(name: "audit", entity: "Note", rows: .compare("text", .equal, .text("held")))
            writer.rowsToKeep.rows = [.init(held, keeper: "the hold 'audit'")]
        }
        let before = try store.rows("SELECT count(*) FROM ZPOINT")
        try expectStopped(
            writer, CoreDataStoreTests.survey("Point"), words: isEmptied ? "no readable row" : "the hold 'audit' keeps"
        ) {
            try store.change {
                try $0.execute(sql: "UPDATE ZNOTE SET ZTEXT = iif(Z_PK = 1, '2020-01-01T00:00:00Z', 'held')")
            }
        }
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == before)
    }
}
