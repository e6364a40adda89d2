import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// The samples of the article History.
struct HistoryArticleTests {
    let store: ContextStore
    let writer: SQLiteWriter

    init() throws {
        store = try ContextStore()
        try store.addItems(4)
        writer = try SQLiteWriter(path: store.path)
        try writer.keepHistory()
    }

    /// Another program, with its own context.
    private func change(_ body: (StoreContext) throws -> Void) throws {
        let other = try store.context()
        try body(other)
        try other.save()
    }

    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() throws {
        let writer = try SQLiteWriter.temporary()
        try writer.createEntity(
            Entity(
                name: "item",
                attributes: [Attribute(name: "id", affinity: .integer), Attribute(name: "name", affinity: .text)],
                primaryKey: ["id"]))
        try writer.keepHistory()
        #expect(try writer.currentHistoryToken() != nil)
        let context = StoreContext(writer)
        context.insert(entity: "item", values: ["name": "a"])
        try context.save()
        var token = try context.currentHistoryToken()
        let items = try context.fetch(StoreFetchRequest(entity: "item"))
        #expect(items.count == 1 && token != nil)
        let other = try SQLiteWriter(path: writer.name)
        try other.execute(BatchUpdateRequest(entity: "item", propertiesToUpdate: ["name": "renamed"]))
        while true {
            let history = try context.history(after: token)
            guard let last = history.last else { break }
            try StoreContext.merge(history: history, into: [context])
            token = last.token
        }
        for item in items where !item.isDeleted { print(try item.value(for: "name")) }
        #expect(try items.map { try $0["name"] } == ["renamed"])
        let place = try context.currentHistoryToken()
        let text = place?.description ?? ""
        let placeAfterRestart = HistoryToken(text)
        print(placeAfterRestart == place)
        #expect(place != nil)
        if let october = Instant(iso8601: "2026-10-01") {
            let count = try writer.deleteHistory(before: october)
            print("\(count) transactions deleted")
        }
        var known = try context.currentHistoryToken()
        do {
            let history = try context.history(after: known)
            try StoreContext.merge(history: history, into: [context])
            known = history.last?.token ?? known
        } catch let error as StoreError where error.kind == .historyMissing {
            context.reset()
            known = try context.currentHistoryToken()
        }
        #expect(known == place)
    }

    @Test func aStoreKeepsItsHistoryFromOneCallOn() throws {
        let other = try ContextStore()
        try other.addItems(1)
        let writer = try SQLiteWriter(path: other.path)
        #expect(try writer.currentHistoryToken() == nil)
        try writer.keepHistory()
        #expect(try writer.currentHistoryToken() != nil)
    }

    @Test func aContextFollowsTheHistory() throws {
        let context = try store.context()
        var token = try context.currentHistoryToken()
        let items = try context.fetch(StoreFetchRequest(entity: "item"))
        try change { other in
            try other.delete(other.item(2))
            try other.item(3).setValue("renamed", for: "name")
        }
        while true {
            let history = try context.history(after: token)
            guard let last = history.last else { break }
            try StoreContext.merge(history: history, into: [context])
            token = last.token
        }
        for item in items where !item.isDeleted { print(try item.value(for: "name")) }
        #expect(items.map(\.isDeleted) == [false, true, false, false])
        #expect(try items[2].value(for: "name", as: String.self) == "renamed")
    }

    @Test func aTokenIsKeptAsText() throws {
        let context = try store.context()
        let place = try context.currentHistoryToken()
        let text = place?.description ?? ""
        let placeAfterRestart = HistoryToken(text)
        print(placeAfterRestart == place)
        #expect(place != nil && placeAfterRestart == place)
    }

    @Test func oldHistoryIsDeletedAndMissed() throws {
        let context = try store.context()
        let items = try context.fetch(StoreFetchRequest(entity: "item"))
        let old = try context.currentHistoryToken()
        writer.clock = { Instant(unixSeconds: 1_700_000_000) }
        for name in ["a", "b"] {
            _ = try writer.updateObject(
                ObjectID(entity: "item", key: [.integer(1)]), set: ["name": .text(name)], ifStill: [:])
        }
        if let october = Instant(iso8601: "2026-10-01") {
            let count = try writer.deleteHistory(before: october)
            print("\(count) transactions deleted")
        }
        #expect { try context.history(after: old) } throws: { ($0 as? StoreError)?.kind == .historyMissing }
        #expect(items.count == 4)
    }

    @Test func aContextThatMissedSomethingBeginsAnew() throws {
        let context = try store.context()
        let items = try context.fetch(StoreFetchRequest(entity: "item"))
        var place = try context.currentHistoryToken()
        do {
            let history = try context.history(after: place)
            try StoreContext.merge(history: history, into: [context])
            place = history.last?.token ?? place
        } catch let error as StoreError where error.kind == .historyMissing {
            context.reset()
            place = try context.currentHistoryToken()
        }
        #expect(place == (try context.currentHistoryToken()) && items.count == 4)
    }
}
