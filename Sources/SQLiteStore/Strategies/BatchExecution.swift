import GRDB
public import PriceStore

extension SQLiteWriter {
    /// Carries out a batch delete in one transaction of its own.
    public func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try execute(DeleteWork(request))
    }

    /// Carries out a batch of a deletion, or all of it, in one transaction of its own.
    func execute(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        // No ID names no row, whatever the entity.
        if case .objectIDs([]) = request.fetchRequest.predicate { return BatchDeleteResult(deletedCount: 0) }
        if request.technique == .rebuild { return try rebuild(request) }
        return try run("deleting rows of \(request.fetchRequest.entity)") { db in
            try countRelationships(of: request, db)
            let counter = relationshipCounter
            let triggers = triggerCounter
            triggers?.forget()
            let before = (counter?.cascadedCount ?? 0, counter?.nullifiedCount ?? 0, counter?.directCount ?? 0)
            do {
                let result = try transaction(.normal) {
                    var batch = try BatchDelete(request, self, db)
                    let continuation = try batch.run()
                    var result = BatchDeleteResult(
                        deletedCount: batch.deletedCount, cascadedCount: (counter?.cascadedCount ?? 0) - before.0,
                        nullifiedCount: (counter?.nullifiedCount ?? 0) - before.1, objectIDs: batch.objectIDs)
                    result.continuation = continuation
                    if let objects = batch.objects {
                        result.cascadedCount = objects.cascadedCount
                        result.nullifiedCount = objects.nullifiedCount
                    }
                    if let directCount = counter?.directCount {
                        if batch.choosesRows {
                            // The counter knows no predicate here: it took the chosen rows for cascaded ones too.
                            result.cascadedCount -= batch.deletedCount
                        } else {
                            result.deletedCount = directCount - before.2
                        }
                    }
                    return result
                }
                if result.continuation == nil { try removeCounters(db) }
                var told = result
                told.deletedByTriggers = triggers?.take(ownCount: result.deletedCount) ?? [:]
                told.removedFileCount = removeUnusedFiles()
                if result.continuation == nil { try dropObjects(db) }
                return told
            } catch {
                // What the undone batch counted did not happen.
                counter?.cascadedCount = before.0
                counter?.nullifiedCount = before.1
                if counter?.directCount != nil { counter?.directCount = before.2 }
                throw error
            }
        }
    }

    /// Puts the counting triggers in place for a delete, once for all its batches.
    private func countTriggers(of whole: FetchRequest, _ rule: BatchDeleteRequest.RelationshipRule, _ db: Database)
        throws
    {
        if triggerCounter != nil { try TriggerCounter.remove(db) }
        triggerCounter = nil
        triggerCounter = try TriggerCounter.make(whole, rule, self, db)
    }

    /// Puts the counting triggers in place for what relationships do, once for all batches of a delete.
    private func countRelationships(of request: DeleteWork, _ db: Database) throws {
        var whole = request.fetchRequest
        whole.fetchLimit = nil
        whole.fetchOffset = 0
        whole.sortDescriptors = []
        if triggerCounter?.request != whole || triggerCounter?.rule != request.relationships
            || request.continuation == nil
        {
            try countTriggers(of: whole, request.relationships, db)
        }
        // Rows that are chosen before the delete cannot be told by a predicate in a trigger.
        if try choosesRows(request.request, db) { whole.predicate = .or([]) }
        if let counter = relationshipCounter, counter.request == whole, counter.rule == request.relationships,
            request.continuation != nil
        {
            return
        }
        if hasCountedRelationships { try removeRelationshipCounter(db) }
        guard let table = try catalog.table(whole.entity, db), !table.entity.incomingRelationships.isEmpty else {
            return
        }
        hasCountedRelationships = true
        relationshipCounter = try RelationshipCounter.make(whole, request.relationships, self, db)
    }

    private func removeCounters(_ db: Database) throws {
        if relationshipCounter != nil { try removeRelationshipCounter(db) }
        if triggerCounter != nil { try TriggerCounter.remove(db) }
        triggerCounter = nil
    }

    /// Removes the triggers, also those of an older counter that a rollback has brought back.
    private func removeRelationshipCounter(_ db: Database) throws {
        try RelationshipCounter.remove(db)
        relationshipCounter = nil
    }
}

extension DeleteWork {
    /// Where the batch begins; nil: at the beginning.
    var place: [StoreValue]? { continuation.flatMap { $0 == .beginning ? nil : $0.position } }
}

extension SQLiteConnection {
    /// Whether the rows to go are chosen first and noted, since they must be known one by one.
    func choosesRows(_ request: BatchDeleteRequest, _ db: Database) throws -> Bool {
        let fetch = request.fetchRequest
        if request.resultType == .objectIDs || fetch.predicate.namesObjectIDs { return true }
        let hasOwnWord = request.relationships != .asDeclared
        guard try catalog.table(fetch.entity, db)?.managed == nil else { return hasOwnWord }
        let incoming = try incoming(fetch.entity, of: request, db)
        return hasOwnWord && !incoming.isEmpty || request.cascades(incoming)
    }
}

extension Predicate {
    /// Whether object IDs are part of the condition.
    fileprivate var namesObjectIDs: Bool {
        switch self {
        case .objectIDs: true
        case .and(let parts), .or(let parts): parts.contains(where: \.namesObjectIDs)
        case .not(let part), .notTrue(let part): part.namesObjectIDs
        default: false
        }
    }
}
