public import PriceObjects
import GRDB
public import PriceStore

extension SQLiteWriter {
    /// Updates rows in one transaction by one statement.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult {
        if case .objectIDs([]) = request.predicate { return BatchUpdateResult(updatedCount: 0) }
        return try run("updating the rows of \(request.entity)") { db in
            let scope = try tableScope(
                of: StoreFetchRequest(entity: request.entity, includesSubentities: request.includesSubentities), db)
            guard !request.propertiesToUpdate.isEmpty else {
                throw failure(.unsupported, "the batch update of \(scope.table.name) sets no attribute")
            }
            return try transaction(.normal) {
                try update(
                    request.propertiesToUpdate, scope, where: condition(request.predicate, scope, db),
                    listed: request.resultType == .objectIDs, db)
            }
        }
    }

    /// Sets attributes of the rows that match a condition.
    func update(
        _ values: [String: StoreValue], _ scope: RowScope, where condition: SQLFragment, listed: Bool, _ db: Database
    ) throws -> BatchUpdateResult {
        try constrained(scope.table, values, db) {
            let keys: [[StoreValue]]
            if scope.table.managed != nil {
                keys = try updateManaged(values, scope, where: condition, db)
            } else {
                let named = values.sorted { $0.key < $1.key }
                let sets = try scope.attributes(named.map(\.key), store: name).map { "\($0.name.quotedIdentifier) = ?" }
                let update =
                    SQLFragment("UPDATE OR ABORT \(scope.target()) SET " + sets.list, named.map(\.value))
                    + condition.whereClause
                guard listed else {
                    try execute(update, db)
                    return BatchUpdateResult(updatedCount: db.changesCount)
                }
                keys = try rows("\(update) RETURNING \(scope.table.keySQL.list)", db)
            }
            return BatchUpdateResult(
                updatedCount: keys.count, objectIDs: listed ? keys.map { objectID(scope, $0) } : [])
        }
    }
}
