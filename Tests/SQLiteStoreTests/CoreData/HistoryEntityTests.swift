import GRDB
import PriceObjects
import PriceStore
import TestSupport
import Testing

@testable import SQLiteStore

/// The history of a store that Apple's framework wrote, as an entity: one transaction with 5,468 changes and two strings.
@Suite(.needsRealData("coredata"))
struct HistoryEntityTests {
    private let store: TemporaryStore
    private let writer: SQLiteWriter

    init() throws {
        store = try SampleStores.copy("coredataplus/SampleModel2/SampleModel2_V1.sqlite")
        writer = try store.writer()
    }

    private func count(_ table: String) throws -> Int? {
        try store.change { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
    }

    @Test func aTransactionGoesWhole() throws {
        let history = StoreFetchRequest(
            entity: "persistent_history", predicate: Attribute("timestamp") < Instant(unixSeconds: 4_000_000_000))
        #expect(try writer.count(history) == 1)
        let result = try writer.execute(BatchDeleteRequest(fetchRequest: history))
        #expect(result.deletedCount == 1 && result.cascadedCount == 5470)
        for table in ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"] { #expect(try count(table) == 0, "\(table)") }
        #expect(try count("ZPAGE") == 4970)
    }

    @Test func noListOfEntitiesHasIt() throws {
        #expect(try !writer.entityNames().contains("persistent_history"))
        #expect(try writer.entity(named: "ATRANSACTION") == nil)
        #expect(try writer.layout(ofEntity: "persistent_history")?.contains("5468 changes") == true)
    }

    @Test func onlyCoreDataWritesIt() throws {
        let error = #expect(throws: StoreError.self) {
            try writer.insertObject(entity: "persistent_history", values: [:])
        }
        #expect(error?.kind == .unsupported)
        let update = BatchUpdateRequest(entity: "persistent_history", propertiesToUpdate: ["timestamp": 0])
        #expect(throws: StoreError.self) { try writer.execute(update) }
        #expect(try count("ATRANSACTION") == 1)
    }
}
