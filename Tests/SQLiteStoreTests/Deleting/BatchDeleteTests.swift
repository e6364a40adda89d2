import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Batch delete requests as a program makes them.
struct BatchDeleteTests {
    /// Six rows with `v` 1…6 in a table of each kind of key; none has its keys in the order of `v`.
    static let tables = [
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, v);
        INSERT INTO t VALUES (6, 1), (5, 2), (4, 3), (3, 4), (2, 5), (1, 6);
        """,
        "CREATE TABLE t (v); INSERT INTO t VALUES (6), (5), (4), (3), (2), (1)",
        """
        CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
        INSERT INTO t VALUES ('f', 1), ('e', 2), ('d', 3), ('c', 4), ('b', 5), ('a', 6);
        """,
        """
        CREATE TABLE t (n INTEGER, k TEXT, v, PRIMARY KEY (k, n)) WITHOUT ROWID;
        INSERT INTO t VALUES (1, 'b', 1), (2, 'b', 2), (3, 'a', 3), (3, 'b', 4), (2, 'a', 5), (1, 'a', 6);
        """,
    ]

    @Test(arguments: tables, [BatchResultType.count, .objectIDs])
    func limitOffsetAndOrderAreObeyedByTheDelete(_ table: String, _ resultType: BatchResultType) throws {
        let store = try TemporaryStore(table)
        let writer = try store.writer()
        var fetch = StoreFetchRequest(
            entity: "t", predicate: .compare("v", .greater, .integer(1)), sortDescriptors: [StoreSortDescriptor("v")],
            fetchLimit: 2, fetchOffset: 1)
        let ids = try writer.fetchObjectIDs(fetch)
        let result = try writer.execute(BatchDeleteRequest(fetchRequest: fetch, resultType: resultType))
        #expect(result.deletedCount == 2)
        #expect(Set(result.objectIDs) == (resultType == .objectIDs ? Set(ids) : []))
        #expect(try store.rows("SELECT v FROM t ORDER BY v") == ["1", "2", "5", "6"])
        fetch = StoreFetchRequest(
            entity: "t", sortDescriptors: [StoreSortDescriptor("v", ascending: false)], fetchOffset: 3)
        #expect(try writer.execute(BatchDeleteRequest(fetchRequest: fetch)).deletedCount == 1)
        #expect(try store.rows("SELECT v FROM t ORDER BY v") == ["2", "5", "6"])
    }

    @Test(arguments: tables) func rowsGoByTheirIDsAndThoseThatAreGoneDoNotMatter(_ table: String) throws {
        let store = try TemporaryStore(table)
        let writer = try store.writer()
        let ids = try writer.fetchObjectIDs(
            StoreFetchRequest(entity: "t", predicate: .isIn("v", [.integer(2), .integer(4), .integer(5)])))
        #expect(try writer.deleteObject(ids[0], ifStill: [:]))
        let result = try writer.execute(BatchDeleteRequest(objectIDs: ids + ids, resultType: .objectIDs))
        #expect(result.deletedCount == 2)
        #expect(Set(result.objectIDs) == Set(ids[1...]))
        #expect(try store.rows("SELECT v FROM t ORDER BY v") == ["1", "3", "6"])
    }

    @Test func noIDsDeleteNothingAndIDsOfSeveralEntitiesOrAnotherStoreAreAnError() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (v)", "CREATE TABLE u (v)", "INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (1)")
        let other = try TemporaryStore("CREATE TABLE t (v)", "INSERT INTO t VALUES (1)")
        let writer = try store.writer()
        #expect(try writer.execute(BatchDeleteRequest(objectIDs: [])) == BatchDeleteResult(deletedCount: 0))
        let (t, u) = (
            try writer.fetchObjectIDs(StoreFetchRequest(entity: "t")),
            try writer.fetchObjectIDs(StoreFetchRequest(entity: "u"))
        )
        let foreign = try other.reader().fetchObjectIDs(StoreFetchRequest(entity: "t"))
        let wide = ObjectID(entity: "t", key: [.integer(1), .integer(2)])
        for (ids, words) in [
            (t + u, "several entities: t, u"),
            (t + foreign, "object IDs of t belong to another store, \(foreign[0].storeIdentifier ?? "?")"),
            (t + [wide], "an object ID of t does not have the 1 values of its key"),
        ] {
            let fetch = StoreFetchRequest(entity: "t", predicate: .objectIDs(ids))
            for work in [
                { _ = try writer.execute(BatchDeleteRequest(objectIDs: ids)) }, { _ = try writer.count(fetch) },
            ] {
                let error = #expect(throws: StoreError.self) { try work() }
                #expect(error?.message.contains(words) == true, "\(error as Any)")
            }
        }
        #expect(try store.rows("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == ["1|1"])
    }

    @Test func rowsWithoutAKeyHaveNoIDs() throws {
        let store = try TemporaryStore("CREATE TABLE t (rowid, _rowid_, oid)", "INSERT INTO t VALUES (1, 1, 1)")
        let id = ObjectID(entity: "t", key: [.integer(1)])
        let error = #expect(throws: StoreError.self) {
            try store.writer().execute(BatchDeleteRequest(objectIDs: [id]))
        }
        #expect(error?.kind == .unsupported)
        let reading = #expect(throws: StoreError.self) {
            try store.reader().count(StoreFetchRequest(entity: "t", predicate: .objectIDs([id])))
        }
        #expect(reading?.message == error?.message)
        #expect(try store.rows("SELECT count(*) FROM t") == ["1"])
    }

    @Test func aDeletionThatTheSurveyRefusesIsNotBegun() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER); CREATE VIEW v AS SELECT * FROM t")
        let error = #expect(throws: StoreError.self) {
            try store.writer().deletion(of: .rows(of: "v"))
        }
        #expect(error?.kind == .unsupported && error?.message == "v is a view: name the table that holds its rows")
    }

    /// The first rows by name, of those before a date.
    @Test func rowsGoInTheOrderOfAnotherAttributeThanTheDate() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, name TEXT); CREATE INDEX t_at ON t (at)",
            "INSERT INTO t VALUES (1, 10, 'c'), (2, 20, 'a'), (3, 30, 'b'), (4, 9000, 'a')")
        let fetch = StoreFetchRequest(
            entity: "t", predicate: .date(DateRange(OneLookTests.date, before: Instant(unixSeconds: 1000))),
            sortDescriptors: [StoreSortDescriptor("name")], fetchLimit: 2)
        let result = try store.writer().execute(BatchDeleteRequest(fetchRequest: fetch, resultType: .count))
        #expect(result.deletedCount == 2)
        #expect(try store.rows("SELECT id FROM t") == ["1", "4"])
    }

    @Test(arguments: [BatchResultType.statusOnly, .objectIDs])
    func anErrorInMidRequestLeavesNothingOfItBehind(_ resultType: BatchResultType) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, t REFERENCES t ON DELETE CASCADE)",
            "CREATE TABLE audit (id)", "INSERT INTO t VALUES (1), (2), (3)", "INSERT INTO c VALUES (1, 1), (2, 3)",
            """
            CREATE TRIGGER watch AFTER DELETE ON t BEGIN
                INSERT INTO audit VALUES (OLD.id); SELECT RAISE(FAIL, 'row 3 stays') WHERE OLD.id = 3;
            END
            """)
        let writer = try store.writer()
        let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "t"), resultType: resultType)
        #expect {
            try writer.execute(request)
        } throws: { ($0 as? StoreError)?.kind == .constraint && "\($0)".contains("row 3 stays") }
        #expect(
            try store.rows("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM c), (SELECT count(*) FROM audit)")
                == ["3|2|0"])
        // What was undone is not counted by the next request.
        var fetch = StoreFetchRequest(entity: "t", predicate: .compare("id", .less, .integer(3)))
        fetch.sortDescriptors = [StoreSortDescriptor("id")]
        let result = try writer.execute(BatchDeleteRequest(fetchRequest: fetch, resultType: resultType))
        #expect(result.deletedCount == 2 && result.cascadedCount == 1)
    }

    @Test(arguments: [true, false], [true, false])
    func requestsInATransactionThatIsUndoneLeaveTheNextOnesTheirCounts(
        hasBegunBefore: Bool, endsUnfinished: Bool
    ) throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, t REFERENCES t ON DELETE CASCADE)",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO c VALUES (1, 1), (2, 1), (3, 3)")
        let writer = try store.writer()
        let one = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: "t", predicate: .compare("id", .equal, .integer(2))))
        var windows = DeleteWork(fetchRequest: StoreFetchRequest(entity: "t", fetchLimit: 1), method: .windows)
        if hasBegunBefore {
            windows.continuation = try writer.execute(windows).continuation
        } else {
            windows.continuation = BatchContinuation(position: [.integer(1)])
        }
        struct Undo: Error {}
        for _ in 1...3 {
            #expect(throws: Undo.self) {
                try writer.transaction(.normal) {
                    _ = try writer.execute(one)
                    if endsUnfinished { _ = try writer.execute(windows) }
                    throw Undo()
                }
            }
        }
        #expect(try writer.execute(windows).cascadedCount == 0)
        windows.continuation = nil
        let first = try writer.execute(windows)
        #expect(first.deletedCount == 1 && first.cascadedCount == (hasBegunBefore ? 1 : 2))
        #expect(try store.rows("SELECT id FROM c") == (hasBegunBefore ? [] : ["3"]))
    }
}
