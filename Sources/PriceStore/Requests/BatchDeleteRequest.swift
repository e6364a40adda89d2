/// A delete that the store itself executes in one transaction, without loading objects.
///
/// It does not see unsaved changes of a context, so save first. It does not update objects that a context holds;
/// ``BatchDeleteResult/objectIDs`` identifies them. No validation runs. The request deletes all rows that it names or, if anything fails,
/// none.
///
/// ```swift
/// let old = StoreFetchRequest(entity: "price", predicate: Attribute("time", .unixSeconds) < cutoff)
/// if context.hasChanges { try context.save() }
/// try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: old))
/// ```
public struct BatchDeleteRequest: Hashable, Sendable {
    /// What happens to rows of any entity that refer to deleted rows.
    public enum RelationshipRule: String, Hashable, Sendable, CaseIterable {
        /// What each relationship declares.
        case asDeclared
        /// The request fails if there are such rows. The error has each relationship and its number of rows.
        case deny
        /// They are deleted too, whatever the relationship declares.
        case cascade
        /// Their reference becomes NULL, whatever the relationship declares.
        case nullify

        package var deleteRule: Relationship.DeleteRule? {
            switch self {
            case .asDeclared, .deny: nil
            case .cascade: .cascade
            case .nullify: .nullify
            }
        }
    }

    /// The rows to delete. Sort descriptors, limit and offset apply: with a limit of 10 and an ascending date, the ten oldest rows are
    /// deleted.
    public var fetchRequest: StoreFetchRequest
    /// What the result contains.
    public var resultType: BatchResultType
    /// What happens to rows that refer to deleted rows. It applies to the relationships that refer to this entity. Relationships to rows
    /// that a cascade deletes follow their declaration. In a Core Data store only ``RelationshipRule/asDeclared`` is possible.
    public var relationships: RelationshipRule

    /// Makes a request that deletes the rows of a fetch request.
    public init(
        fetchRequest: StoreFetchRequest, resultType: BatchResultType = .statusOnly,
        relationships: RelationshipRule = .asDeclared
    ) {
        self.fetchRequest = fetchRequest
        self.resultType = resultType
        self.relationships = relationships
    }

    /// Makes a request that deletes these rows. Rows that no longer exist are ignored.
    ///
    /// An empty list deletes nothing and does not use the store. IDs of an entity and of its sub-entities can be mixed, in any order. The
    /// request fails with ``StoreError/Kind/unsupported`` for IDs of several other entities or of another store; the error names them.
    public init(
        objectIDs: [ObjectID], resultType: BatchResultType = .statusOnly, relationships: RelationshipRule = .asDeclared
    ) {
        let entities = Set(objectIDs.map(\.entity))
        // For IDs of several entities, the store finds the entity.
        let entity = entities.count == 1 ? objectIDs[0].entity : ""
        self.init(
            fetchRequest: StoreFetchRequest(entity: entity, predicate: .objectIDs(objectIDs)), resultType: resultType,
            relationships: relationships)
    }
}

extension StoreReader {
    /// The request with an entity. IDs of several entities get the nearest entity whose rows, with those of its sub-entities, include all
    /// of them, so their order makes no difference. An entity that the request names is not changed.
    package func namingEntity(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteRequest {
        guard request.fetchRequest.entity.isEmpty, case .objectIDs(let ids) = request.fetchRequest.predicate,
            let first = ids.first?.entity
        else { return request }
        let wanted = Set(ids.map(\.entity))
        var request = request
        request.fetchRequest.entity = first
        var next: String? = first
        while let candidate = next, let model = try entity(named: candidate)?.model {
            if wanted.isSubset(of: model.subentities + [candidate]) {
                request.fetchRequest.entity = candidate
                break
            }
            next = model.parent
        }
        return request
    }
}

/// What the result of a batch request contains.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest(fetchRequest: doneItems, resultType: .objectIDs))
/// ```
public enum BatchResultType: Hashable, Sendable {
    /// Only success. Counts are included if they cost nothing.
    case statusOnly
    /// How many rows of the entity were processed.
    case count
    /// Which rows of the entity were processed, and how many.
    case objectIDs
}

/// A position in the order in which an engine processes an entity in batches.
package struct BatchContinuation: Hashable, Sendable {
    /// The values of the position, as the engine needs them; empty: the beginning.
    package let position: [StoreValue]

    package init(position: [StoreValue]) {
        self.position = position
    }

    /// The position of the first batch. A batch that deleted only related rows continues here.
    package static let beginning = BatchContinuation(position: [])
}

/// What a batch delete did.
///
/// ```swift
/// for id in result.objectIDs { print(id) }
/// ```
public struct BatchDeleteResult: Hashable, Sendable {
    /// Deleted rows of the entity that the predicate named.
    public var deletedCount: Int
    /// Rows of any entity that a cascade deleted.
    public var cascadedCount: Int
    /// Rows that lost a reference because a relationship nullified it.
    public var nullifiedCount: Int
    /// Rows that triggers of the store deleted during the batch, by table. Tables that a cascade reaches are not included, because their
    /// rows count as cascaded. Empty if there are none, or if the engine does not know.
    public var deletedByTriggers: [String: Int] = [:]
    /// Rows of all tables that were archived before they were deleted.
    package var archivedCount = 0
    /// How long the store was locked; nil: for the whole request.
    package var lockElapsed: Duration?
    /// The IDs of the deleted rows, if they were requested; otherwise empty.
    public var objectIDs: [ObjectID]
    /// The candles that the rows of the deletion have become so far.
    package var candles = CandleTally()
    /// Where the next batch begins; nil: at the end.
    package var continuation: BatchContinuation?

    /// Makes a result; engines do.
    public init(deletedCount: Int, cascadedCount: Int = 0, nullifiedCount: Int = 0, objectIDs: [ObjectID] = []) {
        self.deletedCount = deletedCount
        self.cascadedCount = cascadedCount
        self.nullifiedCount = nullifiedCount
        self.objectIDs = objectIDs
    }

    package init(deletedCount: Int, objectIDs: [ObjectID] = [], continuation: BatchContinuation?) {
        self.init(deletedCount: deletedCount, objectIDs: objectIDs)
        self.continuation = continuation
    }
}
