public import PriceStore

/// A request that a store itself carries out in one transaction, without loading objects: a batch delete, insert or update.
///
/// ```swift
/// let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: doneItems))
/// ```
public protocol BatchRequest {
    /// What the store did.
    associatedtype Result
    /// The name of the request in messages, with an article.
    static var phrase: String { get }
    /// The entities whose existing rows the request changes; empty: it only adds rows.
    var changedEntities: Set<String> { get }
    /// What the result contains.
    var resultType: BatchResultType { get set }

    /// Carries out the request in a transaction of its own.
    func execute(in store: any ObjectStore) throws -> Result

    /// Whether ``merge(_:into:)`` needs the IDs of the rows to update a context.
    func needsObjectIDs(for context: StoreContext) -> Bool

    /// Updates contexts by the object IDs of the result, as far as it has them.
    func merge(_ result: Result, into contexts: [StoreContext]) throws
}

extension BatchDeleteRequest: BatchRequest {
    /// `a batch delete`.
    public static let phrase = "a batch delete"
    /// The entity of the fetch request or, for a request with IDs, the entities of the IDs.
    public var changedEntities: Set<String> {
        guard case .objectIDs(let ids) = fetchRequest.predicate else { return [fetchRequest.entity] }
        return Set(ids.map(\.entity))
    }

    /// Deletes the rows.
    public func execute(in store: any ObjectStore) throws(StoreError) -> BatchDeleteResult { try store.execute(self) }

    /// False: the store can tell which objects in memory still exist.
    public func needsObjectIDs(for context: StoreContext) -> Bool { false }

    /// Merges the deletes by their IDs, if they were requested. Otherwise memory depends on the objects that the contexts hold, not on the
    /// number of deleted rows.
    public func merge(_ result: BatchDeleteResult, into contexts: [StoreContext]) throws {
        guard resultType != .objectIDs else {
            return try StoreContext.mergeChanges(
                fromRemoteContextSave: ChangeSet(deleted: result.objectIDs), into: contexts)
        }
        for context in contexts { try context.mergeDeletes(in: changedEntities) }
    }
}

extension BatchInsertRequest: BatchRequest {
    /// `a batch insert that overwrites rows`.
    public static let phrase = "a batch insert that overwrites rows"
    /// The entity, if rows may be replaced.
    public var changedEntities: Set<String> { onConflict == .replace ? [entity] : [] }

    /// Inserts the rows.
    ///
    /// - Throws: `StoreError`, and what the handler throws.
    public func execute(in store: any ObjectStore) throws -> BatchInsertResult {
        guard case .handler(let make) = source else { return try store.execute(self) }
        var thrown: (any Error)?
        var request = self
        request.source = .handler {
            let handler = make()
            return { row in
                do { return try handler(&row) } catch {
                    thrown = error
                    throw error
                }
            }
        }
        do { return try store.execute(request) } catch { throw thrown ?? error }
    }

    /// True if an observer is notified of the new rows, or if an object may stand for a replaced row.
    public func needsObjectIDs(for context: StoreContext) -> Bool {
        !context.observers.isEmpty || !context.heldObjects(of: changedEntities).isEmpty
    }

    /// Merges the new rows.
    public func merge(_ result: BatchInsertResult, into contexts: [StoreContext]) throws {
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(inserted: result.objectIDs), into: contexts)
    }
}

extension BatchUpdateRequest: BatchRequest {
    /// `a batch update`.
    public static let phrase = "a batch update"
    /// The entity.
    public var changedEntities: Set<String> { [entity] }

    /// Updates the rows.
    public func execute(in store: any ObjectStore) throws(StoreError) -> BatchUpdateResult { try store.execute(self) }

    /// True if objects of the entity are in memory.
    public func needsObjectIDs(for context: StoreContext) -> Bool { !context.heldObjects(of: changedEntities).isEmpty }

    /// Merges the changes. If an attribute of the key was set, rows have other IDs. All objects of the entity are then read again, so that
    /// an object whose row is now another one is deleted.
    public func merge(_ result: BatchUpdateResult, into contexts: [StoreContext]) throws {
        if let entity = try contexts.first?.shape(entity).entity {
            let key = Set(entity.primaryKey.map { $0.folded })
            if propertiesToUpdate.keys.contains(where: { key.contains($0.folded) }) {
                for context in contexts {
                    for object in context.registry.objects
                    where object.entity == entity.name && object.changedValues.isEmpty {
                        context.becomeFault(object)
                    }
                }
            }
        }
        try StoreContext.mergeChanges(fromRemoteContextSave: ChangeSet(updated: result.objectIDs), into: contexts)
    }
}
