import Foundation
import GRDB
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

    struct Difference: Sendable {
        let stored: String
        let expected: StoreValue
        let isSame: Bool
    }

    @Test(arguments: [
        Difference(stored: "'abc'", expected: .text("abc"), isSame: true),
        Difference(stored: "'abc'", expected: .text("ABC"), isSame: false),
        Difference(stored: "1", expected: .integer(1), isSame: true),
        Difference(stored: "1", expected: .real(1), isSame: false),
        Difference(stored: "1.0", expected: .integer(1), isSame: false),
        Difference(stored: "'1'", expected: .integer(1), isSame: false),
        Difference(stored: "NULL", expected: .null, isSame: true),
        Difference(stored: "NULL", expected: .text(""), isSame: false),
        Difference(stored: "x'61'", expected: .text("a"), isSame: false),
        Difference(stored: "x'61'", expected: .blob([0x61]), isSame: true),
    ])
    func aRowIsAsExpectedOnlyIfValueAndStorageClassAreTheSame(_ row: Difference) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB COLLATE NOCASE, w)",
            "INSERT INTO t VALUES (1, \(row.stored), 0)")
        let writer = try store.writer()
        let id = ObjectID(entity: "t", key: [.integer(1)])
        #expect(try writer.updateObject(id, set: ["w": .integer(1)], ifStill: ["v": row.expected]) == row.isSame)
        #expect(try store.rows("SELECT w FROM t") == [row.isSame ? "1" : "0"])
        #expect(try writer.deleteObject(id, ifStill: ["v": row.expected]) == row.isSame)
    }

    struct Refusal: Sendable {
        let set: [String: StoreValue]
        let definition: String
    }

    @Test(arguments: [
        Refusal(set: ["v": .null], definition: "v NOT NULL ON CONFLICT IGNORE"),
        Refusal(set: ["v": .integer(3)], definition: "v UNIQUE ON CONFLICT REPLACE"),
        Refusal(set: ["id": .text("x")], definition: "v"),
        Refusal(set: ["v": .integer(-1)], definition: "v CHECK (v > 0)"),
    ])
    func aBrokenConstraintIsThrownAndLeavesTheStoreAsItWas(_ row: Refusal) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, \(row.definition))", "INSERT INTO t VALUES (1, 2), (2, 3)")
        let writer = try store.writer()
        for change in [
            { _ = try writer.insertObject(entity: "t", values: row.set) },
            {
                _ = try writer.updateObject(
                    ObjectID(entity: "t", key: [.integer(1)]), set: row.set, ifStill: ["v": .integer(2)])
            },
        ] {
            #expect {
                try change()
            } throws: { ($0 as? StoreError)?.kind == .constraint }
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

    @Test func idsOfAnotherEntityOrStoreAreAnErrorThatNamesThem() throws {
        let store = try TemporaryStore("CREATE TABLE t (v)", "CREATE TABLE u (v)", "INSERT INTO t VALUES (1)")
        let other = try TemporaryStore("CREATE TABLE t (v)", "INSERT INTO t VALUES (1)")
        let reader = try store.reader()
        let foreign = try other.reader().fetchObjectIDs(StoreFetchRequest(entity: "t"))
        for entity in ["t", "u"] {
            #expect {
                try reader.count(StoreFetchRequest(entity: entity, predicate: .objectIDs(foreign)))
            } throws: {
                "\($0)".contains("object IDs of t belong to another store, \(foreign[0].storeIdentifier ?? "?")")
            }
        }
        let own = try reader.fetchObjectIDs(StoreFetchRequest(entity: "t"))
        #expect {
            try reader.count(StoreFetchRequest(entity: "u", predicate: .objectIDs(own)))
        } throws: {
            ($0 as? StoreError)?.kind == .unsupported && "\($0)".contains("several entities: t, u")
        }
    }
}
