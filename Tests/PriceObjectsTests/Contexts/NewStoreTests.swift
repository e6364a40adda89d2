import Foundation
import SQLiteStore
import Testing

/// Stores that a program makes: in memory, in a temporary file, and in a new file.
struct NewStoreTests {
    private func makeItems(_ writer: SQLiteWriter) throws {
        try writer.createEntity(
            Entity(
                name: "item",
                attributes: [
                    Attribute(name: "id", affinity: .integer), Attribute(name: "name", affinity: .text),
                ], primaryKey: ["id"]))
    }

    @Test func aStoreInMemoryHasSeveralContexts() throws {
        let writer = try SQLiteWriter.inMemory()
        try makeItems(writer)
        let (one, other) = (StoreContext(writer), StoreContext(writer))
        let item = one.insert(entity: "item", values: ["name": "a"])
        let changes = try one.save()
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [other])
        let same = try other.fetch(StoreFetchRequest(entity: "item"))[0]
        try same.setValue("b", for: "name")
        try other.save()
        try item.setValue("c", for: "name")
        #expect(try one.save().updated.count == 1)
        try same.setValue("d", for: "name")
        try item.setValue("e", for: "name")
        try one.save()
        #expect(throws: MergeConflictError.self) { try other.save() }
        #expect(try SQLiteWriter.inMemory().storeIdentifier != writer.storeIdentifier)
    }

    @Test func aStoreInMemoryKeepsItsHistoryAndDeletesInBatches() throws {
        let writer = try SQLiteWriter.inMemory()
        try makeItems(writer)
        try writer.keepHistory()
        let context = StoreContext(writer)
        let token = try context.currentHistoryToken()
        try context.execute(BatchInsertRequest(entity: "item", objects: [["name": "a"], ["name": "b"], ["name": "c"]]))
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "item"))
        #expect(try context.execute(all, inBatchesOf: 2).deletedCount == 3)
        #expect(try context.history(after: token).flatMap(\.changes).count == 6)
        _ = try writer.reclaim(ReclaimRequest(mode: .vacuum))
    }

    @Test func aTemporaryStoreIsRemovedWithItsWriter() async throws {
        func use() async throws -> String {
            let writer = try SQLiteWriter.temporary()
            try makeItems(writer)
            let path = writer.name
            let actor = try await StoreActor { try SQLiteWriter(path: path) }
            try await actor.perform { context in
                context.insert(entity: "item", values: ["name": "a"])
                try context.save()
            }
            #expect(try writer.count(StoreFetchRequest(entity: "item")) == 1)
            return path
        }
        let path = try await use()
        let left = ["", "-wal", "-shm"].filter { FileManager.default.fileExists(atPath: path + $0) }
        #expect(left.isEmpty)
    }

    @Test(arguments: [":memory:", ""]) func aPathNamesAFile(_ path: String) throws {
        let error = #expect(throws: StoreError.self) { try SQLiteWriter(path: path, create: true) }
        #expect(error?.hint?.contains("SQLiteWriter.inMemory()") == true)
    }

    @Test func aNewStoreHasAWALUnlessAnotherJournalIsAskedFor() throws {
        func mode(_ writer: SQLiteWriter) throws -> StoreValue {
            try writer.query("SELECT journal_mode FROM pragma_journal_mode", [])[0][0]
        }
        #expect(try mode(.temporary()) == "wal")
        #expect(try mode(.temporary(journal: .rollback)) == "delete")
        let old = try SQLiteWriter.temporary(journal: .rollback)
        try makeItems(old)
        #expect(try mode(SQLiteWriter(path: old.name, create: true)) == "delete")
        let new = try SQLiteWriter.temporary()
        try makeItems(new)
        #expect(try mode(SQLiteWriter(path: new.name, journal: .rollback)) == "wal")
        let permissions = try FileManager.default.attributesOfItem(atPath: new.name)[.posixPermissions]
        #expect(permissions as? Int == 0o640)
    }
}
