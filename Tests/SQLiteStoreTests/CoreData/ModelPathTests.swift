import Foundation
import GRDB
import PriceStore
import SQLiteStore
import TestSupport
import Testing

/// Core Data stores that lack their own model, and compiled models that stand in for it.
@Suite(.needsRealData("coredata"))
struct ModelPathTests {
    private let versions = SampleStores.path("coredataplus/SampleModel/SampleModel.momd")

    private func storeWithoutModel() throws -> TemporaryStore {
        let store = try SampleStores.copy("coredataplus/SampleModel/SampleModel_V1.sqlite")
        try store.change { try $0.execute(sql: "DELETE FROM Z_MODELCACHE") }
        return store
    }

    @Test func theModelOfAFolderStandsInForTheStores() throws {
        let store = try storeWithoutModel()
        let bare = try #require(try SQLiteReader(path: store.path).entity(named: "Person"))
        #expect(bare.model?.relationships.isEmpty == true)
        let person = try #require(try SQLiteReader(path: store.path, modelPath: versions).entity(named: "Person"))
        #expect(person.model?.relationships.map(\.name) == ["cars"])
        #expect(person.attribute(named: "updatedAt")?.dateEncoding == .appleSeconds)
        let writer = try SQLiteWriter(path: store.path, modelPath: versions)
        #expect(try writer.entity(named: "SportCar")?.model?.parent == "Car")
    }

    @Test func aModelOfAnotherVersionIsAnErrorOfTheStore() throws {
        let store = try storeWithoutModel()
        let reader = try SQLiteReader(path: store.path, modelPath: versions + "/SampleModel2.mom")
        let error = #expect(throws: StoreError.self) { try reader.entity(named: "Person") }
        #expect(error?.message.contains("another version of this model; give \(versions)/SampleModel.mom") == true)
    }

    @Test func theSizeOfAnEntityIsThatOfItsTable() throws {
        let store = try SampleStores.copy("coredataplus/SampleModel/SampleModel_V1.sqlite")
        let reader = try store.reader()
        let size = try #require(try reader.sizeBytes(ofEntity: "Person"))
        #expect(size > 0 && size % 4096 == 0)
        #expect(try reader.sizeBytes(ofEntity: "SportCar") == reader.sizeBytes(ofEntity: "Car"))
        #expect(try reader.sizeBytes(ofEntity: "Nothing") == nil)
    }
}
