import ArgumentParser
import Foundation
import GRDB
import Logging
import SQLiteStore
import SwiftDataShapes
import Testing

/// A model as SwiftData writes it, beside the library's own `Attribute` and `Relationship`.
private struct Model {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Model.name) var owner: String?

    static let attribute = Attribute(name: "name", affinity: .text)
    static let relationship = Relationship(from: "model", "owner", to: "owner", "id")
}

/// A program that imports this library beside Foundation, GRDB, ArgumentParser and Logging can name each public type without a prefix. No
/// type hides its module.
struct NameTests {
    /// Each public type of the library by its name alone.
    private let types: [Any.Type] = [
        Attribute.self, BatchDeleteRequest.self, BatchDeleteResult.self, BatchInsertRequest.self,
        BatchInsertResult.self, BatchResultType.self, BatchUpdateRequest.self, BatchUpdateResult.self,
        CalendarZone.self, ChangeObservation.self, ChangeSet.self,
        ConflictPolicy.self, DateAttribute.self, DateEncoding.self, DateRange.self, Durability.self, Entity.self,
        EntityModel.self, HistoryChange.self, HistoryToken.self, HistoryTransaction.self,
        InsertOutcome.self, Instant.self, KeyRange.self, ManagedObject.self, ManagedObjectError.self,
        MergeConflict.self, MergeConflictError.self, MergePolicy.self, ModelRelationship.self, ObjectID.self,
        ObjectsDidChange.self, ReclaimMode.self, ReclaimRequest.self, ReclaimResult.self, Relationship.self,
        SQLiteFile.self, SQLiteReader.self, SQLiteWriter.self,
        StoreActor.self, StoreContext.self, StoreError.self, StoreFetchRequest.self, StorePredicate.self,
        StoreSortDescriptor.self, StoreValue.self, StoredRow.self, StoredValues.self, UpdateTrigger.self,
        ObjectValidationError.self, SparedRows.self, RowFigure.self, SQLiteWriter.Journal.self,
    ]

    /// Each public protocol.
    private let protocols: [Any.Type] = [
        (any BatchRequest).self, (any ObjectStore).self, (any Storable).self, (any StoreConvertible).self,
        (any StoreHistory).self, (any StoreInserter).self, (any InstantConvertible).self,
        (any StoreReader).self, (any StoreWriter).self,
    ]

    @Test func eachTypeIsOfTheLibrary() {
        let modules = Set(types.map { String(reflecting: $0).split(separator: ".")[0] })
        #expect(modules == ["PriceStore", "PriceObjects", "SQLiteStore"])
        #expect(types.count > 50 && protocols.count > 6)
    }

    @Test func macrosOfSwiftDataKeepTheirNames() {
        let model = Model(name: "a", owner: nil)
        #expect(model.name == "a" && model.owner == nil)
        #expect(Model.attribute.name == "name" && Model.relationship.source == "model")
    }

    @Test func modulesCanBeNamed() {
        let names: [Any.Type] = [PriceStore.Entity.self, PriceObjects.StoreContext.self, SQLiteStore.SQLiteWriter.self]
        #expect(names.count == 3)
    }
}
