import GRDB
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Batch insert and update requests.
struct BatchInsertTests {
    private func store() throws -> TemporaryStore {
        try TemporaryStore(
            "CREATE TABLE gold (id INTEGER PRIMARY KEY, at INTEGER UNIQUE, price REAL DEFAULT 1.5, note TEXT, raw BLOB)",
            "CREATE TABLE kept (k TEXT, n INTEGER, v, PRIMARY KEY (n, k)) WITHOUT ROWID")
    }

    @Test func dictionariesOfAnyShapeBecomeRowsAndWhatTheyDoNotNameTakesItsDefault() throws {
        let store = try store()
        let objects: [[String: StoreValue]] = [
            ["at": .integer(1), "price": .real(2.5)], ["at": .integer(2), "price": .null],
            ["AT": .integer(3), "note": .text("")], ["at": .integer(4), "price": .integer(7), "raw": .blob([])],
            [:], ["at": .integer(5), "note": .text("größer \u{1F947}"), "raw": .blob([0, 255])],
        ]
        let writer = try store.writer()
        let result = try writer.execute(
            BatchInsertRequest(entity: "Gold", objects: objects, resultType: .objectIDs))
        #expect(result.insertedCount == 6)
        #expect(
            result.objectIDs
                == (1...6).map {
                    ObjectID(entity: "gold", key: [.integer($0)], storeIdentifier: writer.storeIdentifier)
                })
        #expect(
            try store.rows("SELECT at, price, typeof(price), note, hex(raw), typeof(raw) FROM gold ORDER BY id") == [
                "1|2.5|real|NULL||null", "2|NULL|null|NULL||null", "3|1.5|real|||null", "4|7.0|real|NULL||blob",
                "NULL|1.5|real|NULL||null", "5|1.5|real|größer \u{1F947}|00FF|blob",
            ])
    }

    @Test func aHandlerFillsEmptyRowsUntilItSaysStop() throws {
        let store = try store()
        var number: Int64 = 0
        var wereEmpty = true
        let request = BatchInsertRequest(entity: "gold", resultType: .count) { row in
            wereEmpty = wereEmpty && row.isEmpty
            number += 1
            row["at"] = .integer(number)
            if number == 2 { row["note"] = .text("second") }
            return number > 3 ? .stop : .insert
        }
        #expect(try store.writer().execute(request) == BatchInsertResult(insertedCount: 3))
        #expect(wereEmpty)
        #expect(try store.rows("SELECT at, note FROM gold ORDER BY at") == ["1|NULL", "2|second", "3|NULL"])
    }

    @Test func keysOfTablesWithoutARowidAreToldAsTheyAreStored() throws {
        let store = try store()
        let result = try store.writer().execute(
            BatchInsertRequest(
                entity: "kept", objects: [["k": .text("a"), "n": .text("7")], ["k": .integer(5), "n": .integer(1)]],
                resultType: .objectIDs))
        #expect(result.objectIDs.map(\.key) == [[.integer(7), .text("a")], [.integer(1), .text("5")]])
    }

    @Test(arguments: [BatchResultType.statusOnly, .objectIDs])
    func aKeyThatIsThereFailsTheRequestOrIsIgnoredOrReplaced(_ resultType: BatchResultType) throws {
        let store = try store()
        try store.change("INSERT INTO gold VALUES (10, 2, 20, 'old', NULL)")
        let objects: [[String: StoreValue]] = (1...3).map { ["at": .integer($0), "price": .integer(9)] }
        let writer = try store.writer()
        var request = BatchInsertRequest(entity: "gold", objects: objects, resultType: resultType)
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.kind == .constraint)
        #expect(
            error?.message
                == "row 2 of gold cannot be saved, so none is saved: UNIQUE constraint failed: gold.at")
        #expect(try store.rows("SELECT count(*) FROM gold") == ["1"])
        request.onConflict = .ignore
        let ignoring = try writer.execute(request)
        #expect(ignoring.insertedCount == 2 && ignoring.ignoredCount == 1)
        #expect(try store.rows("SELECT price, note FROM gold WHERE at = 2") == ["20.0|old"])
        request.onConflict = .replace
        let replacing = try writer.execute(request)
        #expect(replacing.insertedCount == 3 && replacing.ignoredCount == 0)
        #expect(replacing.objectIDs.count == (resultType == .objectIDs ? 3 : 0))
        #expect(try store.rows("SELECT id, price, note FROM gold WHERE at = 2") == ["10|9.0|old"])
    }

    @Test func whatTheHandlerThrowsUndoesTheRequest() throws {
        let store = try store()
        struct Broken: Error {}
        var number: Int64 = 0
        let request = BatchInsertRequest(entity: "gold") { row in
            number += 1
            if number == 3 { throw Broken() }
            row["at"] = .integer(number)
            return .insert
        }
        #expect { try store.writer().execute(request) } throws: { "\($0)".contains("row 3 of gold could not be made") }
        let limited = BatchInsertRequest(entity: "gold") { _ in
            throw StoreError(.cancelled, store: "feed", message: "the feed has ended")
        }
        #expect { try store.writer().execute(limited) } throws: { "\($0)".hasPrefix("feed: ") }
        #expect(try store.rows("SELECT count(*) FROM gold") == ["0"])
    }

    @Test func anUnknownAttributeOrAValueOfTheWrongKindIsRefusedWithItsRow() throws {
        let store = try store()
        let writer = try store.writer()
        for (object, kind): ([String: StoreValue], StoreError.Kind) in [
            (["karat": .integer(24)], .unknownName), (["id": .text("x")], .constraint),
        ] {
            #expect {
                try writer.execute(BatchInsertRequest(entity: "gold", objects: [["at": .integer(1)], object]))
            } throws: { ($0 as? StoreError)?.kind == kind }
        }
        #expect(try store.rows("SELECT count(*) FROM gold") == ["0"])
    }

    @Test func aRequestInsideATransactionSharesItsFate() throws {
        let store = try store()
        let writer = try store.writer()
        struct Undo: Error {}
        #expect(throws: Undo.self) {
            try writer.transaction(.normal) {
                _ = try writer.execute(BatchInsertRequest(entity: "gold", objects: [["at": .integer(1)]]))
                throw Undo()
            }
        }
        #expect(try store.rows("SELECT count(*) FROM gold") == ["0"])
    }

    // MARK: Updates

    @Test(arguments: [BatchResultType.statusOnly, .count, .objectIDs])
    func anUpdateSetsThePropertiesOfTheRowsThatThePredicateNames(_ resultType: BatchResultType) throws {
        let store = try store()
        try store.change("INSERT INTO gold (id, at, note) VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, NULL)")
        let writer = try store.writer()
        let result = try writer.execute(
            BatchUpdateRequest(
                entity: "gold", predicate: .compare("at", .greater, .integer(1)),
                propertiesToUpdate: ["price": .integer(4), "note": .null], resultType: resultType))
        #expect(result.updatedCount == 2)
        #expect(result.objectIDs.map(\.key) == (resultType == .objectIDs ? [[.integer(2)], [.integer(3)]] : []))
        #expect(try store.rows("SELECT price, note FROM gold ORDER BY id") == ["1.5|a", "4.0|NULL", "4.0|NULL"])
    }

    @Test func anUpdateOfAKeyTellsTheNewIDs() throws {
        let store = try store()
        try store.change("INSERT INTO kept VALUES ('a', 1, 0), ('b', 1, 0)")
        let result = try store.writer().execute(
            BatchUpdateRequest(
                entity: "kept", propertiesToUpdate: ["n": .integer(2)], resultType: .objectIDs))
        #expect(Set(result.objectIDs.map(\.key)) == [[.integer(2), .text("a")], [.integer(2), .text("b")]])
    }

    @Test func anUpdateThatBreaksAConstraintInMidRequestLeavesNothingBehind() throws {
        let store = try store()
        try store.change {
            try $0.execute(sql: "INSERT INTO gold (id, at) VALUES (1, 1), (2, 2), (3, 3)")
            try $0.execute(
                sql: "CREATE TRIGGER stay AFTER UPDATE ON gold BEGIN SELECT RAISE(FAIL, 'no') WHERE OLD.id = 3; END")
        }
        let writer = try store.writer()
        for properties: [String: StoreValue] in [["at": .integer(9)], ["price": .integer(0)]] {
            #expect {
                try writer.execute(BatchUpdateRequest(entity: "gold", propertiesToUpdate: properties))
            } throws: { ($0 as? StoreError)?.kind == .constraint }
        }
        #expect(try store.rows("SELECT at, price FROM gold ORDER BY id") == ["1|1.5", "2|1.5", "3|1.5"])
        #expect(
            try writer.execute(
                BatchUpdateRequest(
                    entity: "gold", predicate: .objectIDs([]), propertiesToUpdate: ["price": .integer(0)])
            ).updatedCount == 0)
        #expect {
            try writer.execute(BatchUpdateRequest(entity: "gold", propertiesToUpdate: [:]))
        } throws: { ($0 as? StoreError)?.kind == .unsupported }
    }
}
