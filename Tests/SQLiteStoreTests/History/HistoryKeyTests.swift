import GRDB
import PriceObjects
import PriceStore
import Testing

@testable import SQLiteStore

/// Keys come back from the history as they went in.
struct HistoryKeyTests {
    static let keys: [[StoreValue]] = [
        [.integer(1)], [.integer(.min)], [.integer(.max)], [.integer(0)],
        [.real(0.1)], [.real(-0.0)], [.real(.infinity)], [.real(.leastNonzeroMagnitude)], [.real(3)], [.real(1e300)],
        [.text("")], [.text("it's \"quoted\"")], [.text("a\u{0}b")], [.text("é")], [.text("e\u{301}")], [.text("12")],
        [.blob([])], [.blob([0, 255, 39])], [.blob(Array("i".utf8))],
        [.text("a"), .integer(1)], [.integer(1), .text("a")], [.text("a,b"), .text("c")], [.text("a"), .text("b,c")],
        [.blob([1]), .real(2.5), .text("\"'|"), .integer(-7)],
    ]

    @Test(arguments: keys) func aKeyIsRestored(_ key: [StoreValue]) {
        #expect(HistoryKey.decode(HistoryKey.encode(key)) == key)
        #expect(HistoryKey.encode(key) != HistoryKey.encode(key + [.null]))
    }

    @Test func bytesThatAreNoKeyAreToldSo() {
        for bytes: [UInt8] in [[1], Array("i1234567".utf8), Array("b".utf8) + [0, 0, 0, 0, 0, 0, 0, 9, 1]] {
            #expect(HistoryKey.decode(.blob(bytes)) == nil)
        }
    }

    @Test(arguments: keys) func aRowIsFoundByTheIDThatTheHistoryGives(_ key: [StoreValue]) throws {
        let columns = key.indices.map { "k\($0)" }
        let names = columns.joined(separator: ", ")
        // Columns without a type change no value.
        let store = try TemporaryStore(
            "CREATE TABLE \"o'dd \"\" name\" (\(names), v, PRIMARY KEY (\(names))) WITHOUT ROWID")
        let writer = try store.writer()
        try writer.keepHistory()
        let values = Dictionary(uniqueKeysWithValues: zip(columns, key))
        let id = try writer.insertObject(entity: "o'dd \" name", values: values)
        let found = try #require(try writer.history(after: nil, limit: 1).first?.changes.first)
        #expect(found == HistoryChange(objectID: id, kind: .insert))
        #expect(try writer.deleteObject(found.objectID, ifStill: [:]))
        #expect(try writer.history(after: nil, limit: 2).last?.changes.first?.objectID == id)
    }

    @Test func aKeyThatChangesIsADeleteAndAnInsert() throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE word (word TEXT PRIMARY KEY COLLATE NOCASE, meaning TEXT) WITHOUT ROWID;
            CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO word VALUES ('gold', 'Au');
            INSERT INTO item VALUES (1, 'one');
            """)
        let writer = try store.writer()
        try writer.keepHistory()
        try writer.execute(BatchUpdateRequest(entity: "word", propertiesToUpdate: ["word": .text("GOLD")]))
        try writer.execute(BatchUpdateRequest(entity: "word", propertiesToUpdate: ["meaning": .text("a metal")]))
        try writer.execute(BatchUpdateRequest(entity: "item", propertiesToUpdate: ["id": .integer(2)]))
        let story = try writer.history(after: nil, limit: 9).map { transaction in
            transaction.changes.map { "\($0.kind) \(HistoryText.key($0.objectID.key))" }
        }
        #expect(story == [["delete 'gold'", "insert 'GOLD'"], ["update 'GOLD'"], ["delete 1", "insert 2"]])
    }
}
