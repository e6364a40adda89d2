import GRDB
import PriceStore
import Testing

@testable import SQLiteStore

/// Which virtual table an error is about, and what repairs it.
struct OutOfStepIndexTests {
    private func store() throws -> TemporaryStore {
        try TemporaryStore(
            "CREATE TABLE a(t); CREATE TABLE b(t); CREATE TABLE c(t)",
            "CREATE VIRTUAL TABLE a_text USING fts5(t); CREATE VIRTUAL TABLE \"b text\" USING FTS4(t)",
            "CREATE VIRTUAL TABLE places USING rtree(id, low, high); CREATE VIRTUAL TABLE bare USING fts5(t, content = '')",
            "CREATE TRIGGER a1 AFTER DELETE ON a BEGIN DELETE FROM a_text WHERE rowid = old.rowid; END",
            "CREATE TRIGGER b1 AFTER DELETE ON b BEGIN DELETE FROM [b text] WHERE rowid = old.rowid; END")
    }

    private func look<T>(
        at store: TemporaryStore, _ body: (SQLiteFile, Database) throws -> T
    ) throws -> T {
        let reader = try store.reader()
        return try reader.run("looking") { try body(reader, $0) }
    }

    @Test(arguments: [
        ("DELETE FROM main.\"a\" WHERE t < ?", ["a_text"]), ("DELETE FROM main.\"B\"", ["b text"]),
        // By a cascade perhaps.
        ("DELETE FROM \"c\"", ["a_text", "b text"]),
    ])
    func theTriggersOfTheTableSayWhich(statement: String, names: [String]) throws {
        let found = try look(at: store()) { try OutOfStepIndex.suspects(statement, $0, $1) }
        #expect(found.map(\.name) == names)
    }

    @Test func onlyATextIndexWithRowsIsRebuilt() throws {
        let store = try store()
        try store.change("DROP TRIGGER a1; DROP TRIGGER b1")
        let found = try look(at: store) { try OutOfStepIndex.suspects("DELETE FROM a", $0, $1) }
        #expect(found.map(\.name) == ["a_text", "b text", "places", "bare"])
        #expect(
            found.map(\.remedy) == [
                "INSERT INTO \"a_text\"(\"a_text\") VALUES('rebuild')",
                "INSERT INTO \"b text\"(\"b text\") VALUES('rebuild')",
                nil, nil,
            ])
        for remedy in found.compactMap(\.remedy) { try store.change(remedy) }
    }

    /// What triggers write, also by triggers that they set off; and how it comes into step again.
    @Test func whatTriggersWriteIsFound() throws {
        let store = try store()
        try store.change(
            """
            CREATE VIRTUAL TABLE outer_text USING fts5(t, content = 'c', content_rowid = 'rowid');
            CREATE TRIGGER c1 AFTER INSERT ON c BEGIN DELETE FROM a; INSERT INTO outer_text(t) VALUES (new.t); END
            """)
        let found = try look(at: store) { try OutOfStepIndex.written(byTriggers: ["c1"], $0, $1) }
        #expect(found.map(\.name) == ["a_text", "outer_text"])
        #expect(
            found.map { $0.following("c").remedy } == [
                "write into a_text what the triggers of c would have written",
                "execute INSERT INTO \"outer_text\"(\"outer_text\") VALUES('rebuild')",
            ])
        #expect(try look(at: store) { try OutOfStepIndex.written(byTriggers: [], $0, $1) }.isEmpty)
    }
}
