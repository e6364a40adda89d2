import SQLiteStore
import Testing

/// What errors say of a change that a foreign key or a type refuses.
struct RefusedReferenceTests {
    let store: ContextStore
    private let writer: SQLiteWriter
    private let context: StoreContext

    init() throws {
        store = try ContextStore()
        try store.change("INSERT INTO shop VALUES (1, 'a'), (2, 'b'); INSERT INTO debt VALUES (1, 2)")
        writer = try store.writer()
        context = StoreContext(writer)
    }

    private func message(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            #expect((error as? StoreError)?.kind == .constraint)
            return (error as? StoreError)?.message
        }
    }

    @Test func aMissingRowIsNamedWithBothTables() throws {
        let reason = "debt (shop) refers to a row of shop that does not exist"
        let debt: [String: StoreValue] = ["shop": 3]
        #expect(
            message { _ = try writer.insertObject(entity: "debt", values: debt) }
                == "a row of debt cannot be saved: \(reason)")
        #expect(try writer.insert(entity: "debt", values: debt, onConflict: .fail) == .rejected(reason))
        #expect(
            message { try writer.execute(BatchInsertRequest(entity: "debt", objects: [["shop": 1], debt])) }
                == "row 2 of debt cannot be saved, so none is saved: \(reason)")
        let update = BatchUpdateRequest(entity: "debt", propertiesToUpdate: ["SHOP": 3])
        #expect(message { try writer.execute(update) } == "a row of debt cannot be saved: \(reason)")
        let id = ObjectID(entity: "debt", key: [1])
        #expect(
            message { _ = try writer.updateObject(id, set: debt, ifStill: [:]) }
                == "a row of debt cannot be saved: \(reason)")
    }

    @Test func rowsThatReferAreNamedWithBothTables() throws {
        let said =
            "rows of shop that would be deleted are referenced by rows of debt (shop), so the transaction is rolled back"
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop"))
        #expect(message { try writer.execute(all) } == said)
        let ids = try context.fetchObjectIDs(StoreFetchRequest(entity: "shop"))
        #expect(message { _ = try writer.deleteObject(ids[1], ifStill: [:]) } == said)
        #expect(try writer.deleteObject(ids[0], ifStill: [:]))
        #expect(try store.column("SELECT id FROM shop") == ["2"])
    }

    @Test func aKeyOfAnotherTypeIsNamed() throws {
        #expect(
            message { _ = try writer.insertObject(entity: "shop", values: ["id": "three", "name": "c"]) }
                == "a row of shop cannot be saved: its key id must be an integer, not text")
    }
}
