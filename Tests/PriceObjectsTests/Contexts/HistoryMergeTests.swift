import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Contexts that are kept true by the store's history.
struct HistoryMergeTests {
    let store: ContextStore

    init() throws {
        store = try ContextStore()
        try store.addItems(6)
        try store.writer().keepHistory()
    }

    /// All that is behind a place, merged; the place behind it.
    @discardableResult
    private func catchUp(
        _ contexts: StoreContext..., after token: HistoryToken?, limit: Int = 100
    ) throws -> HistoryToken? {
        var token = token
        while true {
            let history = try contexts[0].history(after: token, limit: limit)
            guard let last = history.last else { return token }
            try StoreContext.merge(history: history, into: contexts)
            token = last.token
        }
    }

    @Test func twoContextsAreKeptTrue() throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let held = try other.all("item")
        var told: [ObjectsDidChange] = []
        let observation = other.observeChanges { told.append($0) }
        defer { observation.cancel() }

        try one.item(1).setValue("renamed", for: "name")
        try one.delete(one.item(2))
        one.insert(entity: "item", values: ["name": "new"])
        try one.save()
        _ = try one.execute(
            BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: "item", predicate: Attribute("id") == 3)))
        #expect(held.allSatisfy { !$0.isDeleted })
        try catchUp(other, after: token)

        #expect(held.map(\.isDeleted) == [false, true, true, false, false, false])
        #expect(try held[0].value(for: "name", as: String.self) == "renamed")
        #expect(told.map(\.cause) == [.merge])
        #expect(told.first?.inserted.map(\.key) == [[.integer(7)]])
        #expect(told.first?.deleted.map(\.key) == [[.integer(2)], [.integer(3)]])
        #expect(told.first?.updated.map(\.key) == [[.integer(1)]])
    }

    @Test func rowsThatACascadeTookAreDeleted() throws {
        try store.change(
            "INSERT INTO shop VALUES (1, 'a'); INSERT INTO shelf VALUES (5, 1), (6, 1); INSERT INTO tool VALUES (9, 1, 'saw')"
        )
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let (shelves, tools) = (try other.all("shelf"), try other.all("tool"))
        try tools[0].setValue("axe", for: "name")
        _ = try one.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop")))
        try catchUp(other, after: token)
        #expect(shelves.map(\.isDeleted) == [true, true])
        // The tool lost its shop and keeps what was not saved.
        #expect(try tools[0].value(for: "shop") == .null)
        #expect(try tools[0].value(for: "name", as: String.self) == "axe")
        try other.save()
        #expect(try store.column("SELECT name FROM tool") == ["axe"])
    }

    @Test(arguments: [1, 2, 100]) func portionsComeToTheSame(limit: Int) throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let held = try other.all("item")
        for key in 1...5 as ClosedRange<Int64> {
            try one.item(key).setValue(.text("new \(key)"), for: "name")
            try one.save()
            if key % 2 == 0 {
                try one.delete(one.item(key))
                try one.save()
            }
        }
        let end = try catchUp(one, other, after: token, limit: limit)
        #expect(end == (try one.currentHistoryToken()))
        #expect(held.map(\.isDeleted) == [false, true, false, true, false, false])
        #expect(
            try held.filter { !$0.isDeleted }.map { try $0.value(for: "name", as: String.self) } == [
                "new 1", "new 3", "new 5", "6",
            ])
    }

    @Test func theSameHistoryCanBeMergedAgain() throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let held = try other.all("item")
        try one.delete(one.item(1))
        try one.save()
        one.insert(entity: "item", values: ["id": 1, "name": "another"])
        try one.save()
        try catchUp(other, after: token)
        #expect(try held[0].value(for: "name", as: String.self) == "another")
        let again = other.item(1)
        try again.setValue("mine", for: "note")
        for _ in 1...2 { try catchUp(one, other, after: token) }
        #expect(!again.isDeleted)
        #expect(try again.value(for: "note", as: String.self) == "mine")
        try other.save()
        #expect(try store.column("SELECT name || note FROM item WHERE id = 1") == ["anothermine"])
    }

    @Test func unsavedChangesOfARowThatGaveWayToAnotherAreAConflict() throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let held = try other.all("item")
        try held[0].setValue("mine", for: "note")
        try other.delete(held[1])
        for key in [1, 2] as [Int64] { try one.delete(one.item(key)) }
        try one.save()
        for key in [1, 2] as [Int64] {
            one.insert(entity: "item", values: ["id": .integer(key), "name": "another"])
        }
        try one.save()
        try catchUp(other, after: token)
        #expect { try other.save() } throws: { ($0 as? MergeConflictError)?.conflicts.count == 2 }
        #expect(try store.column("SELECT count(*) FROM item WHERE name = 'another' AND note IS NULL") == ["2"])
    }

    @Test func aMarkOnARowThatWasNeverReadIsDeletedWithTheRow() throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        let marked = other.item(1)
        try other.delete(marked)
        try one.delete(one.item(1))
        try one.save()
        one.insert(entity: "item", values: ["id": 1, "name": "another"])
        try one.save()
        try catchUp(other, after: token)
        #expect(marked.isDeleted && !other.hasChanges)
        try other.save()
        #expect(try store.column("SELECT name FROM item WHERE id = 1") == ["another"])
    }

    @Test func historyOfADroppedTableCanBeMerged() throws {
        let (one, other) = (try store.context(), try store.context())
        let token = try other.currentHistoryToken()
        try store.change("INSERT INTO word VALUES ('gold', 'Au')")
        let held = try other.all("word")
        try one.delete(one.all("word")[0])
        try one.save()
        try store.change("DROP TABLE word")
        try catchUp(other, after: token)
        #expect(held.map(\.isDeleted) == [true])
    }

    @Test func aRehearsalReadsTheHistory() throws {
        let one = try store.context()
        try one.delete(one.item(1))
        try one.save()
        let rehearsal = StoreContext(try store.reader())
        #expect(try rehearsal.history(after: nil).map(\.changes.count) == [1])
        #expect(try rehearsal.currentHistoryToken() == one.currentHistoryToken())
    }

    // MARK: Nets

    private static func transaction(_ changes: (HistoryChange.Kind, Int64)...) -> HistoryTransaction {
        HistoryTransaction(
            token: HistoryToken(historyIdentifier: "", transactionNumber: 1), instant: Instant(unixSeconds: 0),
            author: "",
            changes: changes.map {
                HistoryChange(objectID: ObjectID(entity: "item", key: [.integer($0.1)]), kind: $0.0)
            })
    }

    @Test func theNetOfTransactionsNamesEachRowOnce() {
        let net = ChangeSet([
            Self.transaction((.insert, 1), (.insert, 2), (.update, 3), (.update, 4), (.delete, 5), (.update, 2)),
            Self.transaction((.delete, 1), (.update, 3), (.delete, 4), (.insert, 5), (.delete, 6), (.insert, 6)),
            Self.transaction((.update, 5), (.delete, 6)),
        ])
        func keys(_ ids: [ObjectID]) -> [[StoreValue]] { ids.map(\.key) }
        #expect(keys(net.inserted) == [[.integer(2)], [.integer(5)]])
        #expect(keys(net.updated) == [[.integer(3)]])
        #expect(keys(net.deleted) == [[.integer(1)], [.integer(4)], [.integer(5)], [.integer(6)]])
    }
}
