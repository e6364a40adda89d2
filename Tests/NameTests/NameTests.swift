import Foundation
import GRDB
import SQLiteStore
import Testing

/// A program that imports Foundation, GRDB and this library can name each public type without a prefix. No type hides its module.
struct NameTests {
    /// Each public type of the library by its name alone.
    private let types: [Any.Type] = [
        Attribute.self, BatchDeleteRequest.self, BatchDeleteResult.self, BatchInsertRequest.self,
        BatchInsertResult.self, BatchResultType.self, BatchUpdateRequest.self, BatchUpdateResult.self,
        CalendarZone.self, ChangeObservation.self, ChangeSet.self, CivilDate.self, CivilDateTime.self,
        ConflictPolicy.self, DateAttribute.self, DateEncoding.self, DateRange.self, Durability.self, Entity.self,
        EntityModel.self, HeldRows.self, HistoryChange.self, HistoryToken.self, HistoryTransaction.self,
        InsertOutcome.self, Instant.self, KeepLast.self, KeyRange.self, ManagedObject.self, ManagedObjectError.self,
        MergeConflict.self, MergeConflictError.self, MergePolicy.self, ModelRelationship.self, ObjectID.self,
        ObjectsDidChange.self, ReclaimMode.self, ReclaimRequest.self, ReclaimResult.self, Relationship.self,
        RowsInserted.self, SQLiteFile.self, SQLiteFileConnection.self, SQLiteReader.self, SQLiteWriter.self,
        StoreActor.self, StoreContext.self, StoreError.self, StoreFetchRequest.self, StorePredicate.self,
        StoreSortDescriptor.self, StoreValue.self, StoredRow.self, StoredValues.self, UpdateTrigger.self,
        ValidationError.self,
    ]

    /// Each public protocol.
    private let protocols: [Any.Type] = [
        (any BatchRequest).self, (any ObjectStore).self, (any Storable).self, (any StoreConvertible).self,
        (any StoreHistory).self, (any StoreInserter).self,
        (any StoreReader).self, (any StoreWriter).self,
    ]

    @Test func eachTypeIsOfTheLibrary() {
        let modules = Set(types.map { String(reflecting: $0).split(separator: ".")[0] })
        #expect(modules == ["PriceStore", "PriceObjects", "SQLiteStore"])
        #expect(types.count > 50 && protocols.count > 6)
    }

    @Test func modulesCanBeNamed() {
        let names: [Any.Type] = [PriceStore.Entity.self, PriceObjects.StoreContext.self, SQLiteStore.SQLiteWriter.self]
        #expect(names.count == 3)
    }
}
