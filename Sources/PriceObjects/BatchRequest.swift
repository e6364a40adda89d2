public import PriceStore

/// A request that a store carries out itself, without loading objects, in one transaction: a batch delete, insert or update.
public protocol BatchRequest {
    /// What the store did.
    associatedtype Result
    /// What the request is called in messages, with an article.
    static var phrase: String { get }
    /// The entity of which the request changes rows that are there already; nil: it only adds rows.
    var changedEntity: String? { get }
    /// What the result tells.
    var resultType: BatchResultType { get set }

    /// Carries the request out, in a transaction of its own.
    func execute(in store: any ObjectStore) throws(StoreError) -> Result

    /// Tells contexts what was done, by the object IDs of the result.
    func merge(_ result: Result, into contexts: [StoreContext]) throws
}

extension BatchDeleteRequest: BatchRequest {
    /// `a batch delete`.
    public static let phrase = "a batch delete"
    /// The entity of the fetch request.
    public var changedEntity: String? { fetchRequest.entity }

    /// Deletes the rows.
    public func execute(in store: any ObjectStore) throws(StoreError) -> BatchDeleteResult { try store.execute(self) }

    /// Merges the deletes.
    public func merge(_ result: BatchDeleteResult, into contexts: [StoreContext]) throws {
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: contexts)
    }
}

extension BatchInsertRequest: BatchRequest {
    /// `a batch insert that overwrites rows`.
    public static let phrase = "a batch insert that overwrites rows"
    /// The entity where rows may be replaced.
    public var changedEntity: String? { onConflict == .replace ? entity : nil }

    /// Inserts the rows.
    public func execute(in store: any ObjectStore) throws(StoreError) -> BatchInsertResult { try store.execute(self) }

    /// Merges the new rows.
    public func merge(_ result: BatchInsertResult, into contexts: [StoreContext]) throws {
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(inserted: result.objectIDs), into: contexts)
    }
}

extension BatchUpdateRequest: BatchRequest {
    /// `a batch update`.
    public static let phrase = "a batch update"
    /// The entity.
    public var changedEntity: String? { entity }

    /// Updates the rows.
    public func execute(in store: any ObjectStore) throws(StoreError) -> BatchUpdateResult { try store.execute(self) }

    /// Merges the changes. Where an attribute of the key was set, rows have other IDs, and all objects of the entity are
    /// read anew, so that those whose row is now another say that they are deleted.
    public func merge(_ result: BatchUpdateResult, into contexts: [StoreContext]) throws {
        if let entity = try contexts.first?.shape(entity).entity {
            let key = Set(entity.primaryKey.map { $0.lowercased() })
            if propertiesToUpdate.keys.contains(where: { key.contains($0.lowercased()) }) {
                for context in contexts { context.refreshAll(of: entity.name) }
            }
        }
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(updated: result.objectIDs), into: contexts)
    }
}
