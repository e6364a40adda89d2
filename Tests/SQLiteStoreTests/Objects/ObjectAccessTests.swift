import PriceStore
import SQLiteStore
import Testing

/// One row at a time, by its identity.
struct ObjectAccessTests {
    /// A table of each kind of key, with a row `a` and the place to put another.
    struct Table: Sendable, CustomTestStringConvertible {
        let name: String
        let definition: String
        let values: [String: StoreValue]
        let key: [StoreValue]
        var testDescription: String { name }
    }

    static let tables = [
        Table(
            name: "rowid", definition: "CREATE TABLE t (id INTEGER PRIMARY KEY, v)", values: ["v": .text("a")],
            key: [.integer(1)]),
        Table(name: "hidden rowid", definition: "CREATE TABLE t (v)", values: ["v": .text("a")], key: [.integer(1)]),
        Table(
            name: "without rowid", definition: "CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID",
            values: ["k": .text("x"), "v": .text("a")], key: [.text("x")]),
        Table(
            name: "composite", definition: "CREATE TABLE t (n INTEGER, k TEXT, v, PRIMARY KEY (k, n)) WITHOUT ROWID",
            // The column turns the text into the number that it is.
            values: ["n": .text("7"), "k": .text("x"), "v": .text("a")], key: [.text("x"), .integer(7)]),
    ]

    @Test(arguments: tables) func aNewRowIsFoundByItsIDAndChangedAndDeletedByIt(_ table: Table) throws {
        let store = try TemporaryStore(table.definition)
        let writer = try store.writer()
        let id = try writer.insertObject(entity: "T", values: table.values)
        #expect(id == ObjectID(entity: "t", key: table.key, storeIdentifier: writer.storeIdentifier))
        let fetch = StoreFetchRequest(entity: "t", predicate: .objectIDs([id]))
        #expect(try writer.fetchRows(fetch, attributes: ["v"]) == [StoredRow(objectID: id, values: [.text("a")])])
        #expect(try writer.updateObject(id, set: ["v": .text("b")], ifStill: ["v": .text("a")]))
        #expect(try store.rows("SELECT v FROM t") == ["b"])
        #expect(try !writer.deleteObject(id, ifStill: ["v": .text("a")]))
        #expect(try writer.deleteObject(id, ifStill: [:]))
        #expect(try !writer.deleteObject(id, ifStill: [:]))
        #expect(try !writer.updateObject(id, set: [:], ifStill: [:]))
    }

    @Test(arguments: [
        ("'abc'", StoreValue.text("abc"), true), ("'abc'", .text("ABC"), false), ("1", .integer(1), true),
        ("1", .real(1), false), ("1.0", .integer(1), false), ("'1'", .integer(1), false), ("NULL", .null, true),
        ("NULL", .text(""), false), ("x'61'", .text("a"), false), ("x'61'", .blob([0x61]), true),
    ])
    func aRowIsAsExpectedOnlyIfValueAndStorageClassAreTheSame(
        _ stored: String, _ expected: StoreValue, _ isSame: Bool
    ) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB COLLATE NOCASE, w)",
            "INSERT INTO t VALUES (1, \(stored), 0)")
        let writer = try store.writer()
        let id = ObjectID(entity: "t", key: [.integer(1)])
        #expect(try writer.updateObject(id, set: ["w": .integer(1)], ifStill: ["v": expected]) == isSame)
        #expect(try store.rows("SELECT w FROM t") == [isSame ? "1" : "0"])
        #expect(try writer.deleteObject(id, ifStill: ["v": expected]) == isSame)
    }

    @Test(arguments: [
        (["v": StoreValue.null], "v NOT NULL ON CONFLICT IGNORE"), (["v": .integer(3)], "v UNIQUE ON CONFLICT REPLACE"),
        (["id": .text("x")], "v"), (["v": .integer(-1)], "v CHECK (v > 0)"),
    ])
    func aBrokenConstraintIsThrownAndLeavesTheStoreAsItWas(
        _ values: [String: StoreValue], _ definition: String
    ) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, \(definition))", "INSERT INTO t VALUES (1, 2), (2, 3)")
        let writer = try store.writer()
        for change in [
            { _ = try writer.insertObject(entity: "t", values: values) },
            {
                _ = try writer.updateObject(
                    ObjectID(entity: "t", key: [.integer(1)]), set: values, ifStill: ["v": .integer(2)])
            },
        ] {
            #expect { try change() } throws: { ($0 as? StoreError)?.kind == .constraint }
        }
        #expect(try store.rows("SELECT id, v FROM t ORDER BY id") == ["1|2", "2|3"])
    }

    @Test func manyObjectsOfEveryKindOfKeyAreFetchedByTheirIDs() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (n INTEGER, k TEXT, PRIMARY KEY (k, n)) WITHOUT ROWID",
            "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 40000) INSERT INTO t SELECT i, 'k' || i FROM c",
            "CREATE TABLE r (v)", "INSERT INTO r (rowid, v) SELECT n, k FROM t")
        let reader = try store.reader()
        for entity in ["t", "r"] {
            let ids = try reader.fetchObjectIDs(StoreFetchRequest(entity: entity))
            #expect(ids.count == 40000)
            let some = Array(ids.dropFirst(100))
            #expect(try reader.count(StoreFetchRequest(entity: entity, predicate: .objectIDs(some))) == 39900)
            #expect(
                try reader.count(
                    StoreFetchRequest(entity: entity, predicate: .notTrue(.objectIDs(Array(ids.prefix(3000))))))
                    == 37000)
            #expect(try reader.count(StoreFetchRequest(entity: entity, predicate: .objectIDs([]))) == 0)
        }
    }

    @Test func twoConnectionsNameARowAliveByTheSameIDHoweverTheyNameTheFile() throws {
        let store = try TemporaryStore("CREATE TABLE t (v)", "INSERT INTO t VALUES (1)")
        let link = try store.link()
        let fetch = StoreFetchRequest(entity: "t")
        let ids = try store.reader().fetchObjectIDs(fetch)
        #expect(try SQLiteReader(path: link).fetchObjectIDs(fetch) == ids)
        let other = try TemporaryStore("CREATE TABLE t (v)", "INSERT INTO t VALUES (1)")
        #expect(try other.reader().fetchObjectIDs(fetch) != ids)
    }
}
