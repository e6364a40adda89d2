import GRDB
import PriceStore

extension SQLiteConnection {
    /// Carries out one batch delete request in one transaction.
    func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try run("deleting rows of \(request.fetchRequest.entity)") { db in
            try countRelationships(of: request.fetchRequest, db)
            let counter = relationshipCounter
            let before = (counter?.cascadedCount ?? 0, counter?.nullifiedCount ?? 0, counter?.directCount ?? 0)
            do {
                return try transaction(.normal) {
                    var batch = try BatchDelete(request, self, db)
                    let continuation = try batch.run()
                    return BatchDeleteResult(
                        deletedCount: counter?.directCount.map { $0 - before.2 } ?? batch.deletedCount,
                        cascadedCount: (counter?.cascadedCount ?? 0) - before.0,
                        nullifiedCount: (counter?.nullifiedCount ?? 0) - before.1,
                        objectIDs: batch.objectIDs, continuation: continuation)
                }
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
    private func countRelationships(of fetch: FetchRequest, _ db: Database) throws {
        var whole = fetch
        whole.fetchLimit = nil
        whole.sortDescriptors = []
        if let counter = relationshipCounter {
            if counter.request == whole { return }
            try RelationshipCounter.remove(db)
            relationshipCounter = nil
        }
        guard let table = try catalog.table(fetch.entity, db), !table.entity.incomingRelationships.isEmpty else {
            return
        }
        relationshipCounter = try RelationshipCounter.make(whole, self, db)
    }
}
