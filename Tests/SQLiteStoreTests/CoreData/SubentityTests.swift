import PriceObjects
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Requests for the rows of an entity alone, on a store that Apple's framework wrote: `SportCar` has 5 rows of its own,
/// and its sub-entity `ExpensiveSportCar` 5 more. ``CoreDataOracleTests`` ask the same of random stores.
@Suite(.needsRealData("coredata"))
struct SubentityTests {
    private let own = StoreFetchRequest(entity: "SportCar", includesSubentities: false)
    private let all = StoreFetchRequest(entity: "SportCar")

    private func store() throws -> TemporaryStore {
        try SampleStores.copy("coredataplus/SampleModel/SampleModel_V1.sqlite")
    }

    private func counts(_ store: TemporaryStore) throws -> [Int] {
        let reader = try SQLiteReader(path: store.path)
        return try ["Car", "SportCar", "ExpensiveSportCar"].map {
            try reader.count(StoreFetchRequest(entity: $0, includesSubentities: false))
        }
    }

    @Test func fetchAndCountFindOwnRowsAlone() throws {
        let store = try store()
        #expect(try counts(store) == [115, 5, 5])
        let reader = try SQLiteReader(path: store.path)
        #expect(try reader.count(all) == 10)
        #expect(try Set(reader.fetchRows(own, attributes: []).map(\.objectID.entity)) == ["SportCar"])
        #expect(try reader.fetch(own, attributes: ["numberPlate"]).count == 5)
        #expect(try StoreContext(SQLiteWriter(path: store.path)).fetch(own).count == 5)
    }

    @Test func aLimitAndAnOffsetCountOwnRows() throws {
        let store = try store()
        var request = own
        request.fetchLimit = 10
        request.fetchOffset = 2
        let result = try SQLiteWriter(path: store.path).execute(
            DeleteWork(fetchRequest: request, resultType: .count, method: .whole))
        #expect(result.deletedCount == 3)
        #expect(try counts(store) == [115, 2, 5])
    }

    @Test func anUpdateSparesSubentities() throws {
        let store = try store()
        let writer = try SQLiteWriter(path: store.path)
        var request = BatchUpdateRequest(
            entity: "SportCar", propertiesToUpdate: ["maker": .text("changed")], resultType: .objectIDs)
        request.includesSubentities = false
        let result = try writer.execute(request)
        #expect(result.updatedCount == 5 && Set(result.objectIDs.map(\.entity)) == ["SportCar"])
        let changed = StorePredicate.compare("maker", .equal, .text("changed"))
        #expect(try writer.count(StoreFetchRequest(entity: "Car", predicate: changed)) == 5)
    }

    @Test(arguments: [false, true]) func idsOfAnEntityAndItsSubentitiesCanBeMixedInAnyOrder(reversed: Bool) throws {
        let store = try store()
        let writer = try SQLiteWriter(path: store.path)
        let cars = try writer.fetchObjectIDs(StoreFetchRequest(entity: "Car"))
        let ids = ["Car", "SportCar", "ExpensiveSportCar"].flatMap { name in cars.filter { $0.entity == name }.prefix(2)
        }
        let request = BatchDeleteRequest(objectIDs: reversed ? ids.reversed() : ids, resultType: .objectIDs)
        let result = try writer.execute(request)
        #expect(Set(result.objectIDs) == Set(ids))
        let person = try writer.fetchObjectIDs(StoreFetchRequest(entity: "Person", fetchLimit: 1))
        let mixed = Array(cars.suffix(1)) + person
        let error = #expect(throws: StoreError.self) {
            try writer.execute(BatchDeleteRequest(objectIDs: reversed ? mixed.reversed() : mixed))
        }
        #expect(error?.message == "the object IDs of one request belong to several entities: Car, Person")
    }

    @Test func unsavedObjectsOfASubentityHoldARequestBack() throws {
        let store = try store()
        let context = StoreContext(try SQLiteWriter(path: store.path))
        try context.fetch(own)[0].setValue("changed", for: "maker")
        let cars = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "Car"))
        let error = #expect(throws: StoreError.self) { try context.execute(cars) }
        #expect(error?.message == "the context holds unsaved Car objects, which a batch delete would not see")
    }

    @Test func aRequestThatNamesAnEntityIsNotWidenedByItsIDs() throws {
        let store = try store()
        let writer = try SQLiteWriter(path: store.path)
        let car = try writer.fetchObjectIDs(
            StoreFetchRequest(entity: "Car", fetchLimit: 1, includesSubentities: false))
        var request = BatchDeleteRequest(fetchRequest: all)
        request.fetchRequest.predicate = .objectIDs(try writer.fetchObjectIDs(own) + car)
        #expect(throws: StoreError.self) { try writer.count(request.fetchRequest) }
        #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(throws: StoreError.self) { try StoreContext(writer).execute(request, inBatchesOf: 10) }
        #expect(try counts(store) == [115, 5, 5])
    }

    @Test(arguments: [false, true]) func mixedIDsCanBeDeletedInBatches(reversed: Bool) throws {
        let store = try store()
        let context = StoreContext(try SQLiteWriter(path: store.path))
        let ids = try context.fetchObjectIDs(StoreFetchRequest(entity: "Car")).sorted {
            ($0.entity < $1.entity) != reversed
        }
        #expect(try context.execute(BatchDeleteRequest(objectIDs: ids), inBatchesOf: 50).deletedCount == 125)
        #expect(try context.execute(BatchDeleteRequest(objectIDs: []), inBatchesOf: 50).deletedCount == 0)
        #expect(try counts(store) == [0, 0, 0])
    }

    @Test(arguments: [MergePolicy.error, .storeWins]) func objectsOfASubentityHaveAllTheirAttributes(
        policy: MergePolicy
    ) throws {
        let store = try store()
        let context = StoreContext(try SQLiteWriter(path: store.path))
        context.mergePolicy = policy
        let expensive = try context.fetch(StoreFetchRequest(entity: "ExpensiveSportCar"))
        let cars = try context.fetch(StoreFetchRequest(entity: "Car"))
        #expect(cars.count == 125 && cars.allSatisfy { !$0.isFault })
        for car in expensive { #expect(try !car.value(for: "isLimitedEdition").isNull) }
        let other = StoreContext(try SQLiteWriter(path: store.path))
        other.mergePolicy = policy
        let read = try other.fetch(all).filter { $0.entity == "ExpensiveSportCar" }
        #expect(try !read[0].value(for: "isLimitedEdition").isNull)
        try read[0].setValue("Mine", for: "maker")
        try other.delete(read[1])
        try other.save()
        #expect(try read[0].value(for: "maker", as: String.self) == "Mine")
        #expect(try counts(store) == [115, 5, 4])
    }

    @Test func theSizeOfAnEntityIsThatOfItsTable() throws {
        let reader = try store().reader()
        let size = try #require(try reader.sizeBytes(ofEntity: "Person"))
        #expect(size > 0 && size % 4096 == 0)
        #expect(try reader.sizeBytes(ofEntity: "SportCar") == reader.sizeBytes(ofEntity: "Car"))
        #expect(try reader.sizeBytes(ofEntity: "Nothing") == nil)
    }

    @Test func theSchemaOfAModelIsNotChanged() throws {
        let store = try store()
        let writer = try SQLiteWriter(path: store.path)
        let before = try store.rows("SELECT sql FROM sqlite_schema ORDER BY name")
        for entity in ["Car", "SportCar"] {
            let wider = Entity(name: entity, attributes: [Attribute(name: "extra", affinity: .text)])
            for change in [{ try writer.dropEntity(named: entity) }, { try writer.createEntity(wider) }] {
                #expect { try change() } throws: {
                    ($0 as? StoreError)?.kind == .unsupported && "\($0)".contains("belongs to its model")
                }
            }
        }
        #expect(try store.rows("SELECT sql FROM sqlite_schema ORDER BY name") == before)
    }
}
