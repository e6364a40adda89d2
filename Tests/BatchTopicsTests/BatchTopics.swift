import Foundation
import SQLiteStore
import Testing

/// The worked topics of Core Data's articles on batch deletes, in their order. Each is done with the library alone, from
/// setting the store up to looking at what is left.
@Suite(.serialized)
struct BatchTopics {
    private let folder: Folder
    private let context: StoreContext
    private let doneItems = StoreFetchRequest(entity: "Item", predicate: Attribute("done") == true)

    /// A folder that goes when the test ends.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "topics-\(UUID().uuidString)").path
        var store: String { path + "/store.sqlite" }

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// A list of 10 items, 2 of them done, and 60 gold prices, one a day from 1 January 2025.
    init() throws {
        folder = try Folder()
        let writer = try SQLiteWriter(path: folder.store, create: true)
        let id = Attribute(name: "id", affinity: .integer)
        try writer.createEntity(
            Entity(
                name: "List", attributes: [id, Attribute(name: "name", affinity: .text)], primaryKey: ["id"]))
        try writer.createEntity(
            Entity(
                name: "Item",
                attributes: [
                    id, Attribute(name: "name", affinity: .text, isRequired: true),
                    Attribute(name: "done", affinity: .integer, isRequired: true, defaultValue: false),
                    Attribute(name: "list", affinity: .integer),
                ], primaryKey: ["id"],
                relationships: [Relationship(from: "Item", "list", to: "List", "id", deleteRule: .cascade)]))
        try writer.createEntity(
            Entity(
                name: "Note", attributes: [id, Attribute(name: "item", affinity: .integer)], primaryKey: ["id"],
                relationships: [Relationship(from: "Note", "item", to: "Item", "id", deleteRule: .nullify)]))
        try writer.createEntity(
            Entity(
                name: "GoldPrice",
                attributes: [
                    Attribute(name: "time", affinity: .integer, isRequired: true),
                    Attribute(name: "dollars", affinity: .real),
                ]))
        try writer.createIndex(on: "GoldPrice", attributes: ["time"])
        context = StoreContext(writer)
        try context.execute(BatchInsertRequest(entity: "List", objects: [["id": 1, "name": "today"]]))
        try context.execute(
            BatchInsertRequest(
                entity: "Item",
                objects: (1...10).map {
                    ["id": StoreValue($0), "name": "item \($0)", "done": StoreValue($0 <= 2), "list": 1]
                }))
        try context.execute(
            BatchInsertRequest(
                entity: "GoldPrice",
                objects: (0..<60).map { ["time": StoreValue(1_735_689_600 + $0 * 86_400), "dollars": 2600.5] }))
    }

    private func items(_ predicate: StorePredicate = .all) throws -> [ManagedObject] {
        try context.fetch(StoreFetchRequest(entity: "Item", predicate: predicate))
    }

    private func count(_ entity: String) throws -> Int { try context.count(StoreFetchRequest(entity: entity)) }

    @Test func topic01AllRowsOfAnEntityAreDeleted() throws {
        let result = try context.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "GoldPrice")))
        #expect(result.deletedCount == 60)
        #expect(try count("GoldPrice") == 0 && count("Item") == 10)
    }

    @Test func topic02RowsOfAPredicateAreDeleted() throws {
        try context.execute(BatchDeleteRequest(fetchRequest: doneItems))
        #expect(try items().map { try $0.integer(for: "id") } == Array(3...10))
    }

    @Test func topic03WithoutASaveTheRequestDoesNotSeeWhatWasMarked() throws {
        for item in try items().suffix(3) { try item.setValue(true, for: "done") }
        let request = BatchDeleteRequest(fetchRequest: doneItems)
        #expect(throws: StoreError.self) { try context.execute(request) }
        #expect(try context.execute(request, allowingUnsavedChanges: true).deletedCount == 2)
        try context.save()
        #expect(try context.execute(request).deletedCount == 3)
        #expect(try count("Item") == 5)
    }

    @Test func topic04TheResultTypeSaysWhatTheResultTells() throws {
        func result(_ type: BatchResultType) throws -> BatchDeleteResult {
            let ten = StoreFetchRequest(
                entity: "GoldPrice", sortDescriptors: [StoreSortDescriptor("time")], fetchLimit: 10)
            return try context.execute(BatchDeleteRequest(fetchRequest: ten, resultType: type))
        }
        #expect(try result(.statusOnly).objectIDs.isEmpty)
        let counted = try result(.count)
        #expect(counted.deletedCount == 10 && counted.objectIDs.isEmpty)
        let listed = try result(.objectIDs)
        #expect(listed.objectIDs.map(\.key) == (21...30).map { [StoreValue($0)] })
    }

    @Test func topic05RowsAreDeletedByTheirObjectIDs() throws {
        let ids = try context.fetchObjectIDs(doneItems)
        #expect(try context.execute(BatchDeleteRequest(objectIDs: ids)).deletedCount == 2)
        // They are gone already.
        #expect(try context.execute(BatchDeleteRequest(objectIDs: ids)).deletedCount == 0)
        let prices = try context.fetchObjectIDs(StoreFetchRequest(entity: "GoldPrice"))
        #expect { try context.execute(BatchDeleteRequest(objectIDs: ids + prices)) } throws: {
            "\($0)".contains("GoldPrice, Item")
        }
    }

    @Test func topic06ObjectsInMemoryLearnOfTheDeletesByAMerge() throws {
        let viewContext = StoreContext(try SQLiteWriter(path: folder.store))
        let (mine, shown) = (try items(), try viewContext.fetch(StoreFetchRequest(entity: "Item")))
        let result = try context.execute(BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs))
        // Nobody has told the objects.
        #expect(try mine[0].text(for: "name") == "item 1" && !shown[0].isDeleted)
        let changes = ChangeSet(deleted: result.objectIDs)
        try StoreContext.mergeChanges(fromRemoteContextSave: changes, into: [context, viewContext])
        #expect(mine[0].isDeleted && shown[0].isDeleted && !mine[2].isDeleted && !shown[2].isDeleted)
        #expect(throws: ManagedObjectError.self) { try mine[0].text(for: "name") }
        // One call does both.
        let rest = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "Item"))
        try context.executeAndMergeChanges(using: rest, into: [viewContext])
        #expect(mine.allSatisfy(\.isDeleted) && shown.allSatisfy(\.isDeleted))
    }

    @Test func topic07DeleteRulesApply() throws {
        try context.execute(
            BatchInsertRequest(entity: "Note", objects: [["id": 1, "item": 1], ["id": 2, "item": 3]]))
        let first = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "Item", predicate: Attribute("id") == 1))
        #expect(try context.execute(first).nullifiedCount == 1)
        var lists = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "List"))
        lists.relationships = .deny
        #expect { try context.execute(lists) } throws: { "\($0)".contains("Item") }
        lists.relationships = .asDeclared
        let result = try context.execute(lists)
        #expect(result.deletedCount == 1 && result.cascadedCount == 9)
        #expect(try count("Item") == 0)
        #expect(try context.count(StoreFetchRequest(entity: "Note", predicate: .isNull("item"))) == 2)
    }

    @Test func topic08TheHistoryTellsOtherProgramsOfTheDeletes() throws {
        let writer = try SQLiteWriter(path: folder.store)
        try writer.keepHistory()
        let other = StoreContext(writer)
        let token = try other.currentHistoryToken()
        let shown = try other.fetch(StoreFetchRequest(entity: "Item"))
        try context.execute(BatchDeleteRequest(fetchRequest: doneItems))
        try StoreContext.merge(history: other.history(after: token), into: [other])
        #expect(shown.filter(\.isDeleted).count == 2)
    }

    @Test func topic09RowsAreInsertedWithoutObjects() throws {
        var day = 60
        let request = BatchInsertRequest(entity: "GoldPrice") { row in
            guard day < 1060 else { return .stop }
            row["time"] = StoreValue(1_735_689_600 + day * 86_400)
            day += 1
            return .insert
        }
        #expect(try context.execute(request).insertedCount == 1000)
        #expect(try count("GoldPrice") == 1060)
    }

    @Test func topic10TheClassicWayDeletesTheSameRowsAsABatchRequest() throws {
        for item in try context.fetch(doneItems) { try context.delete(item) }
        let changes = try context.save()
        try context.execute(
            BatchInsertRequest(
                entity: "Item", objects: (1...2).map { ["id": StoreValue($0), "name": "again", "done": true] }))
        let result = try context.execute(BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs))
        #expect(Set(result.objectIDs) == Set(changes.deleted))
    }

    @Test func topic11GoldPricesOlderThanAMonthGoAndTheRestIsFetched() throws {
        let march = try #require(Instant(iso8601: "2025-03-01"))
        let month = 28 * 86_400.0
        let old = StoreFetchRequest(
            entity: "GoldPrice", predicate: .date("time", .unixSeconds, before: Date(march) - month))
        let held = try context.fetch(StoreFetchRequest(entity: "GoldPrice"))
        let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: old))
        #expect(result.deletedCount == 31 && held.filter(\.isDeleted).count == 31)
        let rest = try context.fetch(
            StoreFetchRequest(entity: "GoldPrice", sortDescriptors: [StoreSortDescriptor("time")]))
        #expect(rest.count == 29)
        #expect(try rest[0].instant(for: "time", encoding: .unixSeconds) == Instant(iso8601: "2025-02-01"))
    }
}
