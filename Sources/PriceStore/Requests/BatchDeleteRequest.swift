/// A delete that the store carries out itself, without loading objects, in one transaction.
///
/// It does not see unsaved changes of any context: save first. Objects that a context holds do not learn of it by
/// themselves either; ``BatchDeleteResult/objectIDs`` says which they are. It runs no validation, and deletes all rows
/// that it names or, if anything fails, none.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// What the result tells.
    public typealias ResultType = BatchResultType

    /// What becomes of the rows of other entities, and of the same one, that point at rows which go.
    public enum RelationshipRule: String, Hashable, Sendable, CaseIterable {
        /// What each relationship declares.
        case asDeclared
        /// The request fails if there are any, with each relationship and its number of rows.
        case deny
        /// They are deleted too, whatever the relationship declares.
        case cascade
        /// Their reference becomes NULL, whatever the relationship declares.
        case nullify

        /// The rule that takes the place of the declared one; nil: none does.
        package var deleteRule: Relationship.DeleteRule? {
            switch self {
            case .asDeclared, .deny: nil
            case .cascade: .cascade
            case .nullify: .nullify
            }
        }
    }

    /// The rows to delete. Its sort descriptors, limit and offset are obeyed: with a limit of 10 and the date ascending,
    /// the ten oldest rows go.
    public var fetchRequest: FetchRequest
    /// What the result tells.
    public var resultType: ResultType
    /// What becomes of rows that point at rows which go. It holds for the relationships that point at this entity; what
    /// points at rows which go for that reason follows its own declaration.
    public var relationships: RelationshipRule
    /// Whether a history of a Core Data store that cannot be continued is left as it is: it does not tell of these deletes
    /// then. If not, the request fails there.
    public var ignoresUnknownHistory = false

    /// Makes a request that deletes the rows of a fetch request.
    public init(
        fetchRequest: FetchRequest, resultType: ResultType = .statusOnly,
        relationships: RelationshipRule = .asDeclared
    ) {
        self.fetchRequest = fetchRequest
        self.resultType = resultType
        self.relationships = relationships
    }

    /// Makes a request that deletes these rows; those that are gone already do not matter.
    ///
    /// An empty list deletes nothing, and the store is not asked. IDs of several entities, or of another store than the
    /// one that carries the request out, make it fail with ``StoreError/Kind/unsupported``; the error names them.
    public init(
        objectIDs: [ObjectID], resultType: ResultType = .statusOnly, relationships: RelationshipRule = .asDeclared
    ) {
        self.init(
            fetchRequest: FetchRequest(entity: objectIDs.first?.entity ?? "", predicate: .objectIDs(objectIDs)),
            resultType: resultType, relationships: relationships)
    }
}

/// What the result of a batch request tells.
public enum BatchResultType: Hashable, Sendable {
    /// Nothing but success; counts are told where they cost nothing.
    case statusOnly
    /// How many rows of the entity there were.
    case count
    /// Which rows of the entity there were, and how many.
    case objectIDs
}

/// A place in the order in which an engine goes through an entity, batch by batch.
package struct BatchContinuation: Hashable, Sendable {
    /// The values of the place, as the engine needs them. Empty: the beginning.
    package let position: [StoreValue]

    /// Makes a continuation; engines do.
    package init(position: [StoreValue]) {
        self.position = position
    }

    /// The place where the first batch begins: a batch that took only a part of what goes with its rows goes on there.
    package static let beginning = BatchContinuation(position: [])
}

/// What a batch delete did.
public struct BatchDeleteResult: Hashable, Sendable {
    /// Rows of the entity that the predicate named and that went.
    public var deletedCount: Int
    /// Rows that went because a relationship cascaded, of any entity.
    public var cascadedCount: Int
    /// Rows that lost a reference because a relationship nullified it.
    public var nullifiedCount: Int
    /// Files beside a Core Data store that only rows which went referred to, and that were removed after the commit.
    public var removedFileCount = 0
    /// Rows that triggers of the store deleted meanwhile, by table; tables that a cascade reaches are left out, for there
    /// they count as cascaded. Empty where there are none, or where the engine cannot tell.
    public var deletedByTriggers: [String: Int] = [:]
    /// How long the store was locked; nil: for as long as the request took.
    public var lockElapsed: Duration?
    /// The IDs of the rows that went, if they were asked for; else empty.
    public var objectIDs: [ObjectID]
    /// Where the engine goes on with the next batch; nil: the end was reached.
    package var continuation: BatchContinuation?

    /// Makes a result; engines do.
    public init(deletedCount: Int, cascadedCount: Int = 0, nullifiedCount: Int = 0, objectIDs: [ObjectID] = []) {
        self.deletedCount = deletedCount
        self.cascadedCount = cascadedCount
        self.nullifiedCount = nullifiedCount
        self.objectIDs = objectIDs
    }

    /// Makes the result of a batch, with the place where the next one begins.
    package init(deletedCount: Int, objectIDs: [ObjectID] = [], continuation: BatchContinuation?) {
        self.init(deletedCount: deletedCount, objectIDs: objectIDs)
        self.continuation = continuation
    }
}
