import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// What a store that keeps its history remembers.
struct HistoryTests {
    let store: TemporaryStore

    init() throws {
        store = try TemporaryStore(
            """
            CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE shelf (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop ON DELETE CASCADE);
            CREATE TABLE tool (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop ON DELETE SET NULL);
            CREATE TABLE price (time INTEGER, metal TEXT);
            CREATE INDEX price_time ON price (time);
            CREATE TABLE note (text TEXT);
            CREATE TRIGGER shop_gone AFTER DELETE ON shop BEGIN INSERT INTO note VALUES (OLD.name); END;
            INSERT INTO shop VALUES (1, 'one'), (2, 'two');
            INSERT INTO shelf VALUES (10, 1), (11, 1), (20, 2);
            INSERT INTO tool VALUES (100, 1);
            """)
    }

    private func writer() throws -> SQLiteWriter {
        let writer = try store.writer()
        writer.author = "test"
        writer.clock = { Instant(unixSeconds: 1_700_000_000) }
        return writer
    }

    private func keeper() throws -> SQLiteWriter {
        let writer = try writer()
        try writer.keepHistory()
        return writer
    }

    private func shop(_ key: Int64) -> ObjectID { ObjectID(entity: "shop", key: [.integer(key)]) }

    /// The history as text: each change as its kind, entity and key, transactions apart.
    private func story(_ reader: some StoreHistory, after token: HistoryToken? = nil) throws -> [String] {
        try reader.history(after: token, limit: 1000).map { transaction in
            transaction.changes.map { "\($0.kind) \($0.objectID.entity) \(HistoryText.key($0.objectID.key))" }
                .joined(separator: ", ")
        }
    }

    @Test func aStoreThatWasNotAskedToKeepsNoHistory() throws {
        let writer = try writer()
        #expect(try writer.currentHistoryToken() == nil)
        try writer.transaction(.normal) { _ = try writer.deleteObject(shop(1), ifStill: [:]) }
        #expect(try store.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'retention%'") == ["0"])
        #expect { try writer.history(after: nil, limit: 1) } throws: { ($0 as? StoreError)?.kind == .unsupported }
        #expect { try writer.deleteHistory(before: .distantFuture) } throws: {
            ($0 as? StoreError)?.kind == .unsupported
        }
    }

    @Test func eachWayToChangeRowsIsOneTransaction() throws {
        let writer = try keeper()
        _ = try writer.insertObject(entity: "shop", values: ["name": .text("three")])
        _ = try writer.insert(entity: "shop", values: ["name": .text("four")], onConflict: .fail)
        _ = try writer.updateObject(shop(3), set: ["name": .text("3")], ifStill: [:])
        try writer.execute(BatchUpdateRequest(entity: "shop", propertiesToUpdate: ["name": .text("x")]))
        _ = try writer.deleteObject(shop(4), ifStill: [:])
        _ = try writer.execute(BatchInsertRequest(entity: "shop", objects: [["id": .integer(7)], ["id": .integer(8)]]))
        _ = try writer.execute(
            BatchUpdateRequest(
                entity: "shop", predicate: .compare("id", .greater, .integer(6)), propertiesToUpdate: ["name": .null]))
        _ = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: "shop", predicate: .objectIDs([shop(7), shop(8)]))))
        #expect(
            try story(writer) == [
                "insert shop 3", "insert shop 4", "update shop 3",
                "update shop 1, update shop 2, update shop 3, update shop 4",
                "delete shop 4, insert note 1", "insert shop 7, insert shop 8", "update shop 7, update shop 8",
                "delete shop 7, insert note 2, delete shop 8, insert note 3",
            ])
        let transactions = try writer.history(after: nil, limit: 1000)
        #expect(transactions.allSatisfy { $0.author == "test" && $0.instant == Instant(unixSeconds: 1_700_000_000) })
        #expect(transactions.map(\.token.transactionNumber) == Array(1...8))
        #expect(try writer.currentHistoryToken() == transactions.last?.token)
    }

    @Test func aTransactionWithSeveralRequestsIsOne() throws {
        let writer = try keeper()
        try writer.transaction(.normal) {
            _ = try writer.insertObject(entity: "price", values: [:])
            _ = try writer.execute(BatchInsertRequest(entity: "price", objects: [[:], [:]]))
        }
        try writer.transaction(.normal) { _ = try writer.count(StoreFetchRequest(entity: "price")) }
        #expect(try story(writer) == ["insert price 1, insert price 2, insert price 3"])
    }

    struct Undone: Error {}

    @Test func whatIsUndoneIsNotRemembered() throws {
        let writer = try keeper()
        #expect(throws: Undone.self) {
            try writer.transaction(.normal) {
                _ = try writer.insertObject(entity: "price", values: [:])
                throw Undone()
            }
        }
        try writer.transaction(.normal) {
            // The nested one makes the first change, and with it the transaction's row.
            #expect(throws: Undone.self) {
                try writer.transaction(.normal) {
                    _ = try writer.deleteObject(shop(1), ifStill: [:])
                    throw Undone()
                }
            }
            try writer.transaction(.normal) { _ = try writer.deleteObject(shop(2), ifStill: [:]) }
            #expect(throws: Undone.self) {
                try writer.transaction(.normal) {
                    _ = try writer.deleteObject(shop(1), ifStill: [:])
                    throw Undone()
                }
            }
        }
        #expect(
            try story(writer).map { $0.split(separator: ", ").sorted() }
                == [["delete shelf 20", "delete shop 2", "insert note 1"]])
        #expect(try writer.currentHistoryToken()?.transactionNumber == 1)
        #expect(try store.rows("SELECT count(*) FROM retention_change WHERE number <> 1") == ["0"])
    }

    @Test func keepingHistoryIsUndoneWithItsTransaction() throws {
        let writer = try writer()
        #expect(throws: Undone.self) {
            try writer.transaction(.normal) {
                try writer.keepHistory()
                _ = try writer.insertObject(entity: "price", values: [:])
                throw Undone()
            }
        }
        _ = try writer.insertObject(entity: "price", values: [:])
        #expect(try writer.currentHistoryToken() == nil)
        try writer.keepHistory()
        try writer.keepHistory()
        _ = try writer.insertObject(entity: "price", values: [:])
        #expect(try story(writer) == ["insert price 2"])
    }

    @Test func aConnectionThatWasOpenBeforeKeepsTheHistoryToo() throws {
        let (early, keeper) = (try writer(), try writer())
        early.author = "early"
        _ = try early.insertObject(entity: "price", values: [:])
        try keeper.keepHistory()
        _ = try early.insertObject(entity: "price", values: [:])
        try early.createEntity(Entity(name: "later", attributes: [Attribute(name: "n", affinity: .integer)]))
        _ = try keeper.insertObject(entity: "later", values: ["n": .integer(1)])
        try keeper.transaction(.normal) {
            try keeper.createEntity(Entity(name: "last", attributes: [Attribute(name: "n", affinity: .integer)]))
            _ = try keeper.insertObject(entity: "last", values: ["n": .integer(1)])
        }
        #expect(try story(keeper) == ["insert price 2", "insert later 1", "insert last 1"])
        #expect(try keeper.history(after: nil, limit: 9).map(\.author) == ["early", "test", "test"])
        try keeper.dropEntity(named: "later")
        _ = try early.insertObject(entity: "price", values: [:])
        #expect(try story(keeper).last == "insert price 3")
    }

    @Test func aStoreWhoseTablesOfTheHistoryAreDroppedIsAStoreLikeAnyOther() throws {
        let writer = try keeper()
        _ = try writer.insertObject(entity: "price", values: [:])
        try store.change("DROP TABLE retention_change; DROP TABLE retention_transaction; DROP TABLE retention_history")
        _ = try writer.insertObject(entity: "price", values: [:])
        #expect(try writer.currentHistoryToken() == nil)
        #expect(try writer.count(StoreFetchRequest(entity: "price")) == 2)
    }

    @Test func theHistoryOfACoreDataStoreIsLeftToCoreData() throws {
        try store.change("CREATE TABLE Z_METADATA (Z_VERSION INTEGER)")
        #expect { try writer().keepHistory() } throws: { error in
            (error as? StoreError)?.message.hasPrefix("refusing to keep a history") == true
        }
        #expect(try store.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'retention%'") == ["0"])
    }

    @Test func aReaderReadsTheHistoryAndChangesNothing() throws {
        let writer = try keeper()
        _ = try writer.insertObject(entity: "price", values: [:])
        let before = try store.bytes()
        let reader = try store.reader()
        #expect(try story(reader) == ["insert price 1"])
        #expect(try reader.currentHistoryToken() == writer.currentHistoryToken())
        _ = try reader.rehearse { try reader.insert(entity: "price", values: [:], onConflict: .fail) }
        #expect(try story(reader) == ["insert price 1"])
        #expect(try store.bytes() == before)
    }

    @Test func aRowThatATriggerReplacesUnderItsKeyIsRemembered() throws {
        try store.change(
            """
            CREATE TABLE latest (metal TEXT PRIMARY KEY, time INTEGER) WITHOUT ROWID;
            CREATE TRIGGER price_gone AFTER DELETE ON price BEGIN REPLACE INTO latest VALUES (OLD.metal, OLD.time); END;
            INSERT INTO latest VALUES ('gold', 1);
            INSERT INTO price VALUES (2, 'gold');
            """)
        let writer = try keeper()
        _ = try writer.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "price")))
        #expect(
            try story(writer).map { $0.split(separator: ", ").sorted() } == [
                ["delete price 1", "insert latest 'gold'"]
            ])
    }

    @Test func aRowThatIsLeftOutLeavesNoTransaction() throws {
        let writer = try keeper()
        let one: [String: StoreValue] = ["id": .integer(1), "name": .text("x")]
        #expect(try writer.insert(entity: "shop", values: one, onConflict: .ignore) == .ignored)
        #expect(throws: StoreError.self) { try writer.insertObject(entity: "shop", values: one) }
        #expect(
            try writer.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "price"))).deletedCount == 0)
        #expect(try store.rows("SELECT count(*) FROM retention_transaction") == ["0"])
        try writer.transaction(.normal) {
            if case .rejected = try writer.insert(entity: "shop", values: one, onConflict: .fail) {
            } else {
                Issue.record("the key is there already")
            }
            _ = try writer.insert(entity: "shop", values: one, onConflict: .replace)
        }
        #expect(try story(writer) == ["update shop 1"])
    }

    @Test func withoutAClockTheTimeIsSQLites() throws {
        let writer = try keeper()
        writer.clock = nil
        _ = try writer.insertObject(entity: "price", values: [:])
        let now = Instant(unixSeconds: Int64(Date().timeIntervalSince1970))
        let instant = try #require(try writer.history(after: nil, limit: 1).first).instant
        #expect(abs(now.since(instant).components.seconds) < 60)
        #expect(instant.microseconds % 1000 == 0)
    }
}

/// Keys for people.
enum HistoryText {
    static func key(_ key: [StoreValue]) -> String {
        key.map { value in
            switch value {
            case .null: "NULL"
            case .integer(let value): "\(value)"
            case .real(let value): "\(value)"
            case .text(let value): "'\(value)'"
            case .blob(let value): "\(value)"
            }
        }.joined(separator: "|")
    }
}
